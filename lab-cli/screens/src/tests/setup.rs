//! Setting up: which arms run, with which parameters, in which world.

use experiment::Repeat;

use super::{
    App, Effect, KeyCode, frame, hides, press, presses,
    program::{order_of, set_up, type_in},
    shows,
};
use crate::{FolderContents, Palette, ScreenJob, ScreenMessage, app::Pane, panel::Screen};

fn erase(app: &mut App, characters: usize) {
    presses(app, std::iter::repeat_n(KeyCode::Backspace, characters));
}

#[test]
fn setting_up() {
    let mut app = set_up();
    press(&mut app, KeyCode::Down);
    insta::assert_snapshot!(frame(&app, Palette::COLOURS, 100, 36));
}

#[test]
fn only_ticked_arms_run_with_what_was_changed() {
    let mut app = set_up();
    press(&mut app, KeyCode::Char(' ')); // not none
    press(&mut app, KeyCode::Down); // seda
    press(&mut app, KeyCode::Tab);
    let parameters = app.setup.as_ref().expect("a setup").parameters();
    let samples = parameters.iter().position(|parameter| parameter.name == "samples").expect("it has it");
    presses(&mut app, std::iter::repeat_n(KeyCode::Down, samples));
    press(&mut app, KeyCode::Enter);
    erase(&mut app, 10);
    type_in(&mut app, "20");
    presses(&mut app, [KeyCode::Enter, KeyCode::Esc, KeyCode::Char('+'), KeyCode::Char('v')]);
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
    presses(&mut app, [KeyCode::Tab, KeyCode::Enter]);
    erase(&mut app, 10);
    type_in(&mut app, "folly");
    press(&mut app, KeyCode::Enter);
    assert_eq!(app.said, None);
    press(&mut app, KeyCode::Esc);
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
    presses(&mut app, [KeyCode::Down, KeyCode::Tab, KeyCode::Down, KeyCode::Down, KeyCode::Enter]);
    type_in(&mut app, "90000");
    press(&mut app, KeyCode::Enter);
    shows(&app, (120, 36), &["NOT TAKEN, see above: 90000_", "1 to 99"]);
    hides(&app, (120, 36), &["--set"]);
    assert_eq!(app.setup.as_ref().expect("a setup").parameters()[2].value, "90");
    // It is still there to be mended.
    erase(&mut app, 4);
    type_in(&mut app, "5");
    press(&mut app, KeyCode::Enter);
    assert_eq!(app.setup.as_ref().expect("a setup").parameters()[2].value, "95");
    shows(&app, (120, 36), &["now 95; allowed 1 to 99"]);
    hides(&app, (120, 36), &["NOT TAKEN"]);
}

#[test]
fn nothing_ticked_is_no_run_and_a_bound_needs_virtual_time() {
    let mut app = set_up();
    for _ in 0..4 {
        presses(&mut app, [KeyCode::Char(' '), KeyCode::Down]);
    }
    assert!(press(&mut app, KeyCode::Enter).is_none());
    assert!(app.said.as_ref().is_some_and(|said| said.text.contains("tick")));
    presses(&mut app, [KeyCode::Down; 100]);
    press(&mut app, KeyCode::Up); // blind is the last
    press(&mut app, KeyCode::Char(' ')); // oracle
    press(&mut app, KeyCode::Char('v'));
    assert!(press(&mut app, KeyCode::Enter).is_none());
    assert!(app.said.as_ref().is_some_and(|said| said.text.contains("virtual time")), "{:?}", app.said);
}

