//! What is said of a load, and how it ends, where the service did not serve.

use super::*;
use service::{Behaves, Service, nobody};

fn said(args: &[&str]) -> String {
    let ended = Running::start(lab(args)).ends_within(SOON);
    String::from_utf8(ended.output.stdout).expect("text")
}

#[test]
fn nobody_there_is_empty_whether_a_time_or_a_number_was_asked_for() {
    let url = format!("http://{}/", nobody());
    for asked in [&["-c", "4", "-n", "20"][..], &["-d", "1s"], &["-R", "20", "-d", "1s"]] {
        let ended = Running::load(&[&[url.as_str()], asked].concat()).ends_within(SOON);
        let found = ended.json();
        assert_eq!((ended.code(), &found["verdict"]), (3, &Value::from("INVALID")), "{found:#}");
        assert!(codes(&found).contains(&"EMPTY"), "{found:#}");
        assert_eq!((count(&found, "sent"), count(&found, "served")), (0, 0));
        let refused = count(&found["errors"], "Connection refused (os error 111)");
        assert_eq!(refused, count(&found, "connect_failed"), "{found:#}");
    }
    let text = said(&["load", &url, "-c", "4", "-n", "20"]);
    assert!(text.contains("        20  Connection refused (os error 111)\n"), "{text}");
    assert!(text.contains("INVALID EMPTY: 0 requests sent: none of 20 attempts got a connection"), "{text}");
}

#[test]
fn a_count_that_cannot_be_reached_is_given_up() {
    let url = format!("http://{}/", nobody());
    let ended = Running::load(&[&url, "-c", "8", "-n", "1m"]).ends_within(Duration::from_secs(15));
    let found = ended.json();
    assert!(ended.code() == 3 && codes(&found).contains(&"EMPTY"), "{found:#}");
    assert!(count(&found, "connect_failed") > 20 && ended.took > Duration::from_secs(5), "{found:#}");
    // Once there was a connection, it is waited for.
    let service = Service::start(Behaves::Well);
    let running = Running::load(&[&service.url(), "-c", "8", "-n", "1m"]);
    thread::sleep(Duration::from_millis(700));
    service.die();
    thread::sleep(Duration::from_secs(6));
    running.signal("TERM");
    assert_eq!(running.ends_within(Duration::from_secs(20)).code(), 143);
}

#[test]
fn only_errors_end_with_4_and_one_answer_that_is_served_with_0() {
    let broken = Service::start(Behaves::Says("HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n"));
    let ended = Running::load(&[&broken.url(), "-c", "2", "-n", "30"]).ends_within(SOON);
    let found = ended.json();
    assert_eq!((count(&found["statuses"], "500"), count(&found, "failed")), (30, 30), "{found:#}");
    assert_eq!(found["nothing_served"], true);
    ends_with(&ended, 4);
    let text = said(&["load", &broken.url(), "-c", "2", "-n", "30"]);
    assert!(text.contains("  answers by status\n            30  500\n"), "{text}");
    assert!(text.ends_with("\nFAILED: none of 30 requests was served\n"), "{text}");

    let refusing = Service::start(Behaves::Says("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"));
    let ended = Running::load(&[&refusing.url(), "-c", "2", "-n", "30"]).ends_within(SOON);
    assert_eq!(count(&ended.json()["statuses"], "503"), 30);
    ends_with(&ended, 4);

    let silent = Service::start(Behaves::Does(service::is_silent));
    let ended = Running::load(&[&silent.url(), "-c", "2", "-n", "4", "--timeout", "200ms"]).ends_within(SOON);
    let found = ended.json();
    assert_eq!((count(&found, "timed_out"), found["errors"].is_null()), (4, true), "{found:#}");
    ends_with(&ended, 4);

    // A single one is enough, however many failed.
    let mostly = Service::start(Behaves::Does(|stream| {
        static ANSWERED: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
        let nth = ANSWERED.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        let status = if nth == 7 { "200 OK" } else { "404 Not Found" };
        service::say(stream, &format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n"))
    }));
    let ended = Running::load(&[&mostly.url(), "-c", "2", "-n", "30"]).ends_within(SOON);
    let found = ended.json();
    assert_eq!((count(&found["statuses"], "404"), count(&found["statuses"], "200")), (29, 1), "{found:#}");
    assert_eq!(found["nothing_served"], false);
    ends_with(&ended, 0);
}

#[test]
fn what_is_no_http_is_told_by_its_text() {
    for (answer, error) in [
        ("220 smtp.example ESMTP\r\n\r\n", "the head of the response is not HTTP/1"),
        ("HTTP/1.1 101 Switching Protocols\r\n\r\n", "the server switched protocols"),
        ("HTTP/1.1 200 OK\r\nContent-Length: +\r\n\r\n", "Content-Length is no number"),
    ] {
        let odd = Service::start(Behaves::Says(answer));
        let ended = Running::load(&[&odd.url(), "-c", "1", "-n", "3"]).ends_within(SOON);
        let found = ended.json();
        let errors = found["errors"].as_object().unwrap_or_else(|| panic!("{found:#}"));
        let told = errors.iter().find(|(text, _)| text.contains(error));
        assert_eq!(told.and_then(|(_, count)| count.as_u64()), Some(3), "{found:#}");
        ends_with(&ended, 4);
    }
    // An interim answer is none: the one behind it counts.
    let hints = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    let early = Service::start(Behaves::Says(hints));
    let ended = Running::load(&[&early.url(), "-c", "1", "-n", "3"]).ends_within(SOON);
    assert_eq!(count(&ended.json()["statuses"], "200"), 3);
    ends_with(&ended, 0);
}
