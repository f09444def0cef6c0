//! The answer at the head of a comparison.

use analysis::answer::NO_CONCLUSION;

use super::{
    KeyCode, frame, hides, press, presses,
    program::{compared, opened},
    shows,
};
use crate::Palette;

const SEDA: &str = "seda: 84/s of 300/s offered in spike at p90 890 ms, 50 % rejected.";
const NONE: &str = "Without control: 35/s of 300/s offered in spike";

#[test]
fn a_comparison_begins_with_what_to_deploy_and_the_order_of_the_arms() {
    let mut app = opened(vec![compared("run-1")]);
    for (width, height) in [(60, 16), (80, 24), (100, 30), (120, 40), (200, 60)] {
        let drawn = frame(&app, Palette::Plain, width, height);
        let at = |text: &str| drawn.lines().position(|line| line.contains(text)).unwrap_or_else(|| panic!("{drawn}"));
        assert!(at("Deploy seda: no arm serves more") == 1, "{drawn}");
        assert!(height == 16 || at("$ lab proxy --to URL --policy seda") < 4, "{drawn}");
        assert!(height == 16 || at("How sure: one block") < 7, "{drawn}");
        assert!(at(" $★ + seda ") + 1 == at(" 2 . none "), "{drawn}");
    }
    shows(&app, (120, 40), &["Goodput in spike, most first: seda 84/s, none 35/s; one block"]);
    // The arm under the cursor says what it did, and why.
    shows(
        &app,
        (120, 40),
        &[" seda: what it did ", SEDA, "why: own p90 rose from 40 ms to 900 ms, rate/s stayed at 7.2"],
    );
    press(&mut app, KeyCode::Down);
    shows(&app, (120, 40), &[" none: what it did ", NONE, "no control: everything comes in"]);
    // All of it is behind the verdict, and the picture alone has the screen to itself.
    press(&mut app, KeyCode::Enter);
    shows(&app, (100, 24), &["what it comes to", NONE, SEDA]);
    presses(&mut app, [KeyCode::Esc, KeyCode::Char('z')]);
    hides(&app, (120, 40), &["Without control", "Deploy"]);
}

#[test]
fn an_invalid_run_begins_with_what_reports_say_of_it() {
    let mut run = compared("run-1");
    run.summary.valid = false;
    let mut app = opened(vec![run]);
    shows(&app, (120, 40), &[&format!("! {NO_CONCLUSION}")]);
    hides(&app, (120, 40), &["Without control"]);
    assert!(frame(&app, Palette::Plain, 80, 24).contains("! INVALID: the measurement went wrong"));
    press(&mut app, KeyCode::Enter);
    assert!(frame(&app, Palette::Plain, 120, 40).contains(NO_CONCLUSION));
}

#[test]
fn the_picture_keeps_a_part_of_the_screen_and_of_several_runs_that_under_the_cursor_speaks() {
    let mut many = compared("run-1");
    let arm = many.summary.arms[1].clone();
    many.summary.arms.extend((0..30).map(|n| analysis::summary::Arm { policy: format!("policy-{n}"), ..arm.clone() }));
    let app = opened(vec![many, compared("run-2")]);
    for (width, height, picture, table) in [(80, 24, 5, 5), (120, 40, 8, 13), (200, 60, 14, 23), (60, 16, 2, 4)] {
        let drawn = frame(&app, Palette::Plain, width, height);
        let at = |text: &str| {
            drawn.lines().position(|line| line.contains(text)).unwrap_or_else(|| panic!("{text}: {drawn}"))
        };
        let axis = drawn.lines().filter(|line| line.contains("│ ")).count();
        assert!(at("  over time  ") - at("who wins in spike") >= table && axis >= picture, "{drawn}");
        assert!(drawn.contains(" A Deploy "), "{drawn}");
    }
}
