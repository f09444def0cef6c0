//! The fiber host against a real server on loopback: shapes, never speeds.

#![expect(clippy::disallowed_methods, clippy::disallowed_types, reason = "a live test has a clock and threads")]

mod loads;
#[path = "../support/mod.rs"]
mod support;
mod ways;

use std::time::{Duration, Instant};

use controllers::{Objective, Settings, Tags, Timestamp, UnixSeconds};
use senders::{HostChoice, RunError, RunOptions, run};
use support::{Server, nobody, phase, plan, restless, with_users};
use workloads::{
    StopFlag, UserCommand, UserCommands,
    balance::{Balancer, Per},
    client::Asked,
    measure::{Fate, Report},
    plan::{ClientScope, ClientSpec, ConnectionHabit, EntryPoint, FailureRule, Load, LoadPlan, Patience, Users},
};

const SHORT: Duration = Duration::from_millis(400);

/// For runs that end with a number of requests, however busy the machine is.
const LONG: Duration = Duration::from_secs(60);

/// Runs it with numbered requests: that as many are numbered as written is one of the report's own checks.
fn go(plan: &LoadPlan) -> Report {
    go_with(plan, RunOptions::default())
}

/// The same, up to this number of requests.
fn go_for(requests: u64, plan: &LoadPlan) -> Report {
    go_with(plan, RunOptions { requests_limit: Some(requests), ..RunOptions::default() })
}

fn go_with(plan: &LoadPlan, options: RunOptions) -> Report {
    let report = run(plan, &RunOptions { numbered: true, ..options }, |_| {}, &StopFlag::new()).expect("it runs");
    assert_eq!(report.faults, Vec::<String>::new());
    assert_eq!(report.generator.health.fiber_panics, 0);
    assert_eq!(report.total.measured.imbalance(), None);
    report
}

/// How each request without an answer ended.
fn without_answer(report: &Report) -> Vec<Fate> {
    let numbers = report.numbers.as_ref().expect("they were numbered");
    numbers.without_answer().expect("few").map(|(_, fate)| fate).collect()
}

#[test]
fn kept_connections_are_used_again_and_the_ledgers_agree() {
    let server = Server::start();
    let report = go_for(60, &plan(server.address, "/ok", 4, LONG));
    let ledger = &report.total.measured;
    assert_eq!((ledger.served, ledger.planned), (60, 60), "{ledger:?}");
    assert_eq!(ledger.written(), server.seen.requests());
    assert_eq!(server.seen.connections(), 4);
    assert_eq!(without_answer(&report), []);
}

/// Four users who begin again at once, of whom the balancer admits one at a time.
#[test]
fn beyond_their_balancers_cap_users_are_refused_at_once_and_the_run_goes_on() {
    let server = Server::start();
    let at_once = FailureRule::Login { wait: Duration::ZERO };
    let mut plan = with_users(plan(server.address, "/slow?20", 4, SHORT), |u| u.behaviour.on_reject = at_once);
    plan.target.entries = vec![EntryPoint {
        service: "front".to_owned(),
        class: None,
        tasks: vec![server.address].into(),
        balancer: Balancer::RoundRobin,
        per: Per::Request,
        cap: 1,
    }];
    let report = go(&plan);
    let (ledger, turned_back) = (&report.total.measured, report.turned_back["front"]);
    assert_eq!((ledger.rejected, turned_back.checks), (turned_back.requests, 0), "{ledger:?}");
    assert_eq!(ledger.written(), server.seen.requests() + turned_back.requests, "what it refused was never sent");
    // One after the other in 20 ms each; the three others ask once a millisecond at most.
    assert!((1..=21).contains(&ledger.served), "{ledger:?}");
    assert!(ledger.rejected > ledger.served && ledger.rejected < 1300, "{ledger:?}");
}

#[test]
fn a_connection_a_request_when_the_users_want_it() {
    let server = Server::start();
    let plan = with_users(plan(server.address, "/ok", 4, LONG), |u| u.connections = ConnectionHabit::PerRequest);
    let ledger = go_for(30, &plan).total.measured;
    assert_eq!((ledger.served, ledger.planned, ledger.written()), (30, 30, server.seen.requests()));
    assert_eq!(server.seen.connections(), ledger.written());
}

