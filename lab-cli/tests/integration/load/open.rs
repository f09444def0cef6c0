//! Open loads: kept connections, arrivals, rates, ramps, steps.

use service::{Behaves, Service};

use super::*;

fn found(args: &[&str]) -> Value {
    let ended = Running::load(args).ends_within(Duration::from_secs(20));
    assert!(matches!(ended.code(), 0 | 3), "{}", String::from_utf8_lossy(&ended.output.stderr));
    ended.json()
}

fn slowly(stream: &mut std::net::TcpStream) -> bool {
    thread::sleep(Duration::from_millis(50));
    service::say(stream, service::OK)
}

#[test]
fn an_open_load_keeps_its_connections_unless_it_is_told_not_to() {
    let service = Service::start(Behaves::Well);
    let kept = found(&[&service.url(), "-R", "100/s", "-d", "1s"]);
    assert_eq!((count(&kept, "planned"), count(&kept, "served")), (100, 100), "{kept:#}");
    assert!(service.connections() < 50, "{} connections", service.connections());
    let anew = Service::start(Behaves::Well);
    let all = found(&[&anew.url(), "-R", "100", "-d", "1s", "--new-connections"]);
    assert_eq!((count(&all, "served"), anew.connections()), (100, 100), "{all:#}");
}

#[test]
fn with_a_limit_on_connections_requests_wait_for_one_and_say_so() {
    let service = Service::start(Behaves::Does(slowly));
    let ended = Running::load(&[&service.url(), "-R", "100", "-c", "2", "-d", "1s"]).ends_within(SOON);
    // The rate was asked for, and was not kept: a busy machine may make the load INVALID too.
    assert!(matches!(ended.code(), 3 | 4), "{}", ended.code());
    let found = ended.json();
    let missed = &found["missed_rate"];
    assert!(
        count(missed, "planned") >= 90 && count(missed, "sent") < 60 && count(missed, "connections") == 2,
        "{found:#}"
    );
    // Twice its time is the end: what has not got a connection by then never gets one.
    let ends = ["served", "refused_locally", "in_flight"].map(|end| count(&found, end));
    assert_eq!((count(&found, "planned"), ends.iter().sum::<u64>(), service.connections()), (100, 100, 2), "{found:#}");
    assert!(ends[0] > 50, "{found:#}");
    assert!(count(&found, "waited_for_connection") > 50, "{found:#}");
    // The wait is in the response time, and not in the time from the send.
    let (response, sent) = (&found["response_time_ms"]["p50"], &found["service_time_ms"]["p50"]);
    assert!(response.as_f64() > Some(200.0) && sent.as_f64() < Some(200.0), "{response} {sent}");
    let text = Running::start(lab(&["load", &service.url(), "-R", "100", "-c", "2", "-d", "1s"])).ends_within(SOON);
    let text = String::from_utf8(text.output.stdout).expect("text");
    // So many of them that the rate may be that of two connections.
    let reasons = found["reasons"].as_array().expect("reasons").iter();
    let cap = reasons.filter(|reason| reason["code"] == "CAP").count();
    assert_eq!(cap, 1, "{found:#}");
    assert!(text.contains("for one of -c connections") && text.contains("from the actual send, ms: p50"), "{text}");
    assert!(
        text.contains("FAILED: the rate was not kept: ") && text.contains("all of -c 2 were in use; raise -c"),
        "{text}"
    );
}

#[test]
fn with_enough_connections_the_rate_is_kept() {
    let service = Service::start(Behaves::Does(slowly));
    // Whole seconds and parts of them, and a number of requests.
    for (args, requests) in [(["-d", "1s"], 100), (["-d", "1500ms"], 150), (["-n", "50"], 50)] {
        let found = found(&[&[service.url().as_str(), "-R", "100", "-c", "40"], &args[..]].concat());
        assert!(found["missed_rate"].is_null() && count(&found, "served") == requests, "{args:?}: {found:#}");
    }
}

