//! What counts as served, and how much came.

use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use carriers::{Carrier, HELLO};
use service::{Behaves, Service};

use super::*;

/// Every other answer is another one.
fn wavers(stream: &mut std::net::TcpStream) -> bool {
    static ANSWERED: AtomicU64 = AtomicU64::new(0);
    let odd = ANSWERED.fetch_add(1, SeqCst) % 2 == 1;
    service::say(stream, if odd { "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nsick" } else { service::OK })
}

#[test]
fn an_answer_that_is_not_as_expected_is_an_error_and_named() {
    let service = Service::start(Behaves::Does(wavers));
    let few = ["-c", "1", "-n", "40"];
    let ended = Running::load(&[&[service.url().as_str()], &few[..]].concat()).ends_within(SOON);
    assert_eq!(count(&ended.json(), "served"), 40);
    for (asked, named) in [
        ("text ok", "answer without the text \"ok\""),
        ("bytes < 3", "answer without bytes <= 2"),
        ("bytes >= 3", "answer without bytes >= 3"),
    ] {
        let fails = ["--expect", "status 200", "--expect", asked, "--fail-if", "error_rate > 1%"];
        let ended = Running::load(&[&[service.url().as_str()], &few[..], &fails].concat()).ends_within(SOON);
        let found = ended.json();
        assert_eq!((count(&found, "served"), count(&found, "failed")), (20, 20), "{found:#}");
        assert_eq!((count(&found["errors"], named), count(&found["statuses"], "200")), (20, 40), "{found:#}");
        assert_eq!(ended.code(), 4, "its condition fails: {found:#}");
    }
}

/// Answers with the number of its request, and swaps each eighth with the one after it.
fn swaps(stream: &mut std::net::TcpStream) -> bool {
    static ANSWERED: AtomicU64 = AtomicU64::new(0);
    let number = ANSWERED.fetch_add(1, SeqCst);
    let said = match number % 8 {
        6 => number + 1,
        7 => number - 1,
        _ => number,
    };
    let body = format!("item {said}.");
    service::say(stream, &format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()))
}

#[test]
fn an_answer_to_another_request_is_found_by_its_number() {
    let service = Service::start(Behaves::Does(swaps));
    let url = format!("{}item/{{{{number}}}}", service.url());
    let asked = ["-c", "1", "-n", "40", "--expect", "text item {{number}}."];
    let found = Running::load(&[&[url.as_str()], &asked[..]].concat()).ends_within(SOON).json();
    assert_eq!((count(&found, "served"), count(&found, "failed")), (30, 10), "{found:#}");
    assert_eq!(count(&found["errors"], "answer without the text \"item {{number}}.\""), 10, "{found:#}");
    let drawn = ["-n", "1", "--expect", "text {{1..9}}"];
    let refused = Running::load(&[&[url.as_str()], &drawn[..]].concat()).ends_within(SOON);
    let said = String::from_utf8_lossy(&refused.output.stderr).into_owned();
    assert!(refused.code() == 2 && said.contains("{{number}} alone"), "{said}");
}

#[test]
fn a_status_that_is_asked_for_is_served_whatever_it_means_otherwise() {
    let moved = "HTTP/1.1 302 Found\r\nLocation: http://elsewhere.example/\r\nContent-Length: 0\r\n\r\n";
    for (answer, status) in [(moved, "302"), ("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n", "503")] {
        let service = Service::start(Behaves::Says(answer));
        let url = service.url();
        let load = |expected: &str| {
            let args = [&url, "-c", "1", "-n", "10", "--follow", "3", "--expect", &format!("status {expected}")];
            Running::load(&args).ends_within(SOON)
        };
        let ended = load(&format!("200,{status}"));
        assert_eq!(count(&ended.json(), "served"), 10, "{:#}", ended.json());
        ends_with(&ended, 0);
        let ended = load("200");
        assert_eq!((count(&ended.json(), "served"), ended.code()), (0, 4), "{:#}", ended.json());
    }
    let missing = Service::start(Behaves::Says("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"));
    let ended = Running::load(&[&missing.url(), "-c", "1", "-n", "5", "--expect", "status 200"]).ends_within(SOON);
    assert_eq!(count(&ended.json()["errors"], "answer without status 200"), 5, "{:#}", ended.json());
}

#[test]
fn what_is_expected_is_looked_for_over_tls_and_http2_as_well() {
    for carrier in Carrier::ALL {
        let (address, _) = carrier.serves("server");
        let url = format!("{}://{address}/", carrier.scheme());
        let load = |expected: &str| {
            let trust = if carrier == Carrier::Plain2 { vec![] } else { vec!["-k"] };
            let args = [&[url.as_str(), carrier.version(), "-c", "2", "-n", "10", "--expect", expected], &trust[..]];
            Running::load(&args.concat()).ends_within(SOON).json()
        };
        let length = HELLO.len();
        for held in ["text hell", "status 200", &format!("bytes = {length}")] {
            let found = load(held);
            assert_eq!(count(&found, "served"), 10, "{carrier:?} {held}: {found:#}");
            assert_eq!(count(&found, "body_bytes"), 10 * length as u64, "{found:#}");
        }
        let found = load("text hullo");
        assert_eq!(count(&found["errors"], "answer without the text \"hullo\""), 10, "{carrier:?}: {found:#}");
        let found = load("bytes > 5");
        assert_eq!((count(&found, "failed"), count(&found, "served")), (10, 0), "{carrier:?}: {found:#}");
    }
}

#[test]
fn bytes_a_second_are_those_of_bodies() {
    let service = Service::start(Behaves::Well);
    let url = service.url();
    let found = Running::load(&[&url, "-R", "50", "-d", "1s"]).ends_within(SOON).json();
    let (bytes, per_s) = (count(&found, "body_bytes"), found["body_bytes_per_s"].as_f64().expect("a rate"));
    assert_eq!(bytes, 2 * (count(&found, "served") + count(&found, "served_late")), "{found:#}");
    assert!((per_s - bytes as f64 / found["seconds"].as_f64().expect("seconds")).abs() < 1e-6, "{found:#}");
    let ended = Running::start(lab(&["load", &url, "-c", "1", "-n", "1000"])).ends_within(SOON);
    let text = String::from_utf8(ended.output.stdout).expect("text");
    assert!(text.lines().any(|line| line.starts_with("  received ") && line.ends_with("B/s in bodies")), "{text}");
}
