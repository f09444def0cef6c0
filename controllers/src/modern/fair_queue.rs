//! Fair queuing: customers (or classes, or users) in queues of their own, which share what is done in proportion to weights.

use std::{collections::BTreeMap, time::Duration};

use super::discipline::{self, MAX, OBJECTIVE, due::DueTimes, lanes::Lanes};
use crate::{
    Ctx, Effect, Entry, Gauge, JobId, Machine, Offer, Policy, Reason, Refusal, Seen, Timestamp, Verdict,
    entry::{CompositionRole, EntryKind, Problem, Source, choice, flow_numbers, params},
    estimate::Ewma,
    flow::{FlowBy, FlowKey},
};

params! {
    struct FairQueueParams {
        by: FlowBy = choice(
            ("customer", FlowBy::Customer),
            &[
                ("class", FlowBy::Class),
                ("criticality", FlowBy::Criticality),
                ("kind", FlowBy::Kind),
                ("user", FlowBy::User),
            ],
        ), "whose jobs share a queue: a customer's, a class's, those of a level of criticality, of a type of request, or of a user",
            "the flow distinguisher of API Priority and Fairness";
        weights: BTreeMap<FlowKey, f64> = flow_numbers(0.001..=1e6), "parts of what is done by customer, class and so on; 1 for those that are not named",
            "r, section 2 of the paper";
        objective: Option<Duration> = OBJECTIVE;
        max: u32 = MAX;
    }
}

/// Holds every job, and releases the oldest of the flow whose turn comes first.
#[derive(Debug)]
struct FairQueue {
    lanes: Lanes<FlowKey>,
    due: DueTimes,
    flows: BTreeMap<FlowKey, Turns>,
    /// Turn of the last job that went in.
    now: f64,
    /// Mean cost of all, for flows of which none has ended, seconds.
    cost: Ewma,
    /// Number of flows at which those without a job here are forgotten.
    sweep_at: usize,
    params: FairQueueParams,
}

/// Progress of a flow.
#[derive(Debug)]
struct Turns {
    /// Turn of its next job, in seconds of work by weight.
    next: f64,
    /// `None`: none has ended.
    cost: Option<Ewma>,
}

/// Weight of the past in the mean cost of a flow: ten jobs, as in `cheapest-first`.
const OLD_COSTS: f64 = 0.9;

/// Flows that are remembered at least: numbers of customers and users come from clients, and memory is bounded.
const LEAST_FLOWS: usize = 1024;

impl FairQueue {
    fn new(params: &FairQueueParams, objective: Duration) -> Self {
        Self {
            lanes: Lanes::default(),
            due: DueTimes::new(objective),
            flows: BTreeMap::new(),
            now: 0.0,
            cost: Ewma::from_first(OLD_COSTS),
            sweep_at: LEAST_FLOWS,
            params: params.clone(),
        }
    }

    fn weight(&self, flow: FlowKey) -> f64 {
        self.params.weights.get(&flow).copied().unwrap_or(1.0)
    }

    fn turn(&self, flow: FlowKey) -> f64 {
        self.flows.get(&flow).map_or(self.now, |turns| turns.next)
    }

    /// Flow that is next: the one with the earliest turn, and of several the one whose oldest job is the oldest.
    fn next(&self) -> Option<FlowKey> {
        let turns = self.lanes.heads().map(|(flow, arrived)| (self.turn(flow), arrived, flow));
        let next = turns.min_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)))?;
        Some(next.2)
    }

    fn let_in(&mut self, free: u32, cx: &mut Ctx<'_>) {
        self.refuse_hopeless(cx);
        for _ in 0..free {
            let Some(flow) = self.next() else { return };
            let Some(id) = self.lanes.pop_oldest(flow) else { return };
            self.due.release(id, cx);
            let (turn, weight, of_all) = (self.turn(flow), self.weight(flow), self.cost.current());
            self.now = self.now.max(turn);
            if let Some(turns) = self.flows.get_mut(&flow) {
                turns.next = turn + turns.cost.map_or(of_all, |cost| cost.current()) / weight;
            }
        }
    }

    fn refuse_hopeless(&mut self, cx: &mut Ctx<'_>) {
        let Self { lanes, due, .. } = self;
        due.refuse_hopeless(cx, |id| lanes.remove(id));
    }

    fn leave(&mut self, id: JobId) {
        self.lanes.remove(id);
        self.due.remove(id);
    }

    /// Makes room in a full queue for a job of this flow: the newest of the longest by weight goes, if that is longer.
    fn make_room(&mut self, flow: FlowKey, cx: &mut Ctx<'_>) -> bool {
        let by_weight = |(flow, jobs): (FlowKey, u32)| (flow, f64::from(jobs) / self.weight(flow));
        let longest = self.lanes.lengths().map(by_weight).max_by(|one, other| one.1.total_cmp(&other.1));
        let own = f64::from(self.lanes.len_of(flow) + 1) / self.weight(flow);
        let Some((longest, _)) = longest.filter(|(_, jobs)| *jobs > own) else { return false };
        let Some(id) = self.lanes.pop_newest(longest) else { return false };
        self.due.remove(id);
        cx.effects.push(Effect::Refuse(id, Refusal::new(Reason::QueueFull)));
        true
    }

    /// Turn of a flow that had no job here: the present one, or its own if that is later.
    fn enter(&mut self, flow: FlowKey) {
        let now = self.now;
        if self.flows.len() >= self.sweep_at && !self.flows.contains_key(&flow) {
            self.flows.retain(|flow, _| self.lanes.len_of(*flow) > 0);
            self.sweep_at = LEAST_FLOWS.max(2 * self.flows.len());
        }
        let turns = self.flows.entry(flow).or_insert(Turns { next: now, cost: None });
        if self.lanes.len_of(flow) == 0 {
            turns.next = turns.next.max(now);
        }
    }
}

