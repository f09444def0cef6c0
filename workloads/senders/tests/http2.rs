//! HTTP/2 on the async host, against a service that counts connections and the streams on them.
#![expect(clippy::disallowed_methods, reason = "a live test has threads")]

mod support;

use std::{
    future::pending,
    net::SocketAddr,
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
    time::Duration,
};

use bytes::Bytes;
use h2::{Reason, server::SendResponse};
use senders::{RunOptions, run};
use support::{phase, plan, with_users};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, UnixListener},
    sync::oneshot,
    time::sleep,
};
use workloads::{
    StopFlag,
    measure::Report,
    plan::{ArrivalLaw, ConnectionHabit, HttpVersion, Load, LoadPlan},
};

/// What the service does.
#[derive(Debug, Clone, Copy, Default)]
struct Behaves {
    /// Requests that a connection may carry at once; `None`: it does not say.
    streams: Option<u32>,
    /// How long a request takes.
    takes: Duration,
    /// A connection takes no more after so many.
    goes_away_after: Option<u64>,
    /// The first connection dies with so many on it.
    dies_with: Option<u64>,
    /// The first so many requests are refused before they are begun.
    refuses: u64,
}

#[derive(Debug, Default)]
struct Counts {
    connections: AtomicU64,
    requests: AtomicU64,
    refused: AtomicU64,
    /// Requests under way on each connection, and the most there were on one.
    open: Mutex<(Vec<u64>, u64)>,
}

impl Counts {
    fn on(&self, connection: usize, change: impl FnOnce(&mut u64)) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let (now, most) = &mut *open;
        now.resize(now.len().max(connection + 1), 0);
        change(&mut now[connection]);
        *most = now[connection].max(*most);
    }

    /// The most requests at once on one connection.
    fn most_at_once(&self) -> u64 {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).1
    }
}

/// A service with HTTP/2 and without TLS; it ends when this is dropped.
struct Service {
    address: SocketAddr,
    counts: Arc<Counts>,
    _stop: oneshot::Sender<()>,
}

impl Service {
    fn start(behaves: Behaves) -> Self {
        Self::start_at(behaves, None)
    }

    /// Also at a Unix socket.
    fn start_at(behaves: Behaves, socket: Option<PathBuf>) -> Self {
        let (tell, told) = std::sync::mpsc::channel();
        let (stop, stopped) = oneshot::channel::<()>();
        let counts = Arc::new(Counts::default());
        let theirs = Arc::clone(&counts);
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async move {
                let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
                tell.send(listener.local_addr().expect("an address")).expect("the test waits");
                let also = socket.map(|path| UnixListener::bind(path).expect("a socket"));
                let accept_also = async {
                    let Some(listener) = also else { return pending().await };
                    while let Ok((stream, _)) = listener.accept().await {
                        tokio::spawn(carry(stream, behaves, Arc::clone(&theirs)));
                    }
                };
                let accept = async {
                    while let Ok((stream, _)) = listener.accept().await {
                        tokio::spawn(carry(stream, behaves, Arc::clone(&theirs)));
                    }
                };
                tokio::select! { () = accept => {}, () = accept_also => {}, _ = stopped => {} }
            });
        });
        Self { address: told.recv().expect("the service started"), counts, _stop: stop }
    }

    fn connections(&self) -> u64 {
        self.counts.connections.load(SeqCst)
    }

    fn requests(&self) -> u64 {
        self.counts.requests.load(SeqCst)
    }
}

async fn carry(stream: impl AsyncRead + AsyncWrite + Unpin, behaves: Behaves, counts: Arc<Counts>) {
    let number = counts.connections.fetch_add(1, SeqCst);
    let mut settings = h2::server::Builder::new();
    behaves.streams.map(|streams| settings.max_concurrent_streams(streams));
    let Ok(mut connection) = settings.handshake::<_, Bytes>(stream).await else { return };
    let mut here = 0;
    while let Some(Ok((_, respond))) = connection.accept().await {
        if counts.refused.fetch_add(1, SeqCst) < behaves.refuses {
            let mut respond = respond;
            respond.send_reset(Reason::REFUSED_STREAM);
            continue;
        }
        counts.requests.fetch_add(1, SeqCst);
        here += 1;
        if number == 0 && behaves.dies_with == Some(here) {
            return;
        }
        let index = usize::try_from(number).unwrap_or_default();
        counts.on(index, |now| *now += 1);
        tokio::spawn(answer(respond, behaves.takes, index, Arc::clone(&counts)));
        if behaves.goes_away_after == Some(here) {
            connection.graceful_shutdown();
        }
    }
}

