//! Services that call each other.

use std::{thread, time::Duration};

use spec::{StageSpec, TargetSpec, services::TaskSpec};

use crate::common::{calls_to_back, emulated, spec, start, start_task};

/// Milliseconds that the one worker of a called service works, 300 for each of six calls that come at once and are
/// waited for 700 ms each.
fn worked_ms(drop_expired: bool) -> f64 {
    let stage_defaults = StageSpec { workers: 1, batch: 1, drop_expired, ..spec().stage_defaults };
    let back = start(TargetSpec { app: emulated(Duration::from_millis(300), 1), stage_defaults, ..spec() });
    let calls = calls_to_back(&back, Duration::from_millis(700));
    let stage_defaults = StageSpec { workers: 6, batch: 1, ..spec().stage_defaults };
    let front = TargetSpec { app: emulated(Duration::from_millis(1), 6), stage_defaults, ..spec() };
    let front = start_task(TaskSpec { name: "front".to_owned(), calls, ..TaskSpec::alone(front) });
    thread::scope(|scope| (0..6).for_each(|_| drop(scope.spawn(|| front.get("/")))));
    let work =
        |stages: &[controllers::site::StageGauges]| stages.iter().find(|row| row.name == "work").unwrap().clone();
    let gauges = back.until("the end of all calls", |gauges| work(&gauges.stages).completed == 6);
    work(&gauges.stages).busy_ms
}

#[test]
fn a_called_service_does_no_work_that_no_caller_waits_for_if_it_is_told_not_to() {
    let (all, in_time) = (worked_ms(false), worked_ms(true));
    // Six times 300 ms, whose clock is read a moment after the work began.
    assert!(all > 1790.0, "{all}");
    // Whoever has his turn after 700 ms comes too late: the third begins at 600 ms or later.
    assert!((300.0..1500.0).contains(&in_time), "{in_time}");
}
