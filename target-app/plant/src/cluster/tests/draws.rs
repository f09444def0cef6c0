//! Common random numbers in a tree: what a policy deep inside does changes neither who comes when nor what anything costs.

use spec::fault::{Fault, FaultKind};

use super::*;
use crate::tests::agree;

/// A cluster that writes down when each user's request came, and what each request and call was found to cost at its task.
struct Watched {
    cluster: Cluster,
    came: BTreeMap<u64, Timestamp>,
    work: BTreeMap<u64, Duration>,
}

impl Watched {
    fn look(&mut self) {
        for request in self.cluster.nodes.iter().flat_map(|node| node.plant.requests.in_flight.values()) {
            if !request.steps.is_empty() {
                let work = request.steps.iter().map(|step| step.demand).sum();
                self.work.entry(request.asked.key).or_insert(work);
            }
        }
    }
}

impl SimServer for Watched {
    type Event = ClusterEvent;

    fn begin(&mut self, cx: &mut Cx<'_, ClusterEvent>) {
        self.cluster.begin(cx);
    }

    fn connect(&mut self, conn: ConnId, client: SimClient, cx: &mut Cx<'_, ClusterEvent>) -> SynResult {
        self.cluster.connect(conn, client, cx)
    }

    fn ask(&mut self, asked: Box<SimRequest>, cx: &mut Cx<'_, ClusterEvent>) {
        assert_eq!(self.came.insert(asked.key, cx.now()), None, "two requests of one key");
        self.cluster.ask(asked, cx);
        self.look();
    }

    fn hang_up(&mut self, conn: ConnId, cx: &mut Cx<'_, ClusterEvent>) {
        self.cluster.hang_up(conn, cx);
    }

    fn happen(&mut self, event: ClusterEvent, cx: &mut Cx<'_, ClusterEvent>) {
        self.cluster.happen(event, cx);
        self.look();
    }
}

/// A front that asks `back`, a refused call once more; the two tasks at the back, with this policy, can do 200 a second together.
fn front_and_back(policy: PolicySpec) -> TreeSpec {
    let exponential = |name: &str, millis, servers, calls: &[&str]| {
        let mut made = service(name, millis, servers, calls);
        let mean = Duration::from_millis(millis);
        made.task.app = App::Emulated(EmulatedSpec { servers, ..EmulatedSpec::one(ServiceTime::Exponential { mean }) });
        made.task.draws = Some(11);
        made
    };
    let mut front = exponential("front", 2, 2000, &["back"]);
    front.calls[0].attempts = 2;
    let mut back = exponential("back", 10, 1, &[]);
    back.tasks = 2;
    back.balancer = Balancer::Random;
    back.task.policy = policy;
    tree(vec![front, back])
}

/// Over a link with jitter and loss, through seconds of slow cores and of long waits.
fn watched(plan: &LoadPlan, policy: PolicySpec) -> (Watched, u64) {
    let fault = |at, kind| Fault {
        at: Duration::from_secs(at),
        lasts: Duration::from_secs(2),
        service: None,
        task: None,
        kind,
    };
    let faults = vec![fault(2, FaultKind::Capacity(0.3)), fault(5, FaultKind::Latency(Duration::from_millis(50)))];
    let plant = PlantPlan { faults, ..PlantPlan::default() };
    let hop = Duration::from_millis(1);
    let cluster = Cluster::new(&front_and_back(policy), &plant, hop, 7).expect("it can be");
    let mut world = Watched { cluster, came: BTreeMap::new(), work: BTreeMap::new() };
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
fn every_event_and_every_draw_is_the_same_twice_and_no_policy_moves_an_arrival_or_a_draw() {
    let mut plan = open_plan(300.0, 8);
    plan.phases[0].loads =
        vec![Load::Requests { from_per_s: 300.0, to_per_s: 300.0, law: ArrivalLaw::Poisson, class: Class(0) }];
    plan.timeout = Duration::from_secs(2);
    let (free, digest) = watched(&plan, policy("none", &[]));
    let (again, same) = watched(&plan, policy("none", &[]));
    assert_eq!((digest, &free.came, &free.work), (same, &again.came, &again.work));
    assert!((2200..2600).contains(&free.came.len()), "{}", free.came.len());
    assert!(free.work.len() > free.came.len() + 800, "calls are there too: {}", free.work.len());
    for (name, settings) in [("concurrency", &[("max", 5.0)][..]), ("seda", &[]), ("codel", &[]), ("gradient2", &[])] {
        let (ruled, other) = watched(&plan, policy(name, settings));
        assert_ne!(other, digest, "{name} decided something");
        assert_eq!(agree(&free.came, &ruled.came), free.came.len(), "{name}: all came, and when they came without it");
        let both = agree(&free.work, &ruled.work);
        assert!(both > free.came.len() + 300, "{name}: {both}");
    }
}