#[test]
fn a_number_of_requests_has_a_rate_too_and_a_service_that_is_down_is_another_matter() {
    let service = Service::start(Behaves::Does(slowly));
    let ended = Running::load(&[&service.url(), "-R", "100", "-c", "2", "-n", "100"]).ends_within(SOON);
    let found = ended.json();
    assert!(matches!(ended.code(), 3 | 4) && count(&found["missed_rate"], "sent") < 60, "{found:#}");
    let closed = std::net::TcpListener::bind("127.0.0.1:0").and_then(|port| port.local_addr()).expect("a port");
    let ended = Running::load(&[&format!("http://{closed}"), "-R", "100", "-c", "20", "-d", "1s"]).ends_within(SOON);
    assert!(ended.json()["missed_rate"].is_null(), "{:#}", ended.json());
}

#[test]
fn arrivals_are_even_or_drawn_from_the_seed() {
    let service = Service::start(Behaves::Well);
    let url = service.url();
    let drawn = |seed: &str| {
        let args = [url.as_str(), "-R", "200", "-d", "1s", "--arrivals", "poisson", "--seed", seed];
        count(&found(&args), "planned")
    };
    let (one, again) = (drawn("1"), drawn("1"));
    assert!(one == again && (120..280).contains(&one), "{one} {again}");
    assert!((2..6).any(|seed| drawn(&seed.to_string()) != one), "other seeds draw others");
    assert_eq!(count(&found(&[&url, "-R", "200", "-d", "1s", "--arrivals", "constant"]), "planned"), 200);
}

#[test]
fn rates_have_fractions_and_units_and_counts_are_exact() {
    let service = Service::start(Behaves::Well);
    let url = service.url();
    assert_eq!(count(&found(&[&url, "-R", "2.5", "-d", "2s"]), "planned"), 5);
    assert_eq!(count(&found(&[&url, "-R", "120/m", "-d", "1500ms"]), "planned"), 3);
    for law in ["constant", "poisson"] {
        let counted = found(&[&url, "-R", "1k", "-n", "300", "--arrivals", law]);
        assert_eq!((count(&counted, "planned"), count(&counted, "served")), (300, 300), "{law}");
    }
}

#[test]
fn a_ramp_goes_from_one_rate_to_another_at_once_or_in_steps() {
    let service = Service::start(Behaves::Well);
    let url = service.url();
    // (0 + 200) / 2 for two seconds, near enough.
    let ramp = found(&[&url, "--ramp", "1/s..200/s", "--for", "2s"]);
    assert!((190..=210).contains(&count(&ramp, "planned")), "{ramp:#}");
    let stairs = found(&[&url, "--ramp", "50..150", "--steps", "3", "-d", "3s"]);
    let steps = stairs["steps"].as_array().expect("steps");
    let offered: Vec<u64> = steps.iter().map(|step| count(step, "planned")).collect();
    assert_eq!(offered, [50, 100, 150], "{stairs:#}");
    assert_eq!(steps[1]["name"], "step-2");
}

#[test]
fn a_deadline_makes_goodput_and_conditions_fail_a_load() {
    let service = Service::start(Behaves::Does(slowly));
    let url = service.url();
    let late = found(&[&url, "-R", "20", "-d", "1s", "--deadline", "20ms"]);
    assert_eq!((count(&late, "served"), count(&late, "served_late")), (0, 20), "{late:#}");
    assert_eq!((late["goodput_per_s"].as_f64(), late["deadline_ms"].as_f64()), (Some(0.0), Some(20.0)));
    let in_time = found(&[&url, "-R", "20", "-d", "1s", "--deadline", "2s"]);
    assert_eq!(count(&in_time, "served"), 20);

    let ends = |conditions: &[&str], code: i32, word: &str| {
        let mut args = vec!["load", url.as_str(), "-R", "20", "-d", "1s"];
        conditions.iter().for_each(|condition| args.extend(["--fail-if", condition]));
        let ended = Running::start(lab(&args)).ends_within(SOON);
        let text = String::from_utf8(ended.output.stdout.clone()).expect("text");
        if !text.contains("INVALID") {
            assert!(ended.code() == code && text.contains(word), "{conditions:?}: {text}");
        }
    };
    ends(&["p50 > 20ms"], 4, "FAILED --fail-if 'p50 > 20ms': found");
    ends(&["p50 > 2s", "error_rate > 1%", "goodput < 5"], 0, "--fail-if 'p50 > 2s': found");
    ends(&["p50 > 2s", "served < 100"], 4, "FAILED");
    // Twenty requests have no 99th percentile.
    ends(&["p99 > 10s"], 4, "FAILED");
}
