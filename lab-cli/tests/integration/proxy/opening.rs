//! The first bytes of a connection, and bodies that do not come.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    thread,
    time::{Duration, Instant},
};

use serde_json::json;

use crate::proxy::{
    http2_cases::with_tls,
    http2_wire::{DATA, Link, PREFACE, frame, get as get_on, head, preface},
    proxied::{Answer, PATIENCE, Proxied, until},
};

fn connect(to: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(to).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("a time-out");
    stream
}

#[test]
fn a_beginning_of_http2_is_a_head_that_takes_too_long() {
    let (_backend, proxy) = Proxied::alone(json!({"timeouts": {"head": "500ms"}, "log": "off"}));
    for begin in [&PREFACE[..1], &PREFACE[..8], &PREFACE[..16], &PREFACE[..23], b"G", b"GET / HTTP/1.1\r\n"] {
        let mut stream = connect(proxy.address);
        stream.write_all(begin).expect("it goes out");
        let began = Instant::now();
        let answer = Answer::from(stream);
        let begin = String::from_utf8_lossy(begin);
        assert!(answer.status == 408 && answer.whole, "{begin:?}: {answer:?}");
        assert!(began.elapsed() < Duration::from_secs(3), "{begin:?}: {:?}", began.elapsed());
    }
    until("six that were told", || (proxy.ledger()["malformed"] == 6).then_some(()));
}

#[test]
fn what_a_client_speaks_is_found_in_whatever_pieces_it_comes() {
    let (_backend, proxy) = Proxied::alone(json!({"log": "off"}));
    let mut link = Link::plain(proxy.address);
    for byte in preface() {
        assert!(link.send(&[byte]));
        thread::sleep(Duration::from_millis(2));
    }
    assert_eq!(link.exchange(&get_on(1)).status(1), Some(200));
    for (first, rest) in [("P", "UT / HTTP/1.1"), ("PR", "OPFIND / HTTP/1.1"), ("PRI ", "/ HTTP/1.1")] {
        let mut stream = connect(proxy.address);
        stream.write_all(first.as_bytes()).expect("it goes out");
        thread::sleep(Duration::from_millis(50));
        write!(stream, "{rest}\r\nHost: localhost\r\nConnection: close\r\n\r\n").expect("it goes out");
        assert_eq!(Answer::from(stream).status, 200, "{first}{rest}");
    }
}

#[test]
fn beginnings_of_http2_cost_nothing_while_they_wait() {
    let (_backend, proxy) = Proxied::alone(json!({"timeouts": {"head": "30s"}, "log": "off"}));
    let cpu = || proxy.gauges()["cpu_s"].as_f64().expect("seconds");
    let waiting: Vec<_> = (0..200)
        .map(|_| {
            let mut stream = connect(proxy.address);
            stream.write_all(b"P").expect("it goes out");
            stream
        })
        .collect();
    thread::sleep(Duration::from_millis(500));
    let before = cpu();
    thread::sleep(Duration::from_secs(2));
    let used = cpu() - before;
    assert!(used < 0.1, "{used} s in 2 s for {} connections", waiting.len());
}

#[test]
fn http_where_tls_is_spoken_is_told_so() {
    let (backend, proxy) = Proxied::alone(with_tls(true));
    let large = format!("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 300000\r\n\r\n{}", "x".repeat(300_000));
    for request in ["GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "G", &large] {
        let mut stream = connect(proxy.address);
        let _ = stream.write_all(request.as_bytes()); // it may be answered half-way
        let answer = Answer::from(stream);
        assert!(answer.status == 400 && answer.whole && answer.body.contains("HTTPS"), "{request:.40}: {answer:?}");
        assert_eq!(
            (answer.header("connection"), answer.header("x-content-type-options")),
            (Some("close"), Some("nosniff"))
        );
    }
    until("four that were told", || (proxy.ledger()["malformed"] == 4).then_some(()));
    assert_eq!(backend.requests(), 0);
    assert_eq!(Link::secure(proxy.address).exchange(&[preface(), get_on(1)].concat()).status(1), Some(200));
}

/// Over either version, and whatever the backend: it is the client that is too slow, and no failure of the backend.
#[test]
fn a_body_that_does_not_come_is_answered_and_no_fault_of_the_backend() {
    let settings = json!({"timeouts": {"body": "300ms"}, "health": {"failures": 2}, "log": "off"});
    let (_backend, proxy) = Proxied::alone(settings);
    for part in
        ["Content-Length: 10\r\n\r\nhello", "Content-Length: 1\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n5\r\nhe"]
    {
        let mut stream = connect(proxy.address);
        write!(stream, "POST / HTTP/1.1\r\nHost: localhost\r\n{part}").expect("it goes out");
        let answer = Answer::from(stream);
        assert!(answer.status == 408 && answer.whole, "{part:?}: {answer:?}");
        assert_eq!(answer.header("connection"), Some("close"));
    }
    let mut link = Link::plain(proxy.address);
    assert!(
        link.send(
            &[preface(), head(1, 0, "POST", &[(b"content-length", b"10")]), frame(DATA, 0, 1, b"hello")].concat()
        )
    );
    thread::sleep(Duration::from_millis(800));
    let said = link.exchange(&get_on(3));
    assert_eq!((said.status(1), said.status(3)), (Some(408), Some(200)), "the connection goes on: {said:?}");
    let row = proxy.backend(1);
    assert_eq!((&row["counts"]["failures"], &row["counts"]["ejected"]), (&json!(0), &json!(0)));
}

#[test]
fn a_body_that_drips_in_time_is_passed_on() {
    let settings = json!({"timeouts": {"body": "1s"}, "limits": {"body_rate": 0}, "log": "off"});
    let (_backend, proxy) = Proxied::alone(settings);
    let mut stream = connect(proxy.address);
    write!(stream, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nConnection: close\r\n\r\n")
        .expect("it goes out");
    for byte in b"hello" {
        thread::sleep(Duration::from_millis(400));
        stream.write_all(&[*byte]).expect("it goes out");
    }
    let mut said = String::new();
    stream.read_to_string(&mut said).expect("an answer");
    assert!(said.starts_with("HTTP/1.1 200 "), "{said}");
}
