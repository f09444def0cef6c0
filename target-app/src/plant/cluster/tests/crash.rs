//! Tasks that die of their memory among others.

use super::*;

/// Memory for ten requests, and back after 2 s.
fn small() -> PlantSpec {
    PlantSpec { request_kb: 100.0, memory_mb: 1.0, restart_ms: 2000.0, ..PlantSpec::default() }
}

fn crashes(gauges: &crate::control::wire::Gauges, row: &str) -> u64 {
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
    assert!(finished.report.total.ledger.failed >= 22, "{:?}", finished.report.total.ledger);
    back.task.policy = policy("queue-length", &[("max", 5.0)]);
    let (finished, cluster) = ran(&open_plan(120.0, 2), &tree(vec![back]));
    assert_eq!(crashes(&cluster.gauges(finished.ended), "back/read"), 0);
    assert_eq!(finished.report.total.ledger.failed, 0);
}

#[test]
fn calls_to_a_task_that_dies_fail_and_those_of_a_task_that_dies_end_with_it() {
    let with = |costs: [PlantSpec; 2]| {
        let (mut front, mut back) = (service("front", 1, 100, &["back"]), service("back", 20, 1, &[]));
        [front.costs, back.costs] = costs;
        // 50 a second are the capacity behind.
        let (finished, cluster) = ran(&open_plan(100.0, 3), &tree(vec![front, back]));
        let calls = cluster.books()[0].made["back"];
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
