//! The limits of the edge: framing that smuggles, slow senders, floods.

use std::{
    io::{Read, Write},
    net::TcpStream,
    thread,
    time::{Duration, Instant},
};

use spec::{EdgeSpec, TargetSpec};

use crate::common::{Target, answer, edge, spec, start, status};

fn limited(limits: EdgeSpec) -> Target {
    start(TargetSpec { edge: limits, ..spec() })
}

/// The number of answers in the received bytes.
fn answers(text: &str) -> usize {
    text.matches("HTTP/1.1 ").count()
}

/// Seconds until the target closes the connection.
fn closes_after(stream: TcpStream) -> f64 {
    last_words(stream).0
}

/// Seconds until the target closes the connection, and what it says before.
fn last_words(mut stream: TcpStream) -> (f64, String) {
    let began = Instant::now();
    let mut rest = Vec::new();
    let ended = stream.read_to_end(&mut rest);
    assert!(!matches!(&ended, Err(error) if error.kind() == std::io::ErrorKind::WouldBlock), "it stayed open");
    (began.elapsed().as_secs_f64(), String::from_utf8_lossy(&rest).into_owned())
}

/// Classic ways to have two parsers disagree about where a request ends: each is refused once, and the connection closed,
/// so that nothing after it is taken for a request.
#[test]
fn ambiguous_lengths_are_refused_and_end_the_connection() {
    let target = start(spec());
    let next = "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n";
    for (name, head, body) in [
        ("length and coding", "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"),
        ("coding and length", "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", "0\r\n\r\n"),
        ("two lengths that differ", "Content-Length: 0\r\nContent-Length: 5\r\n", "hello"),
        ("a list of lengths that differ", "Content-Length: 0, 5\r\n", "hello"),
        ("a signed length", "Content-Length: +5\r\n", "hello"),
        ("a length in hex", "Content-Length: 0x5\r\n", "hello"),
        ("a coding that is not chunked last", "Transfer-Encoding: chunked, identity\r\n", "0\r\n\r\n"),
        ("an unknown coding", "Transfer-Encoding: xchunked\r\n", "0\r\n\r\n"),
        ("a space before the colon", "Content-Length : 5\r\n", "hello"),
        ("a folded line", "X: a\r\n Content-Length: 5\r\n", "hello"),
        ("a bare carriage return in a name", "Content-\rLength: 5\r\n", "hello"),
        ("a null in a value", "X: a\0b\r\n", ""),
        ("two hosts", "Host: b\r\n", ""),
    ] {
        let text = target.exchange(format!("POST / HTTP/1.1\r\nHost: a\r\n{head}\r\n{body}{next}").as_bytes());
        assert_eq!((status(&text), answers(&text)), (400, 1), "{name}: {text}");
    }
    target.until("all to be counted", |gauges| gauges.ledger.malformed == 13);
    assert_eq!(target.gauges().ledger.requests_read, 0);
}

#[test]
fn requests_are_written_down_by_the_number_that_they_carry() {
    let target = start(spec());
    let one = |header: &str| {
        let text =
            target.exchange(format!("GET / HTTP/1.1\r\nHost: a\r\n{header}Connection: close\r\n\r\n").as_bytes());
        assert_eq!(status(&text), 200, "{text}");
    };
    for header in ["X-Request-Number: 0\r\n", "x-request-number: 1\r\n", "X-Request-Number: 7\r\n"] {
        one(header);
    }
    one("X-Request-Number: 7\r\n");
    one("");
    for none in ["-1", "seven", "18446744073709551616", "99999999999"] {
        one(&format!("X-Request-Number: {none}\r\n"));
    }
    let requests = target.control.requests().unwrap();
    assert_eq!(requests.read, [[0, 1], [7, 7]]);
    assert_eq!((requests.again, requests.unnumbered), (1, 5));
    assert_eq!(requests.ledger.requests_read, 9);
}

#[test]
fn bad_chunks_are_refused_and_end_the_connection() {
    let target = start(spec());
    for (name, chunk) in [
        ("no size", "\r\nhello\r\n0\r\n\r\n"),
        ("a size in no base", "5x\r\nhello\r\n0\r\n\r\n"),
        ("a negative size", "-5\r\nhello\r\n0\r\n\r\n"),
        ("data longer than its size", "3\r\nhello\r\n0\r\n\r\n"),
        ("a size that overflows", "fffffffffffffffff\r\nhello\r\n0\r\n\r\n"),
    ] {
        let text = target.exchange(
            format!("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n{chunk}GET / HTTP/1.1\r\nHost: a\r\n\r\n")
                .as_bytes(),
        );
        assert!(answers(&text) <= 1 && [0, 400].contains(&status(&text)), "{name}: {text}");
    }
    let ledger = target.until("the connections to close", |gauges| gauges.ledger.connections_open == 0).ledger;
    assert!(ledger.balances(), "{ledger:?}");
}

