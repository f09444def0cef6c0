//! Figures of small runs that were made up.

use super::{
    FigurePlan, Limit, MeasurePlan, Over, PanelPlan, PaperCurve,
    evaluate::{Evaluation, MeasuredRun},
    merit::Merit,
};
use crate::{
    chart::{Chart, Scale, Size},
    live::{StageSecond, TargetSecond, TimelineSecond},
    series::value::Value,
    summary::{Arm, Measured, Measures, PhaseSummary, PlannedLoad, Times},
};

fn measured(p90_ms: f64, rejected: f64) -> Measured {
    let response_time_ms = Times { p90: Some(p90_ms), ..Times::default() };
    Measured { sent: 100, reject_fraction: rejected, response_time_ms, ..Measured::default() }
}

/// An arm at 1, 2 and 4 users, with two request types; the last percentile is hidden by time-outs.
fn arm(name: &str, p90_ms: f64) -> Arm {
    let phase = |users: u32| {
        let mut all = measured(p90_ms * f64::from(users), 0.1 * f64::from(users));
        if users == 4 {
            all.response_time_ms = Times { p90_at_least: Some(60_000.0), ..Times::default() };
        }
        PhaseSummary {
            name: format!("at-{users}"),
            seconds: 10.0,
            measures: Measures { load: Some(PlannedLoad::Users(users)), ..Measures::default() },
            measured: all,
            by_type: [("login".to_owned(), measured(p90_ms, 0.0)), ("search".to_owned(), measured(p90_ms * 2.0, 0.5))]
                .into(),
            ..PhaseSummary::default()
        }
    };
    Arm { policy: name.to_owned(), block: 1, phases: [1, 2, 4].map(phase).into(), ..Arm::default() }
}

/// A gauge that falls by one a second.
fn timeline() -> Vec<TimelineSecond> {
    let second = |n: u32| {
        let gauges = [("quality".to_owned(), f64::from(30 - n))].into();
        let stages = vec![StageSecond { name: "work".to_owned(), gauges, ..StageSecond::default() }];
        let phase = ["at-1", "at-2", "at-4"][n as usize / 10].to_owned();
        let target = Some(TargetSecond { stages, ..TargetSecond::default() });
        TimelineSecond { arm: "seda".to_owned(), block: 1, second: n, phase, target, ..TimelineSecond::default() }
    };
    (0..30).map(second).collect()
}

fn panel(title: &str, draw: &[(&str, &str)]) -> PanelPlan {
    let measure =
        |(name, measure): &(&str, &str)| MeasurePlan { name: (*name).to_owned(), measure: (*measure).to_owned() };
    PanelPlan { title: title.to_owned(), draw: draw.iter().map(measure).collect(), ..PanelPlan::default() }
}

fn drawn(plan: &FigurePlan) -> Chart {
    let arms = [arm("none", 1000.0), arm("seda", 100.0)];
    let timeline = timeline();
    let run = MeasuredRun { arms: &arms, arm_runs: &[], timeline: &timeline };
    let order = vec!["none".to_owned(), "seda".to_owned()];
    Evaluation { plan, run, block: 1, order }.figure("made-up: <two> arms".to_owned())
}

/// An element a line.
fn in_lines(svg: &str) -> String {
    svg.replace("><", ">\n<")
}

fn over_the_load() -> FigurePlan {
    let curve = PaperCurve {
        name: "paper, control (digitised)".to_owned(),
        beside: Some("seda".to_owned()),
        points: vec![[1.0, 0.2], [4.0, 0.3]],
    };
    FigurePlan {
        over: Over::Load,
        log: true,
        panels: vec![
            PanelPlan {
                log: true,
                limit: Some(Limit { name: "target".to_owned(), at: 1.5 }),
                paper: vec![curve],
                ..panel("90th percentile", &[("", "response_time.p90")])
            },
            PanelPlan { arms: vec!["seda".to_owned()], ..panel("rejected", &[("", "reject_fraction")]) },
        ],
        note: Some("Made up.".to_owned()),
        ..FigurePlan::default()
    }
}

