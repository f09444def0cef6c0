use std::collections::BTreeMap;

use super::*;
use crate::live::{ReportedTimes, StageSecond, TargetSecond};

fn second(arm: &str, block: u32, second: u32, served: u64, p90_ms: Option<f64>, rate: Option<f64>) -> TimelineSecond {
    let gauges: BTreeMap<String, f64> =
        rate.map(|rate| ("admission_rate_per_s".to_owned(), rate)).into_iter().collect();
    let stages = vec![StageSecond { name: "work".to_owned(), gauges, ..StageSecond::default() }];
    TimelineSecond {
        arm: arm.to_owned(),
        block,
        second,
        planned: 10,
        served,
        rejected: 10 - served,
        p90_ms,
        target: Some(TargetSecond { stages, ..TargetSecond::default() }),
        ..TimelineSecond::default()
    }
}

#[test]
fn rows_are_whole_numbers_and_show_only_decisions_that_are_made() {
    let reported = ReportedTimes { count: 20, p90_ms: Some(987.6), ..ReportedTimes::default() };
    let seconds = [
        second("none", 1, 0, 10, None, None),
        TimelineSecond {
            reported: [("users".to_owned(), reported)].into(),
            ..second("none", 1, 1, 4, Some(1234.5), None)
        },
        TimelineSecond { p90_at_least_ms: Some(60_000.0), ..second("none", 1, 2, 4, None, None) },
        second("seda", 1, 0, 7, Some(99.4), Some(12.345)),
    ];
    let wanted = "\
none
s  offered  in time  late  refused  given up  p50 ms   p90 ms  5 s p90
0       10       10     0        0         0       -        -        -
1       10        4     0        6         0       -     1235      988
2       10        4     0        6         0       -  >=60000        -

seda
s  offered  in time  late  refused  given up  p50 ms  p90 ms  5 s p90  work rate/100 s
0       10        7     0        3         0       -      99        -             1235
";
    assert_eq!(rows(&seconds), wanted);
}

#[test]
fn blocks_are_told_apart() {
    let seconds = [second("none", 1, 0, 10, None, None), second("none", 2, 0, 3, None, None)];
    let text = rows(&seconds);
    assert!(text.starts_with("none (1)\n") && text.contains("\nnone (2)\n"), "{text}");
}