#[test]
fn every_framing_is_served() {
    for path in ["/chunked", "/close", "/until-close"] {
        let server = Server::start();
        let ledger = go_for(12, &plan(server.address, path, 3, LONG)).total.measured;
        assert_eq!((ledger.served, ledger.planned, ledger.written()), (12, 12, server.seen.requests()), "{path}");
    }
}

#[test]
fn a_503_is_a_reject_and_users_come_back_after_their_wait() {
    let server = Server::start();
    let began = Instant::now();
    let ledger = go_for(20, &plan(server.address, "/503", 4, LONG)).total.measured;
    assert_eq!((ledger.rejected, ledger.planned, ledger.written()), (20, 20, server.seen.requests()));
    // Five rounds of four users, with 50 ms between one and the next.
    assert!(began.elapsed() >= 4 * Duration::from_millis(50), "{:?}", began.elapsed());
}

#[test]
fn no_answer_is_a_time_out_at_its_time() {
    let server = Server::start();
    let plan = LoadPlan { timeout: Duration::from_millis(100), ..plan(server.address, "/silent", 3, SHORT) };
    let report = go(&plan);
    let ledger = &report.total.measured;
    // 100 ms and 50 ms wait: 2 or 3 a user.
    assert!((3..=9).contains(&ledger.timed_out), "{ledger:?}");
    assert_eq!((ledger.timed_out, ledger.written()), (ledger.planned, server.seen.requests()));
    assert_eq!(report.total.measured.response_time_ms.count, 0);
    assert_eq!(report.total.measured.response_time_ms.censored, ledger.timed_out);
    assert_eq!(without_answer(&report), vec![Fate::TimedOut; ledger.timed_out as usize]);
}

#[test]
fn users_lose_patience_before_the_time_out() {
    let server = Server::start();
    let plan = with_users(plan(server.address, "/silent", 3, SHORT), |users| {
        let lasts = traces::Think::Constant(Duration::from_millis(60));
        users.behaviour.patience = Some(Patience { lasts, reload: true });
    });
    let ledger = go(&plan).total.measured;
    assert!(ledger.abandoned >= 3 && ledger.timed_out == 0, "{ledger:?}");
}

#[test]
fn nobody_listening_is_a_failed_connection() {
    let report = go(&plan(nobody(), "/ok", 3, SHORT));
    let ledger = &report.total.measured;
    assert!(ledger.connect_failed >= 3, "{ledger:?}");
    assert_eq!((ledger.connect_failed, ledger.sent), (ledger.planned, 0));
    assert_eq!(ledger.connect_timed_out, 0);
    assert_eq!(report.total.replies.errors["Connection refused"], ledger.connect_failed);
}

#[test]
fn users_that_log_in_again_at_once_back_off_from_a_dead_service_and_the_run_ends() {
    let began = Instant::now();
    let report = go(&restless(nobody(), "/ok", 8, SHORT));
    // Bounds of 10, 20, 40 ... ms in a row: about 7 attempts a user.
    let ledger = &report.total.measured;
    assert!((16..400).contains(&ledger.connect_failed) && ledger.sent == 0, "{ledger:?}");
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    assert_eq!(report.total.measured.unsent, 0);
}

#[test]
fn users_that_retry_at_once_back_off_from_a_dead_service_too() {
    // A hundred attempts without a pause of their own.
    let plan = with_users(plan(nobody(), "/ok", 4, SHORT), |users| {
        users.behaviour.on_failure = FailureRule::RetryNow { attempts: 100 };
    });
    let report = go(&plan);
    let ledger = &report.total.measured;
    assert!((8..200).contains(&ledger.connect_failed), "{ledger:?}");
    assert_eq!((ledger.retries, ledger.unsent), (ledger.connect_failed - 4, 0));
}

#[test]
fn a_time_out_that_is_over_at_once_keeps_nobody_from_the_end() {
    let server = Server::start();
    let began = Instant::now();
    let report = go(&LoadPlan { timeout: Duration::from_nanos(1), ..restless(server.address, "/ok", 4, SHORT) });
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    let ledger = &report.total.measured;
    assert!(ledger.planned > 4 && ledger.unsent == ledger.planned, "{ledger:?}");
}

