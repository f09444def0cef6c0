//! Answers that break off, time-outs, back-pressure, and the end of the process.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    sync::atomic::Ordering,
    thread,
    time::{Duration, Instant},
};

use serde_json::json;
use socket2::{Domain, Socket, Type};

use crate::proxy::{
    backend::Backend,
    http2_wire::{END_HEADERS, END_STREAM, HEADERS, Link, block, frame, preface, pseudo},
    proxied::{Answer, PATIENCE, Proxied, request, until},
};

#[test]
fn an_answer_that_breaks_off_is_never_a_whole_one() {
    let (_backend, proxy) = Proxied::alone(json!({"log": "off"}));
    for path in ["/short", "/chunks"] {
        let answer = proxy.get(path);
        assert!(answer.status == 200 && !answer.whole, "{path}: {answer:?}");
    }
    assert_eq!(until("failures", || (proxy.ledger()["errors"] == 2).then(|| proxy.ledger()["served"].clone())), 0);
    // Whether this one is whole, nobody can tell: it is passed on as it came.
    let answer = proxy.get("/close");
    assert_eq!((answer.body.as_str(), answer.header("content-length")), ("all that there is", None));
}

#[test]
fn a_backend_that_takes_too_long_is_given_up() {
    let backend = Backend::start();
    let timeouts = json!({"response": "300ms", "stall": "300ms"});
    let proxy = Proxied::before(&[backend.url()], json!({"timeouts": timeouts, "log": "off"}));
    let began = Instant::now();
    assert_eq!(proxy.get("/slow?5000").status, 504);
    let answer = proxy.get("/stalls");
    assert!(answer.status == 200 && !answer.whole, "{answer:?}");
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    let ledger = proxy.ledger();
    assert_eq!((&ledger["errors"], &ledger["in_flight"]), (&json!(2), &json!(0)));
}

#[test]
fn a_client_that_does_not_send_its_head_is_closed() {
    let (_backend, proxy) = Proxied::alone(json!({"timeouts": {"head": "500ms"}, "log": "off"}));
    let mut stream = TcpStream::connect(proxy.address).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("a time-out");
    stream.write_all(b"GET / HTTP/1.1\r\nHost: loc").expect("it goes out");
    let began = Instant::now();
    let mut said = String::new();
    let _ = stream.read_to_string(&mut said);
    assert!(began.elapsed() < Duration::from_secs(5), "{said}");
    assert!(said.is_empty() || said.starts_with("HTTP/1.1 408"), "{said}");
    assert_eq!(proxy.get("/").status, 200);
}

#[test]
fn an_answer_that_nobody_reads_is_not_collected() {
    let (backend, proxy) = Proxied::alone(json!({"log": "off"}));
    let mut stream = TcpStream::connect(proxy.address).expect("a connection");
    stream.write_all(request("/endless").as_bytes()).expect("it goes out");
    let written = || backend.state.written.load(Ordering::SeqCst);
    until("first bytes", || (written() > 0).then_some(()));
    let mut before = written();
    let stopped = until("stop", || {
        thread::sleep(Duration::from_millis(500));
        let now = written();
        (std::mem::replace(&mut before, now) == now).then_some(now)
    });
    // The buffers of four sockets and the proxy's own.
    assert!(stopped < 32 << 20, "{stopped} bytes were taken from the backend for a client that takes none");
}

/// The backend has done with it, and its one connection serves others.
#[test]
fn an_answer_that_is_read_ahead_holds_no_backend() {
    let backend = Backend::start();
    let limits = json!({"backend_connections": 1, "answer_buffer": 8 << 20});
    let proxy = Proxied::before(&[backend.url()], json!({"limits": limits, "log": "off"}));
    let mut slow = TcpStream::connect(proxy.address).expect("a connection");
    slow.write_all(request("/long?4000000").as_bytes()).expect("it goes out");
    until("whole answer", || (backend.state.written.load(Ordering::SeqCst) == 4_000_000).then_some(()));
    let other = until("free connection", || Some(proxy.get("/")).filter(|answer| answer.status == 200));
    assert_eq!((other.body.as_str(), backend.requests()), ("hello", 2));
    // Nor does who finds the backend busy afterwards end it: nothing would be gained.
    let busy = proxy.inside(&backend, "/slow?500");
    assert_eq!(proxy.get("/").status, 503);
    assert_eq!(busy.join().expect("an answer").status, 200);
    let answer = Answer::from(slow);
    assert!(answer.whole && answer.body.len() == 4_000_000, "{}", answer.head);
    // What is longer than the buffer goes only as far.
    let mut slow = TcpStream::connect(proxy.address).expect("a connection");
    slow.write_all(request("/long?60000000").as_bytes()).expect("it goes out");
    thread::sleep(Duration::from_secs(1));
    assert!(backend.state.written.load(Ordering::SeqCst) < 4_000_000 + (32 << 20));
}

/// One source has its share of what is inside, tunnels included, and gives it back; another is let in beside it.
#[test]
fn a_source_has_no_more_inside_than_its_share() {
    let backend = Backend::start();
    let limits = json!({"requests_per_source": 2});
    let proxy = Proxied::before(&[backend.url()], json!({"limits": limits, "log": "off"}));
    let begin = |address: [u8; 4], path: &str| {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
        socket.bind(&SocketAddr::from((address, 0)).into()).expect("is ours");
        socket.connect(&proxy.address.into()).expect("a connection");
        let mut stream: TcpStream = socket.into();
        stream.write_all(request(path).as_bytes()).expect("it goes out");
        stream
    };
    let (greedy, other) = ([127, 0, 0, 2], [127, 0, 0, 3]);
    let inside = [begin(greedy, "/slow?1500"), begin(greedy, "/slow?1500")];
    until("two inside", || (backend.requests() == 2).then_some(()));
    let refused = Answer::from(begin(greedy, "/"));
    assert_eq!(refused.status, 503);
    assert_eq!(proxy.ledger()["refused"]["quota"], 1);
    assert_eq!(Answer::from(begin(other, "/")).status, 200);
    assert!(inside.into_iter().map(Answer::from).all(|answer| answer.status == 200));
    assert_eq!(Answer::from(begin(greedy, "/")).status, 200, "its share is free again");
}

/// Nobody makes room for a connection all of whose requests are worked on: it has seven, which with itself take three places.
#[test]
fn requests_over_http2_without_a_place_are_refused() {
    let (_backend, proxy) = Proxied::alone(json!({"limits": {"connections": 3}, "log": "off"}));
    let slow = |n: u32| frame(HEADERS, END_HEADERS | END_STREAM, 2 * n + 1, &block(&pseudo("GET", "/slow?1500")));
    let mut link = Link::plain(proxy.address);
    assert!(link.send(&[preface(), (0..8).flat_map(slow).collect()].concat()));
    until("refusal", || (proxy.ledger()["refused"]["connections"] == 1).then_some(()));
    until("answers", || (proxy.ledger()["served"] == 7).then_some(()));
}

#[test]
fn an_order_to_end_lets_requests_inside_end_first() {
    for signal in ["TERM", "INT"] {
        let (backend, mut proxy) = Proxied::alone(json!({"log": "changes"}));
        let inside = proxy.inside(&backend, "/slow?1000");
        proxy.signal(signal);
        assert_eq!(proxy.logged("drain")["requests_inside"], 1);
        until("closed port", || TcpStream::connect(proxy.address).is_err().then_some(()));
        let answer = inside.join().expect("an answer");
        assert!(answer.status == 200 && answer.whole, "{answer:?}");
        assert!(proxy.ended().success());
    }
}
