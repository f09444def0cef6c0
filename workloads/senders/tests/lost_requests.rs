//! A service that loses requests which it has read, and one that closes idle connections: it counts what it reads, and the
//! ledger agrees with it. On either live host.
mod support;

use std::{sync::atomic::Ordering::Relaxed, time::Duration};

use senders::{HostChoice, RunOptions, run};
use support::{Server, plan, with_users};
use workloads::{
    StopFlag,
    measure::Report,
    plan::{LoadPlan, UrlUsers},
};

/// Until this number of requests was made, however busy the machine is.
fn go_for(requests: u64, plan: &LoadPlan, host: HostChoice) -> Report {
    let options = RunOptions { host, requests_limit: Some(requests), ..RunOptions::default() };
    let report = run(plan, &options, |_| {}, &StopFlag::new()).expect("it runs");
    assert_eq!(report.faults, Vec::<String>::new());
    report
}

fn users(server: &Server, path: &str, change: impl FnOnce(&mut UrlUsers)) -> LoadPlan {
    with_users(plan(server.address, path, 4, Duration::from_secs(60)), change)
}

#[test]
fn a_request_that_the_service_has_read_is_never_sent_again() {
    for host in [HostChoice::Fiber, HostChoice::Async] {
        for method in ["GET", "POST"] {
            for loses in ["/loses?reset", "/loses?closes-after-0", "/loses?closes-after-50", "/loses?closes-after-300"]
            {
                let server = Server::start();
                let plan = users(&server, loses, |users| {
                    users.method = method.to_owned();
                    users.body = (method == "POST").then(|| "a=b".to_owned());
                });
                let report = go_for(40, &plan, host);
                let (ledger, lost) = (&report.total.measured, server.seen.lost.load(Relaxed));
                let told = format!("{host:?} {method} {loses}: {ledger:?}");
                assert_eq!((server.seen.requests(), lost), (40, 8), "{told}");
                assert_eq!((ledger.planned, ledger.written(), ledger.resent), (40, 40, 0), "{told}");
                assert_eq!((ledger.failed, ledger.served), (lost, 32), "{told}");
                // They have no time: a fifth of all, and the longest.
                let times = report.total.measured.response_time_ms;
                assert_eq!((times.censored, times.p90), (lost, None), "{told}");
                assert!(times.p90_at_least.is_some_and(|least| least > 4900.0), "{times:?}");
            }
        }
    }
}

#[test]
fn a_connection_that_was_closed_between_two_requests_is_replaced_and_that_is_counted() {
    let server = Server::start();
    let plan = users(&server, "/rude", |users| users.think = traces::Think::Constant(Duration::from_millis(60)));
    let ledger = go_for(12, &plan, HostChoice::Fiber).total.measured;
    assert_eq!((ledger.served, ledger.failed, ledger.written()), (12, 0, server.seen.requests()), "{ledger:?}");
    // All but the first one of each of four users.
    assert_eq!((ledger.resent, server.seen.connections()), (8, 12), "{ledger:?}");
}
