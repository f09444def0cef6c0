//! Health checks, idle connections and those that come and go: counted by both sides, apart from requests.

use std::time::Duration;

use controllers::Class;
use senders::{HostChoice, RunOptions, run};
use spec::{HealthChecks, TargetSpec};
use workloads::{
    StopFlag,
    background::BackgroundRole,
    plan::{ArrivalLaw, Load, Target},
    testing::url_plan,
};

use crate::common::{edge, policy, spec, start, status};

#[test]
fn health_is_answered_outside_of_admission_or_inside_as_the_target_says() {
    let nobody = policy("fixed-rate", &[("rate", 0.01), ("depth", 1.0)]);
    for (health, wanted) in [(HealthChecks::Outside, [200, 200]), (HealthChecks::Inside, [200, 503])] {
        let target = start(TargetSpec { policy: nobody.clone(), health, ..spec() });
        let statuses = [0, 1].map(|_| status(&target.get("/health")));
        assert_eq!(statuses, wanted, "{health:?}");
        let ledger = target.gauges().ledger;
        assert_eq!((ledger.checks, ledger.requests_read), (2, 0));
    }
}

#[test]
fn both_sides_count_what_goes_on_beside_requests() {
    let mut edge = edge();
    edge.kept.idle_timeout = Duration::from_secs(60);
    let target = start(TargetSpec { edge, ..spec() });
    let mut plan = url_plan(&[("all", 3, 4)]);
    let url = format!("http://{}", target.address);
    plan.target = Target { url, ..Target::at(target.address) };
    let class = Class(0);
    let every = Duration::from_millis(500);
    let checker = |anew| Load::Present { from: 5, to: 5, role: BackgroundRole::Checker { every, anew }, class };
    let churn = |ask| Load::Churn { from_per_s: 20.0, to_per_s: 20.0, law: ArrivalLaw::Constant, ask, class };
    let idle = Load::Present { from: 7, to: 7, role: BackgroundRole::Idle, class };
    plan.phases[0].loads.extend([idle, checker(false), checker(true), churn(false), churn(true)]);
    let options = RunOptions { host: HostChoice::Fiber, numbered: true, ..RunOptions::default() };
    let report = run(&plan, &options, |_| {}, &StopFlag::new()).expect("it runs");
    assert_eq!(report.faults, Vec::<String>::new());
    let (requests, beside) = (&report.total.measured, report.total.beside);
    // Ten checkers six times each, and sixty with a check among those that come and go.
    assert!((118..=122).contains(&beside.checks), "{beside:?}");
    assert_eq!((beside.answered, beside.refused, beside.failed, beside.connect_failed), (beside.checks, 0, 0, 0));
    // Seven idle ones, five kept, thirty anew, and a hundred and twenty that come and go.
    assert!((160..=164).contains(&beside.connections), "{beside:?}");
    assert!(requests.served > 80 && requests.served == requests.sent, "{requests:?}");
    let read = target.until("all are gone", |gauges| gauges.ledger.connections_open == 0).ledger;
    assert_eq!((read.checks, read.requests_read), (beside.checks, requests.sent));
    assert_eq!(read.connections_accepted, beside.connections + 4, "and a connection for each user");
}
