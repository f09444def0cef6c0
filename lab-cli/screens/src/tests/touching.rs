//! Keys that change a live run.

use analysis::live::{NOT_DONE, Shape, Touch};

use super::{
    App, Effect, KeyCode, LiveEvent, Mode, Palette, UserRequest, frame, happened, press, presses, running, started,
};

fn asked(effect: Option<Effect>) -> Touch {
    match effect {
        Some(Effect::Ask(UserRequest::Touch(touch))) => touch,
        other => panic!("{other:?}"),
    }
}

fn touched(app: &mut App, second: f64, touch: Touch) {
    happened(app, LiveEvent::Touched { second, touch });
}

#[test]
fn a_form_is_filled_in_and_the_touch_asked_for() {
    let mut app = running();
    assert!(press(&mut app, KeyCode::Char('s')).is_none());
    insta::assert_snapshot!(frame(&app, Palette::Plain, 80, 24));
    // Keys are written, and mean nothing else.
    presses(&mut app, [KeyCode::Backspace; 3]);
    press(&mut app, KeyCode::Char('q'));
    assert!(press(&mut app, KeyCode::Enter).is_none(), "q is no number");
    assert!(frame(&app, Palette::Plain, 80, 24).contains("1 to 10000"));
    presses(&mut app, [KeyCode::Backspace, KeyCode::Char('7')]);
    assert_eq!(asked(press(&mut app, KeyCode::Enter)), Touch::Spike { users: 7, seconds: 10.0 });
    assert!(frame(&app, Palette::Plain, 80, 24).contains("asked for: 7 more users for 10 s"));
    press(&mut app, KeyCode::Char('c'));
    assert!(press(&mut app, KeyCode::Esc).is_none());
    assert!(!frame(&app, Palette::Plain, 80, 24).contains("less capacity"), "given up");
}

#[test]
fn what_was_done_is_in_the_log_on_the_time_line_and_against_the_run() {
    let mut app = running();
    touched(&mut app, 20.3, Touch::Capacity { share: 0.2, seconds: 5.0 });
    let drawn = frame(&app, Palette::Plain, 120, 40);
    assert!(drawn.contains("20 s  you     capacity at 20 % for 5 s"), "{drawn}");
    assert!(drawn.contains("so far TOUCHED"), "{drawn}");
    // A line of its own in both plots.
    assert!(drawn.lines().filter(|line| line.matches('!').count() >= 2).count() >= 3, "{drawn}");
}

#[test]
fn the_headline_names_the_policy_that_decides_now() {
    let mut app = running();
    let head = |app: &App| frame(app, Palette::Plain, 120, 40).lines().next().expect("a line").to_owned();
    assert!(head(&app).contains("arm 2 of 3: seda   27 s") && !head(&app).contains('>'), "{}", head(&app));
    let policy = |name: &str, settings: &[(&str, f64)]| Touch::Policy {
        name: name.to_owned(),
        settings: settings.iter().map(|&(name, value)| (name.to_owned(), value.into())).collect(),
        at: None,
    };
    touched(&mut app, 20.3, policy("fixed-rate", &[]));
    assert!(head(&app).contains("arm 2 of 3: seda > fixed-rate (rate 100)"), "{}", head(&app));
    touched(&mut app, 22.1, policy("fixed-rate", &[("rate", 80.0)]));
    assert!(head(&app).contains("seda > fixed-rate (rate 80)"), "{}", head(&app));
    touched(&mut app, 23.1, policy("none", &[]));
    assert!(head(&app).contains("seda > none   27 s"), "{}", head(&app));
    // The next arm begins with its own.
    happened(&mut app, LiveEvent::ArmStarted { arm: "connections".to_owned(), block: 1, policy: None });
    assert!(head(&app).contains("connections") && !head(&app).contains('>'), "{}", head(&app));
}

#[test]
fn what_could_not_be_done_is_told_with_the_reason() {
    let mut app = running();
    assert_eq!(asked(press(&mut app, KeyCode::Char('a'))), Touch::Pause);
    happened(&mut app, LiveEvent::Note { text: format!("{NOT_DONE}arrivals paused: nobody is there") });
    let drawn = frame(&app, Palette::Plain, 80, 24);
    assert_eq!(drawn.matches("nobody is there").count(), 2, "in the log and below it:\n{drawn}");
    assert!(!drawn.contains("asked for:"), "{drawn}");
}

