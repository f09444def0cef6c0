//! The response times of an arm as a heat map.

use analysis::{
    report::{ArmTimes, LogRead, TimeCounts},
    summary::Mode,
};

use super::{
    App, Effect, KeyCode, ScreenMessage, frame, press, presses,
    program::{compared, opened},
};
use crate::{Palette, ScreenJob, TimesWanted};

/// The comparison of a run with the picture of response times, and what it has asked for.
fn looked_at(mode: Mode) -> (App, TimesWanted) {
    let mut run = compared("run-1");
    run.summary.mode = mode;
    let mut app = opened(vec![run]);
    while app.wanted().is_some() {}
    presses(&mut app, [KeyCode::Char('v'); 2]);
    let Some(Effect::Job(ScreenJob::Times(wanted))) = app.wanted() else { panic!("times are asked for") };
    assert!(app.wanted().is_none(), "once");
    (app, wanted)
}

fn frame_with_times(app: &mut App, of: &TimesWanted, times: ArmTimes) -> String {
    app.receive(ScreenMessage::Times(of.clone(), Box::new(times)));
    frame(app, Palette::Plain, 100, 30)
}

/// In the spike half of the requests take 100 ms, some 2 s, and a tenth is given up after 10 s.
fn seconds() -> Vec<(u32, TimeCounts)> {
    let calm = || TimeCounts { known: vec![(5_000, 30), (9_000, 30)], censored: Vec::new() };
    let spike = || TimeCounts { known: vec![(100_000, 50), (2_000_000, 40)], censored: vec![(10_000_000, 10)] };
    (0..40).map(|second| (second, if second < 10 { calm() } else { spike() })).collect()
}

#[test]
fn shades_are_shares_of_the_requests_of_a_second() {
    let (mut app, wanted) = looked_at(Mode::Live);
    assert_eq!((wanted.arm.as_str(), wanted.block), ("seda", 1));
    assert!(frame(&app, Palette::Plain, 100, 30).contains("being read"));
    let times = ArmTimes { seconds: seconds(), seconds_log: LogRead::Whole, ..ArmTimes::default() };
    let drawn = frame_with_times(&mut app, &wanted, times);
    assert!(drawn.contains(" seda: response times ") && drawn.contains("░░ < 5 %"), "{drawn}");
    insta::assert_snapshot!("response_times_of_an_arm", drawn);
    // The phase can have the axis to itself.
    press(&mut app, KeyCode::Char('p'));
    let zoomed = frame(&app, Palette::Plain, 100, 30);
    assert!(zoomed.lines().any(|line| line.contains("10      ") && line.contains("40 s")), "{zoomed}");
    // Another arm is asked for, this one is kept.
    press(&mut app, KeyCode::Down);
    assert!(matches!(app.wanted(), Some(Effect::Job(ScreenJob::Times(of))) if of.arm == "none"));
    press(&mut app, KeyCode::Up);
    assert!(app.wanted().is_none());
    for (width, height) in [(60, 16), (80, 24), (200, 60)] {
        let _ = frame(&app, Palette::COLOURS, width, height);
    }
}

#[test]
fn what_is_missing_or_cut_off_is_said() {
    let (mut app, wanted) = looked_at(Mode::Live);
    let drawn = frame_with_times(&mut app, &wanted, ArmTimes::default());
    assert!(drawn.contains("no picture: there is no log of its seconds in the run's folder"), "{drawn}");
    let torn = ArmTimes { seconds: seconds(), seconds_log: LogRead::Torn, ..ArmTimes::default() };
    let drawn = frame_with_times(&mut app, &wanted, torn);
    assert!(drawn.contains("seda: response times, as far as their log goes: it is cut off"), "{drawn}");
    let why = "bad\u{1b}[2J".to_owned();
    let drawn =
        frame_with_times(&mut app, &wanted, ArmTimes { seconds_log: LogRead::Unreadable(why), ..ArmTimes::default() });
    assert!(drawn.contains("no picture: the log of its seconds cannot be read (bad\u{fffd}[2J)"), "{drawn}");
    // Of another run's folder, or of an arm that is not there: nothing happens.
    let elsewhere = TimesWanted { folder: "runs/other".into(), ..wanted.clone() };
    assert_eq!(frame_with_times(&mut app, &elsewhere, ArmTimes::default()), drawn);
}

#[test]
fn in_virtual_time_phases_are_drawn_and_the_reason_is_said() {
    let (mut app, wanted) = looked_at(Mode::Virtual);
    let drawn = frame_with_times(&mut app, &wanted, ArmTimes::default());
    assert!(drawn.contains("no picture: no seconds are logged in virtual time"), "{drawn}");
    let of = |counts: &[(u64, u64)]| TimeCounts { known: counts.to_vec(), censored: Vec::new() };
    let phases = vec![("before".to_owned(), of(&[(9_000, 9)])), ("spike".to_owned(), of(&[(90_000, 6), (900_000, 3)]))];
    let drawn = frame_with_times(&mut app, &wanted, ArmTimes { phases, ..ArmTimes::default() });
    assert!(drawn.contains("seda: response times, by phase: no seconds are logged in virtual time"), "{drawn}");
    let row = drawn.lines().filter(|line| line.contains(&"█".repeat(20)) && !line.contains("50 %")).collect::<Vec<_>>();
    assert_eq!(row.len(), 2, "most of each phase: {drawn}");
}