#[test]
fn over_the_load_a_point_is_a_phase_and_the_papers_curve_has_the_colour_of_its_line() {
    let figure = drawn(&over_the_load());
    assert_eq!(figure.across.scale, Scale::Log(vec![1.0, 2.0, 4.0]));
    assert_eq!((figure.across.title.as_str(), figure.panels[0].with_unit().as_str()), ("users", "90th percentile, s"));
    let names: Vec<&str> = figure.legend().iter().map(|line| line.name.as_str()).collect();
    assert_eq!(names, ["none", "seda", "paper, control (digitised)"]);
    let [none, seda, paper] = &figure.panels[0].lines[..] else { panic!("three lines") };
    assert_eq!(
        none.points,
        [
            (1.0, Some(Value::known(1.0))),
            (2.0, Some(Value::known(2.0))),
            (4.0, Some(Value { at: 60.0, at_least: true }))
        ]
    );
    assert_eq!((seda.colour, paper.colour, paper.paper), (Some(1), Some(1), true));
    assert_eq!(figure.panels[1].lines[0].colour, Some(1), "a line has its colour in every panel");
    let svg = figure.to_svg(&Size::FIGURE);
    let (head, body) = svg.split_once("<style>").expect("a style sheet");
    let (_, body) = body.split_once("</style>").expect("an end");
    insta::assert_snapshot!("over_the_load", in_lines(&format!("{head}{body}")));
}

#[test]
fn points_of_a_scatter_are_all_marked_in_whatever_order_they_come_and_have_a_cubic() {
    let mut arms = [arm("seda", 100.0)];
    // Loads of 4, 1, 3 and 2 users: a record high, and three that are none.
    let phase = |users: u32| {
        let mut phase = arms[0].phases[0].clone();
        phase.name = format!("at-{users}");
        phase.measures.load = Some(PlannedLoad::Users(users));
        phase
    };
    arms[0].phases = [4, 1, 3, 2].map(phase).into();
    let plan = FigurePlan {
        over: Over::Load,
        scatter: true,
        cubic: true,
        panels: vec![PanelPlan {
            printed: [("at one".to_owned(), "seda.at-1.response_time.p90 == 0.4s".to_owned())].into(),
            ..panel("90th percentile", &[("", "response_time.p90")])
        }],
        ..FigurePlan::default()
    };
    let run = MeasuredRun { arms: &arms, arm_runs: &[], timeline: &[] };
    let figure = Evaluation { plan: &plan, run, block: 1, order: vec!["seda".to_owned()] }.figure(String::new());
    let [points, cubic] = &figure.panels[0].lines[..] else { panic!("points and a cubic") };
    assert!(!points.fitted && cubic.fitted && cubic.colour == points.colour && cubic.points.len() == 61);
    let svg = figure.to_svg(&Size::FIGURE);
    let (marks, told) = (svg.matches("class=\"mark c0\"").count(), svg.matches("\nseda: ").count());
    assert_eq!((marks, told), (1 + 4, 4), "the legend and each point have a mark, the cubic has none");
    let merit = Merit::of(&figure).expect("a number of the paper");
    assert_eq!(merit.numbers[0].ours, Some(Value::known(0.1)), "in the unit of the panel");
    assert!((merit.median_distance.expect("known") - 0.75).abs() < 1e-9 && !plan.reads_parts());
}

#[test]
fn bars_are_of_types_phases_or_arms() {
    let types = FigurePlan {
        over: Over::Types,
        types: ["login", "search"].map(str::to_owned).into(),
        panels: vec![PanelPlan {
            phases: vec!["at-2".to_owned()],
            ..panel("90th percentile", &[("", "response_time.p90")])
        }],
        ..FigurePlan::default()
    };
    let figure = drawn(&types);
    let points = &figure.panels[0].lines[1].points;
    assert_eq!(points, &[(0.0, Some(Value::known(0.1))), (1.0, Some(Value::known(0.2)))]);
    insta::assert_snapshot!("bars", in_lines(&figure.inline(&Size::FIGURE).into_string()));

    let figure = drawn(&FigurePlan::undeclared());
    assert_eq!(figure.across.scale, Scale::Groups(["at-1", "at-2", "at-4"].map(str::to_owned).into()));
    assert_eq!(figure.panels[2].lines[0].points[1], (1.0, Some(Value::known(0.2))));

    let arms = FigurePlan {
        over: Over::Arms,
        phases: vec!["at-1".to_owned()],
        panels: vec![panel("rejected", &[("", "reject_fraction")])],
        ..FigurePlan::default()
    };
    let figure = drawn(&arms);
    assert_eq!(figure.across.scale, Scale::Groups(["none", "seda"].map(str::to_owned).into()));
    assert_eq!((figure.panels[0].lines.len(), figure.panels[0].lines[0].points.len()), (1, 2));
}