#[test]
fn arrivals_pause_and_go_on() {
    let mut app = running();
    assert_eq!(asked(press(&mut app, KeyCode::Char('a'))), Touch::Pause);
    touched(&mut app, 20.0, Touch::Pause);
    assert_eq!(asked(press(&mut app, KeyCode::Char('a'))), Touch::Resume);
    touched(&mut app, 22.0, Touch::Resume);
    assert_eq!(asked(press(&mut app, KeyCode::Char('a'))), Touch::Pause);
}

#[test]
fn a_parameter_of_the_policy_in_force_is_edited_also_after_a_switch() {
    let mut app = running();
    press(&mut app, KeyCode::Char('e'));
    assert!(frame(&app, Palette::Plain, 80, 24).contains("another value of a parameter"));
    press(&mut app, KeyCode::Tab);
    presses(&mut app, [KeyCode::Backspace; 20]);
    for c in ['2', 's'] {
        press(&mut app, KeyCode::Char(c));
    }
    let seda = asked(press(&mut app, KeyCode::Enter));
    assert!(matches!(&seda, Touch::Policy { name, settings, .. } if name == "seda" && settings.len() == 1), "{seda:?}");
    let codel = Touch::Policy { name: "codel".to_owned(), settings: controllers::Settings::new(), at: None };
    touched(&mut app, 21.0, codel);
    press(&mut app, KeyCode::Char('e'));
    let again = asked(press(&mut app, KeyCode::Enter));
    assert!(matches!(&again, Touch::Policy { name, .. } if name == "codel"), "{again:?}");
    // One without any says so.
    touched(
        &mut app,
        22.0,
        Touch::Policy { name: "none".to_owned(), settings: controllers::Settings::new(), at: None },
    );
    assert!(press(&mut app, KeyCode::Char('e')).is_none());
    assert!(frame(&app, Palette::Plain, 80, 24).contains("none has no parameters"));
}

#[test]
fn what_cannot_be_touched_says_why() {
    let said = |app: &mut App, hint: &str| {
        for key in ['s', 'c', 'l', 'i', 'a', 'o', 'e'] {
            assert!(press(app, KeyCode::Char(key)).is_none());
            let drawn = frame(app, Palette::Plain, 100, 24);
            assert!(drawn.contains(hint), "{key}:\n{drawn}");
        }
        press(app, KeyCode::Char('p'));
        assert!(!frame(app, Palette::Plain, 100, 24).contains(hint), "the next key takes it away");
    };
    said(&mut started(), "no arm runs now");
    let mut ending = running();
    happened(&mut ending, LiveEvent::PhaseStarted { phase: "drain".to_owned(), second: 52 });
    said(&mut ending, "this arm is over");
    let mut stopping = running();
    press(&mut stopping, KeyCode::Char('q'));
    said(&mut stopping, "being stopped");
    let mut simulated = running();
    let shape = simulated.live.shape.clone().expect("a shape");
    happened(&mut simulated, LiveEvent::RunStarted(Shape { mode: Mode::Virtual, ..shape }));
    said(&mut simulated, "this key is for live runs");
}

#[test]
fn an_arm_that_ends_under_a_form_is_not_touched() {
    let mut app = running();
    press(&mut app, KeyCode::Char('l'));
    happened(&mut app, LiveEvent::PhaseStarted { phase: "drain".to_owned(), second: 52 });
    assert!(press(&mut app, KeyCode::Enter).is_none());
    assert!(frame(&app, Palette::Plain, 80, 24).contains("this arm is over"));
}

#[test]
fn the_event_can_be_read_back_from_its_line() {
    for touch in [Touch::Pause, Touch::Spike { users: 3, seconds: 1.5 }] {
        let event = LiveEvent::Touched { second: 4.25, touch };
        let line = serde_json::to_string(&event).expect("JSON");
        assert!(line.contains("\"event\":\"touched\""), "{line}");
        assert_eq!(serde_json::from_str::<LiveEvent>(&line).expect("read back"), event, "{line}");
    }
}
