//! Arms that are over beside the one that runs.

use super::*;

/// `none` collapses in the spike, and is over; `seda` runs, and keeps most.
fn two_arms() -> App {
    let mut app = started();
    turn(&mut app, "none", 52, |at| if at < 10 { (60, 40.0) } else { (10, 8000.0) });
    happened(&mut app, LiveEvent::ArmFinished(Box::new(Arm { policy: "none".to_owned(), ..Arm::default() })));
    turn(&mut app, "seda", 27, |at| if at < 10 { (60, 45.0) } else { (80, 700.0) });
    app
}

fn turn(app: &mut App, arm: &str, seconds: u32, of: impl Fn(u32) -> (u64, f64)) {
    happened(app, LiveEvent::ArmStarted { arm: arm.to_owned(), block: 1, policy: None });
    for at in 0..seconds {
        let (goodput, p90) = of(at);
        let second = TimelineSecond { served: goodput, p90_ms: Some(p90), ..second(at) };
        happened(app, LiveEvent::Second(Box::new(second)));
    }
}

#[test]
fn an_arm_that_runs_is_drawn_over_those_that_are_over() {
    let app = two_arms();
    let drawn = frame(&app, Palette::Plain, 120, 40);
    assert!(drawn.contains(".none") && drawn.contains("+in time"), "{drawn}");
    insta::assert_snapshot!(drawn);
}

#[test]
fn between_two_arms_those_that_are_over_stay() {
    let mut app = two_arms();
    happened(&mut app, LiveEvent::ArmFinished(Box::new(Arm { policy: "seda".to_owned(), ..Arm::default() })));
    shows(&app, (80, 24), &["preparing", "[7] finished arms"]);
    press(&mut app, KeyCode::Char('1'));
    shows(&app, (80, 24), &[".none", "+seda"]);
}

#[test]
fn another_block_takes_the_place_of_the_one_before() {
    let mut app = two_arms();
    happened(&mut app, LiveEvent::ArmFinished(Box::new(Arm { policy: "seda".to_owned(), ..Arm::default() })));
    turn(&mut app, "none", 5, |_| (60, 40.0));
    press(&mut app, KeyCode::Char('1'));
    let drawn = frame(&app, Palette::Plain, 80, 24);
    let legend = drawn.lines().find(|line| line.contains("[1]")).expect("a title");
    assert_eq!((legend.matches("none").count(), legend.matches("seda").count()), (0, 1), "{drawn}");
}
