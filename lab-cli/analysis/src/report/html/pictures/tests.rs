use super::*;
use crate::{
    chart::Size,
    live::TimelineSecond,
    report::whole::sample::{hostile, run},
    summary::{Curve, CurvePoint, Measures, Mode, PhaseSummary, PlannedLoad},
};

fn second(arm: &str, second: u32, served: u64, p90_ms: Option<f64>) -> TimelineSecond {
    TimelineSecond {
        arm: arm.to_owned(),
        block: 1,
        second,
        goodput: served,
        rejected: 10 - served,
        p90_ms,
        ..TimelineSecond::default()
    }
}

fn picture(run: &RunFiles) -> String {
    chart_over_time(run).to_svg(&Size::FILE)
}

/// Its elements of this class.
fn elements<'a>(picture: &'a str, class: &str) -> Vec<&'a str> {
    picture.split('<').filter(|element| element.contains(&format!("class=\"{class}\""))).collect()
}

#[test]
fn a_picture_of_several_blocks_shows_the_first() {
    let mut run = run();
    let block = run.manifest.blocks[0].clone();
    run.manifest.blocks.push(block);
    run.timeline = vec![second("none", 0, 10, None), TimelineSecond { block: 2, ..second("none", 0, 3, None) }];
    let picture = picture(&run);
    assert!(picture.contains("block 1 of 2") && picture.matches(">none</text>").count() == 1, "{picture}");
}

#[test]
fn a_picture_has_a_line_an_arm_in_each_panel_and_a_gap_where_nothing_is_known() {
    let mut run = run();
    run.manifest.experiment.about = "a <few> & many".to_owned();
    run.timeline = vec![
        second("none", 0, 9, Some(50.0)),
        second("none", 1, 9, None),
        second("none", 2, 9, Some(5000.0)),
        second("seda", 0, 7, Some(99.4)),
    ];
    let picture = picture(&run);
    assert!(picture.contains("a &lt;few&gt; &amp; many"), "{picture}");
    // Two arms: one line each in the legend and in each of three panels.
    let lines = ["line c0", "line c1"].map(|class| elements(&picture, class));
    assert_eq!(lines.each_ref().map(Vec::len), [4, 4], "{picture}");
    let begun = |line: &str| line.matches('M').count();
    assert_eq!([begun(lines[0][1]), begun(lines[0][2])], [1, 2], "{lines:?}");
    // Dotted over the gap, and the phase has its name in each panel.
    assert_eq!((elements(&picture, "line c0 gap").len(), picture.matches(">spike<").count()), (1, 3));
    // Decades from 10 ms to 10 s (50 ms to 5 s are shown), with the objective of 1 s on the grid.
    for label in [">0.01<", ">0.1<", ">1<", ">10<", ">objective<", ">time, s<"] {
        assert!(picture.contains(label), "{label}");
    }
}

#[test]
fn what_time_outs_hide_is_a_line_at_its_bound_with_arrows() {
    let mut run = run();
    let hidden = |at| TimelineSecond { p90_at_least_ms: Some(10_000.0), ..second("none", at, 0, None) };
    run.timeline = (0..100).map(hidden).chain([second("seda", 0, 7, Some(99.4))]).collect();
    run.events.clear();
    let picture = picture(&run);
    // In the legend, and in each of three panels.
    let lines = elements(&picture, "line c0");
    assert_eq!((lines.len(), lines[2].matches('M').count(), lines[2].matches('L').count()), (4, 1, 99), "{lines:?}");
    // 822 units for 100 s, an arrow every 34 at least; of one arm, in one panel.
    let arrows = elements(&picture, "arrow c0").len();
    assert!((20..=26).contains(&arrows) && elements(&picture, "arrow c1").is_empty(), "{arrows}");
    assert!(picture.contains("arrows: time-outs hide the value, it is at least that"));
}

/// Three loads; the p99 of the second is hidden by time-outs, that of the last not known.
fn swept() -> RunFiles {
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
    let mut run = hostile("<script>");
    run.summary.arms[0].phases = vec![PhaseSummary { name: "at-50".to_owned(), measures, ..PhaseSummary::default() }];
    let curve = |arm: &str| Curve { arm: arm.to_owned(), points: points.clone() };
    run.summary.curves = vec![curve("none"), curve("<script>")];
    run
}

#[test]
fn curves_have_a_line_an_arm_in_each_panel_and_say_their_numbers() {
    let picture = chart_over_load(&swept()).expect("three loads").to_svg(&Size::FILE);
    assert!(picture.starts_with("<svg") && picture.ends_with("</svg>\n"), "{picture}");
    assert!(picture.contains("&lt;script&gt;: figures over the load") && !picture.contains("<script>"), "escaped");
    assert!(picture.contains(">planned load, requests/s</text>"), "{picture}");
    // One line each in the legend and in each of three panels.
    for class in ["line c0", "line c1"] {
        assert_eq!(elements(&picture, class).len(), 4, "{class}");
    }
    for told in ["25/s", "20 ms", "50 %"] {
        let title = format!("<title>50 requests/s\nnone: {told}\n&lt;script&gt;: {told}</title>");
        assert!(picture.contains(&title), "{title}: {picture}");
    }
    assert!(picture.contains("none: &gt;= 10.0 s"), "a bound is said to be one: {picture}");
    // Marks: one in the legend, three, one (the second is a bound and the last not known) and three; and an arrow.
    assert_eq!((elements(&picture, "mark c0").len(), elements(&picture, "arrow c0").len()), (8, 1));
}

#[test]
fn a_run_without_a_sweep_has_no_curves() {
    assert!(chart_over_load(&run()).is_none());
}

#[test]
fn faults_of_a_run_in_virtual_time_are_shaded_and_named() {
    let mut run = run();
    run.timeline = vec![second("none", 0, 9, Some(50.0))];
    let time = |secs: u64| serde_json::json!({"secs": secs, "nanos": 0});
    let fault =
        |kind: serde_json::Value| serde_json::json!({"at": time(3), "lasts": time(2), "kind": kind, "service": "auth"});
    let kinds =
        serde_json::json!([{"capacity": 0.3}, {"ramp": {"from": 1.0, "to": 0.5}}, {"latency": time(1)}, "crash"]);
    let faults: Vec<_> = kinds.as_array().expect("a list").iter().cloned().map(fault).collect();
    run.manifest.whole = serde_json::json!({"experiment": {"virtual": {"faults": faults}}});
    run.manifest.mode = Mode::Virtual;
    let shown = picture(&run);
    for name in ["capacity 30 %", "capacity 100 % to 50 %", "latency", "crash"] {
        assert!(shown.contains(&format!("fault: {name} of auth")), "{name}: {shown}");
    }
    // Four in each of three panels: goodput, response times, rejects.
    assert_eq!(elements(&shown, "fault").len(), 12);
    run.manifest.mode = Mode::Live;
    assert!(elements(&picture(&run), "fault").is_empty());
}
