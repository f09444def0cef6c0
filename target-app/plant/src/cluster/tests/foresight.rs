//! The foreseen work is the real work, at whichever task a request arrives.

use super::*;
use crate::Foreseen;

/// A cluster that writes down what each user's request was foreseen to cost.
struct Overheard {
    cluster: Cluster,
    foreseen: Vec<Vec<Foreseen>>,
}

impl SimServer for Overheard {
    type Event = ClusterEvent;

    fn begin(&mut self, cx: &mut Cx<'_, ClusterEvent>) {
        self.cluster.begin(cx);
    }

    fn connect(&mut self, conn: ConnId, client: SimClient, cx: &mut Cx<'_, ClusterEvent>) -> SynResult {
        self.cluster.connect(conn, client, cx)
    }

    fn ask(&mut self, asked: Box<SimRequest>, cx: &mut Cx<'_, ClusterEvent>) {
        self.foreseen.push(self.cluster.foresee(&asked.call, asked.user, asked.key));
        self.cluster.ask(asked, cx);
    }

    fn hang_up(&mut self, conn: ConnId, cx: &mut Cx<'_, ClusterEvent>) {
        self.cluster.hang_up(conn, cx);
    }

    fn happen(&mut self, event: ClusterEvent, cx: &mut Cx<'_, ClusterEvent>) {
        self.cluster.happen(event, cx);
    }
}

/// A front that asks `back` twice; each of three tasks at the back has servers for everybody.
fn front_and_back(balancer: Balancer) -> TreeSpec {
    let exponential = |name: &str, millis, calls: &[&str]| {
        let mut made = service(name, millis, 200, calls);
        let mean = Duration::from_millis(millis);
        made.task.app =
            App::Emulated(EmulatedSpec { servers: 200, ..EmulatedSpec::one(ServiceTime::Exponential { mean }) });
        made.task.draws = Some(11);
        made
    };
    let mut front = exponential("front", 5, &["back"]);
    front.calls[0].times = 2;
    tree(vec![front, with(exponential("back", 20, &[]), |back| (back.tasks, back.balancer) = (3, balancer))])
}

fn foreseen(spec: &TreeSpec) -> (SimOutcome, Vec<Vec<Foreseen>>) {
    let cluster = Cluster::new(spec, &PlantPlan::default(), Duration::ZERO, 7).expect("it can be");
    let mut world = Overheard { cluster, foreseen: Vec::new() };
    let link = LinkSpec { delay: Duration::ZERO, ..LinkSpec::default() };
    let plan = open_plan(50.0, 10);
    let finished = run(&plan, link, &mut world, |_, _, _| {}, &StopFlag::new()).expect("it runs");
    (finished, world.foreseen)
}

#[test]
fn where_nobody_waits_a_request_takes_what_was_foreseen() {
    // One after the other, on servers that are never shared: 5 ms + 2 × 20 ms in the mean.
    let (finished, foreseen) = foreseen(&front_and_back(Balancer::RoundRobin));
    assert_eq!(foreseen.len(), 500);
    let total: Duration = foreseen.iter().flatten().map(|work| work.total).sum();
    let mean = total.as_secs_f64() * 1e3 / 500.0;
    assert!((40.0..50.0).contains(&mean), "{mean}");
    assert!((mean_ms(&finished) - mean).abs() < 0.05, "{} ms, foreseen {mean} ms", mean_ms(&finished));
    // The longest of two calls is no more than both together, and at least half of them.
    for work in &foreseen {
        let Foreseen { total, longest, .. } = work[1];
        assert!(longest < total && longest * 2 >= total, "{work:?}");
    }
}

#[test]
fn a_request_costs_the_same_at_whichever_task_it_lands() {
    let (in_turn, foreseen_in_turn) = foreseen(&front_and_back(Balancer::RoundRobin));
    let (by_chance, foreseen_by_chance) = foreseen(&front_and_back(Balancer::Random));
    assert_eq!(foreseen_in_turn, foreseen_by_chance);
    assert!((mean_ms(&in_turn) - mean_ms(&by_chance)).abs() < 0.05);
}

#[test]
fn a_call_that_may_be_tried_again_counts_with_its_cheapest_attempt_and_one_that_is_not_needed_not_at_all() {
    let total = |spec: &TreeSpec| foreseen(spec).1.iter().map(|work| work[1].total).sum::<Duration>();
    let spec = front_and_back(Balancer::RoundRobin);
    let (mut again, mut spared) = (spec.clone(), spec.clone());
    again.services[0].calls[0].attempts = 3;
    // What is asked again costs what it did, unless it is drawn anew.
    assert_eq!(total(&again), total(&spec));
    again.services[0].calls[0].redraw = true;
    spared.services[0].calls[0].when_refused = WhenRefused::Degrade;
    // The least of three exponential times is a third of one in the mean.
    let share = total(&again).as_secs_f64() / total(&spec).as_secs_f64();
    assert!((0.30..0.37).contains(&share), "{share}");
    assert_eq!(total(&spared), Duration::ZERO);
}
