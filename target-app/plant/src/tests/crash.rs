//! Processes that die of their memory.

use super::*;

/// Memory for ten requests, and back after 2 s.
fn small() -> PlantPlan {
    let costs = PlantSpec { request_kb: 100.0, memory_mb: 1.0, restart_ms: 2000.0, ..PlantSpec::default() };
    PlantPlan { costs, ..PlantPlan::default() }
}

fn crashes(gauges: &Gauges) -> u64 {
    gauges.stages.iter().find_map(|row| row.counts.get("crashes").copied()).expect("it may crash")
}

#[test]
fn ten_requests_fit_and_the_eleventh_kills_them_all() {
    let of = |users, policy| ran(&url_plan(&[("all", 4, users)]), &target(policy), &small());
    let (finished, gauges) = of(10, policy("none", &[]));
    assert_eq!((crashes(&gauges), finished.report.total.measured.failed), (0, 0));
    // Users of a step come 0.1 ms apart: nobody is served before the eleventh is there. They come again after 5 s.
    let (finished, gauges) = of(11, policy("none", &[]));
    let ledger = &finished.report.total.measured;
    assert_eq!((crashes(&gauges), ledger.failed, ledger.served), (1, 11, 0));
    assert_eq!((gauges.ledger.errors, gauges.ledger.in_flight), (11, 0));
    // A limit keeps it up.
    let (finished, gauges) = of(11, policy("concurrency", &[("max", 10.0)]));
    assert_eq!((crashes(&gauges), finished.report.total.measured.rejected), (0, 1));
}

#[test]
fn what_is_down_refuses_connections_and_is_back_with_an_empty_memory() {
    // Twelve at once; the twelfth finds the port closed, 0.1 ms after the crash.
    let (finished, gauges) = ran(&url_plan(&[("all", 4, 12)]), &target(policy("none", &[])), &small());
    let ledger = &finished.report.total.measured;
    assert_eq!((crashes(&gauges), ledger.failed, ledger.connect_failed), (1, 11, 1));
    // All of them come again 5 s after that, and it dies again: a process that is back has forgotten the others.
    let (finished, gauges) = ran(&url_plan(&[("all", 6, 11)]), &target(policy("none", &[])), &small());
    let ledger = &finished.report.total.measured;
    assert_eq!((crashes(&gauges), ledger.failed, ledger.connect_failed), (2, 22, 0));
}

#[test]
fn memory_in_use_is_a_signal_that_comes_in_time() {
    // Over 0.9, with ten of ten requests inside, CRITICAL is refused; what was seen last counts, once a second.
    let flag = |name: &str, on| (name.to_owned(), controllers::catalogue::Setting::Flag(on));
    let mut by_memory = policy("utilization", &[]);
    by_memory.settings.extend([flag("load", false), flag("memory", true)]);
    let mut spec = target(by_memory);
    let App::Emulated(emulated) = &mut spec.app else { unreachable!() };
    *emulated = EmulatedSpec::one(ServiceTime::Constant(Duration::from_secs(3)));
    let (finished, gauges) = ran(&url_plan(&[("ten", 2, 10), ("more", 2, 20)]), &spec, &small());
    assert_eq!(crashes(&gauges), 0);
    assert!(finished.report.total.measured.rejected >= 10);
}

#[test]
fn a_crash_needs_a_memory() {
    let costs = PlantSpec { restart_ms: 1.0, ..PlantSpec::default() };
    let error = Plant::new(&target(policy("none", &[])), &PlantPlan { costs, ..PlantPlan::default() }).unwrap_err();
    assert_eq!(
        error.to_string(),
        "plant: memory_mb must be over 0 where restart_ms is: a task crashes beyond its memory"
    );
}
