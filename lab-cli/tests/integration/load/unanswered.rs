//! What was asked and not answered counts against the service: in rates, bounds, conditions and exit codes, whatever else the
//! load is worth.

use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use service::{Behaves, Service, nobody};

use super::*;

/// After the load a time for what is under way passes: 10 s, or the time-out.
const GRACE: Duration = Duration::from_secs(40);

/// The only condition's outcome.
fn threshold(found: &Value) -> (bool, bool) {
    let only = &found["thresholds"][0];
    (only["judged"] != false, only["held"] == true)
}

#[test]
fn a_service_that_takes_requests_and_never_answers_fails_every_kind_of_load() {
    let hung = Service::start(Behaves::Does(service::is_silent));
    let (plain, secure) = (hung.url(), hung.url().replace("http:", "https:"));
    let nowhere = format!("http://{}/", nobody());
    let loads: [(&str, &[&str], &[&str]); 8] = [
        (&plain, &["-R", "20", "-d", "1s"], &["in_flight"]),
        (&plain, &["-c", "8", "-d", "1s"], &["in_flight"]),
        (&plain, &["-c", "8", "-n", "8"], &["in_flight"]),
        (&plain, &["-R", "20", "-n", "20", "-c", "20"], &["in_flight"]),
        // No answer to the greeting, and none to a request over HTTP/2.
        (&secure, &["-c", "8", "-n", "8", "--timeout", "1s"], &["connect_failed", "timed_out", "in_flight", "unsent"]),
        (&plain, &["-c", "8", "-n", "8", "--http2", "--timeout", "1s"], &["connect_failed", "timed_out", "in_flight"]),
        (&nowhere, &["-R", "20", "-d", "1s"], &["connect_failed"]),
        (&nowhere, &["-c", "4", "-n", "30"], &["connect_failed"]),
    ];
    let started = loads.map(|(url, asked, lost)| {
        let running = Running::load(&[&[url], asked, &["--fail-if", "error_rate > 1%"]].concat());
        (running, asked, lost)
    });
    for (running, asked, lost) in started {
        let ended = running.ends_within(GRACE);
        let found = ended.json();
        let told = format!("{asked:?} {found:#}");
        assert_eq!((ended.code(), &found["nothing_served"]), (4, &true.into()), "{told}");
        let lost: u64 = lost.iter().map(|fate| count(&found, fate)).sum();
        assert!(lost >= 8 && lost == count(&found, "planned"), "{told}");
        assert_eq!(threshold(&found), (true, false), "{told}");
        // It is at least as long as anybody waited.
        let times = &found["response_time_ms"];
        assert!(times["p50"].is_null() && times["p50_at_least"].as_f64() >= Some(990.0), "{told}");
    }
}

#[test]
fn three_requests_in_ten_that_hang_are_thirty_errors_in_a_hundred() {
    static READ: AtomicU64 = AtomicU64::new(0);
    let service = Service::start(Behaves::Does(|stream| match READ.fetch_add(1, SeqCst) % 10 {
        0..3 => service::is_silent(stream),
        _ => service::say(stream, service::OK),
    }));
    let args =
        ["load", &service.url(), "-R", "50", "-d", "2s", "--fail-if", "error_rate > 1%", "--fail-if", "p50 > 9s"];
    let ended = Running::start(lab(&[&args[..], &["--output", "json"]].concat())).ends_within(GRACE);
    let found = ended.json();
    assert_eq!((count(&found, "planned"), count(&found, "served"), count(&found, "in_flight")), (100, 70, 30));
    assert_eq!((ended.code(), threshold(&found)), (4, (true, false)), "{found:#}");
    assert_eq!(found["thresholds"][0]["values"][0].as_f64(), Some(0.3), "{found:#}");
    let times = &found["response_time_ms"];
    assert!(times["p50"].is_number() && times["p90"].is_null(), "{times:#}");
    assert!(times["p90_at_least"].as_f64() >= Some(9_990.0), "{times:#}");
}

/// A second of three without a service.
#[test]
fn percentiles_that_lie_among_refused_connections_are_bounds() {
    let service = Service::start(Behaves::Well);
    let running = Running::load(&[&service.url(), "-R", "150", "-d", "4s", "--timeout", "3s"]);
    thread::sleep(Duration::from_millis(1200));
    let _service = service.restart(Duration::from_millis(1000));
    let ended = running.ends_within(GRACE);
    let found = ended.json();
    let (lost, planned) = (count(&found, "connect_failed"), count(&found, "planned"));
    assert!(lost * 10 > planned && lost * 2 < planned, "{found:#}");
    let times = &found["response_time_ms"];
    assert!(times["p50"].is_number() && times["p90"].is_null() && times["p99"].is_null(), "{times:#}");
    // The time-out, in a bucket of three digits.
    assert!(times["p90_at_least"].as_f64().is_some_and(|least| (2_990.0..3_001.0).contains(&least)), "{times:#}");
    ends_with(&ended, 0);
}

