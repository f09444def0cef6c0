//! What requests say of themselves reaches the policies of Google SRE, and what these advise reaches the client.

use std::{
    io::{Read, Write},
    thread,
    time::Duration,
};

use controllers::{Settings, catalogue::Setting};
use target_app::{
    serve::serve_blocking,
    spec::{PolicySpec, TargetSpec},
};

use crate::common::{Target, emulated, policy, spec, start, status};

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
            "quota: report_usage: a live target carries no reports between sites",
        ),
        (TargetSpec { machines: vec![server], ..spec() }, "quota-server: reports: a live target carries no reports"),
    ] {
        let problem = serve_blocking(wrong, |_| panic!("it started")).unwrap_err().to_string();
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
    let before = target_app::signals::cpu_time();
    let app = target_app::spec::App::Checksum { rounds: 20, fixed_rounds: 0, reads: 100, answer_bytes: 100 };
    let checksum = mean_cost_ms(TargetSpec { app, ..spec() });
    let used = (target_app::signals::cpu_time() - before).as_secs_f64() * 1e3;
    assert!(checksum > 0.05 && checksum * 6.0 < used, "{checksum} of {used}");
}
