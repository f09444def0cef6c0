//! Runs operations through a plant, with an event heap that keeps its answers.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use controllers::{Class, Kind, Timestamp};
use plant::{Event, Plant, PlantPlan, backend::Backend as _, context::PlantContext};
use service_core::{
    events::Events,
    policies::{Resolved, Seating},
};
use spec::TargetSpec;
use workloads::{
    persona::{Call, Connection},
    sim::{ConnId, Response, SimRequest},
};

use super::{
    AFTERWARDS, Arrival, HEADERS, Operation, Outcome, Reply, Timed, recording,
    service::{CORES, InPlant, Stages},
};

pub(super) fn run(target: &TargetSpec, operations: &[Timed]) -> Outcome {
    recording::begin(None);
    let chosen = Resolved::live(&target.policy).expect("a policy");
    let backend = Box::new(InPlant(Stages::of(&chosen)));
    let graph = Arc::new(backend.graph());
    let seating = Seating::new(graph, target.objective, target.seed, Events::default());
    let seating = seating.wrapped(Some(recording::wrap));
    let plan = PlantPlan::default();
    let mut plant = Plant::of_service(target, &plan, chosen, backend, CORES, seating).expect("a plant");
    let mut heap = Heap::default();
    plant.start(&mut heap);
    let mut outcome = Outcome::default();
    let (mut now, mut requests) = (Timestamp::ZERO, 0);
    for (after, operation) in operations {
        now = now + *after;
        heap.until(&mut plant, now);
        match operation {
            Operation::Arrive(arrival) => {
                plant.on_connect(conn(requests), false, &mut heap);
                plant.on_request(Box::new(asked(requests, arrival, now)), &mut heap);
                requests += 1;
            }
            Operation::Leave(nth) => {
                if let Some(nth) = nth.checked_rem(requests)
                    && !heap.replies.contains_key(&nth)
                {
                    plant.on_hang_up(conn(nth), &mut heap);
                }
            }
            Operation::Renew => plant.on_event(Event::Renew, &mut heap),
        }
        // What the operation ends at this instant is over when a live service settles.
        heap.until(&mut plant, now);
        outcome.gauges.push(plant.site_gauges());
    }
    heap.until(&mut plant, now + AFTERWARDS);
    outcome.calls = recording::end();
    outcome.replies = heap.replies;
    outcome
}

fn conn(request: usize) -> ConnId {
    ConnId { place: u32::try_from(request).unwrap_or_default(), generation: 0 }
}

fn asked(request: usize, arrival: &Arrival, now: Timestamp) -> SimRequest {
    let Arrival { slow, work, attempt, criticality, customer, note, left_ms } = arrival;
    let note = note.map(|note| format!("X-Note: {note}\r\n")).unwrap_or_default();
    let headers =
        format!("X-Criticality: {}\r\nX-User: {customer}\r\nX-Customer: {customer}\r\n{note}", criticality.name());
    let call = Call {
        kind: Kind(u16::from(*slow)),
        wanted_at: now,
        attempt: *attempt,
        connection: Connection::Fresh,
        ..Call::get(Class::default(), if *slow { "/slow" } else { "/fast" }.into(), headers.into())
    };
    let key = u64::try_from(work.as_nanos()).unwrap_or_default();
    SimRequest {
        conn: conn(request),
        user: 0,
        call,
        key,
        number: None,
        left: left_ms.map(|left| Duration::from_millis(left.into())),
    }
}

/// The context of the plant.
#[derive(Default)]
struct Heap {
    now: Timestamp,
    next: u64,
    events: BTreeMap<(Timestamp, u64), Event>,
    replies: BTreeMap<usize, (Timestamp, Reply)>,
}

impl Heap {
    fn until(&mut self, plant: &mut Plant, until: Timestamp) {
        while let Some(first) = self.events.first_entry().filter(|first| first.key().0 <= until) {
            let ((at, _), event) = first.remove_entry();
            self.now = at;
            plant.on_event(event, self);
        }
        self.now = until;
    }
}

impl PlantContext for Heap {
    fn now(&self) -> Timestamp {
        self.now
    }

    fn plan(&mut self, at: Timestamp, event: Event) {
        self.next += 1;
        self.events.insert((at, self.next), event);
    }

    fn reply(&mut self, conn: ConnId, response: Response) {
        let value = |name: &'static str| Some((name, response.headers.iter().find(|(of, _)| *of == name)?.1.clone()));
        let headers = HEADERS.into_iter().filter_map(value).collect();
        self.replies.insert(conn.place as usize, (self.now, Reply { status: response.status, headers }));
    }

    fn reset(&mut self, conn: ConnId) {
        self.close(conn);
    }

    fn close(&mut self, _: ConnId) {}
}
