//! Requests that go out once more: which, where to, how often, and who decides it.

use std::net::TcpListener;

use serde_json::{Value, json};

use crate::proxy::{
    backend::Backend,
    observed::metrics,
    proxied::{Answer, Proxied, request, until},
};

/// Settings with these retries.
fn with(retries: &Value) -> Value {
    json!({"retries": retries, "metrics": "127.0.0.1:0", "log": "off"})
}

fn retries(proxy: &Proxied, outcome: &str) -> f64 {
    metrics(proxy)[&format!("lab_proxy_retries_total{{outcome=\"{outcome}\"}}")]
}

fn post(proxy: &Proxied, body: &str) -> Answer {
    let length = body.len();
    let head = format!("POST / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n");
    Answer::to(proxy.address, &(head + body))
}

/// An address where nobody listens.
fn nobody() -> String {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    format!("http://{}", taken.local_addr().expect("an address"))
}

#[test]
fn a_request_that_failed_is_answered_by_another_backend() {
    let (ill, good) = (Backend::start(), Backend::start());
    let settings = json!({"policy": "none", "attempts": 2});
    let mut settings = with(&settings);
    settings["balancer"] = json!("round-robin");
    settings["log"] = json!("requests");
    settings["headers"] = json!({"trust_criticality": true});
    let proxy = Proxied::before(&[ill.url(), good.url()], settings);
    ill.answers(&["503 Busy", "", "502 Bad"]);
    let mut retried = 0;
    until("three failures", || {
        assert_eq!(proxy.get("/").status, 200);
        retried += proxy.logged("request")["retries"].as_u64().unwrap_or(0);
        (ill.requests() >= 3).then_some(())
    });
    // The attempt of a client that is believed counts on.
    ill.answers(&["503 Busy"]);
    let before = good.requests();
    let second = "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX-Attempt: 1\r\n\r\n";
    let statuses: Vec<u16> = (0..2).map(|_| Answer::to(proxy.address, second).status).collect();
    assert_eq!((statuses, retried, retries(&proxy, "answered")), (vec![200, 200], 3, 4.0));
    let marked = good.got("x-attempt");
    assert!(marked.iter().filter(|attempt| attempt.as_deref() == Some("1")).count() >= 3, "{marked:?}");
    assert!(marked[before..].contains(&Some("2".to_owned())), "{marked:?}");
    assert_eq!(proxy.ledger()["errors"], 0);
}

#[test]
fn a_request_with_a_body_goes_to_another_backend_if_nothing_of_it_was_sent() {
    let good = Backend::start();
    let mut settings = with(&json!({"attempts": 3}));
    settings["balancer"] = json!("round-robin");
    settings["retries"]["policy"] = json!({"retry-budget": {"retry_share": 1.0}});
    settings["health"] = json!({"failures": 0});
    let proxy = Proxied::before(&[nobody(), good.url()], settings);
    for _ in 0..4 {
        let answer = post(&proxy, "hello");
        assert_eq!((answer.status, answer.body.as_str()), (200, "hello"));
    }
    assert!(good.requests() == 4 && retries(&proxy, "answered") >= 2.0, "{} requests", good.requests());
    // Another one that a backend has got stays with it.
    good.answers(&["503 Busy", "503 Busy"]);
    let statuses: Vec<u16> = (0..2).map(|_| post(&proxy, "hello").status).collect();
    assert_eq!((statuses, good.requests()), (vec![503, 503], 6));
}

#[test]
fn what_is_not_idempotent_is_repeated_only_if_the_settings_say_so() {
    for (non_idempotent, status, requests) in [(false, 503, 1), (true, 200, 2)] {
        let settings = with(&json!({"policy": "none", "attempts": 2, "non_idempotent": non_idempotent}));
        let (backend, proxy) = Proxied::alone(settings);
        backend.answers(&["503 Busy"]);
        assert_eq!((post(&proxy, "").status, backend.requests()), (status, requests));
    }
}

#[test]
fn a_backend_that_says_not_to_retry_or_when_is_obeyed() {
    let (backend, proxy) = Proxied::alone(with(&json!({"policy": "none"})));
    for (head, header, value) in
        [("503 Busy\r\nX-Retry: never", "x-retry", "never"), ("503 Busy\r\nRetry-After: 7", "retry-after", "7")]
    {
        let before = backend.requests();
        backend.answers(&[head]);
        let answer = proxy.get("/");
        assert_eq!((answer.status, answer.header(header), backend.requests()), (503, Some(value), before + 1));
    }
    // Nor is there a further attempt after the last, or of an answer that the settings do not name.
    backend.answers(&["503 Busy", "503 Busy", "503 Busy", "500 Broken"]);
    let statuses: Vec<u16> = (0..2).map(|_| proxy.get("/").status).collect();
    assert_eq!((statuses, backend.requests(), retries(&proxy, "refused")), (vec![503, 500], 6, 2.0));
}

#[test]
fn a_budget_bounds_the_share_of_retries() {
    let (backend, proxy) = Proxied::alone(with(&json!({"policy": "retry-budget"})));
    backend.answers(&["503 Busy"; 40]);
    assert!((0..20).all(|_| proxy.get("/").status == 503));
    let (out, denied) = (backend.requests() - 20, retries(&proxy, "denied"));
    assert!((1..=3).contains(&out) && denied >= 17.0, "{out} retries, {denied} denied");
    assert_eq!(proxy.gate()["counts"]["retries_refused"], out);
}

#[test]
fn the_policy_of_retries_is_asked_about_first_attempts_too() {
    let settings = with(&json!({"policy": {"concurrency": {"max": 1}}, "on": [503]}));
    let (backend, proxy) = Proxied::alone(settings);
    let inside = proxy.inside(&backend, "/slow?700");
    let withheld = proxy.get("/");
    assert_eq!((withheld.status, withheld.header("x-refused")), (503, Some("throttled")));
    assert_eq!((inside.join().expect("an answer").status, backend.requests()), (200, 1));
    // The attempt of a client that has left is over.
    let gone = std::net::TcpStream::connect(proxy.address).expect("a connection");
    std::io::Write::write_all(&mut &gone, request("/slow?5000").as_bytes()).expect("it goes out");
    until("request inside", || (backend.requests() == 2).then_some(()));
    drop(gone);
    until("place", || (proxy.get("/").status == 200).then_some(()));
}

#[test]
fn nothing_is_repeated_unless_the_settings_say_so_and_in_no_dry_run() {
    for settings in [json!({"log": "off"}), json!({"log": "off", "dry_run": true, "retries": {"policy": "none"}})] {
        let (backend, proxy) = Proxied::alone(settings);
        backend.answers(&["503 Busy"]);
        assert_eq!((proxy.get("/").status, backend.requests()), (503, 1));
    }
}
