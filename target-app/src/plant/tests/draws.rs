//! Common random numbers: what a policy does changes neither who comes when nor what a request costs.

use std::collections::BTreeMap;

use controllers::{Class, Timestamp};
use workloads::{
    plan::{ArrivalLaw, Load},
    sim::{Asked, ConnId, Cx, Knock, Visitor, World},
};

use super::*;

/// A plant that writes down each request's key, when it came, and the work that it was found to be.
#[derive(Debug)]
pub(super) struct Watched {
    plant: Plant,
    pub(super) came: BTreeMap<u64, Timestamp>,
    pub(super) work: BTreeMap<u64, Duration>,
}

impl Watched {
    pub(super) fn new(plant: Plant) -> Self {
        Self { plant, came: BTreeMap::new(), work: BTreeMap::new() }
    }

    fn look(&mut self) {
        for visit in self.plant.visits.values().filter(|visit| !visit.steps.is_empty()) {
            let work = visit.steps.iter().map(|step| step.demand).sum();
            self.work.entry(visit.asked.key).or_insert(work);
        }
    }
}

impl World for Watched {
    type Event = Event;

    fn begin(&mut self, cx: &mut Cx<'_, Event>) {
        self.plant.begin(cx);
    }

    fn knock(&mut self, conn: ConnId, visitor: Visitor, cx: &mut Cx<'_, Event>) -> Knock {
        self.plant.knock(conn, visitor, cx)
    }

    fn ask(&mut self, asked: Asked, cx: &mut Cx<'_, Event>) {
        assert_eq!(self.came.insert(asked.key, cx.now()), None, "two requests of one key");
        self.plant.ask(asked, cx);
        self.look();
    }

    fn hang_up(&mut self, conn: ConnId, cx: &mut Cx<'_, Event>) {
        self.plant.hang_up(conn, cx);
    }

    fn happen(&mut self, event: Event, cx: &mut Cx<'_, Event>) {
        self.plant.happen(event, cx);
        self.look();
    }
}

/// A spike of three times the capacity.
fn crowd() -> LoadPlan {
    let mut plan = url_plan(&[("spike", 20, 0)]);
    let arrivals = Load::Requests { from_per_s: 300.0, to_per_s: 300.0, law: ArrivalLaw::Poisson, class: Class(0) };
    plan.phases[0].loads = vec![arrivals];
    plan.timeout = Duration::from_secs(5);
    plan
}

fn watched(plan: &LoadPlan, policy: PolicySpec) -> (Watched, u64) {
    let mut spec = target(policy);
    spec.app = emulated(ServiceTime::Exponential { mean: Duration::from_millis(10) });
    let plant = Plant::new(&spec, &PlantPlan::default()).expect("it can be");
    let mut world = Watched::new(plant);
    let finished = run(plan, LinkSpec::default(), &mut world, |_, _, _| {}, &StopFlag::new()).expect("it runs");
    (world, finished.digest)
}

/// Where both have a value, it is the same; how many that are.
fn agree<T: PartialEq + std::fmt::Debug>(one: &BTreeMap<u64, T>, other: &BTreeMap<u64, T>) -> usize {
    let both = one.iter().filter_map(|(key, value)| Some((value, other.get(key)?)));
    both.inspect(|(one, other)| assert_eq!(one, other)).count()
}

#[test]
fn every_event_and_every_draw_is_the_same_twice_and_no_policy_moves_an_arrival_or_a_draw() {
    let plan = crowd();
    let (free, digest) = watched(&plan, policy("none", &[]));
    let (again, same) = watched(&plan, policy("none", &[]));
    assert_eq!((digest, &free.came, &free.work), (same, &again.came, &again.work));
    assert!((5500..6500).contains(&free.came.len()), "{}", free.came.len());
    for (name, settings) in [("concurrency", &[("max", 5.0)][..]), ("seda", &[]), ("codel", &[]), ("gradient2", &[])] {
        let (ruled, other) = watched(&plan, policy(name, settings));
        assert_ne!(other, digest, "{name} decided something");
        assert_eq!(agree(&free.came, &ruled.came), free.came.len(), "{name}: all came, and when they came without it");
        assert!(agree(&free.work, &ruled.work) > 200, "{name}: {}", agree(&free.work, &ruled.work));
    }
}

#[test]
fn what_a_user_asks_next_costs_the_same_whatever_became_of_others() {
    let plan = url_plan(&[("busy", 20, 30)]);
    let (free, _) = watched(&plan, policy("none", &[]));
    let (ruled, _) = watched(&plan, policy("concurrency", &[("max", 3.0)]));
    assert!(agree(&free.work, &ruled.work) > 500, "{}", agree(&free.work, &ruled.work));
}