#[test]
fn a_service_that_sends_without_an_end_does_not_hold_the_sender() {
    for (path, error) in [("/flood", "interim (1xx)"), ("/endless", "the body of the response is over")] {
        let server = Server::start();
        let began = Instant::now();
        let report = go(&restless(server.address, path, 4, SHORT));
        assert!(began.elapsed() < Duration::from_secs(10), "{path}: {:?}", began.elapsed());
        let errors = &report.total.replies.errors;
        assert!(
            report.total.measured.served == 0 && errors.keys().any(|text| text.contains(error)),
            "{path}: {errors:?}"
        );
        let gap = report.generator.health.largest_gap;
        assert!(gap < Duration::from_secs(1), "{path}: {gap:?}");
    }
}

#[test]
fn a_full_backlog_is_a_connect_time_out() {
    // A backlog of one that nobody accepts from: two connections fill it, and further SYNs are dropped.
    let listener = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).expect("a socket");
    listener.bind(&"127.0.0.1:0".parse::<std::net::SocketAddr>().expect("an address").into()).expect("a port");
    listener.listen(0).expect("listens");
    let address = listener.local_addr().expect("an address").as_socket().expect("an address");
    let _full: Vec<_> =
        (0..2).map(|_| std::net::TcpStream::connect_timeout(&address, Duration::from_millis(100))).collect();
    let plan = LoadPlan { connect_timeout: Duration::from_millis(150), ..plan(address, "/ok", 3, SHORT) };
    let report = go(&plan);
    let ledger = &report.total.measured;
    assert!(ledger.connect_timed_out >= 3, "{ledger:?}");
    assert_eq!((ledger.connect_timed_out, ledger.sent), (ledger.planned, 0));
}

#[test]
fn what_is_no_http_has_failed() {
    let server = Server::start();
    let ledger = go(&plan(server.address, "/garbage", 2, SHORT)).total.measured;
    assert!(ledger.failed >= 2 && ledger.failed == ledger.planned, "{ledger:?}");
}

#[test]
fn a_request_that_no_socket_holds_at_once_is_written_whole() {
    const BODY: usize = 12 << 20;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        // Meanwhile the buffers of both ends fill up.
        std::thread::sleep(Duration::from_millis(100));
        let (mut room, mut body) = (vec![0; 1 << 16], 0);
        while body < BODY {
            let count = std::io::Read::read(&mut stream, &mut room).expect("bytes");
            assert!(count > 0, "cut short after {body} bytes");
            body += room[..count].iter().filter(|&&byte| byte == b'~').count();
        }
        std::io::Write::write_all(&mut stream, b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").expect("room");
        body
    });
    let plan = with_users(plan(address, "/upload", 1, SHORT), |users| {
        users.method = "POST".to_owned();
        users.body = Some("~".repeat(BODY));
    });
    let options = RunOptions { requests_limit: Some(1), ..RunOptions::default() };
    let ledger = run(&plan, &options, |_| {}, &StopFlag::new()).expect("it runs").total.measured;
    assert_eq!((ledger.planned, ledger.sent, ledger.served), (1, 1, 1), "{ledger:?}");
    assert_eq!(server.join().expect("it read all"), BODY);
}

#[test]
fn a_redirect_is_one_request_with_a_hop() {
    let server = Server::start();
    let ledger = go_for(8, &plan(server.address, "/moved", 2, LONG)).total.measured;
    assert_eq!((ledger.served, ledger.hops, ledger.written()), (8, 8, server.seen.requests()));
}

#[test]
fn a_redirect_in_full_is_followed_at_home_and_counted_by_name_elsewhere() {
    let server = Server::start();
    let home = go_for(8, &plan(server.address, "/moved-in-full", 2, LONG)).total.measured;
    assert_eq!((home.served, home.hops, home.failed), (8, 8, 0));
    let away = go_for(4, &plan(server.address, "/away", 2, LONG)).total.measured;
    assert_eq!((away.elsewhere, away.failed, away.hops), (4, 4, 0));
    assert_eq!(home.written() + away.written(), server.seen.requests());
}
