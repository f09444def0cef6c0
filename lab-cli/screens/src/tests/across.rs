//! One run against another.

use analysis::{
    judge::compare::Across,
    summary::{Comparison, ComparisonVerdict},
};

use super::{
    App, KeyCode, ScreenMessage, frame, press,
    program::{compared, opened},
};
use crate::{Palette, RunsCompared};

/// What was found of an arm of both runs in the spike.
fn found(arm: &str, metric: &str, interval: Option<[f64; 2]>) -> Across {
    let blocks = if interval.is_some() { 7 } else { 1 };
    let comparison = Comparison {
        metric: metric.to_owned(),
        phase: "spike".to_owned(),
        baseline: format!("run-1:{arm}"),
        policy: format!("run-2:{arm}"),
        verdict: if interval.is_some() { ComparisonVerdict::Better } else { ComparisonVerdict::Undecided },
        ratio: Some(1.3),
        interval,
        blocks,
        ..Comparison::default()
    };
    Across { paired: true, turns: [blocks as usize; 2], comparison }
}

fn two_runs(interval: Option<[f64; 2]>) -> App {
    let mut app = opened(vec![compared("run-1"), compared("run-2")]);
    let all = ["none", "seda"].map(|arm| found(arm, "goodput_per_s", interval));
    let folders = ["runs/run-1", "runs/run-2"].map(Into::into);
    let phases = [("spike".to_owned(), all.to_vec())].into();
    app.receive(ScreenMessage::Compared(Box::new(RunsCompared {
        folders,
        phases,
        notes: vec!["note: another lab".to_owned()],
    })));
    app
}

fn row(drawn: &str, name: &str) -> (usize, String) {
    let is_it = |(_, line): &(usize, &str)| line.contains(name) && line.contains(" 50 %");
    let (at, line) = drawn.lines().enumerate().find(is_it).unwrap_or_else(|| panic!("{name}: {drawn}"));
    (at, line.to_owned())
}

#[test]
fn each_arm_of_the_second_run_stands_below_its_like_with_the_ratio_and_its_interval() {
    let mut app = two_runs(Some([1.2, 1.4]));
    let drawn = frame(&app, Palette::Plain, 120, 40);
    let rows = ["none · A", "none · B", "seda · A", "seda · B"].map(|name| row(&drawn, name));
    assert!(rows.windows(2).all(|pair| pair[0].0 + 1 == pair[1].0), "{drawn}");
    assert!(drawn.contains("goodput/s B / A") && rows[3].1.contains("better x1.30 [1.20, 1.40]"), "{drawn}");
    assert!(!rows[2].1.contains("x1.30"), "the first run is what it is held against: {drawn}");
    let table = app.compare.as_markdown();
    assert!(table.contains("| goodput/s B / A |") && table.contains("better x1.30 [1.20, 1.40] |"), "{table}");
    // A key leads back to each run with its own baseline, and here again.
    press(&mut app, KeyCode::Char('a'));
    let drawn = frame(&app, Palette::Plain, 120, 40);
    assert!(
        drawn.contains("goodput/s against none") && row(&drawn, "seda · A").0 < row(&drawn, "none · B").0,
        "{drawn}"
    );
    press(&mut app, KeyCode::Char('a'));
    assert!(frame(&app, Palette::Plain, 120, 40).contains("goodput/s B / A"));
    // A baseline of one's own is another comparison.
    press(&mut app, KeyCode::Char('b'));
    assert!(frame(&app, Palette::Plain, 120, 40).contains("goodput/s against seda · A"));
    press(&mut app, KeyCode::Enter);
    assert!(frame(&app, Palette::Plain, 120, 60).contains("note: another lab"));
}

#[test]
fn too_few_blocks_describe_and_decide_nothing() {
    let app = two_runs(None);
    let drawn = frame(&app, Palette::Plain, 140, 40);
    assert!(row(&drawn, "seda · B").1.contains("~ x1.30, decides nothing"), "{drawn}");
}

#[test]
fn without_two_runs_that_can_be_compared_the_key_says_why() {
    let mut app = opened(vec![compared("run-1")]);
    press(&mut app, KeyCode::Char('a'));
    assert!(frame(&app, Palette::Plain, 120, 40).contains("tick two of the past runs"));
    app.receive(ScreenMessage::Opened(vec![compared("run-1"), compared("run-2")]));
    let folders = ["runs/run-1", "runs/run-2"].map(Into::into);
    let notes = vec!["run-1 and run-2: one is live, the other in virtual time".to_owned()];
    app.receive(ScreenMessage::Compared(Box::new(RunsCompared { folders, notes, ..RunsCompared::default() })));
    assert!(frame(&app, Palette::Plain, 120, 40).contains("goodput/s against none"), "each run for itself");
    press(&mut app, KeyCode::Char('a'));
    assert!(frame(&app, Palette::Plain, 120, 40).contains("one is live, the other in virtual time"));
    // Of runs that were shown before, it comes too late.
    let mut app = App::default();
    app.receive(ScreenMessage::Opened(vec![compared("run-3"), compared("run-4")]));
    app.receive(ScreenMessage::Compared(Box::new(RunsCompared {
        folders: ["runs/run-1", "runs/run-2"].map(Into::into),
        ..RunsCompared::default()
    })));
    assert!(app.compare.between().is_none());
}
