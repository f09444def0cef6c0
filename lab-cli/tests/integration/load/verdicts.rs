//! What is said of a load, and how it ends, where the service did not serve.

use service::{Behaves, Service, nobody};

use super::*;

fn said(args: &[&str]) -> String {
    let ended = Running::start(lab(args)).ends_within(SOON);
    String::from_utf8(ended.output.stdout).expect("text")
}

#[test]
fn without_a_service_a_load_is_empty_whether_a_time_or_a_number_was_asked_for() {
    let url = format!("http://{}/", nobody());
    for asked in [&["-c", "4", "-n", "20"][..], &["-d", "1s"], &["-R", "20", "-d", "1s"]] {
        let ended = Running::load(&[&[url.as_str()], asked].concat()).ends_within(SOON);
        let found = ended.json();
        assert_eq!((ended.code(), &found["verdict"]), (4, &Value::from("INVALID")), "{found:#}");
        assert!(codes(&found).contains(&"EMPTY"), "{found:#}");
        assert_eq!((count(&found, "sent"), count(&found, "served")), (0, 0));
        let refused = count(&found["errors"], "Connection refused");
        assert_eq!(refused, count(&found, "connect_failed"), "{found:#}");
    }
    let text = said(&["load", &url, "-c", "4", "-n", "20"]);
    assert!(text.contains("        20  Connection refused\n"), "{text}");
    assert!(text.contains("INVALID EMPTY: 0 requests sent: none of 20 attempts got a connection"), "{text}");
}

#[test]
fn a_count_that_cannot_be_reached_is_given_up() {
    let url = format!("http://{}/", nobody());
    let ended = Running::load(&[&url, "-c", "8", "-n", "1m"]).ends_within(Duration::from_secs(15));
    let found = ended.json();
    assert!(ended.code() == 4 && codes(&found).contains(&"EMPTY"), "{found:#}");
    assert!(count(&found, "connect_failed") > 20 && ended.took > Duration::from_secs(5), "{found:#}");
}

/// Judged on what was: served before it died, or sent at least.
#[test]
fn a_count_is_given_up_when_the_service_has_gone_and_says_what_was_counted() {
    let oops = Behaves::Says("HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n");
    for (behaves, code) in [(Behaves::Well, 0), (oops, 4)] {
        let service = Service::start(behaves);
        let running = Running::start(lab(&["load", &service.url(), "-c", "8", "-n", "100m", "--output", "json"]));
        service.wait_for(100);
        service.die();
        let ended = running.ends_within(Duration::from_secs(20));
        let found = ended.json();
        let made = count(&found, "planned");
        assert_eq!((&found["gave_up"]["after_s"], &found["gave_up"]["asked"]), (&5.into(), &100_000_000.into()));
        assert!(count(&found["gave_up"], "made") == made && made > 8, "{found:#}");
        assert_eq!(found["partial"], false, "nobody has stopped it");
        assert!(count(&found, "connect_failed") > 8 && ended.took > Duration::from_secs(5), "{found:#}");
        ends_with(&ended, code);
    }
    let service = Service::start(Behaves::Well);
    let running = Running::start(lab(&["load", &service.url(), "-c", "2", "-n", "100m"]));
    service.wait_for(10);
    service.die();
    let text = String::from_utf8(running.ends_within(Duration::from_secs(20)).output.stdout).expect("text");
    let (_, line) =
        text.split_once("\nGAVE UP: the service was gone (no connection, no answer) for 5 s in a row; ").expect(&text);
    let (made, rest) =
        line.split_once(" of 100000000 requests were made, and all figures are of these\n").expect(&text);
    assert!(
        made.parse::<u64>().is_ok_and(|made| made > 2) && ["VALID\n", "WARN\n", "INVALID\n"].contains(&rest),
        "{text}"
    );
}

#[test]
fn a_count_waits_for_a_service_that_is_slow_or_comes_back() {
    let slow = Service::start(Behaves::Does(|stream| {
        thread::sleep(Duration::from_millis(6500));
        service::say(stream, service::OK)
    }));
    let waits = Running::load(&[&slow.url(), "-c", "2", "-n", "2", "--timeout", "20s"]);
    let service = Service::start(Behaves::Well);
    let running = Running::load(&[&service.url(), "-c", "8", "-n", "100m"]);
    service.wait_for(10);
    let service = service.restart(Duration::from_millis(2500));
    let until = Instant::now() + Duration::from_secs(4);
    while service.connections() == 0 && Instant::now() < until {
        thread::sleep(Duration::from_millis(20));
    }
    running.signal("TERM");
    let ended = running.ends_within(Duration::from_secs(20));
    assert_eq!((ended.code(), ended.json()["gave_up"].is_null()), (143, true));
    assert!(service.connections() > 0, "it had come back");
    let ended = waits.ends_within(Duration::from_secs(20));
    assert_eq!((count(&ended.json(), "served"), ended.json()["gave_up"].is_null()), (2, true));
}

#[test]
fn a_load_with_a_duration_ends_at_its_time_whoever_is_there() {
    let url = format!("http://{}/", nobody());
    let ended = Running::load(&[&url, "-c", "2", "-d", "6500ms"]).ends_within(Duration::from_secs(15));
    let found = ended.json();
    assert!(ended.took >= Duration::from_millis(6500) && found["gave_up"].is_null(), "{:?} {found:#}", ended.took);
    ends_with(&ended, 4);
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
