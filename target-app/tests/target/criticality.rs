//! Criticality in requests reaches the policies of Google SRE, and their advice reaches the client.

use std::{
    collections::BTreeMap,
    io::{Read, Write},
    thread,
    time::Duration,
};

use controllers::{
    Class, Criticality, Place, Settings,
    catalogue::{PolicySpec, Setting},
};
use live_service::signals::cpu_time;
use spec::{StageSpec, TargetSpec, services::TaskSpec};
use target_app::serve;

use crate::common::{Target, arashi, checksum, emulated, mailbox, policy, sign_in, spec, start, status};

fn get(target: &Target, header: &str) -> String {
    let mut stream = target.connect();
    write!(stream, "GET / HTTP/1.1\r\nHost: a\r\n{header}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.to_ascii_lowercase()
}

#[test]
fn ready_jobs_refuse_by_criticality_and_say_dont_retry() {
    let settings: Settings = [
        ("time_constant".to_owned(), "50ms".into()),
        ("load_critical".to_owned(), 100.0.into()),
        ("load_critical_plus".to_owned(), 100.0.into()),
        ("retry_share".to_owned(), 0.0.into()),
        ("retry_samples".to_owned(), 1.0.into()),
    ]
    .into();
    let policy = PolicySpec { name: "dont-retry".to_owned(), place: None, settings };
    let target = start(TargetSpec { app: emulated(Duration::from_millis(500), 4), policy, ..spec() });
    assert_eq!(status(&get(&target, "X-Criticality: SHEDDABLE")), 200, "nothing to do yet");
    thread::scope(|scope| {
        // Four at work, above the thresholds of 1 and 2 for a while.
        let busy: Vec<_> = (0..4).map(|_| scope.spawn(|| get(&target, "X-Criticality: CRITICAL_PLUS"))).collect();
        target.until("load", |gauges| {
            let dispatch = gauges.stages.iter().find(|stage| stage.name == "dispatch").unwrap();
            dispatch.policy["load_average"] > 2.5
        });
        let refused = get(&target, "X-Criticality: SHEDDABLE_PLUS");
        assert_eq!(status(&refused), 503, "{refused}");
        assert!(refused.contains("x-refused: utilization\r\n") && refused.contains("x-retry: never\r\n"), "{refused}");
        assert_eq!(status(&get(&target, "X-Criticality: whatever")), 200, "nonsense means CRITICAL");
        busy.into_iter().for_each(|one| assert_eq!(status(&one.join().unwrap()), 200));
    });
}

/// Refuses SHEDDABLE as soon as the process is seen to have any memory, and nothing else.
fn sheds(place: Place) -> PolicySpec {
    let settings = [
        ("load".to_owned(), Setting::Flag(false)),
        ("memory".to_owned(), Setting::Flag(true)),
        ("memory_sheddable".to_owned(), 0.0.into()),
        ("memory_sheddable_plus".to_owned(), 1.0.into()),
        ("memory_critical".to_owned(), 1.0.into()),
        ("memory_critical_plus".to_owned(), 1.0.into()),
    ];
    PolicySpec { name: "utilization".to_owned(), place: Some(place), settings: settings.into() }
}

#[test]
fn a_class_has_a_criticality_and_a_stage_overrides_what_was_said() {
    let over = |stage: &str| {
        let changed = StageSpec { criticality: Some(Criticality::Sheddable), ..spec().stage_defaults };
        BTreeMap::from([(stage.to_owned(), changed)])
    };
    let criticality = [(Class(2), Criticality::Sheddable)].into();
    let by_class = TargetSpec { criticality, policy: sheds(Place::Single), ..spec() };
    let at_stage = TargetSpec { stages: over("work"), policy: sheds(Place::Stage), ..spec() };
    let behind_the_policy = TargetSpec { stages: over("work"), policy: sheds(Place::Single), ..spec() };
    let at_dispatch = TargetSpec { stages: over("dispatch"), policy: sheds(Place::Single), ..spec() };
    for (what, spec, refused, served) in [
        ("by class", by_class, Some("User-Class: 2"), Some("User-Class: 2\r\nX-Criticality: CRITICAL")),
        ("at the stage", at_stage, Some("X-Criticality: CRITICAL_PLUS"), None),
        ("behind the policy", behind_the_policy, None, Some("X-Criticality: CRITICAL_PLUS")),
        ("at dispatch", at_dispatch, Some("X-Criticality: CRITICAL_PLUS"), None),
    ] {
        let target = start(spec);
        target.until(what, |gauges| gauges.stages.iter().any(|stage| stage.policy.get("memory_share") > Some(&0.0)));
        refused.into_iter().for_each(|header| assert_eq!(status(&get(&target, header)), 503, "{what}: {header}"));
        served.into_iter().for_each(|header| assert_eq!(status(&get(&target, header)), 200, "{what}: {header}"));
    }
}

#[test]
fn the_customer_header_says_whose_quota_it_is() {
    let limits = Setting::Map([("7".to_owned(), 0.0.into())].into());
    let settings = [("limits".to_owned(), limits)].into();
    let quota = PolicySpec { name: "sre".to_owned(), place: None, settings };
    let target = start(TargetSpec { policy: quota, ..spec() });
    let refused = get(&target, "X-Customer: 7");
    assert_eq!(status(&refused), 503, "{refused}");
    assert!(refused.contains("x-refused: quota\r\n") && !refused.contains("x-retry"), "{refused}");
    assert_eq!(status(&get(&target, "X-Customer: 8")), 200);
    assert_eq!(status(&get(&target, "X-Customer: seven")), 200, "nonsense means customer 0");
    assert_eq!(target.gauges().ledger.refused["quota"], 1);
}

#[test]
fn what_needs_reports_between_sites_does_not_start() {
    let report = [("report_usage".to_owned(), true.into())].into();
    let reporting = PolicySpec { settings: report, ..policy("quota", &[]) };
    let server = policy("quota-server", &[]);
    for (wrong, said) in [
        (
            TargetSpec { policy: reporting, ..spec() },
            "quota: report_usage: only services of a tree report what they use, to a quota-server: leave it off",
        ),
        (
            TargetSpec { machines: vec![server], ..spec() },
            "quota-server: reports: only services of a tree report to it: leave it out",
        ),
    ] {
        let problem = serve(TaskSpec::alone(wrong), |_| panic!("it started")).unwrap_err().to_string();
        assert!(problem.starts_with(said), "{problem}");
    }
}

#[test]
fn a_policy_is_told_what_requests_cost() {
    let mean_cost_ms = |spec: TargetSpec| {
        let quota = PolicySpec { name: "quota".to_owned(), place: None, settings: Settings::new() };
        let target = start(TargetSpec { policy: quota, ..spec });
        // Two at a time: what each waits for the other is no cost.
        for _ in 0..3 {
            thread::scope(|scope| {
                let both: Vec<_> = (0..2).map(|_| scope.spawn(|| get(&target, "X-Customer: 1"))).collect();
                both.into_iter().for_each(|one| assert_eq!(status(&one.join().unwrap()), 200));
            });
        }
        let gauges = target.until("costs", |gauges| gauges.ledger.served >= 6);
        gauges.stages.iter().find(|stage| stage.name == "dispatch").unwrap().policy["mean_cost_ms"]
    };
    // Emulated work is what was drawn, on one server in turn.
    let emulated = mean_cost_ms(TargetSpec { app: emulated(Duration::from_millis(30), 1), ..spec() });
    assert!((emulated - 30.0).abs() < 0.01, "{emulated}");
    // Real work is CPU time: no more than what the process used, shared by all that was done.
    let before = cpu_time();
    let app = checksum(20, 100);
    let checksum = mean_cost_ms(TargetSpec { app, ..spec() });
    let used = (cpu_time() - before).as_secs_f64() * 1e3;
    assert!(checksum > 0.05 && checksum * 6.0 < used, "{checksum} of {used}");
}

/// DAGOR's levels on replies: at each stage, and at dispatch.
#[test]
fn replies_tell_the_level_of_dagor_whether_they_are_refusals_or_answers() {
    let level = |answer: &str| -> u64 {
        let note = answer.split("x-note: ").nth(1).and_then(|rest| rest.split("\r\n").next()).expect("a note");
        let note: u64 = note.parse().expect("a number");
        assert_eq!(note >> 48, 0xDA60, "the mark of DAGOR");
        note & 0xFFFF_FFFF
    };
    for place in [Place::Stage, Place::Single] {
        let settings = [
            ("threshold".to_owned(), Setting::Text("15ms".to_owned())),
            ("window".to_owned(), Setting::Text("200ms".to_owned())),
            ("user_levels".to_owned(), 1.0.into()),
        ];
        let dagor = PolicySpec { name: "dagor".to_owned(), place: Some(place), settings: settings.into() };
        let stage = StageSpec { workers: 1, batch: 1, ..spec().stage_defaults };
        let app = emulated(Duration::from_millis(30), 1);
        let target = start(TargetSpec { policy: dagor, app, stage_defaults: stage, ..spec() });
        let calm = get(&target, "X-Criticality: SHEDDABLE");
        assert_eq!((status(&calm), level(&calm)), (200, 4), "{place:?}: all four are let in");
        // Three at once wait for each other, 30 ms on average.
        let refused = (0..50).find_map(|_| {
            let answers: Vec<String> = thread::scope(|scope| {
                let all: Vec<_> = (0..3).map(|_| scope.spawn(|| get(&target, "X-Criticality: SHEDDABLE"))).collect();
                all.into_iter().map(|one| one.join().unwrap()).collect()
            });
            answers.into_iter().find(|answer| status(answer) == 503)
        });
        let refused = refused.expect("overload");
        assert!(refused.contains("x-refused: class\r\n") && level(&refused) < 4, "{place:?}: {refused}");
        let served = get(&target, "X-Criticality: CRITICAL_PLUS");
        assert!(status(&served) == 200 && level(&served) <= 4, "{place:?}: {served}");
    }
}

#[test]
fn what_the_database_does_for_a_request_is_in_its_cost() {
    let dir = tempfile::tempdir().unwrap();
    let database = dir.path().join("mail.sqlite");
    mailbox(&database);
    let quota = PolicySpec { name: "quota".to_owned(), place: None, settings: Settings::new() };
    // Signing in costs 200 operations, of which each takes SQLite's thread more than 15 us; the rest is not a tenth of that.
    let target = start(TargetSpec { policy: quota, app: arashi(&database, &[("login", 200.0)]), ..spec() });
    let before = cpu_time();
    sign_in(&target);
    let gauges = target.until("its end", |gauges| gauges.ledger.served == 1);
    let cost = gauges.stages.iter().find(|stage| stage.name == "dispatch").unwrap().policy["mean_cost_ms"];
    let used = (cpu_time() - before).as_secs_f64() * 1e3;
    assert!(cost > 3.0 && cost < used, "{cost} of {used}");
}
