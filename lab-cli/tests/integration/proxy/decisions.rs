//! What becomes of a request that the policy refuses, holds or would refuse; and other policies while requests are inside.

use std::{
    fs,
    io::Write,
    net::{Shutdown, TcpStream},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::proxy::{
    backend::Backend,
    proxied::{Answer, Proxied, get, request, until},
};

/// One request inside at most.
fn one_inside() -> Value {
    json!({"policy": {"concurrency": {"max": 1}}, "log": "off"})
}

/// Asks for `/` while another request is inside.
fn while_one_is_inside(backend: &Backend, proxy: &Proxied) -> Answer {
    let inside = proxy.inside(backend, "/slow?700");
    let second = proxy.get("/second?a=1");
    assert_eq!(inside.join().expect("an answer").status, 200);
    second
}

#[test]
fn a_refused_request_gets_the_page_that_was_given_and_never_reaches_the_backend() {
    let folder = tempfile::tempdir().expect("a folder");
    let page = folder.path().join("busy.html");
    fs::write(&page, "<p>come back</p>").expect("written");
    let backend = Backend::start();
    let page = page.to_str().expect("a path");
    let to = backend.url();
    let flags = ["--to", &to, "--policy", "concurrency", "--set", "max=1", "--refusal-page", page, "--log", "off"];
    let proxy = Proxied::with_flags(&flags);
    let refused = while_one_is_inside(&backend, &proxy);
    assert_eq!((refused.status, refused.body.as_str(), refused.whole), (503, "<p>come back</p>", true));
    assert_eq!(refused.header("content-type"), Some("text/html; charset=utf-8"));
    assert_eq!((refused.header("cache-control"), refused.header("retry-after")), (Some("no-store"), Some("1")));
    assert_eq!((backend.requests(), &proxy.ledger()["refused"]), (1, &json!({"concurrency": 1})));
}

#[test]
fn the_proxys_own_answers_have_the_security_headers_and_a_page_that_was_given_may_load_what_it_likes() {
    let (backend, proxy) = Proxied::alone(one_inside());
    let refused = while_one_is_inside(&backend, &proxy);
    let at_fault = Answer::to(proxy.address, "GET / HTTP/1.1\r\nConnection: close\r\n\r\n");
    backend.state.dead.store(true, Ordering::SeqCst);
    let settings = json!({"waiting_room": {"capacity": "1/s", "stay": "0s"}, "log": "off"});
    let waits = "GET / HTTP/1.1\r\nHost: localhost\r\nAccept: text/html\r\nConnection: close\r\n\r\n";
    let room = Proxied::before(&[backend.url()], settings);
    let unanswered = Answer::to(room.address, waits);
    let waiting =
        until("page for those who wait", || Some(Answer::to(room.address, waits)).filter(|page| page.status == 200));
    for (answer, status) in [(&refused, 503), (&at_fault, 400), (&unanswered, 502), (&waiting, 200)] {
        assert_eq!(answer.status, status, "{answer:?}");
        let rule = answer.header("content-security-policy").unwrap_or_default();
        assert!(rule.starts_with("default-src 'none'") && rule.ends_with("frame-ancestors 'none'"), "{answer:?}");
        assert_eq!(rule.contains("style-src 'unsafe-inline'"), status == 200, "{answer:?}");
        let named = ["x-content-type-options", "x-frame-options", "cache-control"].map(|name| answer.header(name));
        assert_eq!(named, [Some("nosniff"), Some("DENY"), Some("no-store")], "{answer:?}");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let page = folder.path().join("busy.html");
    fs::write(&page, "<style>p{color:red}</style><p>come back").expect("written");
    let backend = Backend::start();
    let mut settings = one_inside();
    settings["refusal"] = json!({"page": page});
    let given = while_one_is_inside(&backend, &Proxied::before(&[backend.url()], settings));
    assert_eq!(given.header("content-security-policy"), Some("frame-ancestors 'none'"));
    assert_eq!(
        (given.header("x-frame-options"), given.header("x-content-type-options")),
        (Some("DENY"), Some("nosniff"))
    );
}

#[test]
fn a_refusal_says_when_to_come_back_or_where_to_go() {
    for (refusal, status, header, value) in [
        (json!({"retry_after": "3s"}), 503, "retry-after", "3"),
        (json!({"redirect": "http://busy.example/"}), 307, "location", "http://busy.example/second?a=1"),
    ] {
        let backend = Backend::start();
        let mut settings = one_inside();
        settings["refusal"] = refusal;
        let refused = while_one_is_inside(&backend, &Proxied::before(&[backend.url()], settings));
        assert_eq!((refused.status, refused.header(header)), (status, Some(value)), "{refused:?}");
    }
}

#[test]
fn a_dry_run_refuses_nothing_and_counts_what_it_would_have_refused() {
    let backend = Backend::start();
    let mut settings = one_inside();
    settings["dry_run"] = json!(true);
    let proxy = Proxied::before(&[backend.url()], settings);
    let second = while_one_is_inside(&backend, &proxy);
    assert_eq!((second.status, second.body.as_str(), backend.requests()), (200, "hello", 2));
    let gate = proxy.gate();
    assert_eq!((&gate["counts"]["would_refuse_concurrency"], &gate["counts"]["would_hold"]), (&json!(1), &json!(0)));
    assert_eq!(proxy.ledger()["refused"], json!({}));
}

/// A queue before one request inside.
fn queue(held: u32) -> Value {
    json!({"policy": {"codel": {"target": "10s", "interval": "20s"}}, "concurrency": 1, "limits": {"held": held}, "log": "off"})
}

#[test]
fn a_held_request_waits_for_its_turn_and_one_beyond_the_bound_is_refused() {
    let (backend, proxy) = Proxied::alone(queue(1));
    let (address, began) = (proxy.address, Instant::now());
    let first = thread::spawn(move || get(address, "/slow?700"));
    until("request inside", || (backend.requests() == 1).then_some(()));
    let second = thread::spawn(move || (get(address, "/"), began.elapsed()));
    until("held request", || (proxy.gate()["counts"]["held"] == 1).then_some(()));
    let third = proxy.get("/");
    assert_eq!(third.status, 503, "{third:?}");
    assert_eq!(first.join().expect("an answer").status, 200);
    let (second, took) = second.join().expect("an answer");
    assert!(second.status == 200 && took >= Duration::from_millis(700), "{second:?} after {took:?}");
    assert_eq!(proxy.ledger()["refused"], json!({"queue-full": 1}));
    assert_eq!(proxy.gate()["counts"]["held"], 0);
}

#[test]
fn a_client_that_leaves_while_it_is_held_frees_its_place() {
    let (backend, proxy) = Proxied::alone(queue(1));
    let first = proxy.inside(&backend, "/slow?1500");
    let address = proxy.address;
    let mut second = TcpStream::connect(address).expect("a connection");
    second.write_all(request("/").as_bytes()).expect("it goes out");
    until("held request", || (proxy.gate()["counts"]["held"] == 1).then_some(()));
    second.shutdown(Shutdown::Both).expect("it leaves");
    until("place", || (proxy.gate()["counts"]["held"] == 0).then_some(()));
    let third = thread::spawn(move || get(address, "/"));
    assert_eq!((first.join().expect("an answer").status, third.join().expect("an answer").status), (200, 200));
    let ledger = proxy.ledger();
    assert_eq!((&ledger["client_gone"], &ledger["served"], backend.requests()), (&json!(1), &json!(2), 2));
}

#[test]
fn other_policies_and_settings_come_into_force_without_losing_a_request() {
    static OVER: AtomicBool = AtomicBool::new(false);
    let (backend, proxy) = Proxied::alone(json!({"policy": "none", "log": "off"}));
    let address = proxy.address;
    let client = move || {
        let mut statuses = Vec::new();
        while !OVER.load(Ordering::SeqCst) {
            statuses.push(get(address, "/slow?10").status);
        }
        statuses
    };
    let clients: Vec<_> = (0..4).map(|_| thread::spawn(client)).collect();
    for round in 0..10 {
        let name = ["gradient2", "vegas", "none", "codel"][round % 4];
        let change = json!({"policy": {"name": name, "settings": {}}}).to_string();
        let changed = proxy.control("PUT", "/policy", &change);
        assert_eq!(changed.status, 200, "{changed:?}");
        let settings = json!({"to": [backend.url()], "listen": "127.0.0.1:0", "policy": "none", "log": "off",
            "timeouts": {"response": format!("{}s", 5 + round)}});
        let changed = proxy.control("PUT", "/config", &settings.to_string());
        assert_eq!(changed.status, 200, "{changed:?}");
        thread::sleep(Duration::from_millis(50));
    }
    OVER.store(true, Ordering::SeqCst);
    let statuses: Vec<u16> = clients.into_iter().flat_map(|client| client.join().expect("its statuses")).collect();
    assert!(statuses.len() > 40 && statuses.iter().all(|&status| status == 200), "{statuses:?}");
    let counted: u64 = proxy.backend(1)["completed"].as_u64().expect("a count");
    assert_eq!(counted, statuses.len() as u64, "a change of settings forgets none");
    let wrong = proxy.control("PUT", "/config", &json!({"to": [backend.url()], "seed": 9}).to_string());
    assert!(wrong.status == 400 && wrong.body.contains("seed: is fixed while the proxy runs"), "{wrong:?}");
}

/// What a monitor asks for passes a full policy, and nothing else does by its path.
#[test]
fn a_health_check_is_no_way_round_the_policy() {
    let backend = Backend::start();
    let unset = Proxied::before(&[backend.url()], json!({"policy": {"concurrency": {"max": 1}}, "log": "off"}));
    let (address, inside) = (unset.address, AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| {
            assert_eq!(get(address, "/slow?900").status, 200);
            inside.store(true, Ordering::SeqCst);
        });
        until("request inside", || (backend.requests() == 1).then_some(()));
        assert_eq!(unset.get("/health").status, 503, "without a setting it is a path like any other");
        assert!(!inside.load(Ordering::SeqCst), "or it was not full");
    });
    let mut settings = json!({"policy": {"concurrency": {"max": 1}}, "log": "off", "limits": {"checks": 2}});
    settings["health_path"] = json!("/slow");
    let proxy = Proxied::before(&[backend.url()], settings);
    let address = proxy.address;
    let before = backend.requests();
    thread::scope(|scope| {
        scope.spawn(|| assert_eq!(get(address, "/slow?1500").status, 200));
        until("request inside", || (backend.requests() == before + 1).then_some(()));
        // With a query, by another method, and with an upgrade it is a request as all others.
        for (method, path, more) in [
            ("GET", "/slow?1", ""),
            ("POST", "/slow", ""),
            ("GET", "/slow", "Connection: upgrade\r\nUpgrade: websocket\r\n"),
        ] {
            let end = if more.is_empty() { "Connection: close\r\n" } else { more };
            let head = format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n{end}\r\n");
            assert_eq!(Answer::to(address, &head).status, 503, "{method} {path} {more}");
        }
        // Two at once pass, each of half a second.
        let checks: Vec<_> = (0..6).map(|_| scope.spawn(|| get(address, "/slow").status)).collect();
        let mut statuses: Vec<u16> = checks.into_iter().map(|check| check.join().expect("an answer")).collect();
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 200, 429, 429, 429, 429]);
    });
}
