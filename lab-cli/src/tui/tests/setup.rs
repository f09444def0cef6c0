//! Setting up: which arms run, with which parameters, in which world.

use experiment::Repeat;

use super::{
    App, KeyCode, frame, press,
    program::{order_of, set_up, type_in},
};
use crate::tui::{Palette, panel::Screen};

fn erase(app: &mut App, characters: usize) {
    for _ in 0..characters {
        press(app, KeyCode::Backspace);
    }
}

#[test]
fn setting_up() {
    let mut app = set_up();
    press(&mut app, KeyCode::Down);
    insta::assert_snapshot!(frame(&app, Palette::Colours, 100, 36));
}

#[test]
fn only_ticked_arms_run_with_what_was_changed() {
    let mut app = set_up();
    press(&mut app, KeyCode::Char(' ')); // not none
    press(&mut app, KeyCode::Down); // seda
    press(&mut app, KeyCode::Tab);
    let parameters = app.setup.as_ref().expect("a setup").parameters();
    let samples = parameters.iter().position(|parameter| parameter.row.name == "samples").expect("it has it");
    for _ in 0..samples {
        press(&mut app, KeyCode::Down);
    }
    press(&mut app, KeyCode::Enter);
    erase(&mut app, 10);
    type_in(&mut app, "20");
    press(&mut app, KeyCode::Enter);
    press(&mut app, KeyCode::Tab);
    press(&mut app, KeyCode::Char('+'));
    press(&mut app, KeyCode::Char('v'));
    let order = order_of(press(&mut app, KeyCode::Enter));
    assert_eq!(order.changes.set, ["arms.1.seda.samples=20"]);
    assert_eq!(order.changes.policies, ["seda", "published", "connections"]);
    assert_eq!((order.changes.repeat, order.virtual_time, app.screen), (Some(Repeat::Times(2)), false, Screen::Live));
    let read = experiment::read(&order.text, &order.changes).expect("it is good");
    assert_eq!(read.arms.len(), 3);
    assert_eq!(read.arms[0].policy.settings.get("samples"), Some(&controllers::catalogue::Setting::Number(20.0)));
}

#[test]
fn a_policy_that_the_file_does_not_have_is_added_with_its_changes() {
    let mut app = set_up();
    let codel = app.setup.as_ref().expect("a setup").candidates.iter().position(|c| c.label == "codel");
    for _ in 0..codel.expect("it is offered") {
        press(&mut app, KeyCode::Down);
    }
    press(&mut app, KeyCode::Tab);
    press(&mut app, KeyCode::Enter);
    erase(&mut app, 10);
    type_in(&mut app, "folly");
    press(&mut app, KeyCode::Enter);
    assert_eq!(app.said, None);
    press(&mut app, KeyCode::Tab);
    let order = order_of(press(&mut app, KeyCode::Enter));
    let read = experiment::read(&order.text, &order.changes).expect("it is good");
    // Changing it has ticked it.
    let labels: Vec<&str> = read.arms.iter().map(|arm| arm.label.as_str()).collect();
    assert_eq!(labels, ["none", "seda", "published", "connections", "codel"]);
    assert_eq!(read.arms[4].policy.settings.len(), 1);
}

#[test]
fn a_bad_value_is_not_taken_and_the_range_is_told() {
    let mut app = set_up();
    press(&mut app, KeyCode::Down);
    press(&mut app, KeyCode::Tab);
    press(&mut app, KeyCode::Down);
    press(&mut app, KeyCode::Down);
    press(&mut app, KeyCode::Enter);
    type_in(&mut app, "90000");
    press(&mut app, KeyCode::Enter);
    let drawn = frame(&app, Palette::Plain, 120, 36);
    assert!(drawn.contains("new value: 90000_   NOT TAKEN: ") && drawn.contains("1 to 99"), "{drawn}");
    assert!(!drawn.contains("--set"), "nobody has typed that: {drawn}");
    assert_eq!(app.setup.as_ref().expect("a setup").parameters()[2].value, "90");
    // It is still there to be mended.
    erase(&mut app, 4);
    type_in(&mut app, "5");
    press(&mut app, KeyCode::Enter);
    assert_eq!(app.setup.as_ref().expect("a setup").parameters()[2].value, "95");
    let drawn = frame(&app, Palette::Plain, 120, 36);
    assert!(!drawn.contains("NOT TAKEN") && drawn.contains("now 95; allowed 1 to 99"), "{drawn}");
}

