//! Runs one list of operations through a live service, under a clock that the test advances, and through a plant: the
//! calls and effects of policies, the answers to clients, and the gauges of each site must be the same, at the same
//! times.

mod live;
mod recording;
mod service;
mod virtual_time;

use std::{collections::BTreeMap, time::Duration};

use controllers::{
    Criticality, Place, SiteId, Timestamp,
    catalogue::PolicySpec,
    site::{OnRefuse, StageGauges},
};
use installed::catalogue;
use proptest::prelude::*;
use spec::{App, EmulatedSpec, ServiceTime, StageSpec, TargetSpec};

use recording::Difference;

/// An event of the service.
#[derive(Debug, Clone, PartialEq)]
enum Operation {
    /// A request arrives, on a connection of its own.
    Arrive(Arrival),
    /// The client of the n-th request (of those so far, modulo) goes away, if it has no answer yet.
    Leave(usize),
    /// New policies replace all policies.
    Renew,
}

#[derive(Debug, Clone, PartialEq)]
struct Arrival {
    /// For the stage `slow`, else for `fast`.
    slow: bool,
    work: Duration,
    attempt: u8,
    criticality: Criticality,
    customer: u32,
    /// The note of its sender's policy.
    note: Option<u64>,
    /// The time that its sender waits, milliseconds.
    left_ms: Option<u16>,
}

/// An operation, and the time since the previous one.
type Timed = (Duration, Operation);

/// The result of a list of operations.
#[derive(Debug, Default, PartialEq)]
struct Outcome {
    /// By site: each call of its policy, with the time, the arguments, the answer and the effects.
    calls: BTreeMap<SiteId, Vec<String>>,
    /// By request: the answer and its time.
    replies: BTreeMap<usize, (Timestamp, Reply)>,
    /// After each operation: the gauges of all sites with policies, and of dispatch's own workers.
    gauges: Vec<(Vec<StageGauges>, [u64; 4])>,
}

/// An answer, as policies and users see it.
#[derive(Debug, PartialEq)]
struct Reply {
    status: u16,
    headers: Vec<(&'static str, String)>,
}

/// Headers that sites determine.
const HEADERS: [&str; 6] = ["x-refused", "retry-after", "x-retry", "x-note", "location", "x-degraded"];

/// The wait after the last operation, so that all admitted requests end.
const AFTERWARDS: Duration = Duration::from_secs(4);

/// A service of two stages, each with two workers and a short queue.
fn target(policy: &str, place: Option<Place>, on_refuse: OnRefuse) -> TargetSpec {
    let time = ServiceTime::Constant(Duration::from_millis(1));
    let settings = controllers::Settings::new();
    let policy = PolicySpec { name: policy.to_owned(), place, settings };
    let objective = controllers::Objective { percentile: 90.0, response_time: Duration::from_millis(200) };
    let mut target = TargetSpec::new(App::Emulated(EmulatedSpec::one(time)), policy, objective);
    target.stage_defaults =
        StageSpec { queue: 6, workers: 2, batch: 3, on_refuse, drop_expired: true, ..StageSpec::default() };
    target.stages.insert("dispatch".to_owned(), StageSpec { queue: 5, workers: 2, ..StageSpec::default() });
    target
}

fn both(target: &TargetSpec, operations: &[Timed]) -> (Outcome, Outcome) {
    (live::run(target, operations, None), virtual_time::run(target, operations))
}

/// The first difference between two outcomes.
fn difference(live: &Outcome, plant: &Outcome) -> Option<String> {
    for site in live.calls.keys().chain(plant.calls.keys()) {
        let none = Vec::new();
        let (a, b) = (live.calls.get(site).unwrap_or(&none), plant.calls.get(site).unwrap_or(&none));
        let at = a.iter().zip(b).position(|(a, b)| a != b).or((a.len() != b.len()).then_some(a.len().min(b.len())));
        if let Some(at) = at {
            let before = at.saturating_sub(3)..at;
            return Some(format!(
                "{site:?}, call {at}:\n  live    {:?}\n  virtual {:?}\n  before  {:#?}",
                a.get(at),
                b.get(at),
                &a[before]
            ));
        }
    }
    let reply = live.replies.iter().zip(&plant.replies).find(|(a, b)| a != b);
    if reply.is_some() || live.replies.len() != plant.replies.len() {
        return Some(format!("replies: {reply:?}, {} live, {} virtual", live.replies.len(), plant.replies.len()));
    }
    let gauges = live.gauges.iter().zip(&plant.gauges).enumerate().find(|(_, (a, b))| a != b);
    gauges.map(|(at, (a, b))| format!("gauges after operation {at}:\n  live    {a:?}\n  virtual {b:?}"))
}

fn operations() -> impl Strategy<Value = Vec<Timed>> {
    let criticality = proptest::sample::select(&Criticality::ALL[..]);
    let note = proptest::option::weighted(0.2, any::<u64>());
    // At least 1 ms: a request that has expired on arrival ends in the same instant, for which a plant takes an event.
    let left = proptest::option::weighted(0.3, 1..300_u16);
    let arrival = (any::<bool>(), 1..60_000_u64, 0..3_u8, criticality, 0..4_u32, note, left);
    // Odd numbers of nanoseconds, so that no other event has the same time by chance.
    let arrival = arrival.prop_map(|(slow, micros, attempt, criticality, customer, note, left_ms)| {
        let work = Duration::from_nanos(micros * 1000 + 1 + 2 * u64::from(customer));
        Operation::Arrive(Arrival { slow, work, attempt, criticality, customer, note, left_ms })
    });
    let operation = prop_oneof![
        16 => arrival,
        3 => any::<usize>().prop_map(Operation::Leave),
        1 => Just(Operation::Renew),
    ];
    let gap = prop_oneof![6 => 1..4_000_000_u64, 2 => 1..60_000_000_u64, 1 => 1..1_200_000_000_u64];
    let gap = gap.prop_map(|nanos| Duration::from_nanos(nanos * 2 + 1));
    proptest::collection::vec((gap, operation), 1..80)
}

/// Every policy of the catalogue, in each place of a service where it can be installed.
fn seats() -> Vec<(&'static str, Place)> {
    let places = |entry: &'static controllers::Entry| {
        let inside = |place: &&Place| matches!(place, Place::Single | Place::Stage);
        entry.places.iter().filter(inside).map(|place| (entry.name, *place))
    };
    catalogue().entries().filter(|entry| entry.is_policy()).flat_map(places).collect()
}

