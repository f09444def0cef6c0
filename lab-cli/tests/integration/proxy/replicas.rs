//! Several waiting rooms before one service, which share its capacity and their keys.

use std::{
    fs,
    net::UdpSocket,
    os::unix::fs::PermissionsExt as _,
    path::PathBuf,
    thread,
    time::{Duration, Instant},
};

use serde_json::json;

use crate::proxy::{
    backend::Backend,
    proxied::{Answer, Proxied, until},
    waiting_room::row,
};

/// Replicas that begin with these keys.
struct Rooms {
    folder: tempfile::TempDir,
    backend: Backend,
    /// In order: the place in it is a replica's number.
    addresses: Vec<String>,
}

impl Rooms {
    fn new(replicas: usize) -> Self {
        // Bound together, so that none is given twice.
        let sockets: Vec<UdpSocket> = (0..replicas).map(|_| UdpSocket::bind("127.0.0.1:0").expect("a port")).collect();
        let mut addresses: Vec<_> = sockets.iter().map(|socket| socket.local_addr().expect("an address")).collect();
        addresses.sort_unstable();
        let rooms = Self {
            folder: tempfile::tempdir().expect("a folder"),
            backend: Backend::start(),
            addresses: addresses.iter().map(ToString::to_string).collect(),
        };
        fs::write(rooms.keys(), format!("1 {}\n", "ab".repeat(32))).expect("written");
        fs::set_permissions(rooms.keys(), fs::Permissions::from_mode(0o600)).expect("a mode");
        rooms
    }

    fn keys(&self) -> PathBuf {
        self.folder.path().join("keys.txt")
    }

    fn start(&self, number: usize) -> Proxied {
        let others: Vec<&String> =
            self.addresses.iter().filter(|address| **address != self.addresses[number]).collect();
        let room = json!({
            "capacity": "3/s", "stay": "0s", "skew": "5s", "binding": "address", "keys": self.keys(),
            "replicas": others, "listen_replicas": self.addresses[number],
        });
        Proxied::before(&[self.backend.url()], json!({"waiting_room": room, "log": "off"}))
    }
}

fn share(proxy: &Proxied) -> f64 {
    row(proxy)["policy"]["share_per_s"].as_f64().expect("a share")
}

fn ask(proxy: &Proxied, query: &str) -> Answer {
    let head = format!("GET /{query} HTTP/1.1\r\nHost: localhost\r\nAccept: text/html\r\nConnection: close\r\n\r\n");
    Answer::to(proxy.address, &head)
}

/// When the turn comes, and the query, of a page that waits for some seconds.
fn promised(proxy: &Proxied) -> (Instant, String) {
    until("wait", || {
        let page = ask(proxy, "");
        let (seconds, url) = page.header("refresh")?.split_once("; url=")?;
        let seconds: u64 = seconds.parse().expect("seconds");
        (seconds >= 7).then(|| (Instant::now() + Duration::from_secs(seconds), url.to_owned()))
    })
}

#[test]
fn a_replica_that_is_killed_takes_no_promise_with_it_and_joins_when_it_is_back() {
    let rooms = Rooms::new(3);
    let (first, second, third) = (rooms.start(0), rooms.start(1), rooms.start(2));
    // Nobody asks: equal shares. The sum is the capacity.
    until("equal shares", || {
        let shares = [share(&first), share(&second), share(&third)];
        (shares.iter().all(|share| (share - 1.0).abs() < 0.01)).then_some(())
    });
    let turns: Vec<(Instant, String)> = (0..3).map(|_| promised(&third)).collect();
    third.signal("KILL");
    drop(third);
    // What it had promised is checked by the others, with the same keys; early first.
    let early = ask(&first, &turns[0].1);
    assert_eq!(early.header("x-token-refused"), Some("early"), "{early:?}");
    for (number, (turn, query)) in turns.iter().enumerate() {
        let proxy = if number % 2 == 0 { &first } else { &second };
        thread::sleep(turn.saturating_duration_since(Instant::now()));
        let answer = ask(proxy, query);
        assert_eq!((answer.status, answer.body.as_str()), (200, "hello"), "turn {number}: {answer:?}");
    }
    // It keeps its reserved minimum, 0.3 of a third: the others have the rest, 1.35 each while nobody asks.
    let rest = until("the rest", || {
        let rest = share(&first) + share(&second);
        ((rest - 2.7).abs() < 0.01).then_some(rest)
    });
    assert!(rest <= 3.0);
    let back = rooms.start(2);
    until("three shares", || {
        let shares = [share(&first), share(&second), share(&back)];
        (shares.iter().all(|share| (share - 1.0).abs() < 0.01)).then_some(())
    });
    let counts = row(&back)["counts"].clone();
    assert!(counts["reports_taken"].as_u64() > Some(0), "{counts}");
}

#[test]
fn what_no_replica_has_said_is_refused_and_counted() {
    let rooms = Rooms::new(2);
    let first = rooms.start(0);
    let stranger = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let report = json!({"version": 1, "from": 1, "started": 1, "sequence": 1, "second": 1, "load": 0, "booked": []});
    for datagram in [report.to_string().into_bytes(), vec![2; 100], vec![]] {
        stranger.send_to(&datagram, &rooms.addresses[0]).expect("it goes out");
    }
    until("three refusals", || (row(&first)["counts"]["reports_refused"] == 3).then_some(()));
    assert_eq!(row(&first)["counts"]["reports_taken"], 0);
}
