//! A plant, and its reactions to events.

use std::time::Duration;

use controllers::{JobId, Note, Reason, Refusal, Timestamp, site::LoadReading};
use service_core::{
    events::EventReader,
    ledger::Ledgers,
    request::{self, Intake, RequestEnd},
    synthetic::TokenBatch,
};
use spec::{HealthChecks, fault::FaultKind, plant::PlantSpec};
use workloads::sim::{ConnId, Cx, Response, SimClient, SimRequest, SimServer, SynResult};

use super::{
    backend::Backend, context::PlantContext, cpu::CpuModel, event::Event, fault::Faults, in_flight::Requests,
    listener::Listener, sites::PlantSites,
};

/// A target in virtual time.
#[derive(Debug)]
pub struct Plant {
    pub(super) backend: Box<dyn Backend>,
    pub(super) costs: PlantSpec,
    pub(super) cpu: CpuModel,
    /// The requests whose answers are generated together, one step after another.
    pub(super) batch: Option<TokenBatch<JobId>>,
    pub(super) listener: Listener,
    pub(super) sites: PlantSites,
    pub(super) requests: Requests,
    pub(super) intake: Intake,
    pub(super) ledgers: Ledgers,
    pub(super) checks: Checks,
    pub(super) faults: Faults,
    /// When a new policy replaces the policy.
    pub(super) renewals: Vec<Duration>,
    pub(super) reader: EventReader,
}

/// Health checks.
#[derive(Debug)]
pub(super) struct Checks {
    /// The place that answers health checks.
    pub(super) answered: HealthChecks,
    /// The time spent on them.
    pub(super) spent: Duration,
}

impl Plant {
    /// Turns the work knob.
    ///
    /// # Errors
    /// If the service has no work knob, or the values are invalid.
    pub fn set_work(&mut self, work: &spec::WorkSpec) -> Result<(), service_core::route::WorkError> {
        self.backend.set_work(work)
    }

    /// The load that its sites see. Connections and requests take memory in a plant, or tokens where these are generated.
    pub(super) fn meter(&self) -> LoadReading {
        let PlantSpec { memory_mb, .. } = self.costs;
        let memory = match &self.batch {
            Some(batch) => batch.memory(),
            None if memory_mb > 0.0 => (self.memory_kb() / (memory_mb * 1e3)).min(1.0),
            None => 0.0,
        };
        // Slow cores are busy for longer with the same work.
        LoadReading { used: self.cpu.used(), cpus: f64::from(self.cpu.count()) * self.cpu.usual_speed(), memory }
    }

    /// Does all pending work after an event: woken workers begin, and the next end of their work is scheduled.
    pub(super) fn settle(&mut self, cx: &mut dyn PlantContext) {
        self.look_at_memory(cx);
        self.start_workers(cx);
        self.begin_step_of_batch(cx);
        if let Some((at, plan)) = self.cpu.plan() {
            cx.plan(at, Event::Cores(plan));
        }
    }

    /// Plans the first events.
    pub fn start(&mut self, cx: &mut dyn PlantContext) {
        self.sites.show_wall(cx.now());
        for (at, number, on) in self.faults.times().collect::<Vec<_>>() {
            cx.plan(Timestamp::ZERO + at, Event::Fault(number, on));
        }
        for &at in &self.renewals {
            cx.plan(Timestamp::ZERO + at, Event::Renew);
        }
        if self.costs.idle_ms > 0.0 {
            cx.plan(Timestamp::ZERO + UPKEEP, Event::Upkeep);
        }
        if self.requests.rooms.is_some() {
            self.begin_second(cx);
        }
        self.turn_all(cx);
        self.settle(cx);
    }

    fn begin_second(&mut self, cx: &mut dyn PlantContext) {
        let Some(rooms) = &mut self.requests.rooms else { return };
        rooms.second(cx.now());
        cx.plan(cx.now() + Duration::from_secs(1), Event::Second);
    }

    /// A connection is opened. `silent`: no request follows.
    pub fn on_connect(&mut self, conn: ConnId, silent: bool, cx: &mut dyn PlantContext) -> SynResult {
        self.sites.show_wall(cx.now());
        if self.crashes().is_down() {
            return SynResult::Refused;
        }
        if self.listener.is_full() {
            return SynResult::Dropped;
        }
        self.listener.add(conn, silent, cx.now());
        self.take_connections(cx);
        self.settle(cx);
        SynResult::Taken
    }

    /// A request has come.
    pub fn on_request(&mut self, asked: Box<SimRequest>, cx: &mut dyn PlantContext) {
        self.sites.show_wall(cx.now());
        self.arrives(asked, cx);
        self.settle(cx);
    }

    /// A client has gone.
    pub fn on_hang_up(&mut self, conn: ConnId, cx: &mut dyn PlantContext) {
        self.sites.show_wall(cx.now());
        self.client_goes(conn, cx);
        self.settle(cx);
    }

    /// A planned event is due.
    pub fn on_event(&mut self, event: Event, cx: &mut dyn PlantContext) {
        self.sites.show_wall(cx.now());
        match event {
            Event::Cores(plan) => {
                self.cpu.plan_is_due(plan);
                while let Some(task) = self.cpu.done(cx.now()) {
                    self.done(task, cx);
                }
            }
            Event::Wake(place) => self.on_wake(place, cx),
            Event::Retry => self.retry_blocked(cx),
            Event::Waited(id) => self.worked(id, cx),
            Event::Idle(conn) => self.look_at_idle(conn, cx),
            Event::Fault(number, on) => {
                self.faults.set(number, on);
                self.cpu.set_share(cx.now(), self.faults.now(cx.now()).speed);
                if self.faults.kind(number) == FaultKind::Crash {
                    self.crash_fault(on, cx);
                }
            }
            Event::Renew => self.renew(cx),
            Event::Upkeep => self.keep_up(cx),
            Event::Second => self.begin_second(cx),
            Event::Restart => self.restart(cx),
        }
        self.settle(cx);
    }
}

impl SimServer for Plant {
    type Event = Event;

    fn begin(&mut self, cx: &mut Cx<'_, Event>) {
        self.start(cx);
    }

    fn connect(&mut self, conn: ConnId, visitor: SimClient, cx: &mut Cx<'_, Event>) -> SynResult {
        self.on_connect(conn, visitor.silent, cx)
    }

    fn ask(&mut self, asked: Box<SimRequest>, cx: &mut Cx<'_, Event>) {
        self.on_request(asked, cx);
    }

    fn hang_up(&mut self, conn: ConnId, cx: &mut Cx<'_, Event>) {
        self.on_hang_up(conn, cx);
    }

    fn happen(&mut self, event: Event, cx: &mut Cx<'_, Event>) {
        self.on_event(event, cx);
    }
}

/// The period in which open connections are charged.
pub(super) const UPKEEP: Duration = Duration::from_secs(1);

/// An answer with a status alone.
pub(super) fn bare(status: u16) -> Response {
    Response { status, ..Response::default() }
}

/// The answer with the header lines that its end requires; `note`: for the sender's policy.
pub(super) fn reply_to(mut response: Response, end: &RequestEnd, note: Option<Note>) -> Response {
    response.headers.extend(request::headers(end, note).map(|(name, value)| (name, value.into_owned())));
    response
}

/// The answer to a refusal.
pub(super) fn refused(reason: Reason) -> Response {
    let end = RequestEnd::Refused(Refusal::new(reason));
    reply_to(bare(end.status()), &end, None)
}