#[test]
fn a_parameter_can_be_changed_in_a_world_where_not_all_that_is_ticked_can_run() {
    let mut app = set_up();
    presses(&mut app, [KeyCode::Down; 100]);
    press(&mut app, KeyCode::Up); // blind is the last
    press(&mut app, KeyCode::Char(' ')); // oracle
    press(&mut app, KeyCode::Char('v')); // live
    presses(&mut app, [KeyCode::Up; 100]);
    press(&mut app, KeyCode::Down); // seda
    presses(&mut app, [KeyCode::Tab, KeyCode::Down, KeyCode::Down, KeyCode::Enter]);
    erase(&mut app, 2);
    type_in(&mut app, "95");
    press(&mut app, KeyCode::Enter);
    assert_eq!(app.said, None);
    assert_eq!(app.setup.as_ref().expect("a setup").parameters()[2].value, "95");
    // That it cannot run so is told when it is to run.
    press(&mut app, KeyCode::Esc);
    assert!(press(&mut app, KeyCode::Enter).is_none());
    assert!(app.said.as_ref().is_some_and(|said| said.text.contains("virtual time")), "{:?}", app.said);
}

#[test]
fn a_setup_that_was_left_is_as_it_was() {
    let mut app = set_up();
    presses(&mut app, [KeyCode::Char('+'), KeyCode::Char(' '), KeyCode::Esc, KeyCode::Down, KeyCode::Tab]);
    assert_eq!(app.setup.as_ref().expect("another one").repeat(), 1);
    presses(&mut app, [KeyCode::Esc, KeyCode::Home, KeyCode::Tab]);
    let setup = app.setup.as_ref().expect("the first one");
    assert_eq!((setup.name.as_str(), setup.repeat(), setup.candidates[0].on), ("flash-crowd", 2, false));
    // Also when nothing else was set up meanwhile, as often as one likes.
    for _ in 0..2 {
        presses(&mut app, [KeyCode::Esc, KeyCode::Tab]);
        assert_eq!(app.setup.as_ref().expect("the first one").repeat(), 2);
    }
}

#[test]
fn a_target_of_a_policy_is_set_and_nothing_takes_it_back() {
    let mut app = set_up();
    press(&mut app, KeyCode::Down); // seda
    press(&mut app, KeyCode::Tab);
    assert_eq!(app.setup.as_ref().expect("a setup").parameters()[0].name, "target");
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
    assert!(setup.candidates[1].edits.is_empty() && setup.writing.is_none(), "as in the file");
    // Esc leads to the arms, and then away.
    press(&mut app, KeyCode::Esc);
    assert_eq!(app.screen, Screen::Setup);
    press(&mut app, KeyCode::Esc);
    assert_eq!(app.screen, Screen::Home);
}

/// To the pane of keys, and to this one.
fn to_key(app: &mut App, key: &str) {
    press(app, KeyCode::BackTab);
    assert_eq!(app.setup.as_ref().expect("a setup").pane, Pane::Keys);
    let at = app.setup.as_ref().expect("a setup").keys().iter().position(|found| found.name == key);
    press(app, KeyCode::Home);
    for _ in 0..at.unwrap_or_else(|| panic!("{key}")) {
        press(app, KeyCode::Down);
    }
}

fn write(app: &mut App, value: &str) {
    press(app, KeyCode::Enter);
    type_in(app, value);
    press(app, KeyCode::Enter);
}

#[test]
fn everything_that_set_can_change_is_a_key_of_the_third_pane() {
    let mut app = set_up();
    for (key, value) in [
        ("users.phases.spike.users", "300"),
        ("users.think", "{exponential: 1s}"),
        ("users.timeout", "20s"),
        ("users.on_reject", "{then: leave}"),
        ("target.capacity", "80/s"),
        ("objective.response_time", "500ms"),
        ("virtual.link.delay", "2ms"),
        ("seed", "7"),
    ] {
        to_key(&mut app, key);
        write(&mut app, value);
        assert_eq!(app.setup.as_ref().expect("a setup").refused, None, "{key}");
        press(&mut app, KeyCode::Esc);
    }
    to_key(&mut app, "users.phases.spike.users");
    press(&mut app, KeyCode::Esc);
    shows(&app, (200, 60), &["300*", "1000", "$ lab run flash-crowd --virtual --set objective.response_time=500ms"]);
    let order = order_of(press(&mut app, KeyCode::Enter));
    let read = experiment::read(&order.text, &order.changes).expect("it is good");
    assert_eq!((read.seed, read.objective.response_time_ms), (7, 500.0));
    assert_eq!(read.users.timeout, std::time::Duration::from_secs(20));
}

