//! Common random numbers: what a policy does changes neither who comes when nor what a request costs.

use std::collections::{BTreeMap, BTreeSet};

use controllers::{Class, Kind, Timestamp};
use service_core::mail::KINDS;
use spec::{ArashiSpec, WorkSpec, plant::TypeCost};
use workloads::{
    mail::arashi,
    plan::{Account, ArrivalLaw, Load, MailUsers},
    sim::{ConnId, Cx, SimClient, SimRequest, SimServer, SynResult},
};

use super::*;

/// A plant that writes down each request's key, when it came, and the work that it was found to be.
#[derive(Debug)]
pub(super) struct Watched {
    plant: Plant,
    pub(super) came: BTreeMap<u64, Timestamp>,
    pub(super) work: BTreeMap<u64, Duration>,
    /// When each user came first.
    users: BTreeMap<u64, Timestamp>,
    /// The type of each request, by the key of its draws.
    kinds: BTreeMap<u64, Kind>,
}

impl Watched {
    pub(super) fn new(plant: Plant) -> Self {
        Self { plant, came: BTreeMap::new(), work: BTreeMap::new(), users: BTreeMap::new(), kinds: BTreeMap::new() }
    }

    fn look(&mut self) {
        for request in self.plant.requests.in_flight.values().filter(|request| !request.steps.is_empty()) {
            let work = request.steps.iter().map(|step| step.demand).sum();
            self.work.entry(request.asked.key).or_insert(work);
        }
    }
}

impl SimServer for Watched {
    type Event = Event;

    fn begin(&mut self, cx: &mut Cx<'_, Event>) {
        self.plant.begin(cx);
    }

    fn connect(&mut self, conn: ConnId, client: SimClient, cx: &mut Cx<'_, Event>) -> SynResult {
        self.plant.connect(conn, client, cx)
    }

    fn ask(&mut self, asked: Box<SimRequest>, cx: &mut Cx<'_, Event>) {
        assert_eq!(self.came.insert(asked.key, cx.now()), None, "two requests of one key");
        self.users.entry(asked.user).or_insert(cx.now());
        self.kinds.insert(asked.key, asked.call.kind);
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
    let intake = Load::Requests { from_per_s: 300.0, to_per_s: 300.0, law: ArrivalLaw::Poisson, class: Class(0) };
    plan.phases[0].loads = vec![intake];
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

/// Checks that the values are equal where both have one; returns the number of those.
pub(crate) fn agree<T: PartialEq + std::fmt::Debug>(one: &BTreeMap<u64, T>, other: &BTreeMap<u64, T>) -> usize {
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

/// Sessions of mail users that arrive by chance, a third more than there is capacity for.
fn mailers() -> LoadPlan {
    let accounts = (0..50).map(|n| Account { user: format!("u{n}"), password: "p".to_owned() }).collect();
    let mut plan = url_plan(&[("rush", 15, 0)]);
    plan.users = Users::Mail(MailUsers::new(arashi(), accounts));
    let intake = Load::Sessions { from_per_s: 20.0, to_per_s: 20.0, law: ArrivalLaw::Poisson, class: Class(0) };
    plan.phases[0].loads = vec![intake];
    plan
}

/// Arashi, of whose types each costs 10 ms more or less and one extra operation in the mean.
fn watched_mail(plan: &LoadPlan, policy: PolicySpec) -> (Watched, u64) {
    let mut spec = target(policy);
    let weights = KINDS.iter().map(|&kind| (kind.to_owned(), 1.0)).collect();
    spec.app = App::Arashi {
        database: "none.sqlite".into(),
        work: WorkSpec { operations: 0.5, weights, spread: 0.0 },
        spec: ArashiSpec { connections: 2, stale: Duration::from_secs(30), ..ArashiSpec::default() },
    };
    let cost = TypeCost { cpu_ms: 2.0, read_ms: 6.0, write_ms: 2.0, spread: 0.4 };
    let types = KINDS.iter().map(|&kind| (kind.to_owned(), cost)).collect();
    let costs = PlantSpec { types, operation_ms: 2.0, ..PlantSpec::default() };
    let slow = Fault {
        at: Duration::from_secs(5),
        lasts: Duration::from_secs(3),
        service: None,
        task: None,
        kind: FaultKind::Capacity(0.3),
    };
    let with = PlantPlan { costs, folders: vec![vec![40; 4]; 50], faults: vec![slow], ..PlantPlan::default() };
    let mut world = Watched::new(Plant::new(&spec, &with).expect("it can be"));
    let link = LinkSpec {
        delay: Duration::from_millis(5),
        jitter: Duration::from_millis(5),
        loss: 0.02,
        ..LinkSpec::default()
    };
    let finished = run(plan, link, &mut world, |_, _, _| {}, &StopFlag::new()).expect("it runs");
    (world, finished.digest)
}

#[test]
fn of_the_mail_service_every_event_and_draw_is_the_same_twice_and_no_policy_moves_a_users_coming_or_a_draw() {
    let plan = mailers();
    let (free, digest) = watched_mail(&plan, policy("none", &[]));
    let (again, same) = watched_mail(&plan, policy("none", &[]));
    assert_eq!((digest, &free.came, &free.work), (same, &again.came, &again.work));
    let costs: BTreeSet<_> = free.work.values().collect();
    let (different, all) = (costs.len(), free.work.len());
    assert!(different * 10 > all * 9, "costs are drawn: {different} of {all}");
    for (name, settings) in [("concurrency", &[("max", 5.0)][..]), ("seda", &[]), ("codel", &[]), ("gradient2", &[])] {
        let (ruled, other) = watched_mail(&plan, policy(name, settings));
        assert_ne!(other, digest, "{name} decided something");
        let came = free.users.len();
        assert_eq!(agree(&free.users, &ruled.users), came, "{name}: all came, and when they came without it");
        // A refused user requests something else: only requests of the same kind are compared.
        let same = |(key, _): &(&u64, &Duration)| ruled.kinds.get(key) == free.kinds.get(key);
        let work = ruled.work.iter().filter(same).map(|(key, work)| (*key, *work)).collect();
        let both = agree(&free.work, &work);
        assert!(both > 200, "{name}: {both} of {}", ruled.work.len());
    }
}
