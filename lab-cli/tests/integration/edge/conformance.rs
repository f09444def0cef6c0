//! The 32 checks of h1spec (github.com/dropseed/h1spec) and its strict one, in words of our own. Clients there end their side
//! after the last byte of most requests, so each of these is also a check that such a client gets its answer.

use serde_json::json;

use crate::edge::{
    service::Service,
    wire::{After, Said, answer, connect, exchange, rest},
};

const HOST: &str = "Host: localhost\r\n";

/// What an answer must be.
#[derive(Debug, Clone, Copy)]
enum Wanted {
    /// One, with any status but 400.
    Understood,
    /// One with one of these.
    Status(&'static [u16]),
    /// One at most, and 400 if there is one.
    NothingBut400,
}

use Wanted::{NothingBut400, Status, Understood};

const REFUSED: Wanted = Status(&[400]);

/// The requests that are one write.
fn cases() -> Vec<(&'static str, String, Wanted)> {
    let get = |lines: &str| format!("GET / HTTP/1.1\r\n{HOST}{lines}\r\n");
    let post = |lines: &str, body: &str| format!("POST / HTTP/1.1\r\n{HOST}{lines}\r\n{body}");
    let chunked = "Transfer-Encoding: chunked\r\n";
    let then_get = |request: String| request + &get("Connection: close\r\n");
    vec![
        // request line
        ("a plain GET", get(""), Understood),
        ("a body by length", post("Content-Length: 5\r\n", "hello"), Understood),
        ("OPTIONS of everything", format!("OPTIONS * HTTP/1.1\r\n{HOST}\r\n"), Understood),
        ("an absolute target", format!("GET http://localhost/ HTTP/1.1\r\n{HOST}\r\n"), Understood),
        ("CONNECT", format!("CONNECT example.com:443 HTTP/1.1\r\n{HOST}\r\n"), Understood),
        ("another version", format!("GET / HTTP/2.0\r\n{HOST}\r\n"), Status(&[400, 505])),
        ("no version", format!("GET /\r\n{HOST}\r\n"), REFUSED),
        // header lines
        ("no host", "GET / HTTP/1.1\r\n\r\n".to_owned(), REFUSED),
        ("two hosts", get("Host: example.com\r\n"), REFUSED),
        ("a space in the host", "GET / HTTP/1.1\r\nHost: bad host\r\n\r\n".to_owned(), REFUSED),
        ("a space in a name", get("Bad Header: value\r\n"), REFUSED),
        ("a folded line", get("  continued\r\n"), REFUSED),
        ("a space before the colon", "GET / HTTP/1.1\r\nHost : localhost\r\n\r\n".to_owned(), REFUSED),
        ("a null in a value", "GET / HTTP/1.1\r\nHost: local\0host\r\n\r\n".to_owned(), REFUSED),
        // bodies
        ("chunks", post(chunked, "5\r\nhello\r\n0\r\n\r\n"), Understood),
        ("chunks in HTTP/1.0", format!("POST / HTTP/1.0\r\n{HOST}{chunked}\r\n5\r\nhello\r\n0\r\n\r\n"), REFUSED),
        ("chunks and a length", post(&format!("{chunked}Content-Length: 5\r\n"), "5\r\nhello\r\n0\r\n\r\n"), REFUSED),
        ("an unknown coding", post("Transfer-Encoding: nonsense\r\n", "hello"), Status(&[400, 501])),
        (
            "chunked is not last",
            then_get(post("Transfer-Encoding: chunked, gzip\r\n", "5\r\nhello\r\n0\r\n\r\n")),
            REFUSED,
        ),
        ("two lengths that differ", post("Content-Length: 5\r\nContent-Length: 7\r\n", "hello!!"), REFUSED),
        ("a length that is no number", post("Content-Length: xyz\r\n", "hello"), REFUSED),
        ("a size that is no number", then_get(post(chunked, "Z\r\nhello\r\n0\r\n\r\n")), NothingBut400),
        ("a chunk without its end", then_get(post(chunked, "5\r\nhello0\r\n\r\n")), NothingBut400),
        // limits: an answer of any kind, and the service goes on
        ("a long line", format!("GET /{} HTTP/1.1\r\n{HOST}\r\n", "a".repeat(9000)), Status(&[414, 431])),
        ("many lines", get(&(0..101).map(|n| format!("X-H-{n}: value\r\n")).collect::<String>()), Status(&[431])),
        ("a long value", get(&format!("X-Big: {}\r\n", "x".repeat(9000))), Understood),
    ]
}

fn holds(said: &Said, wanted: Wanted) -> bool {
    let statuses = said.statuses();
    match (wanted, statuses.as_slice()) {
        (Understood, [status]) => *status != 400,
        (Status(wanted), [status]) => wanted.contains(status),
        (NothingBut400, []) => true,
        (NothingBut400, [status]) => *status == 400,
        _ => false,
    }
}

#[test]
fn every_check_of_h1spec_holds() {
    for service in Service::both() {
        let mut failed = Vec::new();
        for (name, request, wanted) in cases() {
            let said = exchange(service.address, request.as_bytes(), After::HalfClose);
            if !holds(&said, wanted) {
                failed.push(format!("{name}: {wanted:?}, and not {:?}", said.statuses()));
            }
        }
        for (name, check) in [
            ("a refusal ends the connection", refusal_closes as fn(&Service) -> bool),
            ("Expect: 100-continue", expectation),
            ("HEAD has no body", head_has_no_body),
            ("an error says where it ends", error_is_delimited),
            ("a kept connection", kept),
            ("Connection: close", |service| {
                ends(service, "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            }),
            ("HTTP/1.0 closes", |service| ends(service, "GET / HTTP/1.0\r\nHost: localhost\r\n\r\n")),
        ] {
            if !check(&service) {
                failed.push(name.to_owned());
            }
        }
        assert!(failed.is_empty(), "{}, {} of {}: {failed:#?}", service.name, failed.len(), cases().len() + 7);
    }
}

fn refusal_closes(service: &Service) -> bool {
    let both = format!(
        "POST / HTTP/1.1\r\n{HOST}Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
    );
    let said = exchange(service.address, both.as_bytes(), After::Wait);
    said.statuses() == [400] && said.closed && said.header("connection") == Some("close")
}

fn expectation(service: &Service) -> bool {
    let mut stream = connect(service.address);
    let head =
        format!("POST / HTTP/1.1\r\n{HOST}Content-Length: 5\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n");
    std::io::Write::write_all(&mut stream, head.as_bytes()).expect("is sent");
    let Some((first, _)) = answer(&mut stream) else { return false };
    if first != 100 {
        return (400..500).contains(&first);
    }
    std::io::Write::write_all(&mut stream, b"hello").expect("is sent");
    answer(&mut stream).is_some_and(|(status, _)| status != 100 && status != 400)
}

fn head_has_no_body(service: &Service) -> bool {
    let said = exchange(service.address, format!("HEAD / HTTP/1.1\r\n{HOST}\r\n").as_bytes(), After::HalfClose);
    said.statuses().len() == 1 && said.body().is_empty()
}

fn error_is_delimited(service: &Service) -> bool {
    let said = exchange(service.address, format!("get / HTTP/1.1\r\n{HOST}\r\n").as_bytes(), After::HalfClose);
    said.statuses().len() == 1
        && (said.header("content-length").is_some() || said.header("connection") == Some("close"))
}

fn kept(service: &Service) -> bool {
    let mut stream = connect(service.address);
    (0..2).all(|_| {
        std::io::Write::write_all(&mut stream, format!("GET / HTTP/1.1\r\n{HOST}\r\n").as_bytes()).is_ok()
            && answer(&mut stream).is_some_and(|(status, _)| status == 200)
    })
}

/// Answered once, and then closed by the service.
fn ends(service: &Service, request: &str) -> bool {
    let said = exchange(service.address, request.as_bytes(), After::Wait);
    said.statuses() == [200] && said.closed
}

/// The same with an answer that takes its time, and with requests behind one another.
#[test]
fn a_client_that_ends_its_side_gets_every_answer() {
    let service = Service::emulated(json!({}));
    let three = format!("GET / HTTP/1.1\r\n{HOST}\r\n").repeat(3);
    for _ in 0..20 {
        let said = exchange(service.address, three.as_bytes(), After::HalfClose);
        assert!(said.closed);
        assert_eq!(said.statuses(), [200; 3]);
    }
}

/// A reset, and nothing else, says that nobody waits for an answer any more.
#[test]
fn what_is_refused_early_is_answered_though_more_is_coming() {
    for service in Service::both() {
        // The service does not want the megabyte that is on its way when it answers.
        let head = format!("POST / HTTP/1.1\r\n{HOST}Content-Length: 1000000\r\n\r\n");
        let mut bytes = head.into_bytes();
        bytes.resize(bytes.len() + 900_000, b'x');
        for _ in 0..20 {
            let mut stream = connect(service.address);
            let _ = std::io::Write::write_all(&mut stream, &bytes);
            let said = rest(stream, false);
            assert_eq!(said.statuses(), [413], "{}", service.name);
        }
    }
}
