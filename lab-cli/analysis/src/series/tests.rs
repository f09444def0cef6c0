use std::collections::BTreeMap;

use super::*;
use crate::{
    live::{PhaseShape, ReportedTimes, Shape, StageSecond, TargetSecond},
    summary::{Arm, Curve, CurvePoint, LatencyObjective, Measures, Mode, PhaseSummary, PlannedLoad, RunSummary},
};

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

fn shape() -> Shape {
    Shape {
        experiment: "spike".to_owned(),
        mode: Mode::Live,
        about: "a <few> & many".to_owned(),
        objective: LatencyObjective { percentile: 90.0, response_time_ms: 1000.0 },
        arms: vec!["none".to_owned(), "seda".to_owned()],
        blocks: 1,
        capacity_per_s: None,
        capacity_changes: Vec::new(),
        phases: vec![PhaseShape { name: "spike".to_owned(), seconds: 2.0, load: "10 users".to_owned() }],
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
fn blocks_are_told_apart_in_rows_and_the_picture_shows_the_first() {
    let seconds = [second("none", 1, 0, 10, None, None), second("none", 2, 0, 3, None, None)];
    let text = rows(&seconds);
    assert!(text.starts_with("none (1)\n") && text.contains("\nnone (2)\n"), "{text}");
    let picture = svg(&Shape { blocks: 2, ..shape() }, &seconds, 1);
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
    let picture = svg(&shape(), &seconds, 1);
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

#[test]
fn what_time_outs_hide_is_a_line_at_its_bound_with_arrows() {
    let hidden = |at| TimelineSecond { p90_at_least_ms: Some(10_000.0), ..second("none", 1, at, 0, None, None) };
    let seconds: Vec<TimelineSecond> =
        (0..100).map(hidden).chain([second("seda", 1, 0, 7, Some(99.4), None)]).collect();
    let picture = svg(&Shape { phases: Vec::new(), ..shape() }, &seconds, 1);
    // In the legend, and in each of three panels.
    let lines: Vec<&str> = picture.lines().filter(|line| line.contains("stroke=\"#1f82d2\"")).collect();
    assert_eq!((lines.len(), lines[1].matches('M').count(), lines[1].matches('L').count()), (4, 1, 99), "{lines:?}");
    let arrows: Vec<&str> = picture.lines().filter(|line| line.contains("h8l-4 -8z")).collect();
    assert_eq!(arrows.len(), 1, "of one arm, in one panel");
    // 770 units for 100 s, an arrow every 30 at least.
    let count = arrows[0].matches("h8l-4 -8z").count();
    assert!(arrows[0].contains("fill=\"#1f82d2\"") && (20..=26).contains(&count), "{count}: {}", arrows[0]);
    assert!(picture.contains("arrows: at least"));
}

/// Three loads; the p99 of the second is hidden by time-outs, that of the last not known.
fn swept() -> RunSummary {
    let point = |planned: f64, p99_ms, p99_at_least_ms| CurvePoint {
        phase: format!("at-{planned}"),
        planned,
        blocks: 1,
        goodput_per_s: planned / 2.0,
        reject_fraction: 0.5,
        p99_ms,
        p99_at_least_ms,
        ..CurvePoint::default()
    };
    let points = vec![point(50.0, Some(20.0), None), point(100.0, None, Some(10_000.0)), point(200.0, None, None)];
    let measures = Measures { load: Some(PlannedLoad::RequestsPerS(50.0)), ..Measures::default() };
    let phases = vec![PhaseSummary { name: "at-50".to_owned(), measures, ..PhaseSummary::default() }];
    let curve = |arm: &str| Curve { arm: arm.to_owned(), points: points.clone() };
    RunSummary {
        experiment: "a <sweep>".to_owned(),
        objective: LatencyObjective { percentile: 90.0, response_time_ms: 1000.0 },
        arms: vec![Arm { phases, ..Arm::default() }],
        curves: vec![curve("none"), curve("<script>")],
        ..RunSummary::default()
    }
}

#[test]
fn curves_have_a_line_an_arm_in_each_panel_and_say_their_numbers() {
    let picture = curves_svg(&swept()).expect("three loads");
    assert!(picture.starts_with("<svg") && picture.ends_with("</svg>\n"), "{picture}");
    assert!(picture.contains("a &lt;sweep&gt;") && !picture.contains("<script>"), "names are escaped");
    assert!(picture.contains(">planned load, requests/s</text>"), "{picture}");
    // One line each in the legend and in each of three panels.
    for colour in ["stroke=\"#1f82d2\"", "stroke=\"#cf6a12\""] {
        assert_eq!(picture.matches(colour).count(), 4, "{colour}");
    }
    assert!(picture.contains("<title>none, at-50: goodput 25/s, p99 20 ms, 50 % rejected</title>"), "{picture}");
    assert!(picture.contains("p99 &gt;= 10.0 s"), "a bound is said to be one: {picture}");
    // Marks: three, two (the last is not known) and three, for each arm; one of them an arrow.
    assert_eq!(picture.matches("fill=\"#1f82d2\"").count(), 8);
    assert_eq!(picture.matches("h8l-4 -8z\" fill=\"#1f82d2\"").count(), 1);
}

#[test]
fn a_run_without_a_sweep_has_no_curves() {
    assert_eq!(curves_svg(&RunSummary::default()), None);
}