#[test]
fn of_an_invalid_load_errors_alone_are_judged() {
    let url = format!("http://{}/", nobody());
    let args = ["load", &url, "-c", "4", "-n", "40", "--fail-if", "error_rate > 1%", "--fail-if", "p50 > 1s"];
    let ended = Running::start(lab(&args)).ends_within(GRACE);
    let text = String::from_utf8(ended.output.stdout.clone()).expect("text");
    assert!(text.contains("INVALID EMPTY") && ended.code() == 4, "{} {text}", ended.code());
    assert!(text.contains("\nFAILED --fail-if 'error_rate > 1%': found 1\n"), "{text}");
    assert!(text.contains("\nnot judged --fail-if 'p50 > 1s': the run is INVALID; found at least 19.99 s\n"), "{text}");
    assert!(text.ends_with("\nINVALID\nFAILED: none of 40 requests was served\n"), "{text}");
}

#[test]
fn what_a_person_cuts_off_may_yet_have_been_served() {
    let hung = Service::start(Behaves::Does(service::is_silent));
    let running = Running::load(&[&hung.url(), "-R", "20", "-d", "20s", "--fail-if", "error_rate > 1%"]);
    hung.wait_for(2);
    running.signal("INT");
    let ended = running.ends_within(SOON);
    let found = ended.json();
    assert_eq!((ended.code(), &found["nothing_served"], threshold(&found).0), (130, &false.into(), false), "{found:#}");
}

#[test]
fn a_search_that_was_never_served_finds_nothing_and_has_no_verdict() {
    let hung = Service::start(Behaves::Does(service::is_silent));
    let search = ["-R", "4", "--find-rate", "p50 < 500ms", "--try-for", "2s..3s", "--timeout", "1s"];
    let urls = [hung.url(), format!("http://{}/", nobody())];
    for running in urls.each_ref().map(|url| Running::load(&[&[url.as_str()], &search[..]].concat())) {
        let ended = running.ends_within(Duration::from_secs(120));
        let found = ended.json();
        assert_eq!((ended.code(), &found["nothing_served"], &found["confirmed"]), (4, &true.into(), &false.into()));
        assert!(found["rate_per_s"].is_null() && found["verdict"] != "VALID", "{found:#}");
    }
}

/// Between two requests, without a word.
#[test]
fn connections_that_the_service_had_closed_are_counted_and_cautioned_about() {
    static ANSWERED: AtomicU64 = AtomicU64::new(0);
    let closing = Service::start(Behaves::Does(|stream| {
        service::say(stream, service::OK) && ANSWERED.fetch_add(1, SeqCst) % 5 != 4
    }));
    let args = ["load", &closing.url(), "-c", "1", "-R", "20", "-n", "40"];
    let ended = Running::start(lab(&[&args[..], &["--output", "json"]].concat())).ends_within(SOON);
    let found = ended.json();
    // After the 40th there is none that would find it closed.
    assert_eq!((count(&found, "served"), count(&found, "sent"), count(&found, "resent")), (40, 40, 7), "{found:#}");
    assert_eq!(closing.connections(), 8);
    assert!(codes(&found).contains(&"RESENT"), "{found:#}");
    let text = String::from_utf8(Running::start(lab(&args)).ends_within(SOON).output.stdout).expect("text");
    assert!(text.lines().any(|line| line.split_whitespace().eq(["resent", "7"])), "{text}");
    assert!(text.contains("WARN RESENT: 7 of 40 requests (17.50 %)"), "{text}");
}

/// One with the first, in one piece, and one a moment later.
#[test]
fn answers_that_nobody_asked_for_are_counted_and_are_no_closed_connections() {
    static ANSWERED: AtomicU64 = AtomicU64::new(0);
    let twice = Service::start(Behaves::Does(|stream| match ANSWERED.fetch_add(1, SeqCst) % 10 {
        3 => service::say(stream, &service::OK.repeat(2)),
        7 => {
            let first = service::say(stream, service::OK);
            std::thread::sleep(Duration::from_millis(10));
            first && service::say(stream, service::OK)
        }
        _ => service::say(stream, service::OK),
    }));
    let args = ["load", &twice.url(), "-c", "1", "-R", "20", "-n", "40", "--output", "json"];
    let ended = Running::start(lab(&args)).ends_within(SOON);
    let found = ended.json();
    assert_eq!((count(&found, "served"), count(&found, "sent"), count(&found, "resent")), (40, 40, 0), "{found:#}");
    assert_eq!(twice.connections(), 9, "each of the eight was closed");
    let told = found["reasons"].as_array().expect("a list").iter().find(|reason| reason["code"] == "UNASKED");
    let told = told.and_then(|reason| reason["value"].as_str()).unwrap_or_else(|| panic!("{found:#}"));
    assert!(told.contains("on 8 connections"), "{told}");
}