#[test]
fn names_in_two_rows_have_room_above_the_next_panel() {
    let heights = ["search", "show message"].map(|last| {
        let types = ["login", "refile", "delete", "list", "read", "open", last].map(str::to_owned).into();
        let panels = ["one", "two"].map(|title| panel(title, &[("", "response_time.p90")])).into();
        let figure = drawn(&FigurePlan { over: Over::Types, types, panels, ..over_the_load() });
        let svg = figure.inline(&Size::FIGURE).into_string();
        let (_, rest) = svg.split_once("viewBox=\"0 0 480 ").expect("a size");
        let (height, _) = rest.split_once('"').expect("a number");
        height.parse::<f64>().expect("a number")
    });
    assert_eq!(heights[1] - heights[0], 26.0, "a row for each panel");
}

#[test]
fn over_time_a_gauge_is_drawn_second_by_second_and_phases_have_walls() {
    let plan = FigurePlan {
        over: Over::Time,
        arms: vec!["seda".to_owned()],
        panels: vec![panel("quality", &[("", "gauge.work.quality")])],
        ..FigurePlan::default()
    };
    let figure = drawn(&plan);
    let line = &figure.panels[0].lines[0];
    assert_eq!((line.points.len(), line.points[29]), (30, (29.5, Some(Value::known(1.0)))));
    assert_eq!(figure.across.bands.iter().map(|band| band.from).collect::<Vec<_>>(), [0.0, 10.0, 20.0]);
    assert_eq!(figure.across.scale, Scale::Linear([0.0, 30.0]));
    assert!(figure.panels[0].values().next().is_some());
    let part = FigurePlan { phases: vec!["at-2".to_owned()], ..plan };
    assert_eq!(drawn(&part).across.scale, Scale::Linear([10.0, 20.0]));
}

#[test]
fn a_gauge_of_every_fifth_second_is_joined_and_a_longer_gap_is_one() {
    let mut timeline = timeline();
    // Shown in the seconds 4, 9, 14 and 29: the windows in between had too few requests.
    for second in timeline.iter_mut().filter(|second| ![4, 9, 14, 29].contains(&second.second)) {
        second.target = None;
    }
    let plan = FigurePlan {
        over: Over::Time,
        arms: vec!["seda".to_owned()],
        panels: vec![panel("quality", &[("", "gauge.work.quality")])],
        ..FigurePlan::default()
    };
    let arms = [arm("seda", 100.0)];
    let run = MeasuredRun { arms: &arms, arm_runs: &[], timeline: &timeline };
    let evaluation = Evaluation { plan: &plan, run, block: 1, order: vec!["seda".to_owned()] };
    let line = evaluation.figure(String::new()).panels[0].lines[0].points.clone();
    let known = |at: f64| Some(Value::known(at));
    assert_eq!(line, [(4.5, known(26.0)), (9.5, known(21.0)), (14.5, known(16.0)), (22.0, None), (29.5, known(1.0))]);
}

#[test]
fn names_are_escaped_and_nothing_is_loaded() {
    let svg = drawn(&over_the_load()).to_svg(&Size::FIGURE);
    assert!(svg.contains("made-up: &lt;two&gt; arms") && svg.starts_with("<svg xmlns"));
    let address = "http://www.w3.org/2000/svg";
    assert!(!svg.replace(address, "").contains("http") && !svg.contains("<script") && !svg.contains("url("));
    assert!(svg.contains("\nnone: &gt;= 60") && svg.contains("h8l-4 -8z"), "a bound has an arrow");
}
