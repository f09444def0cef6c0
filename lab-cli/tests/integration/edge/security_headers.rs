//! The security headers are on every answer, whoever gives it.

use std::{io::Write, time::Duration};

use serde_json::json;

use crate::edge::{
    service::Service,
    wire::{After, Said, connect, exchange, rest},
};

fn has_security_headers(said: &Said) -> Result<(), String> {
    for (name, part) in [
        ("content-security-policy", "default-src 'none'"),
        ("content-security-policy", "frame-ancestors 'none'"),
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
        ("referrer-policy", "same-origin"),
        ("cache-control", "no-store"),
    ] {
        if !said.header(name).is_some_and(|value| value.contains(part)) {
            return Err(format!("{name} is {:?}", said.header(name)));
        }
    }
    Ok(())
}

#[test]
fn answers_of_the_edge_carry_them() {
    for service in Service::both() {
        let long = "x".repeat(70_000);
        for (request, status) in [
            ("GET / HTTP/1.1\r\n\r\n".to_owned(), 400),
            ("GET / HTTP/1.1\r\nHost: localhost\r\nBad Name: x\r\n\r\n".to_owned(), 400),
            ("GET / HTTP/1.1\r\nHost: localhost\r\n\r\nGET nothing\r\n\r\n".to_owned(), 400),
            ("BREW / HTTP/1.1\r\nHost: localhost\r\n\r\n".to_owned(), 405),
            ("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 70000\r\n\r\n".to_owned(), 413),
            (format!("GET /{} HTTP/1.1\r\nHost: localhost\r\n\r\n", &long[..9000]), 414),
            ("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n".to_owned(), 421),
            (format!("GET / HTTP/1.1\r\nHost: localhost\r\nX: {long}\r\n\r\n"), 431),
            ("OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n".to_owned(), 204),
            ("GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n".to_owned(), 200),
        ] {
            let said = exchange(service.address, request.as_bytes(), After::Wait);
            assert_eq!(said.statuses().last(), Some(&status), "{}: {request:.60}", service.name);
            // Of several answers it is the last one that is meant.
            let last = &said.text[said.text.rfind("HTTP/1.1 ").expect("an answer")..];
            let last = Said { text: last.to_owned(), closed: said.closed };
            has_security_headers(&last)
                .unwrap_or_else(|missing| panic!("{}, {status}: {missing}: {last:?}", service.name));
        }
    }
}

#[test]
fn so_does_the_answer_to_a_head_that_takes_too_long() {
    let service = Service::emulated(json!({"head_timeout": {"secs": 0, "nanos": 300_000_000}}));
    let mut stream = connect(service.address);
    stream.write_all(b"GET / HT").expect("is sent");
    stream.set_read_timeout(Some(Duration::from_secs(5))).expect("a time-out");
    let said = rest(stream, false);
    assert_eq!(said.statuses(), [408]);
    has_security_headers(&said).expect("all of them");
}