#[test]
fn a_bad_value_of_a_key_is_not_taken_and_can_be_mended() {
    let mut app = set_up();
    to_key(&mut app, "users.phases.spike.users");
    write(&mut app, "many");
    shows(&app, (140, 36), &["NOT TAKEN, see above: many_"]);
    press(&mut app, KeyCode::Esc);
    let setup = app.setup.as_ref().expect("a setup");
    assert!(setup.changed_keys.is_empty() && !setup.is_changed());
}

#[test]
fn an_arm_is_duplicated_and_a_list_of_values_makes_arms() {
    let mut app = set_up();
    press(&mut app, KeyCode::Down); // seda
    press(&mut app, KeyCode::Char('d'));
    let labels = |app: &App| {
        let arms = app.setup.as_ref().expect("a setup").candidates.iter().filter(|arm| arm.on);
        arms.map(|arm| arm.label.clone()).collect::<Vec<_>>()
    };
    assert_eq!(labels(&app), ["none", "seda", "seda-2", "published", "connections"]);
    // The copy is what the cursor is on: it has what the file says of its arm.
    press(&mut app, KeyCode::Tab);
    write(&mut app, "2s");
    press(&mut app, KeyCode::Esc);
    let order = app.setup.as_ref().expect("a setup").order().expect("it can run");
    assert_eq!(order.changes.set, ["arms.+={seda: {as: seda-2, scope: per-stage, rate_initial: 10/s, target: 2s}}"]);
    // An arm for each value, in place of the one that they were written in.
    press(&mut app, KeyCode::Down);
    press(&mut app, KeyCode::Down); // connections
    press(&mut app, KeyCode::Tab);
    let max = app.setup.as_ref().expect("a setup").parameters().iter().position(|found| found.name == "max");
    for _ in 0..max.expect("it has one") {
        press(&mut app, KeyCode::Down);
    }
    write(&mut app, "32, 64, 128");
    assert_eq!(
        labels(&app),
        ["none", "seda", "seda-2", "published", "connections-max-32", "connections-max-64", "connections-max-128"]
    );
    let order = app.setup.as_ref().expect("a setup").order().expect("it can run");
    let read = experiment::read(&order.text, &order.changes).expect("it is good");
    let values: Vec<_> = read.arms[4..].iter().map(|arm| arm.policy.settings.get("max").cloned()).collect();
    assert_eq!(values, [32.0, 64.0, 128.0].map(|max| Some(controllers::catalogue::Setting::Number(max))));
    // One of them that cannot be is told, and makes none.
    presses(&mut app, [KeyCode::Esc, KeyCode::Tab]);
    for _ in 0..max.expect("it has one") {
        press(&mut app, KeyCode::Down);
    }
    let before = labels(&app);
    write(&mut app, "16, soon");
    assert!(app.setup.as_ref().expect("a setup").refused.as_deref().is_some_and(|why| why.starts_with("soon: ")));
    press(&mut app, KeyCode::Esc);
    assert_eq!(labels(&app), before);
}

#[test]
fn a_setup_is_written_as_a_file_that_runs_the_same() {
    let mut app = set_up();
    to_key(&mut app, "users.think");
    write(&mut app, "50ms");
    press(&mut app, KeyCode::Esc);
    press(&mut app, KeyCode::Char(' ')); // not none
    presses(&mut app, [KeyCode::Char('+'), KeyCode::Char('w')]);
    assert!(frame(&app, Palette::Plain, 120, 36).contains("write the setup as: my-flash-crowd.yaml_"));
    press(&mut app, KeyCode::Enter);
    let Some(Effect::Job(ScreenJob::Write { path, text, and_edit, said })) = app.wanted() else { panic!("a file") };
    assert_eq!((path.to_str(), and_edit), (Some("my-flash-crowd.yaml"), false));
    assert_eq!(said, "wrote my-flash-crowd.yaml: lab run my-flash-crowd.yaml --virtual");
    assert!(text.starts_with("# yaml-language-server: $schema=") && text.contains("name: my-flash-crowd\n"), "{text}");
    let order = app.setup.as_ref().expect("a setup").order().expect("it can run");
    let wanted = experiment::read(&order.text, &order.changes).expect("it is good");
    let found = experiment::read(&text, &experiment::Changes::default()).expect("it is good");
    assert_eq!(found, experiment::Experiment { name: "my-flash-crowd".to_owned(), ..wanted });
    app.receive(crate::ScreenMessage::Written { path, and_edit, said });
    assert!(
        frame(&app, Palette::Plain, 120, 36)
            .contains("wrote my-flash-crowd.yaml: lab run my-flash-crowd.yaml --virtual")
    );
}