#[test]
fn good_framing_is_taken() {
    let target = start(spec());
    for head in [
        "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5;ext=1\r\nhello\r\n0\r\n\r\n",
        "GET / HTTP/1.0\r\n\r\n",
        "GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n",
    ] {
        let text = target.exchange(head.as_bytes());
        assert_eq!(status(&text), 200, "{head:?}: {text}");
    }
}

#[test]
fn what_is_too_large_or_not_http_is_answered_with_its_status() {
    let target = start(spec());
    let long = "x".repeat(70_000);
    let many: String = (0..80).map(|n| format!("X-{n}: 1\r\n")).collect();
    for (name, request, expected) in [
        ("a body announced too large", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 70000\r\n\r\n".to_owned(), 413),
        (
            "a body that grows too large",
            format!("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n11170\r\n{long}\r\n0\r\n\r\n"),
            413,
        ),
        ("a path too long", format!("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", &long[..9000]), 414),
        ("too many lines", format!("GET / HTTP/1.1\r\nHost: a\r\n{many}\r\n"), 431),
        ("a line too long", format!("GET / HTTP/1.1\r\nHost: a\r\nX: {long}\r\n\r\n"), 431),
        ("no host", "GET / HTTP/1.1\r\n\r\n".to_owned(), 400),
        ("an unknown method", "BREW / HTTP/1.1\r\nHost: a\r\n\r\n".to_owned(), 405),
        ("a method that is not for here", "CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n".to_owned(), 405),
        ("no HTTP at all", "\x16\x03\x01\x02\x00\x01\x00\r\n\r\n".to_owned(), 400),
    ] {
        let text = target.exchange(request.as_bytes());
        assert_eq!(status(&text), expected, "{name}: {text}");
        assert_eq!(answers(&text), 1, "{name}: {text}");
    }
    assert!(target.gauges().ledger.balances());
}

#[test]
fn a_slow_head_ends_after_its_time_and_an_idle_connection_does_not() {
    let limits = EdgeSpec { head_timeout: Duration::from_millis(600), ..edge() };
    let target = limited(limits);
    let mut idle = target.connect();
    idle.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    answer(&mut idle);
    let mut slow = target.connect();
    slow.write_all(b"GET / HTTP/1.1\r\nHos").unwrap();
    let mut dripping = slow.try_clone().unwrap();
    let dripper = thread::spawn(move || {
        // A byte now and then does not buy more time.
        while dripping.write_all(b"t").is_ok() {
            thread::sleep(Duration::from_millis(100));
        }
    });
    let (took, said) = last_words(slow);
    assert!((0.5..2.5).contains(&took), "{took}");
    assert_eq!((status(&said), answers(&said)), (408, 1), "{said}");
    target.until("it to be counted", |gauges| gauges.ledger.malformed == 1);
    dripper.join().unwrap();
    idle.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    assert_eq!(answer(&mut idle).0, 200, "idle for longer than a head may take, and still open");
}

#[test]
fn a_slow_body_and_an_idle_connection_end_after_their_times() {
    let mut limits = EdgeSpec { body_timeout: Duration::from_millis(500), ..edge() };
    limits.kept.idle_timeout = Duration::from_millis(1200);
    let target = limited(limits);
    let mut slow = target.connect();
    slow.write_all(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhel").unwrap();
    let (took, said) = last_words(slow);
    assert!((0.4..2.0).contains(&took), "{took}");
    assert_eq!(status(&said), 408, "{said}");
    let (took, said) = last_words(target.connect());
    assert!((1.1..3.0).contains(&took), "{took}");
    assert_eq!(said, "", "nothing was asked");
    let ledger = target.until("both to close", |gauges| gauges.ledger.connections_open == 0).ledger;
    assert_eq!((ledger.requests_read, ledger.served), (1, 1), "{ledger:?}");
    assert!(ledger.balances());
}

#[test]
fn a_body_that_drips_ends_when_it_has_fallen_behind_its_rate() {
    let limits = EdgeSpec { body_grace: Duration::from_millis(400), body_rate: 100, ..edge() };
    let target = limited(limits);
    let drip = |bytes: &'static [u8]| {
        let mut stream = target.connect();
        stream.write_all(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 200\r\n\r\n").unwrap();
        let mut dripping = stream.try_clone().unwrap();
        let dripper = thread::spawn(move || {
            while dripping.write_all(bytes).is_ok() {
                thread::sleep(Duration::from_millis(100));
            }
        });
        let ended = last_words(stream);
        dripper.join().unwrap();
        ended
    };
    // A byte each 100 ms is 10 a second for a rate of 100: 400 ms and a tenth of what follows.
    let (took, said) = drip(b"x");
    assert_eq!(status(&said), 408, "{said}");
    assert!((0.35..2.0).contains(&took), "{took}");
    // 200 bytes in ten steps of 20 are twice the rate.
    let (_, said) = drip(b"xxxxxxxxxxxxxxxxxxxx");
    assert_eq!(status(&said), 200, "{said}");
}

#[test]
fn a_name_that_is_not_ours_is_refused() {
    let target = start(spec());
    let of = |line: &str, headers: &str| {
        let text = target.exchange(format!("{line} HTTP/1.1\r\n{headers}Connection: close\r\n\r\n").as_bytes());
        status(&text)
    };
    for ours in ["a", "A:80", "localhost:8025", "127.0.0.1", "127.9.9.9:1", "[::1]:80", "192.0.2.1"] {
        assert_eq!(of("GET /", &format!("Host: {ours}\r\n")), 200, "{ours}");
    }
    for foreign in ["evil.example", "a.evil.example:80", "localhost.evil.example", "127.0.0.1.evil.example"] {
        assert_eq!(of("GET /", &format!("Host: {foreign}\r\n")), 421, "{foreign}");
    }
    for none in ["", "user@a", "a:80/path", "127.0.0.1:8025@evil.com", "localhost:evil", "[::1].evil.com", "a:80,b"] {
        assert_eq!(of("GET /", &format!("Host: {none}\r\n")), 400, "{none}");
    }
    assert_eq!(of("GET http://evil.example/", "Host: a\r\n"), 421, "the address counts as well");
    assert_eq!(of("GET /", "Host: a\r\nContent_Length: 5\r\n"), 400);
}

#[test]
fn a_client_that_does_not_read_ends_after_its_time() {
    let limits = EdgeSpec { write_timeout: Duration::from_millis(700), ..edge() };
    let mut spec = TargetSpec { edge: limits, ..spec() };
    if let spec::App::Emulated(emulated) = &mut spec.app {
        emulated.answer_bytes = 32 << 20; // more than the socket buffers of both sides
    }
    let target = start(spec);
    let mut deaf = target.connect();
    deaf.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    let began = Instant::now();
    target.until("the answer to be under way", |gauges| gauges.ledger.requests_read == 1);
    target.until("it to be closed", |gauges| gauges.ledger.connections_open == 0);
    assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
}

#[test]
fn at_the_cap_the_oldest_idle_connection_makes_room() {
    let target = limited(EdgeSpec { connections: 8, ..edge() });
    let mut kept: Vec<_> = (0..8).map(|_| target.connect()).collect();
    for stream in &mut kept {
        stream.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
        assert_eq!(answer(stream).0, 200);
        thread::sleep(Duration::from_millis(5)); // so that one of them is the oldest
    }
    let mut ninth = target.connect();
    ninth.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    assert_eq!(answer(&mut ninth).0, 200, "slots held by idlers lock nobody out");
    assert!(closes_after(kept.remove(0)) < 1.0);
    kept[6].write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    assert_eq!(answer(&mut kept[6]).0, 200, "the youngest was spared");
    let ledger = target.gauges().ledger;
    assert_eq!((ledger.connections_evicted, ledger.connections_refused), (1, 0));
}

#[test]
fn of_too_many_slow_clients_the_slowest_go_though_there_is_room() {
    let target = limited(EdgeSpec { connections: 100, slow_clients: 2, ..edge() });
    let mut idle = target.connect();
    idle.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    assert_eq!(answer(&mut idle).0, 200);
    let slow: Vec<_> = (0..4)
        .map(|_| {
            let mut stream = target.connect();
            stream.write_all(b"GET / HTTP/1.1\r\nHost").unwrap();
            thread::sleep(Duration::from_millis(20)); // so that the first ones are the slowest
            stream
        })
        .collect();
    target.until("two to go", |gauges| gauges.ledger.connections_evicted == 2);
    target.until("the others to stay", |gauges| gauges.ledger.connections_open == 3);
    let [first, second, third, fourth] = slow.try_into().expect("four");
    assert!(closes_after(first) < 1.0 && closes_after(second) < 1.0);
    for mut stays in [third, fourth] {
        stays.write_all(b": a\r\n\r\n").unwrap();
        assert_eq!(answer(&mut stays).0, 200);
    }
    idle.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    assert_eq!(answer(&mut idle).0, 200, "who is between requests is not slow");
}

#[test]
fn a_connection_ends_with_the_answer_to_its_last_request() {
    let with = |connection_requests| {
        let mut limits = edge();
        limits.kept.connection_requests = connection_requests;
        limited(limits)
    };
    let target = with(3);
    let mut stream = target.connect();
    for left in [2, 1, 0] {
        stream.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
        let (status, head, _) = answer(&mut stream);
        assert_eq!((status, head.to_ascii_lowercase().contains("connection: close")), (200, left == 0), "{head}");
    }
    assert!(closes_after(stream) < 2.0);
    let endless = with(0);
    let mut stream = endless.connect();
    let asked = 1001;
    for _ in 0..asked {
        stream.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
        assert!(!answer(&mut stream).1.to_ascii_lowercase().contains("connection: close"));
    }
    assert_eq!(EdgeSpec::default().kept.connection_requests, 1000);
}
