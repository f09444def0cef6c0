//! The cheapest kind of job first: a cost for each event, as section 2.3 suggests.

use std::{collections::BTreeMap, time::Duration};

use crate::{
    Ctx, Effect, Entry, Gauge, Kind, Machine, Offer, Policy, Reason, Refusal, Seen, Timestamp, Verdict,
    entry::{CompositionRole, EntryKind, Source, ms, number, params, s, time_or},
    estimate::Ewma,
    modern::discipline::{MAX, PLACES, lanes::Lanes},
};

params! {
    struct CheapestParams {
        old_weight: f64 = number(0.0..=0.999, 0.9), "weight of the past in the mean cost of a kind", "the lab's choice: ten jobs";
        timeout: Option<Duration> = time_or(ms(1)..=s(3600), "none"), "longest wait; then a job is refused", "the lab's choice: section 2.3 has none";
        max: u32 = MAX;
    }
}

/// Holds every job, and releases the oldest of the kind that has cost least.
#[derive(Debug)]
struct CheapestFirst {
    lanes: Lanes<Kind>,
    costs: BTreeMap<Kind, Ewma>,
    /// The mean of all, for kinds of which none has ended, seconds.
    of_all: Ewma,
    params: CheapestParams,
}

impl CheapestFirst {
    fn new(params: &CheapestParams) -> Self {
        let of_all = Ewma::from_first(params.old_weight);
        Self { lanes: Lanes::default(), costs: BTreeMap::new(), of_all, params: params.clone() }
    }

    /// The mean cost of a kind, seconds.
    fn cost(&self, kind: Kind) -> f64 {
        self.costs.get(&kind).unwrap_or(&self.of_all).current()
    }

    /// The waiting kind that costs least, and of several the one whose oldest job is the oldest.
    fn cheapest(&self) -> Option<Kind> {
        let order = |(kind, arrived): &(Kind, Timestamp)| (self.cost(*kind), *arrived);
        let by_order = |one: &_, other: &_| {
            let ((cost, arrived), (other_cost, other_arrived)) = (order(one), order(other));
            cost.total_cmp(&other_cost).then(arrived.cmp(&other_arrived))
        };
        Some(self.lanes.heads().min_by(by_order)?.0)
    }

    /// Makes room in a full queue for a job of this kind: the newest of the dearest kind goes, if that is dearer.
    fn make_room(&mut self, kind: Kind, cx: &mut Ctx<'_>) -> bool {
        let heads = self.lanes.heads().map(|(kind, _)| kind);
        let dearest = heads.max_by(|one, other| self.cost(*one).total_cmp(&self.cost(*other)));
        let Some(dearest) = dearest.filter(|dearest| self.cost(*dearest) > self.cost(kind)) else { return false };
        let Some(id) = self.lanes.pop_newest(dearest) else { return false };
        cx.effects.push(Effect::Refuse(id, Refusal::new(Reason::QueueFull)));
        true
    }
}

impl Machine for CheapestFirst {
    fn observe(&mut self, seen: &Seen, cx: &mut Ctx<'_>) {
        match seen {
            Seen::Room(free) => {
                self.lanes.refuse_expired(self.params.timeout, cx);
                for _ in 0..*free {
                    let Some(kind) = self.cheapest() else { return };
                    self.lanes.release_oldest(kind, cx);
                }
            }
            Seen::Left(id) => self.lanes.remove(*id),
            Seen::Ended { tags, outcome, timing, cost, .. } => {
                let Some(cost_s) = timing.cost_s(*cost, *outcome) else { return };
                let old_weight = self.params.old_weight;
                self.costs.entry(tags.kind).or_insert_with(|| Ewma::from_first(old_weight)).add(cost_s);
                self.of_all.add(cost_s);
            }
            _ => {}
        }
    }

    fn next_wake(&self) -> Option<Timestamp> {
        self.lanes.next_expiry(self.params.timeout)
    }

    fn wake(&mut self, cx: &mut Ctx<'_>) {
        self.lanes.refuse_expired(self.params.timeout, cx);
    }

    fn gauges(&self, visit: &mut dyn FnMut(Gauge, f64)) {
        visit(Gauge::of("held"), f64::from(self.lanes.len()));
        visit(Gauge::of("cost_ms"), self.of_all.current() * 1e3);
    }
}

impl Policy for CheapestFirst {
    fn offer(&mut self, job: &Offer, cx: &mut Ctx<'_>) -> Verdict {
        let kind = job.tags.kind;
        if self.lanes.len() >= self.params.max && !self.make_room(kind, cx) {
            return Verdict::Refuse(Refusal::new(Reason::QueueFull));
        }
        self.lanes.push(kind, job.id, cx.now);
        Verdict::Hold
    }
}

pub(crate) const CHEAPEST_FIRST: Entry = Entry {
    name: "cheapest-first",
    about: "a queue that lets in the kind of request first that has cost least so far, and refuses dear ones when it is full",
    caution: "dear kinds starve while cheap ones alone fill the service; all requests of a kind count as equally dear",
    source: Source {
        title: "Welsh and Culler, Adaptive Overload Control for Busy Internet Servers, USITS 2003",
        place: "section 2.3",
    },
    deviations: &[
        "The paper says that a cost can be assigned to each event, and not how: here it is the mean of what jobs of its kind have cost at this place, in CPU time where the host measures it, else in the time that work took.",
        "A kind of which none has ended counts as the mean of all.",
        "Jobs that were held before a live switch count their wait from the switch.",
    ],
    places: PLACES,
    presets: &[],
    samples: &[],
    roles: &[CompositionRole::Queue],
    kind: EntryKind::Discipline(|reader| {
        reader.make(|params: &CheapestParams, _| Box::new(CheapestFirst::new(params)))
    }),
};