async fn answer(mut respond: SendResponse<Bytes>, takes: Duration, connection: usize, counts: Arc<Counts>) {
    sleep(takes).await;
    counts.on(connection, |now| *now -= 1);
    if let Ok(mut body) = respond.send_response(http::Response::new(()), false) {
        let _ = body.send_data(Bytes::from_static(b"hello"), true);
    }
}

fn go(plan: &LoadPlan) -> Report {
    let options = RunOptions { version: HttpVersion::Http2, ..RunOptions::default() };
    let report = run(plan, &options, |_| {}, &StopFlag::new()).expect("it runs");
    assert_eq!((report.faults.len(), report.generator.health.fiber_panics), (0, 0), "{:?}", report.faults);
    assert_eq!(report.total.measured.imbalance(), None);
    report
}

/// Requests at a rate, on connections that users share.
fn open(service: &Service, per_s: f64, seconds: f64, most: Option<u32>) -> LoadPlan {
    let load =
        Load::Requests { from_per_s: per_s, to_per_s: per_s, law: ArrivalLaw::Constant, class: controllers::Class(0) };
    let phases = vec![phase("open", Duration::from_secs_f64(seconds), vec![load])];
    let patient = Duration::from_secs(20);
    let plan = LoadPlan { phases, timeout: patient, drain: patient, ..plan(service.address, "/", 0, patient) };
    with_users(plan, |users| users.connections = ConnectionHabit::Shared { most })
}

/// Users without a pause, who share connections.
fn closed(service: &Service, users: u32, most: Option<u32>, lasts: Duration) -> LoadPlan {
    with_users(plan(service.address, "/", users, lasts), |users| users.connections = ConnectionHabit::Shared { most })
}

const MS: Duration = Duration::from_millis(1);

#[test]
fn an_open_load_has_one_connection_however_many_requests_it_sends() {
    for rate in [100.0, 300.0] {
        let service = Service::start(Behaves { takes: 5 * MS, ..Behaves::default() });
        let report = go(&open(&service, rate, 300.0 / rate, None));
        let ledger = &report.total.measured;
        assert_eq!((ledger.served, ledger.planned), (300, 300), "{ledger:?}");
        assert_eq!((service.connections(), service.requests()), (1, 300));
        assert!(report.total.measured.connect_time_ms.max.is_some(), "{:?}", report.total.measured.connect_time_ms);
    }
}

#[test]
fn one_connection_carries_what_is_under_way_and_nobody_waits_for_it() {
    let service = Service::start(Behaves { takes: 200 * MS, ..Behaves::default() });
    let report = go(&open(&service, 50.0, 2.0, Some(1)));
    let (ledger, health) = (&report.total.measured, report.generator.health);
    assert_eq!((ledger.served, service.connections()), (100, 1), "{ledger:?}");
    assert!(service.counts.most_at_once() >= 5, "{}", service.counts.most_at_once());
    assert_eq!(health.waited_for_connection, 0, "{health:?}");
}

#[test]
fn another_connection_opens_above_the_services_limit_of_streams() {
    let service = Service::start(Behaves { streams: Some(4), takes: 300 * MS, ..Behaves::default() });
    let report = go(&closed(&service, 20, None, 1000 * MS));
    let ledger = &report.total.measured;
    assert_eq!(ledger.served, ledger.planned, "{ledger:?}");
    assert_eq!((service.connections(), service.counts.most_at_once()), (5, 4));
    assert_eq!(report.generator.health.in_flight_peak, 20);
}

#[test]
fn where_connections_are_limited_requests_above_the_services_limit_wait() {
    let service = Service::start(Behaves { streams: Some(4), takes: 100 * MS, ..Behaves::default() });
    // 80 a second at the most. What has not begun when as long again has passed is never sent.
    let report = go(&open(&service, 110.0, 1.0, Some(2)));
    let (ledger, health) = (&report.total.measured, report.generator.health);
    let unlucky = ledger.refused_locally + ledger.in_flight;
    assert_eq!(ledger.served + unlucky, 110, "{ledger:?}");
    assert_eq!((service.connections(), service.counts.most_at_once()), (2, 4));
    assert!(health.waited_for_connection > 10, "{health:?}");
}

