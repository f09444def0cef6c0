//! Tasks that die among others: of their memory, or at a set time.

use super::*;

/// Memory for ten requests, and back after 2 s.
fn small() -> PlantSpec {
    PlantSpec { request_kb: 100.0, memory_mb: 1.0, restart_ms: 2000.0, ..PlantSpec::default() }
}

fn crashes(gauges: &spec::wire::Gauges, row: &str) -> u64 {
    gauges.stages.iter().find(|of| of.name == row).expect("it is there").counts["crashes"]
}

#[test]
fn a_task_that_dies_throws_its_load_on_the_other() {
    // One of two tasks of 100 requests a second is slow, 120 are asked: it has 10 inside after a second or so, and dies. The
    // other cannot do 120, and dies half a second after it.
    let mut back = service("back", 10, 1, &[]);
    (back.tasks, back.costs) = (2, small());
    back.slow = Some(Slow { tasks: 1, speed: 0.5 });
    let (finished, cluster) = ran(&open_plan(120.0, 2), &tree(vec![back.clone()]));
    let gauges = cluster.gauges(finished.ended);
    assert_eq!(crashes(&gauges, "back/read"), 2);
    assert!(finished.report.total.measured.failed >= 22, "{:?}", finished.report.total.measured);
    back.task.policy = policy("queue-length", &[("max", 5.0)]);
    let (finished, cluster) = ran(&open_plan(120.0, 2), &tree(vec![back]));
    assert_eq!(crashes(&cluster.gauges(finished.ended), "back/read"), 0);
    assert_eq!(finished.report.total.measured.failed, 0);
}

#[test]
fn calls_to_a_task_that_dies_fail_and_those_of_a_task_that_dies_end_with_it() {
    let with = |costs: [PlantSpec; 2]| {
        let (mut front, mut back) = (service("front", 1, 100, &["back"]), service("back", 20, 1, &[]));
        [front.costs, back.costs] = costs;
        // 50 a second are the capacity behind.
        let (finished, cluster) = ran(&open_plan(100.0, 3), &tree(vec![front, back]));
        let calls = cluster.books().remove(0).calls.remove(0);
        assert_eq!(calls.open, 0, "{calls:?}");
        (cluster.gauges(finished.ended), calls)
    };
    let (gauges, calls) = with([PlantSpec::default(), small()]);
    assert!(crashes(&gauges, "back/read") > 0 && calls.failed >= 11, "{calls:?}");
    let (gauges, calls) = with([small(), PlantSpec::default()]);
    // Eleven in front wait for one another's calls.
    assert!(crashes(&gauges, "front/read") > 0 && calls.failed >= 10, "{calls:?}");
    let front = gauges.stages.iter().find(|row| row.name == "front/work").expect("it is there");
    assert_eq!((front.idle, front.queue), (100, 0), "no worker waits for a call of the process that died");
}

#[test]
fn a_task_dies_at_a_set_time_and_the_other_has_its_load_until_it_is_back() {
    // 80 requests a second by turns to two tasks of 100: the first is gone from 2.005 to 4.005 s, and 160 of 480 come in that time.
    let mut back = service("back", 10, 1, &[]);
    back.tasks = 2;
    let fault = |at, lasts| Fault {
        at: Duration::from_millis(at),
        lasts: Duration::from_millis(lasts),
        kind: FaultKind::Crash,
        service: Some("back".to_owned()),
        task: Some(0),
    };
    let of = |faults: Vec<Fault>| {
        let with = PlantPlan { faults, ..PlantPlan::default() };
        let (finished, cluster) = ran_with(&open_plan(80.0, 6), &tree(vec![back.clone()]), &with);
        let ledger = &finished.report.total.measured;
        assert_eq!(ledger.served + ledger.failed, 480, "{ledger:?}");
        let read = cluster.books()[0].read_by_task.clone();
        (crashes(&cluster.gauges(finished.ended), "back/read"), ledger.failed, read)
    };
    let (died, failed, read) = of(vec![fault(2005, 2000)]);
    assert!(died == 1 && failed <= 1 && (159..=161).contains(&read[0]), "{died} {failed} {read:?}");
    // A second cause keeps it down for another second; it dies once.
    let (died, failed, read) = of(vec![fault(2005, 2000), fault(3005, 2000)]);
    assert!(died == 1 && failed <= 1 && (119..=121).contains(&read[0]), "{died} {failed} {read:?}");
    let (died, _, read) = of(vec![fault(2005, 500), fault(3005, 500)]);
    assert!(died == 2 && (199..=201).contains(&read[0]), "{died} {read:?}");
}

#[test]
fn a_crash_hits_what_there_is() {
    let fault = |service: &str, task| Fault {
        at: Duration::ZERO,
        lasts: Duration::ZERO,
        kind: FaultKind::Crash,
        service: Some(service.to_owned()),
        task,
    };
    let of = |fault| {
        let with = PlantPlan { faults: vec![fault], ..PlantPlan::default() };
        Cluster::new(&tree(vec![service("back", 10, 1, &[])]), &with, Duration::ZERO, 7)
            .err()
            .map(|error| error.to_string())
    };
    assert_eq!((of(fault("back", Some(0))), of(fault("back", None))), (None, None));
    let wrong = of(fault("back", Some(1))).expect("one task");
    assert!(wrong.contains("a fault is to hit task 1 of back, which does not exist"), "{wrong}");
}
