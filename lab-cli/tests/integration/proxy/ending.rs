//! The end of a proxy: what becomes of requests inside, and what those are told who come while it drains.

use std::{
    io::{Read, Write},
    net::TcpStream,
    thread,
    time::Duration,
};

use serde_json::{Value, json};

use crate::proxy::proxied::{Answer, PATIENCE, Proxied, get, request, until};

fn counts(line: &Value) -> [Option<u64>; 3] {
    ["requests_inside", "ended", "cut"].map(|count| line[count].as_u64())
}

#[test]
fn those_who_come_while_it_drains_are_told_so_and_those_inside_end() {
    let (backend, mut proxy) = Proxied::alone(json!({"health_path": "/health"}));
    let address = proxy.address;
    assert_eq!(proxy.get("/health").status, 200);
    let before = backend.requests();
    let inside = thread::spawn(move || get(address, "/slow?1500"));
    until("request inside", || (backend.requests() > before).then_some(()));
    proxy.signal("TERM");
    assert_eq!(proxy.logged("drain")["requests_inside"], 1);
    assert_eq!(proxy.get("/health").status, 503, "a balancer is to stop sending");
    let clients: Vec<_> = (0..4)
        .map(|_| {
            thread::spawn(move || {
                let mut answers = Vec::new();
                while let Ok(mut stream) = TcpStream::connect(address) {
                    stream.set_read_timeout(Some(PATIENCE)).expect("a time-out");
                    let _ = stream.write_all(request("/").replace("Connection: close\r\n", "").as_bytes());
                    answers.push(Answer::from(stream));
                    thread::sleep(Duration::from_millis(10));
                }
                answers
            })
        })
        .collect();
    let answers: Vec<Answer> = clients.into_iter().flat_map(|client| client.join().expect("its answers")).collect();
    let inside = inside.join().expect("an answer");
    assert!(inside.status == 200 && inside.whole, "{inside:?}");
    let told = |answer: &Answer| answer.status == 503 && answer.whole && answer.header("connection") == Some("close");
    let others: Vec<_> = answers.iter().filter(|answer| !told(answer)).collect();
    assert!(answers.len() > 50 && others.is_empty(), "{} of {}: {others:?}", others.len(), answers.len());
    let line = proxy.logged("drained");
    assert_eq!(
        (counts(&line), line["refused"].as_u64()),
        ([Some(1), Some(1), Some(0)], Some(answers.len() as u64)),
        "{line}"
    );
    assert!(proxy.ended().success());
}

#[test]
fn requests_that_take_longer_than_the_drain_are_cut_and_counted() {
    let (backend, mut proxy) = Proxied::alone(json!({"timeouts": {"drain": "300ms"}}));
    let inside = proxy.inside(&backend, "/slow?15000");
    proxy.signal("TERM");
    assert_eq!(counts(&proxy.logged("drained")), [Some(1), Some(0), Some(1)]);
    assert!(proxy.ended().success());
    assert_eq!(inside.join().expect("its end").status, 0);
    let mut proxy = Proxied::before(&[backend.url()], json!({}));
    proxy.signal("INT");
    assert_eq!(counts(&proxy.logged("drained")), [Some(0), Some(0), Some(0)]);
    assert!(proxy.ended().success());
}

/// The types of the frames that come until the connection ends, and the streams that were answered.
fn frames(mut stream: TcpStream) -> (Vec<u8>, Vec<u8>) {
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    let (mut types, mut heads, mut rest) = (Vec::new(), Vec::new(), &bytes[..]);
    while let [a, b, c, kind, after @ ..] = rest {
        let length = usize::from(*a) << 16 | usize::from(*b) << 8 | usize::from(*c);
        types.push(*kind);
        let payload = after.get(5..5 + length).expect("a whole frame");
        if *kind == HEADERS {
            heads.extend(payload.first());
        }
        rest = &after[5 + length..];
    }
    (types, heads)
}

const HEADERS: u8 = 1;
const GOAWAY: u8 = 7;
/// An empty SETTINGS frame behind the preface.
const BEGIN: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
/// GET / of http://localhost on stream 1, whole.
const ASKS: &[u8] = b"\0\0\x0e\x01\x05\0\0\0\x01\x82\x84\x86\x01\x09localhost";

#[test]
fn over_http2_they_are_told_by_goaway() {
    let (backend, mut proxy) = Proxied::alone(json!({}));
    let inside = proxy.inside(&backend, "/slow?1200");
    proxy.signal("TERM");
    proxy.logged("drain");
    let open = |bytes: &[u8]| {
        let mut stream = TcpStream::connect(proxy.address).expect("the port is open");
        stream.set_read_timeout(Some(PATIENCE)).expect("a time-out");
        stream.write_all(bytes).expect("it goes out");
        stream
    };
    let (asks, waits) = (open(&[BEGIN, ASKS].concat()), open(BEGIN));
    let (types, heads) = frames(asks);
    assert!(types.contains(&HEADERS) && types.contains(&GOAWAY), "{types:?}");
    assert_ne!(heads.first(), Some(&0x88), "no 200");
    let (types, _) = frames(waits);
    assert!(types.contains(&GOAWAY) && !types.contains(&HEADERS), "{types:?}");
    assert_eq!(inside.join().expect("an answer").status, 200);
    assert!(proxy.ended().success());
}
