use std::collections::BTreeMap;

use super::*;
use crate::{
    live::{PhaseShape, Shape, StageSecond, TargetSecond},
    summary::{Mode, Objective},
};

fn second(arm: &str, block: u32, second: u32, served: u64, p90_ms: Option<f64>, rate: Option<f64>) -> Second {
    let gauges: BTreeMap<String, f64> =
        rate.map(|rate| ("admission_rate_per_s".to_owned(), rate)).into_iter().collect();
    let stages = vec![StageSecond { name: "work".to_owned(), gauges, ..StageSecond::default() }];
    Second {
        arm: arm.to_owned(),
        block,
        second,
        planned: 10,
        served,
        rejected: 10 - served,
        p90_ms,
        target: Some(TargetSecond { stages, ..TargetSecond::default() }),
        ..Second::default()
    }
}

fn shape() -> Shape {
    Shape {
        experiment: "spike".to_owned(),
        mode: Mode::Live,
        about: "a <few> & many".to_owned(),
        objective: Objective { percentile: 90.0, response_time_ms: 1000.0 },
        arms: vec!["none".to_owned(), "seda".to_owned()],
        blocks: 1,
        phases: vec![PhaseShape { name: "spike".to_owned(), seconds: 2.0, load: "10 users".to_owned() }],
    }
}

#[test]
fn rows_are_whole_numbers_and_show_only_decisions_that_are_made() {
    let seconds = [
        second("none", 1, 0, 10, None, None),
        second("none", 1, 1, 4, Some(1234.5), None),
        second("seda", 1, 0, 7, Some(99.4), Some(12.345)),
    ];
    let wanted = "\
none
s  offered  in time  late  refused  given up  p50 ms  p90 ms
0       10       10     0        0         0       -       -
1       10        4     0        6         0       -    1235

seda
s  offered  in time  late  refused  given up  p50 ms  p90 ms  work rate/100 s
0       10        7     0        3         0       -      99             1235
";
    assert_eq!(rows(&seconds), wanted);
}

#[test]
fn blocks_are_told_apart_in_rows_and_the_picture_shows_the_first() {
    let seconds = [second("none", 1, 0, 10, None, None), second("none", 2, 0, 3, None, None)];
    let text = rows(&seconds);
    assert!(text.starts_with("none (1)\n") && text.contains("\nnone (2)\n"), "{text}");
    let picture = svg(&Shape { blocks: 2, ..shape() }, &seconds);
    assert!(picture.contains("block 1 of 2") && picture.matches(">none</text>").count() == 1, "{picture}");
}

#[test]
fn a_picture_has_a_line_an_arm_in_each_panel_and_a_gap_where_nothing_is_known() {
    let seconds = [
        second("none", 1, 0, 10, Some(50.0), None),
        second("none", 1, 1, 10, None, None),
        second("none", 1, 2, 10, Some(5000.0), None),
        second("seda", 1, 0, 7, Some(99.4), None),
    ];
    let picture = svg(&shape(), &seconds);
    assert!(picture.contains("a &lt;few&gt; &amp; many"), "{picture}");
    // Two arms: one line each in the legend and in each of three panels.
    for colour in ["#1f82d2", "#cf6a12"] {
        assert_eq!(picture.matches(colour).count(), 4, "{colour}");
    }
    let lines: Vec<&str> = picture.lines().filter(|line| line.contains("#1f82d2")).collect();
    let begun = |line: &str| line.matches('M').count();
    assert_eq!([begun(lines[1]), begun(lines[2])], [2, 1], "{lines:?}");
    // Decades from 10 ms to 10 s (50 ms to 5 s are shown), with the objective of 1 s on the grid.
    for label in [">0.01<", ">0.1<", ">1<", ">10<", ">0 s<"] {
        assert!(picture.contains(label), "{label}");
    }
}
