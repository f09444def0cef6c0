//! Degraded answers, as far as a policy lowers the quality of stages.

use std::time::{Duration, Instant};

use controllers::{
    Objective, Place,
    catalogue::{PolicySpec, Setting},
};
use spec::{App, EmulatedSpec, ServiceTime, TargetSpec};

use crate::common::{Target, arashi, mailbox, policy, sign_in, spec, start};

/// A promise of a millisecond, and some four milliseconds of work: the policy halves the quality with each request.
fn hard_pressed(app: App) -> TargetSpec {
    let mut degrade = policy("degrade", &[("check_every", 1.0), ("samples", 1.0), ("smoothing", 0.0)]);
    degrade.settings.insert("admission".to_owned(), Setting::Text("off".to_owned()));
    let policy = PolicySpec { place: Some(Place::Stage), ..degrade };
    let objective = Objective { percentile: 90.0, response_time: Duration::from_millis(1) };
    TargetSpec { app, policy, objective, ..spec() }
}

/// Asks until the answer says in this way that it is less; `None`: until time is over.
fn until_degraded(target: &Target, path: &str, how: &str) -> Option<String> {
    let end = Instant::now() + Duration::from_secs(15);
    while Instant::now() < end {
        let answer = target.get(path);
        if answer.to_ascii_lowercase().contains(&format!("x-degraded: {how}")) {
            return Some(answer);
        }
    }
    None
}

#[test]
fn when_its_policy_lowers_the_quality_searches_look_through_less_and_lists_are_copies() {
    let dir = tempfile::tempdir().expect("a folder");
    let database = dir.path().join("mail.sqlite");
    mailbox(&database);
    let target = start(hard_pressed(arashi(&database, &[("search", 40.0), ("list messages", 40.0)])));
    let key = sign_in(&target);
    let search = format!("/search?folderid=1&scope=folder&q=topic+1&key={key}");
    let whole = target.get(&search);
    assert!(whole.contains("data-page=\"search\"") && !whole.to_ascii_lowercase().contains("x-degraded"), "{whole}");
    let part = until_degraded(&target, &search, "newest ").expect("the quality falls");
    assert!(part.contains(" of 40 messages were searched"), "{part}");

    let list = format!("/list?folderid=1&key={key}");
    let copy = until_degraded(&target, &list, "stale").expect("the quality of its stage falls too");
    assert!(copy.contains("topic 40"), "{copy}");
    let gauges = target.gauges();
    for name in ["search", "list messages"] {
        let stage = gauges.stages.iter().find(|stage| stage.name == name).expect("a stage");
        assert!(stage.policy["quality"] < 1.0 && stage.refused == 0, "{stage:?}");
    }
    assert!(gauges.ledger.degraded >= 2 && gauges.ledger.refused.is_empty(), "{:?}", gauges.ledger);
}

#[test]
fn an_emulated_answer_says_how_much_of_its_work_was_done() {
    let one = EmulatedSpec::one(ServiceTime::Constant(Duration::from_millis(4)));
    let target = start(hard_pressed(App::Emulated(EmulatedSpec { degradable: 0.5, ..one })));
    let answer = until_degraded(&target, "/", "work ").expect("the quality falls");
    let share = answer.to_ascii_lowercase().split("x-degraded: work ").nth(1).and_then(|rest| {
        let (share, _) = rest.split_once('%')?;
        share.parse::<u32>().ok()
    });
    assert!(share.is_some_and(|share| (50..100).contains(&share)), "{answer}");
    assert!(target.gauges().ledger.degraded >= 1);
}
