//! What cannot go together is a problem with its reason.

use super::*;

#[track_caller]
fn problem(place: Place, parts: &[(&'static str, Setting)]) -> String {
    let problems = policy_at(place, parts).map(|_| ()).expect_err("this cannot go together");
    assert_eq!(problems.len(), 1, "{problems:?}");
    problems[0].to_string()
}

#[test]
fn two_owners_of_the_number_inside() {
    assert_eq!(
        problem(Place::Stage, &[("limit", "gradient2".into()), ("select", "aimd".into())]),
        "select: aimd owns what comes in, and so does the limit: two owners take each other's refusals for their own signal"
    );
    let both = Setting::Map(settings([("aimd", "".into()), ("vegas", "".into())]));
    assert_eq!(problem(Place::Stage, &[("limit", both)]), "limit: expected one policy, got 2: aimd, vegas");
}

#[test]
fn a_role_that_a_policy_cannot_play() {
    assert_eq!(
        problem(Place::Stage, &[("limit", "dagor".into())]),
        "limit: dagor selects who is refused: write select: dagor"
    );
    assert_eq!(
        problem(Place::Stage, &[("select", "codel".into())]),
        "select: codel selects who is next: write queue: codel"
    );
    assert_eq!(
        problem(Place::Stage, &[("queue", "gradient2".into())]),
        "queue: gradient2 owns the number of jobs inside: write limit: gradient2"
    );
    assert_eq!(
        problem(Place::Stage, &[("limit", "connections".into())]),
        "limit: connections has no role in a composition: use it by itself (see lab policies)"
    );
    assert_eq!(
        problem(Place::Stage, &[("limit", "thread-pool".into())]),
        "limit: thread-pool decides about no job: put it under machines"
    );
    assert_eq!(
        problem(Place::Stage, &[("limit", "compose".into())]),
        "limit: a composition has no parts that are compositions"
    );
}

#[test]
fn a_rate_before_a_queue_and_a_queue_where_there_is_none() {
    let said = problem(Place::Stage, &[("limit", "fixed-rate".into()), ("queue", "codel".into())]);
    assert!(said.starts_with("limit: fixed-rate bounds what comes in, and codel lets jobs in as others end"), "{said}");
    assert_eq!(
        problem(Place::Client, &[("queue", "codel".into())]),
        "queue: there is no queue at scope client that codel could keep; its scope may be: per-stage, single, proxy"
    );
    assert_eq!(
        problem(Place::Stage, &[("select", "throttle".into())]),
        "select: throttle cannot sit at scope per-stage; its scope may be: client, proxy"
    );
}

#[test]
fn settings_of_parts_are_checked_where_they_are_written() {
    assert_eq!(
        problem(Place::Stage, &[("limit", part("gradient2", [("limit_mx", 5_u32.into())]))]),
        "limit.gradient2.limit_mx: there is no such parameter; did you mean limit_max?"
    );
    assert_eq!(
        problem(Place::Stage, &[("limit", "gradent2".into())]),
        "limit: gradent2: there is no such policy; did you mean gradient2?"
    );
    assert_eq!(
        problem(Place::Stage, &[("limit", part("gradient2", [("scope", "single".into())]))]),
        "limit.gradient2.scope: a part sits where the composition sits: write scope beside limit, select and queue"
    );
    assert_eq!(
        problem(Place::Stage, &[("limt", "gradient2".into())]),
        "limt: there is no such parameter; did you mean limit?"
    );
    assert_eq!(
        problem(Place::Stage, &[("limit", 5_u32.into())]),
        "limit: expected a policy, got 5: gradient2, or {gradient2: {limit_max: 500}}"
    );
    let entry = Catalogue::built_in().find("compose").unwrap();
    let said = entry.check(&composition(&[("limit", "aimd".into())])).unwrap_err()[0].to_string();
    assert!(said.contains("Catalogue::check"), "{said}");
}

#[test]
fn a_preset_names_a_part_too() {
    let settings = composition(&[("queue", "folly".into())]);
    let catalogue = Catalogue::built_in();
    let factory = catalogue.check(catalogue.find("compose").unwrap(), None, &settings).unwrap();
    assert!(factory.keeps_queue() && factory.counts_workers(Place::Single));
    let limited = composition(&[("limit", "gradient2".into()), ("queue", "folly".into())]);
    let limited = catalogue.check(catalogue.find("compose").unwrap(), None, &limited).unwrap();
    assert!(limited.keeps_queue(), "it waits for the limit, and in a stage for a worker too");
    assert_eq!([Place::Single, Place::Stage].map(|place| limited.counts_workers(place)), [false, true]);
    assert_eq!(factory.setting("max"), Some(&1000_u32.into()), "the part's");
    assert_eq!(factory.setting("law"), Some(&"folly".into()));
}

#[test]
fn every_policy_with_a_role_plays_it_where_it_may_sit_and_gauges_keep_apart() {
    let catalogue = Catalogue::built_in();
    let mut played = 0;
    for entry in catalogue.entries() {
        for role in entry.roles {
            for place in entry.places.iter().filter(|place| **place != Place::Accept) {
                policy_at(*place, &[(role.key(), entry.name.into())]).unwrap_or_else(|why| panic!("{why:?}"));
                played += 1;
            }
        }
    }
    assert!(played > 40, "{played}");
}
