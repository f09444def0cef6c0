//! Forms as a person fills them in.

use super::{choices::named, *};

fn press(form: &mut Form, code: KeyCode) -> Option<Filled> {
    form.key(KeyEvent::from(code))
}

/// Writes this in place of what stands in the field.
fn write(form: &mut Form, text: &str) {
    for _ in 0..30 {
        press(form, KeyCode::Backspace);
    }
    for c in text.chars() {
        assert_eq!(press(form, KeyCode::Char(c)), None);
    }
}

fn codel() -> InForce {
    let settings = Settings::from([("target".to_owned(), "7ms".into())]);
    InForce { policy: Some(PolicySpec { settings, ..named("codel") }), ..InForce::default() }
}

#[test]
fn what_stands_in_a_form_can_be_asked_for_as_it_is() {
    for (change, touch) in [
        (Change::Spike, Touch::Spike { users: 100, seconds: 10.0 }),
        (Change::Capacity, Touch::Capacity { share: 0.2, seconds: 10.0 }),
        (Change::Latency, Touch::Latency { by_ms: 100.0, seconds: 10.0 }),
        (Change::Impatience, Touch::Impatience { share: 0.25 }),
    ] {
        let mut form = Form::of(change, InForce::default());
        assert!(!form.help().is_empty() && !form.title().is_empty());
        assert_eq!(press(&mut form, KeyCode::Enter), Some(Filled::Asked(touch)));
    }
    assert_eq!(press(&mut Form::of(Change::Spike, InForce::default()), KeyCode::Esc), Some(Filled::GivenUp));
}

#[test]
fn values_out_of_range_are_not_taken_and_the_range_is_told() {
    for (change, field, text, hint) in [
        (Change::Spike, 0, "0", "1 to 10000"),
        (Change::Spike, 0, "10001", "1 to 10000"),
        (Change::Spike, 0, "2.5", "whole"),
        (Change::Spike, 1, "0", "over 0"),
        (Change::Capacity, 0, "0.5", "or 1 to 100"),
        (Change::Capacity, 0, "101", "or 1 to 100"),
        (Change::Capacity, 1, "4000", "3600"),
        (Change::Latency, 0, "-1", "0 to 60000"),
        (Change::Impatience, 0, "NaN", "1 to 100"),
        (Change::Policy, 0, "coddel", "codel"),
        (Change::Policy, 0, "thread-pool", "does not sit"),
        (Change::Machines, 0, "tread-pool", "thread-pool"),
        (Change::Machines, 0, "thread-pool, {batching: {max: no}}", "max"),
        (Change::Machines, 0, "codel", "no machine"),
    ] {
        let mut form = Form::of(change, InForce::default());
        if field == 1 {
            press(&mut form, KeyCode::Tab);
        }
        write(&mut form, text);
        assert_eq!(press(&mut form, KeyCode::Enter), None, "{text}");
        let problem = form.problem.as_deref().unwrap_or_default();
        assert!(problem.contains(hint), "{change:?} {text}: {problem}");
        // The next key takes the message away.
        press(&mut form, KeyCode::Backspace);
        assert_eq!(form.problem, None);
    }
}

#[test]
fn policies_are_chosen_with_up_and_down() {
    let mut form = Form::of(Change::Policy, codel());
    assert_ne!(form.fields[0].line.text, "codel", "another one than that in force");
    for _ in 0..100 {
        if form.fields[0].line.text == "seda" {
            break;
        }
        press(&mut form, KeyCode::Down);
    }
    press(&mut form, KeyCode::Down);
    press(&mut form, KeyCode::Up);
    let seda = Touch::Policy { name: "seda".to_owned(), settings: Settings::new(), at: None };
    assert_eq!(press(&mut form, KeyCode::Enter), Some(Filled::Asked(seda)));
}