#[test]
fn nothing_ticked_is_no_run_and_a_bound_needs_virtual_time() {
    let mut app = set_up();
    for _ in 0..4 {
        press(&mut app, KeyCode::Char(' '));
        press(&mut app, KeyCode::Down);
    }
    assert!(press(&mut app, KeyCode::Enter).is_none());
    assert!(app.said.as_deref().is_some_and(|said| said.contains("tick")));
    for _ in 0..100 {
        press(&mut app, KeyCode::Down);
    }
    press(&mut app, KeyCode::Char(' ')); // oracle
    press(&mut app, KeyCode::Char('v'));
    assert!(press(&mut app, KeyCode::Enter).is_none());
    assert!(app.said.as_deref().is_some_and(|said| said.contains("virtual time")), "{:?}", app.said);
}

#[test]
fn a_parameter_can_be_changed_in_a_world_where_not_all_that_is_ticked_can_run() {
    let mut app = set_up();
    for _ in 0..100 {
        press(&mut app, KeyCode::Down);
    }
    press(&mut app, KeyCode::Char(' ')); // oracle
    press(&mut app, KeyCode::Char('v')); // live
    for _ in 0..100 {
        press(&mut app, KeyCode::Up);
    }
    press(&mut app, KeyCode::Down); // seda
    press(&mut app, KeyCode::Tab);
    press(&mut app, KeyCode::Down);
    press(&mut app, KeyCode::Down);
    press(&mut app, KeyCode::Enter);
    erase(&mut app, 2);
    type_in(&mut app, "95");
    press(&mut app, KeyCode::Enter);
    assert_eq!(app.said, None);
    assert_eq!(app.setup.as_ref().expect("a setup").parameters()[2].value, "95");
    // That it cannot run so is told when it is to run.
    press(&mut app, KeyCode::Tab);
    assert!(press(&mut app, KeyCode::Enter).is_none());
    assert!(app.said.as_deref().is_some_and(|said| said.contains("virtual time")), "{:?}", app.said);
}

#[test]
fn a_setup_that_was_left_is_as_it_was() {
    let mut app = set_up();
    press(&mut app, KeyCode::Char('+'));
    press(&mut app, KeyCode::Char(' '));
    press(&mut app, KeyCode::Esc);
    press(&mut app, KeyCode::Down);
    press(&mut app, KeyCode::Enter);
    assert_eq!(app.setup.as_ref().expect("another one").repeat, 1);
    press(&mut app, KeyCode::Esc);
    press(&mut app, KeyCode::Home);
    press(&mut app, KeyCode::Enter);
    let setup = app.setup.as_ref().expect("the first one");
    assert_eq!((setup.name.as_str(), setup.repeat, setup.candidates[0].on), ("flash-crowd", 2, false));
    // Also when nothing else was set up meanwhile, as often as one likes.
    for _ in 0..2 {
        press(&mut app, KeyCode::Esc);
        press(&mut app, KeyCode::Enter);
        assert_eq!(app.setup.as_ref().expect("the first one").repeat, 2);
    }
}

#[test]
fn a_target_of_a_policy_is_set_and_nothing_takes_it_back() {
    let mut app = set_up();
    press(&mut app, KeyCode::Down); // seda
    press(&mut app, KeyCode::Tab);
    assert_eq!(app.setup.as_ref().expect("a setup").parameters()[0].row.name, "target");
    press(&mut app, KeyCode::Enter);
    type_in(&mut app, "500ms");
    press(&mut app, KeyCode::Enter);
    let order = app.setup.as_ref().expect("a setup").order().expect("it can run");
    let read = experiment::read(&order.text, &order.changes).expect("it is good");
    assert!(read.arms[1].policy.settings.contains_key("target") && read.arms[1].own_target.is_none());
    press(&mut app, KeyCode::Enter);
    erase(&mut app, 5);
    press(&mut app, KeyCode::Enter);
    let setup = app.setup.as_ref().expect("a setup");
    assert!(setup.candidates[1].edits.is_empty() && setup.editing.is_none(), "as in the file");
    // Esc leads to the arms, and then away.
    press(&mut app, KeyCode::Esc);
    assert_eq!(app.screen, Screen::Setup);
    press(&mut app, KeyCode::Esc);
    assert_eq!(app.screen, Screen::Home);
}