fn answers() -> impl Strategy<Value = OnRefuse> {
    let node = OnRefuse::Redirect("http://127.0.0.1:9".to_owned());
    proptest::sample::select(vec![OnRefuse::Reject, OnRefuse::Block, node, OnRefuse::Degrade])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn a_live_service_and_a_plant_do_the_same(
        operations in operations(),
        seat in proptest::sample::select(seats()),
        on_refuse in answers(),
    ) {
        let (policy, place) = seat;
        let (live, plant) = both(&target(policy, Some(place), on_refuse), &operations);
        let found = difference(&live, &plant);
        prop_assert!(found.is_none(), "{policy} at {place:?}: {}", found.unwrap_or_default());
    }
}

/// As many requests at once as fill each stage, then a few more.
fn rush() -> Vec<Timed> {
    let arrival = |n: u64| {
        let slow = !n.is_multiple_of(3);
        let work = Duration::from_nanos(20_000_000 + 7_000_001 * (n % 5) + 2 * n);
        let criticality = Criticality::ALL[usize::try_from(n % 4).unwrap_or_default()];
        let left_ms = n.is_multiple_of(4).then_some(50);
        let arrival = Arrival { slow, work, attempt: 0, criticality, customer: 0, note: None, left_ms };
        (Duration::from_nanos(100_001 + 1000 * n), Operation::Arrive(arrival))
    };
    (0..60).map(arrival).collect()
}

#[test]
fn every_policy_and_every_answer_to_a_refusal_meets_a_rush_alike() {
    for (policy, place) in seats() {
        for on_refuse in
            [OnRefuse::Reject, OnRefuse::Block, OnRefuse::Redirect("http://b".to_owned()), OnRefuse::Degrade]
        {
            let (live, plant) = both(&target(policy, Some(place), on_refuse.clone()), &rush());
            let found = difference(&live, &plant);
            assert!(found.is_none(), "{policy} at {place:?}, {on_refuse:?}: {}", found.unwrap_or_default());
        }
    }
}

#[test]
fn back_pressure_makes_requests_for_the_other_stage_wait_in_both() {
    let (live, plant) = both(&target("none", None, OnRefuse::Block), &rush());
    assert_eq!(difference(&live, &plant), None);
    let full = live.replies.values().filter(|(_, reply)| reply.status == 503).count();
    let [waiting, idle, blocked, _] = live.gauges[40].1;
    assert_eq!((idle, blocked), (0, 2), "both workers of dispatch wait with a job");
    assert!(waiting == 5 && full > 10, "{waiting} wait behind them, {full} overflow");
}

#[test]
fn dispatch_hears_the_stages_that_ask_for_less_in_both() {
    let mut target = target("seda", Some(Place::Stage), OnRefuse::Reject);
    // Over its target from the first sample on.
    let settings = [("signal_upstream", true.into()), ("samples", 1_u32.into()), ("target", "1ms".into())];
    target.policy.settings = settings.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    let (live, plant) = both(&target, &rush());
    assert_eq!(difference(&live, &plant), None);
    let dispatch = spec::graph::Graph::new(&[], &[]).dispatch();
    let heard = plant.calls[&dispatch].iter().filter(|call| call.contains("Pressure")).count();
    assert!(heard > 0, "{:#?}", plant.calls[&dispatch]);
}

#[test]
fn a_driver_that_differs_is_found() {
    let target = target("codel", Some(Place::Stage), OnRefuse::Reject);
    let plant = virtual_time::run(&target, &rush());
    assert_eq!(difference(&live::run(&target, &rush(), None), &plant), None);
    for differs in [Difference::Order, Difference::Facts, Difference::Effects] {
        let live = live::run(&target, &rush(), Some(differs));
        assert!(difference(&live, &plant).is_some(), "{differs:?}");
    }
}
