//! The async host against real servers on loopback: the same ledgers as the fiber host's, and TLS.
#![expect(clippy::disallowed_methods, clippy::disallowed_types, reason = "a live test has a clock and threads")]

mod support;

use std::{
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpListener},
    sync::Arc,
    time::{Duration, Instant},
};

use rustls::{
    ServerConfig, ServerConnection, StreamOwned,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
};
use senders::{HostChoice, RunOptions, run};
use support::{Server, nobody, plan, restless, with_users};
use workloads::{
    StopFlag,
    measure::Report,
    plan::{ConnectionHabit, LoadPlan, TlsOptions},
};

const SHORT: Duration = Duration::from_millis(500);

fn go(plan: &LoadPlan) -> Report {
    let options = RunOptions {
        host: HostChoice::Async,
        tls: TlsOptions { insecure: true, ..TlsOptions::default() },
        ..RunOptions::default()
    };
    let report = run(plan, &options, |_| {}, &StopFlag::new()).expect("it runs");
    assert_eq!(report.faults, Vec::<String>::new());
    assert!(report.little.difference() < 0.05, "{:?}", report.little);
    assert_eq!(report.generator.health.fiber_panics, 0);
    report
}

#[test]
fn kept_connections_are_used_again_and_the_ledgers_agree() {
    let server = Server::start();
    let ledger = go(&plan(server.address, "/ok", 3, SHORT)).total.measured;
    assert!(ledger.served > 20, "{ledger:?}");
    assert_eq!((ledger.served, ledger.written()), (ledger.planned, server.seen.requests()));
    assert_eq!(server.seen.connections(), 3);
}

#[test]
fn users_that_log_in_again_at_once_back_off_from_a_dead_service_and_the_run_ends() {
    let began = Instant::now();
    let report = go(&restless(nobody(), "/ok", 8, SHORT));
    let ledger = &report.total.measured;
    assert!((16..400).contains(&ledger.connect_failed) && ledger.sent == 0, "{ledger:?}");
    assert_eq!(report.total.replies.errors["Connection refused"], ledger.connect_failed);
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
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
    for path in ["/flood", "/endless"] {
        let server = Server::start();
        let began = Instant::now();
        let report = go(&LoadPlan { timeout: Duration::from_secs(1), ..restless(server.address, path, 4, SHORT) });
        assert!(began.elapsed() < Duration::from_secs(10), "{path}: {:?}", began.elapsed());
        assert!(
            report.total.measured.served == 0 && report.total.measured.sent >= 4,
            "{path}: {:?}",
            report.total.measured
        );
    }
}

#[test]
fn statuses_are_counted() {
    let server = Server::start();
    let report = go(&plan(server.address, "/503", 2, SHORT));
    assert_eq!(report.total.replies.statuses, [(503, report.total.measured.rejected)].into());
}

#[test]
fn descriptors_are_counted_at_their_peak() {
    let server = Server::start();
    let health = go(&plan(server.address, "/ok", 40, SHORT)).generator.health;
    // Both ends of 40 connections are this process's.
    assert!((80..health.descriptors_limit).contains(&health.descriptors_peak), "{health:?}");
}

#[test]
fn a_connection_a_request_when_the_users_want_it() {
    let server = Server::start();
    let plan = with_users(plan(server.address, "/chunked", 2, SHORT), |u| u.connections = ConnectionHabit::PerRequest);
    let ledger = go(&plan).total.measured;
    assert!(ledger.served > 2, "{ledger:?}");
    assert_eq!((ledger.served, server.seen.connections()), (ledger.planned, ledger.written()));
}

#[test]
fn rejects_time_outs_and_redirects_are_told_apart() {
    let server = Server::start();
    let rejects = go(&plan(server.address, "/503", 2, SHORT)).total.measured;
    assert!(rejects.rejected >= 4 && rejects.rejected == rejects.planned, "{rejects:?}");
    let silent = LoadPlan { timeout: Duration::from_millis(100), ..plan(server.address, "/silent", 2, SHORT) };
    let time_outs = go(&silent).total.measured;
    assert!(time_outs.timed_out >= 2 && time_outs.timed_out == time_outs.planned, "{time_outs:?}");
    let redirects = go(&plan(server.address, "/moved-in-full", 2, SHORT)).total.measured;
    assert!(redirects.served > 2 && redirects.hops == redirects.served, "{redirects:?}");
    let written = rejects.written() + time_outs.written() + redirects.written();
    assert_eq!(written, server.seen.requests());
}

#[test]
fn nobody_listening_is_a_failed_connection() {
    let address = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port");
    let ledger = go(&plan(address, "/ok", 2, SHORT)).total.measured;
    assert!(ledger.connect_failed >= 2 && ledger.connect_failed == ledger.planned, "{ledger:?}");
}

#[test]
fn what_is_in_flight_at_the_end_is_cut() {
    let server = Server::start();
    let plan = LoadPlan { drain: Duration::from_millis(50), ..plan(server.address, "/slow?5000", 3, SHORT) };
    let ledger = go(&plan).total.measured;
    assert_eq!((ledger.planned, ledger.in_flight), (3, 3));
}

#[test]
fn a_run_ends_with_the_last_of_a_number_of_requests() {
    let server = Server::start();
    let options = RunOptions { host: HostChoice::Async, requests_limit: Some(137), ..RunOptions::default() };
    let long = plan(server.address, "/ok", 5, Duration::from_secs(3600));
    let began = Instant::now();
    let report = run(&long, &options, |_| {}, &StopFlag::new()).expect("it runs");
    assert!(began.elapsed() < Duration::from_secs(20), "it did not wait for the plan's end");
    let ledger = &report.total.measured;
    assert_eq!((ledger.planned, ledger.served, ledger.unsent), (137, 137, 0), "{ledger:?}");
    assert_eq!(server.seen.requests(), 137);
}

#[test]
fn https_is_served_through_the_same_door() {
    let address = tls_server();
    let mut plan = plan(address, "/", 2, SHORT);
    plan.target.url = format!("https://localhost:{}", address.port());
    let options = RunOptions { tls: TlsOptions { insecure: true, ..TlsOptions::default() }, ..RunOptions::default() };
    let report = run(&plan, &options, |_| {}, &StopFlag::new()).expect("it runs");
    let ledger = &report.total.measured;
    assert!(ledger.served > 4 && ledger.served == ledger.planned, "{ledger:?}");

    let strict = run(&plan, &RunOptions::default(), |_| {}, &StopFlag::new()).expect("it runs");
    assert_eq!(strict.total.measured.served, 0, "a certificate that nobody signed is not accepted by default");
}

/// Answers over TLS until the test's process ends, with a certificate of its own (made for this test, worth nothing).
fn tls_server() -> SocketAddr {
    let certificate = CertificateDer::from_pem_slice(include_bytes!("support/certificate.pem")).expect("a certificate");
    let key = PrivateKeyDer::from_pem_slice(include_bytes!("support/key.pem")).expect("a key");
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .expect("they belong together");
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let session = ServerConnection::new(Arc::clone(&config)).expect("a session");
            std::thread::spawn(move || {
                let mut stream = StreamOwned::new(session, stream);
                let mut bytes = [0; 4096];
                while stream.read(&mut bytes).is_ok_and(|count| count > 0) {
                    if stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello").is_err() {
                        return;
                    }
                }
            });
        }
    });
    address
}
