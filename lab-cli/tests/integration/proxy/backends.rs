//! Several backends, of which some are down or ill; and one that says a length in more than one way.

use std::sync::atomic::Ordering;

use serde_json::json;

use crate::proxy::{
    backend::Backend,
    proxied::{Answer, Proxied, until},
};

#[test]
fn a_backend_that_fails_is_left_out_and_tried_again() {
    let (dead, good) = (Backend::start(), Backend::start());
    dead.state.dead.store(true, Ordering::SeqCst);
    let health = json!({"failures": 2, "eject": "1s"});
    let proxy = Proxied::before(&[dead.url(), good.url()], json!({"health": health, "balancer": "round-robin"}));
    let statuses: Vec<u16> = (0..20).map(|_| proxy.get("/").status).collect();
    let failed = statuses.iter().filter(|&&status| status == 502).count();
    assert!((2..=4).contains(&failed) && good.requests() >= 16, "{statuses:?}");
    assert_eq!(proxy.logged("backend_out")["backend"], dead.url());
    dead.state.dead.store(false, Ordering::SeqCst);
    until("request to the one that is back", || {
        assert_eq!(proxy.get("/").status, 200);
        (dead.requests() > 0).then_some(())
    });
    assert_eq!(proxy.logged("backend_in")["backend"], dead.url());
}

#[test]
fn a_backend_that_fails_checks_gets_no_request_until_it_passes_one() {
    let (ill, good) = (Backend::start(), Backend::start());
    ill.state.sick.store(true, Ordering::SeqCst);
    let health = json!({"path": "/health", "every": "100ms", "timeout": "500ms", "failures": 2});
    let proxy = Proxied::before(&[ill.url(), good.url()], json!({"health": health, "balancer": "round-robin"}));
    assert_eq!(proxy.logged("backend_out")["backend"], ill.url());
    let before = ill.requests();
    assert!((0..10).all(|_| proxy.get("/").status == 200));
    assert_eq!((ill.requests(), good.requests() >= 10), (before, true));
    ill.state.sick.store(false, Ordering::SeqCst);
    assert_eq!(proxy.logged("backend_in")["backend"], ill.url());
    assert!((0..10).all(|_| proxy.get("/").status == 200));
    assert!(ill.requests() >= before + 4, "{}", ill.requests());
    // Checks are no requests.
    assert_eq!(proxy.ledger()["requests_read"], 20);
}

#[test]
fn requests_go_on_when_all_are_left_out() {
    let ill = Backend::start();
    ill.state.sick.store(true, Ordering::SeqCst);
    let health = json!({"path": "/health", "every": "100ms", "failures": 1});
    let proxy = Proxied::before(&[ill.url()], json!({"health": health}));
    proxy.logged("backend_out");
    assert_eq!(proxy.get("/").status, 200);
}

#[test]
fn two_lengths_of_an_answer_that_are_one_go_on_as_one() {
    let (backend, proxy) = Proxied::alone(json!({"log": "off"}));
    for lengths in [
        "Content-Length: 5\r\nContent-Length: 5",
        "Content-Length: 05\r\nContent-Length: 5",
        "Content-Length: 5, 5",
        "Content-Length: 005",
    ] {
        backend.state.next.lock().expect("a list").push_back(format!("HTTP/1.1 200 OK\r\n{lengths}\r\n\r\nhello"));
        let answer = proxy.get("/");
        let lines: Vec<_> =
            answer.head.lines().filter(|line| line.to_ascii_lowercase().starts_with("content-length:")).collect();
        assert_eq!(
            (answer.status, answer.body.as_str(), lines),
            (200, "hello", vec!["content-length: 5"]),
            "{lengths}"
        );
    }
    // Lengths that contradict each other are an answer of nobody.
    for lengths in ["Content-Length: 5\r\nContent-Length: 6", "Content-Length: 5, 6", "Content-Length: +5"] {
        backend.state.next.lock().expect("a list").push_back(format!("HTTP/1.1 200 OK\r\n{lengths}\r\n\r\nhello"));
        assert_eq!(proxy.get("/").status, 502, "{lengths}");
    }
    // An answer to HEAD has no body; what it says of one is one thing, or nothing.
    let head = "HEAD / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    for (lengths, wanted) in [("Content-Length: 5\r\nContent-Length: 5", Some("5")), ("Content-Length: 5, 6", None)] {
        backend.state.next.lock().expect("a list").push_back(format!("HTTP/1.1 200 OK\r\n{lengths}\r\n\r\n"));
        let answer = Answer::to(proxy.address, head);
        let lines = answer.head.lines().filter(|line| line.to_ascii_lowercase().starts_with("content-length:"));
        assert_eq!((answer.status, lines.count()), (200, usize::from(wanted.is_some())), "{lengths}: {answer:?}");
        assert_eq!(answer.header("content-length"), wanted, "{lengths}");
    }
}
