//! What clients say that are not trusted: for whom they ask, how important that is, and where a request has been.

use std::net::TcpListener;

use serde_json::json;

use crate::proxy::{
    backend::Backend,
    http2_wire::{END_STREAM, Link, head, preface},
    proxied::{Answer, Proxied},
};

/// Names with what a client says in them.
const SAID: [(&str, &str); 12] = [
    ("X-Forwarded-For", "192.0.2.1"),
    ("X-Forwarded-Host", "internal.example"),
    ("X-Forwarded-Proto", "https"),
    ("Forwarded", "for=192.0.2.1"),
    ("X-Forwarded-Port", "443"),
    ("X-Forwarded-Server", "internal.example"),
    ("X-Forwarded-Prefix", "/admin"),
    ("X-Forwarded-Ssl", "on"),
    ("X-Real-IP", "192.0.2.1"),
    ("X-Original-URL", "/admin"),
    ("X-Rewrite-URL", "/admin"),
    ("X-Criticality", "CRITICAL_PLUS"),
];

/// What a backend gets in each of them.
fn got(backend: &Backend, name: &str) -> Option<String> {
    backend.got(name).pop().expect("a request")
}

#[test]
fn what_strangers_say_reaches_no_backend() {
    let backend = Backend::start();
    let lines: String = SAID.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let request = format!("GET / HTTP/1.1\r\nHost: localhost\r\n{lines}Connection: close\r\n\r\n");
    let proxy = Proxied::before(&[backend.url()], json!({"log": "off"}));
    let own = [Some("127.0.0.1"), Some("localhost"), Some("http"), Some("for=127.0.0.1;host=\"localhost\";proto=http")];
    let check = |version: &str| {
        for ((name, value), own) in SAID.iter().zip(own.into_iter().chain([None; SAID.len()])) {
            assert_eq!(got(&backend, name).as_deref(), own, "{version}: {name}: {value}");
        }
    };
    assert_eq!(Answer::to(proxy.address, &request).status, 200);
    check("HTTP/1.1");
    let names: Vec<String> = SAID.iter().map(|(name, _)| name.to_ascii_lowercase()).collect();
    let fields: Vec<_> = names.iter().zip(SAID).map(|(name, (_, value))| (name.as_bytes(), value.as_bytes())).collect();
    let bytes = [preface(), head(1, END_STREAM, "GET", &fields)].concat();
    assert_eq!(Link::plain(proxy.address).exchange(&bytes).status(1), Some(200));
    check("HTTP/2");
    // Of those who are trusted all of it counts.
    let trusted = json!({"headers": {"trust_forwarded": true, "trust_criticality": true}, "log": "off"});
    let proxy = Proxied::before(&[backend.url()], trusted);
    assert_eq!(Answer::to(proxy.address, &request).status, 200);
    for (name, value) in SAID {
        let got = got(&backend, name).unwrap_or_default();
        assert!(got == value || got.starts_with(&format!("{value}, ")), "{name}: {got}");
    }
}

/// A customer that has used its quota up to the part that is kept for the most important requests.
#[test]
fn the_criticality_that_a_stranger_claims_does_not_count_for_the_policy() {
    for (trusted, status) in [(false, 503), (true, 200)] {
        let backend = Backend::start();
        let policy = json!({"quota": {"default_limit": 0.1, "burst": "100s", "reserve": 0.33}});
        let headers = json!({"cost": "X-Cost", "trust_criticality": trusted});
        let proxy = Proxied::before(&[backend.url()], json!({"policy": policy, "headers": headers, "log": "off"}));
        backend.answers(&["200 OK\r\nX-Cost: 8000"]);
        assert_eq!(proxy.get("/").status, 200);
        assert_eq!(proxy.get("/").status, 503, "it has used it up");
        let urgent = "GET / HTTP/1.1\r\nHost: localhost\r\nX-Criticality: CRITICAL_PLUS\r\nConnection: close\r\n\r\n";
        assert_eq!(Answer::to(proxy.address, urgent).status, status, "trusted: {trusted}");
    }
}

/// A stranger who is somebody else at each request has the quota of all strangers.
#[test]
fn the_customer_that_a_stranger_claims_to_be_does_not_count_for_the_policy() {
    for (trusted, status) in [(false, 503), (true, 200)] {
        let backend = Backend::start();
        let policy = json!({"quota": {"default_limit": 0.1, "burst": "100s"}});
        let headers = json!({"cost": "X-Cost", "trust_criticality": trusted});
        let proxy = Proxied::before(&[backend.url()], json!({"policy": policy, "headers": headers, "log": "off"}));
        backend.answers(&["200 OK\r\nX-Cost: 12000"]);
        let ask = |customer: u32| {
            let request =
                format!("GET / HTTP/1.1\r\nHost: localhost\r\nX-Customer: {customer}\r\nConnection: close\r\n\r\n");
            Answer::to(proxy.address, &request).status
        };
        assert_eq!((ask(1), ask(2)), (200, status), "trusted: {trusted}");
        assert_eq!(got(&backend, "x-customer").as_deref(), Some(if trusted { "2" } else { "1" }), "it passes");
    }
}

#[test]
fn a_request_that_comes_back_is_a_loop_and_a_chain_of_proxies_is_none() {
    let port = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address");
    let settings = json!({"limits": {"backend_connections": 20}, "log": "off"});
    let itself = Proxied::listening(&[format!("http://{port}")], &port.to_string(), settings);
    let answer = itself.get("/");
    assert_eq!((answer.status, answer.whole), (508, true), "{answer:?}");
    assert_eq!(itself.ledger()["malformed"], 1, "at the second sight");
    // Three in a row.
    let backend = Backend::start();
    let last = Proxied::before(&[backend.url()], json!({"log": "off"}));
    let middle = Proxied::before(&[format!("http://{}", last.address)], json!({"log": "off"}));
    let first = Proxied::before(&[format!("http://{}", middle.address)], json!({"log": "off"}));
    assert_eq!(first.get("/").status, 200);
    let via = got(&backend, "via").expect("a line");
    let mut marks: Vec<&str> = via.split(", ").collect();
    assert!(marks.len() == 3 && marks.iter().all(|mark| mark.starts_with("1.1 lab-")), "{via}");
    marks.sort_unstable();
    marks.dedup();
    assert_eq!(marks.len(), 3, "{via}");
}