#[test]
fn users_of_their_own_connections_have_one_request_each_on_them() {
    let service = Service::start(Behaves { takes: 10 * MS, ..Behaves::default() });
    let ledger = go(&plan(service.address, "/", 4, 500 * MS)).total.measured;
    assert!(ledger.served > 8 && ledger.served == ledger.planned, "{ledger:?}");
    assert_eq!((service.connections(), service.counts.most_at_once()), (4, 1));
    let anew = with_users(plan(service.address, "/", 2, 300 * MS), |u| u.connections = ConnectionHabit::PerRequest);
    let ledger = go(&anew).total.measured;
    assert_eq!((ledger.served, service.connections() - 4), (ledger.planned, ledger.written()), "{ledger:?}");
}

#[test]
fn a_connection_that_takes_no_more_is_replaced_and_nothing_is_lost() {
    for shared in [false, true] {
        let behaves = Behaves { takes: 5 * MS, goes_away_after: Some(50), ..Behaves::default() };
        let service = Service::start(behaves);
        let plan = if shared { open(&service, 200.0, 2.0, None) } else { plan(service.address, "/", 4, 1500 * MS) };
        let ledger = go(&plan).total.measured;
        assert!(ledger.planned > 100, "{ledger:?}");
        assert_eq!(ledger.served, ledger.planned, "shared: {shared}: {ledger:?}");
        assert_eq!(service.requests(), ledger.planned, "nothing was sent twice");
        assert!(service.connections() > 2 && service.connections() < 40, "{}", service.connections());
    }
}

#[test]
fn a_connection_that_dies_fails_what_was_on_it_and_nothing_else() {
    let service = Service::start(Behaves { takes: 100 * MS, dies_with: Some(3), ..Behaves::default() });
    let ledger = go(&closed(&service, 3, None, 800 * MS)).total.measured;
    assert_eq!(ledger.failed, 3, "{ledger:?}");
    assert!(ledger.served > 3 && ledger.served + 3 == ledger.planned, "{ledger:?}");
    assert_eq!((service.requests(), service.connections()), (ledger.written(), 2));
}

#[test]
fn a_request_that_the_service_has_not_begun_with_is_sent_again() {
    let service = Service::start(Behaves { refuses: 2, ..Behaves::default() });
    let ledger = go(&open(&service, 50.0, 0.5, None)).total.measured;
    assert_eq!((ledger.served, service.requests()), (25, 25), "{ledger:?}");
    let never = Service::start(Behaves { refuses: u64::MAX, ..Behaves::default() });
    let ledger = go(&open(&never, 50.0, 0.5, None)).total.measured;
    assert_eq!((ledger.failed, never.counts.refused.load(SeqCst)), (25, 75), "{ledger:?}");
}

#[test]
fn it_goes_to_the_next_address_of_its_host_from_given_ones_and_through_a_unix_socket() {
    let folder = std::env::temp_dir().join(format!("lab-http2-{}.sock", std::process::id()));
    let _ = std::fs::remove_file(&folder);
    let service = Service::start_at(Behaves::default(), Some(folder.clone()));
    let mut plan = open(&service, 50.0, 0.5, None);
    (plan.target.address, plan.target.others) = (support::nobody(), vec![service.address]);
    let ledger = go(&plan).total.measured;
    assert_eq!((ledger.served, service.connections()), (25, 1), "{ledger:?}");
    plan.target.others = Vec::new();
    let version = HttpVersion::Http2;
    let through = RunOptions { version, unix_socket: Some(folder.clone()), ..RunOptions::default() };
    let ledger = run(&plan, &through, |_| {}, &StopFlag::new()).expect("it runs").total.measured;
    let _ = std::fs::remove_file(&folder);
    assert_eq!((ledger.served, service.requests()), (25, 50), "{ledger:?}");
    plan.target.address = service.address;
    let source = std::net::Ipv4Addr::new(127, 0, 0, 7).into();
    let from = RunOptions { version, source_addresses: vec![source], ..RunOptions::default() };
    let ledger = run(&plan, &from, |_| {}, &StopFlag::new()).expect("it runs").total.measured;
    assert_eq!((ledger.served, service.requests()), (25, 75), "{ledger:?}");
}

#[test]
fn a_service_that_does_not_speak_it_gets_no_request() {
    let server = support::Server::start();
    let mut plan = plan(server.address, "/ok", 2, 300 * MS);
    plan.connect_timeout = 100 * MS;
    let ledger = go(&plan).total.measured;
    assert!(ledger.planned > 0 && ledger.sent == 0, "{ledger:?}");
}