#[test]
fn a_policy_can_be_put_at_a_place_a_stage_or_a_service_and_edited_there() {
    let asked = |form: &mut Form, at: &str| {
        press(form, KeyCode::Tab);
        write(form, at);
        press(form, KeyCode::Enter)
    };
    let policy = |name: &str, at: Option<&str>| {
        let at = at.map(str::to_owned);
        Some(Filled::Asked(Touch::Policy { name: name.to_owned(), settings: Settings::new(), at }))
    };
    let spots = |all: &[&str]| InForce { spots: all.iter().map(|&spot| spot.to_owned()).collect(), ..codel() };
    let mut form = Form::of(Change::Policy, spots(&["dispatch", "read mail"]));
    write(&mut form, "gradient2");
    let offered: Vec<String> = form.fields[1].choices.clone();
    assert_eq!(offered, ["as usual", "per-stage", "single", "client", "dispatch", "read mail"]);
    assert_eq!(asked(&mut form, "read mail"), policy("gradient2", Some("read mail")));
    assert!(form.help().contains("stage"), "{}", form.help());
    let mut form = Form::of(Change::Policy, spots(&["dispatch"]));
    write(&mut form, "throttle");
    assert_eq!(form.fields[1].choices, ["as usual", "client", "dispatch"]);
    assert_eq!(asked(&mut form, "client"), policy("throttle", Some("client")));
    // What was written stays while the policy's name is.
    let mut form = Form::of(Change::Policy, spots(&["dispatch"]));
    press(&mut form, KeyCode::Tab);
    write(&mut form, "client");
    press(&mut form, KeyCode::Tab);
    write(&mut form, "throttle");
    assert_eq!(press(&mut form, KeyCode::Enter), policy("throttle", Some("client")));
    // Of several services one is meant; without a word the first, and the users of what sits with senders alone.
    let tree = ["front", "front/dispatch", "back.1", "back.1/work"];
    let mut form = Form::of(Change::Policy, spots(&tree));
    write(&mut form, "none");
    let here = ["front", "client", "front/client", "front/dispatch", "back.1", "back.1/client", "back.1/work"];
    assert_eq!(form.fields[1].choices, here);
    assert_eq!(press(&mut form, KeyCode::Enter), policy("none", Some("front")));
    let mut form = Form::of(Change::Policy, spots(&tree));
    write(&mut form, "throttle");
    assert_eq!(press(&mut form, KeyCode::Enter), policy("throttle", Some("client")));
    let there = InForce { at: Some("front".to_owned()), ..codel() };
    let mut form = Form::of(Change::Parameter, there);
    write(&mut form, "target");
    let Some(Filled::Asked(touch)) = press(&mut form, KeyCode::Enter) else { panic!("it is asked for") };
    assert!(matches!(&touch, Touch::Policy { at: Some(at), .. } if at == "front"), "{touch:?}");
}

#[test]
fn machines_are_a_list_as_in_a_file_or_none() {
    let asked = |text: &str| {
        let mut form = Form::of(Change::Machines, InForce::default());
        write(&mut form, text);
        press(&mut form, KeyCode::Enter)
    };
    let settings = Settings::from([("max".to_owned(), 8.0.into())]);
    let both = vec![named("batching"), PolicySpec { settings, ..named("thread-pool") }];
    let machines = |machines| Some(Filled::Asked(Touch::Machines { machines, at: None }));
    assert_eq!(asked("batching, {thread-pool: {max: 8}}"), machines(both));
    assert_eq!(asked(""), machines(Vec::new()));
    let mut form = Form::of(Change::Machines, InForce::default());
    let (listed, at) = form.choices();
    assert!(listed.iter().any(|(name, about)| *name == "monitor" && !about.is_empty()) && at == Some(0));
    press(&mut form, KeyCode::Down);
    assert_eq!(form.choices().1, Some(1));
}

#[test]
fn one_parameter_is_changed_and_the_others_stay() {
    let mut form = Form::of(Change::Parameter, codel());
    write(&mut form, "target");
    assert_eq!(form.fields[1].line.text, "7ms", "as it is now");
    assert!(form.help().contains("default"), "{}", form.help());
    press(&mut form, KeyCode::Tab);
    write(&mut form, "9ms");
    let settings = Settings::from([("target".to_owned(), "9ms".into())]);
    let touch = Touch::Policy { name: "codel".to_owned(), settings, at: None };
    assert_eq!(press(&mut form, KeyCode::Enter), Some(Filled::Asked(touch)));
    let mut back = Form::of(Change::Parameter, codel());
    write(&mut back, "target");
    press(&mut back, KeyCode::Tab);
    write(&mut back, "5ms");
    let default = Touch::Policy { name: "codel".to_owned(), settings: Settings::new(), at: None };
    assert_eq!(press(&mut back, KeyCode::Enter), Some(Filled::Asked(default)), "back to the default");
    let mut wrong = Form::of(Change::Parameter, codel());
    write(&mut wrong, "tarket");
    press(&mut wrong, KeyCode::Enter);
    assert!(wrong.problem.is_some_and(|problem| problem.contains("did you mean target?")));
    let mut far = Form::of(Change::Parameter, codel());
    write(&mut far, "target");
    press(&mut far, KeyCode::Tab);
    write(&mut far, "90h");
    press(&mut far, KeyCode::Enter);
    assert!(far.problem.is_some_and(|problem| problem.contains("target")));
}
