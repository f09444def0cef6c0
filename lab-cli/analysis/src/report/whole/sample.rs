//! Runs for the tests of reports.

use serde_json::json;

use super::RunFiles;
use crate::{
    live::{LiveEvent, PhaseShape, Shape, TimelineSecond},
    manifest::Manifest,
    summary::{
        Arm, BlockResult, Comparison, ComparisonVerdict, GateFinding, LatencyObjective, Measured, PhaseSummary,
        RunSummary, SCHEMA, ThresholdResult, Times, Validity,
    },
};

/// Two arms of one block: without control p90 is hidden by time-outs.
pub fn run() -> RunFiles {
    named("flash-crowd", "seda")
}

/// The same, with a name wherever a name can come from a file or a target.
pub fn hostile(name: &str) -> RunFiles {
    named(name, name)
}

#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn named(experiment: &str, arm: &str) -> RunFiles {
    let none = Measured {
        planned: 100,
        sent: 100,
        served: 60,
        timed_out: 40,
        goodput_per_s: 2.0,
        offered_per_s: 3.3,
        response_time_ms: Times {
            p50: Some(800.0),
            p90_at_least: Some(60_000.0),
            count: 60,
            censored: 40,
            ..Times::default()
        },
        ..Measured::default()
    };
    let seda = Measured {
        planned: 200,
        sent: 200,
        served: 150,
        rejected: 50,
        goodput_per_s: 5.0,
        offered_per_s: 6.6,
        reject_fraction: 0.25,
        response_time_ms: Times { p50: Some(300.0), p90: Some(900.0), count: 150, ..Times::default() },
        ..Measured::default()
    };
    let kind = if arm == "seda" { "list messages" } else { arm };
    let phase = |measured: &Measured| PhaseSummary {
        name: "spike".to_owned(),
        seconds: 30.0,
        users: 1000,
        measured: measured.clone(),
        by_type: [(kind.to_owned(), measured.clone())].into(),
        ..PhaseSummary::default()
    };
    let turn = |name: &str, measured: &Measured| Arm {
        name: name.to_owned(),
        policy: name.to_owned(),
        parameters: [("target".to_owned(), json!(name))].into(),
        block: 1,
        valid: true,
        verdict: Validity::Warn,
        phases: vec![phase(measured)],
        ..Arm::default()
    };
    let reason = GateFinding {
        code: "STEAL".to_owned(),
        verdict: Validity::Warn,
        arm: arm.to_owned(),
        value: "0.6 %".to_owned(),
        threshold: "0.5 %".to_owned(),
        message: "another guest had the processors".to_owned(),
        remedy: "run again".to_owned(),
    };
    let threshold = |text: &str, held| ThresholdResult {
        text: text.to_owned(),
        held,
        judged: true,
        why: format!("found 900.0 ms in {arm}"),
        values: vec![Some(900.0)],
        blocks: vec![BlockResult { block: 1, held, judged: true, found: "found 900.0 ms".to_owned() }],
        aborted: None,
    };
    let comparison = Comparison {
        metric: "goodput_per_s".to_owned(),
        phase: "spike".to_owned(),
        baseline: "none".to_owned(),
        policy: arm.to_owned(),
        verdict: ComparisonVerdict::Undecided,
        primary: true,
        ratio: Some(2.5),
        blocks: 1,
        margin: 0.05,
        ..Comparison::default()
    };
    let summary = RunSummary {
        schema: SCHEMA,
        experiment: experiment.to_owned(),
        verdict: Validity::Warn,
        valid: true,
        reasons: vec![reason],
        objective: LatencyObjective { percentile: 90.0, response_time_ms: 1000.0 },
        arms: vec![turn("none", &none), turn(arm, &seda)],
        thresholds: vec![
            threshold(&format!("{arm}.spike.response_time.p90 < 2s"), true),
            threshold("none.x > 1", false),
        ],
        comparisons: vec![comparison],
        ..RunSummary::default()
    };
    let whole = json!({
        "lab": "0.1.0", "mode": "live", "capacity": null, "seed": 1,
        "blocks": [{"block": 1, "seed": 1, "order": ["none", arm], "plan": "abc"}],
        "experiment": {
            "name": experiment, "about": format!("about {experiment}"),
            "objective": {"percentile": 90.0, "response_time_ms": 1000.0}, "thresholds": [], "compare": {},
            "arms": [{"label": "none"}, {"label": arm}]
        },
        "host": {"cores": 2, "kernel": experiment, "debug_build": false}
    });
    let manifest: Manifest = serde_json::from_value(whole.clone()).expect("a manifest");
    let second = |name: &str, second: u32| TimelineSecond {
        arm: name.to_owned(),
        block: 1,
        second,
        phase: "spike".to_owned(),
        planned: 10,
        offered: 40,
        goodput: u64::from(second),
        served: u64::from(second),
        p90_ms: (second > 3).then_some(f64::from(second) * 100.0),
        ..TimelineSecond::default()
    };
    let shape = Shape {
        experiment: experiment.to_owned(),
        mode: summary.mode,
        about: format!("about {experiment}"),
        objective: summary.objective,
        arms: vec!["none".to_owned(), arm.to_owned()],
        blocks: 1,
        capacity_per_s: None,
        capacity_changes: Vec::new(),
        phases: vec![PhaseShape { name: "spike".to_owned(), seconds: 30.0, load: "1000 users".to_owned() }],
    };
    RunFiles {
        name: format!("{experiment}-20261122T065804Z"),
        manifest: Manifest { whole, ..manifest },
        summary,
        timeline: (0..30).flat_map(|n| [second("none", n), second(arm, n)]).collect(),
        events: vec![LiveEvent::RunStarted(shape), LiveEvent::Note { text: format!("note of {arm}") }],
        times: Vec::new(),
    }
}