impl Machine for FairQueue {
    fn observe(&mut self, seen: &Seen, cx: &mut Ctx<'_>) {
        match seen {
            Seen::Room(free) => self.let_in(*free, cx),
            Seen::Left(id) => self.leave(*id),
            Seen::Ended { tags, grant, outcome, timing, cost, .. } => {
                self.due.ended(*grant, *outcome, cx.now);
                let Some(cost_s) = timing.cost_s(*cost, *outcome) else { return };
                self.cost.add(cost_s);
                if let Some(turns) = self.flows.get_mut(&self.params.by.flow(tags)) {
                    turns.cost.get_or_insert(Ewma::from_first(OLD_COSTS)).add(cost_s);
                }
            }
            _ => {}
        }
    }

    fn next_wake(&self) -> Option<Timestamp> {
        self.due.next_wake()
    }

    fn wake(&mut self, cx: &mut Ctx<'_>) {
        self.refuse_hopeless(cx);
    }

    fn gauges(&self, visit: &mut dyn FnMut(Gauge, f64)) {
        self.due.gauges(visit);
        visit(Gauge::of("flows_waiting"), self.lanes.lengths().count() as f64);
        visit(Gauge::of("cost_ms"), self.cost.current() * 1e3);
    }
}

impl Policy for FairQueue {
    fn offer(&mut self, job: &Offer, cx: &mut Ctx<'_>) -> Verdict {
        if self.due.is_hopeless(job, cx.now) {
            return Verdict::Refuse(Refusal::new(Reason::Waited));
        }
        let flow = self.params.by.flow(&job.tags);
        if self.due.len() >= self.params.max && !self.make_room(flow, cx) {
            return Verdict::Refuse(Refusal::new(Reason::QueueFull));
        }
        self.enter(flow);
        self.lanes.push(flow, job.id, cx.now);
        self.due.push(job);
        Verdict::Hold
    }
}

pub(crate) const FAIR_QUEUE: Entry = Entry {
    name: "fair-queue",
    about: "a queue for each customer (or class, or user), which share what is done in equal parts or by weight; those that could not be answered in time are refused",
    caution: "needs requests that state whose they are; many customers who each ask for little get little each",
    source: Source {
        title: "Goyal, Vin and Cheng, Start-time Fair Queuing, SIGCOMM 1996; for requests: API Priority and Fairness of Kubernetes",
        place: "section 2; fairqueuing/queueset",
    },
    deviations: &[
        "The length of a packet is known; what a job will cost is taken for the mean of what its flow's last ten or so cost (CPU time where the host measures it, else the time that work took), of all flows before one of its own has ended.",
        "A turn is computed when a job comes to the head of its flow, not when it arrives: the order is the same.",
        "Kubernetes hashes flows into 64 queues, so that some share one; here each has its own. Flows beyond 1024 that have no job here are forgotten with their turns.",
        "Kubernetes refuses what waited for a quarter of its time limit; here a job is refused once it could not be answered within the objective or by its deadline, as by `deadline`.",
        "In a full queue the newest job of the longest flow gives way to one of a shorter flow, as in fq_codel the fattest flow is cut.",
    ],
    places: discipline::PLACES,
    presets: &[],
    samples: &[],
    roles: &[CompositionRole::Queue],
    kind: EntryKind::Discipline(|reader| {
        reader.make_unless(clashes, |params: &FairQueueParams, site| {
            Box::new(FairQueue::new(params, params.objective.unwrap_or(site.objective.response_time)))
        })
    }),
};

fn clashes(params: &FairQueueParams) -> Vec<Problem> {
    params.by.unknown(params.weights.keys()).map(|message| Problem::new("weights", message)).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Tags, testing};

    #[test]
    fn memory_is_bounded_by_those_who_wait() {
        let params = testing::params(&testing::settings([("by", "user".into())]));
        let mut queue = FairQueue::new(&params, Duration::from_secs(1));
        for user in 0..5000 {
            let flow = params.by.flow(&Tags { user, ..Tags::default() });
            queue.enter(flow);
            if user % 5 == 0 {
                queue.lanes.push(flow, crate::JobId(user), Timestamp::ZERO);
            }
        }
        assert!((1000..=2048).contains(&queue.flows.len()), "{}", queue.flows.len());
        assert!(queue.lanes.heads().all(|(flow, _)| queue.flows.contains_key(&flow)));
    }
}
