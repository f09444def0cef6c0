//! The answer at the head of a comparison.

use analysis::answer::NO_CONCLUSION;

use super::{
    App, KeyCode, frame, hides, press, presses,
    program::{compared, opened},
    shows,
};
use crate::Palette;

const SEDA: &str = "seda: 84/s of 300/s offered in spike at p90 890 ms, 50 % rejected.";
const NONE: &str = "Without control: 35/s of 300/s offered in spike";

#[test]
fn a_comparison_begins_with_what_every_arm_came_to() {
    let mut app = opened(vec![compared("run-1")]);
    let drawn = frame(&app, Palette::Plain, 120, 40);
    let lines: Vec<&str> = drawn.lines().collect();
    assert!(lines[1].contains("Goodput in spike, most first: seda 84/s, none 35/s; one block"), "{drawn}");
    assert!(lines[2].contains(NONE) && lines[3].contains(&format!(" + {SEDA}")), "{drawn}");
    // One line on a small screen: the arm under the cursor.
    let small = |app: &App| frame(app, Palette::Plain, 80, 24);
    let head = |app: &App| small(app).lines().skip(1).take(2).map(str::to_owned).collect::<Vec<_>>();
    let [said, picture] = &head(&app)[..] else { panic!("two lines") };
    assert!(said.contains(". Without control: 35/s") && said.contains("(Enter: 2 more)"), "{said}");
    assert!(picture.contains("goodput/s .none"), "{picture}");
    press(&mut app, KeyCode::Down);
    assert!(
        head(&app)[0].contains("+ seda: 84/s of 300/s offered in spike") && head(&app)[0].contains("(Enter: 2 more)")
    );
    // All of them are behind the verdict, and the picture alone has the screen to itself.
    press(&mut app, KeyCode::Enter);
    shows(&app, (100, 24), &["what it comes to", NONE, SEDA]);
    presses(&mut app, [KeyCode::Esc, KeyCode::Char('z')]);
    assert!(!frame(&app, Palette::Plain, 120, 40).contains("Without control"));
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
fn the_picture_keeps_half_of_the_screen_and_of_several_runs_that_under_the_cursor_speaks() {
    let mut many = compared("run-1");
    let arm = many.summary.arms[1].clone();
    many.summary.arms.extend((0..30).map(|n| analysis::summary::Arm { policy: format!("policy-{n}"), ..arm.clone() }));
    let app = opened(vec![many, compared("run-2")]);
    for (width, height, least) in [(80, 24, 10), (120, 40, 18), (200, 60, 28), (60, 16, 6)] {
        let drawn = frame(&app, Palette::Plain, width, height);
        let at = |text: &str| {
            drawn.lines().position(|line| line.contains(text)).unwrap_or_else(|| panic!("{text}: {drawn}"))
        };
        let (picture, table) = (at("goodput/s .none"), at("(Tab: another phase)"));
        assert!(table - picture >= least, "{}: {drawn}", table - picture);
        assert!(drawn.contains("A Without control: 35/s") && drawn.contains(" more)"), "{drawn}");
    }
}