/// An experiment that is there to decide, and does not say how often.
const DECIDES: &str = "name: mine\nabout: mine\ntarget: {app: emulated, service: 10ms}\nobjective: {percentile: 90, response_time: 1s}\nusers: {model: url, path: /, phases: [{name: x, requests: 5/s, for: 3s}]}\narms: [none, codel]\ncompare: {decide: true}\n";

#[test]
fn what_is_there_to_decide_runs_in_virtual_time_until_it_is_decided_as_its_command_does() {
    let mut app = App::default();
    let files = vec![("mine.yaml".to_owned(), DECIDES.to_owned())];
    app.receive(ScreenMessage::Found(FolderContents { files, ..FolderContents::default() }));
    app.home.point_at("mine.yaml");
    press(&mut app, KeyCode::Tab);
    shows(&app, (120, 36), &["2 arms x until it is decided (", " $ lab run mine.yaml --virtual  "]);
    let planned = |app: &mut App| {
        let order = app.setup.as_ref().expect("a setup").order().expect("it can run");
        let read = experiment::read(&order.text, &order.changes).expect("it is good");
        (order.changes.virtual_time, read.compare.until_decided.is_some(), read.repeat)
    };
    let (virtual_time, until_decided, most) = planned(&mut app);
    assert!(virtual_time && until_decided && most > 5, "{most}");
    // A number that is chosen is a number, also the one.
    press(&mut app, KeyCode::Char('-'));
    assert_eq!(planned(&mut app), (true, false, 1));
    assert!(frame(&app, Palette::Plain, 120, 36).contains("lab run mine.yaml --virtual --repeat 1"));
    press(&mut app, KeyCode::Char('u'));
    assert_eq!(planned(&mut app), (true, true, most));
    // Live nobody has asked for that.
    press(&mut app, KeyCode::Char('v'));
    assert_eq!(planned(&mut app), (false, false, 1));
    assert!(frame(&app, Palette::Plain, 120, 36).contains("2 arms x 1 = about"));
}

#[test]
fn a_fault_is_added_by_a_form() {
    let mut app = set_up();
    to_key(&mut app, "virtual.faults");
    press(&mut app, KeyCode::Enter);
    shows(&app, (120, 36), &["a fault, in virtual time", "how much   0.2", "the process dies, and is back"]);
    presses(&mut app, [KeyCode::Down, KeyCode::Down, KeyCode::Tab, KeyCode::Tab]);
    erase(&mut app, 3);
    type_in(&mut app, "soon");
    press(&mut app, KeyCode::Enter);
    assert!(app.setup.as_ref().expect("a setup").form.as_ref().expect("open").problem.is_some(), "soon is no time");
    erase(&mut app, 4);
    type_in(&mut app, "15s");
    press(&mut app, KeyCode::Enter);
    // A second one, and then none.
    presses(&mut app, [KeyCode::Enter, KeyCode::Enter]);
    let setup = app.setup.as_ref().expect("a setup");
    let added = "[{at: 15s, for: 10s, latency: 100ms}, {at: 10s, for: 10s, capacity: 0.2}]";
    assert_eq!((setup.changed_keys["virtual.faults"].as_str(), setup.experiment.simulation.faults.len()), (added, 2));
    presses(&mut app, [KeyCode::Enter, KeyCode::Up, KeyCode::Enter]);
    assert_eq!(app.setup.as_ref().expect("a setup").experiment.simulation.faults.len(), 0);
}
