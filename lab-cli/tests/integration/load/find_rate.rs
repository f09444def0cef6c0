//! The search for the highest rate within an objective.

use std::sync::Mutex;

use service::{Behaves, Service};

use super::*;

/// One at a time, 20 ms each: 50 a second.
fn one_by_one(stream: &mut std::net::TcpStream) -> bool {
    static WORKER: Mutex<()> = Mutex::new(());
    let _working = WORKER.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    thread::sleep(Duration::from_millis(20));
    service::say(stream, service::OK)
}

#[test]
fn the_highest_rate_of_a_service_with_a_known_capacity_is_found() {
    let service = Service::start(Behaves::Does(one_by_one));
    let objective = "p90 < 500ms";
    let args = [&service.url(), "-R", "20", "--find-rate", objective, "--try-for", "3s..6s", "--timeout", "2s"];
    let ended = Running::load(&args).ends_within(Duration::from_secs(180));
    let found = ended.json();
    let trials = found["trials"].as_array().expect("trials");
    assert!(trials.len() >= 3, "{found:#}");
    assert_eq!(trials[0]["rate_per_s"].as_f64(), Some(20.0));
    // Shape, not speed: far over the capacity nothing is met.
    for trial in trials {
        let (rate, outcome) =
            (trial["rate_per_s"].as_f64().expect("a rate"), trial["outcome"].as_str().expect("a word"));
        assert!(rate < 70.0 || outcome != "met", "{trial:#}");
    }
    let said = String::from_utf8(ended.output.stderr).expect("text");
    assert!(said.contains("20/s: p90 < 500ms"), "{said}");
    // Where the machine leaves it in peace, the first rate is met and something is found.
    if trials[0]["outcome"] == "met" && found["confirmed"] == true {
        assert!(found["rate_per_s"].as_f64().is_some_and(|rate| (20.0..70.0).contains(&rate)), "{found:#}");
    }
}

#[test]
fn an_objective_that_cannot_be_met_fails() {
    let broken = Service::start(Behaves::Says("HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n"));
    let args = [&broken.url(), "-R", "8", "--find-rate", "p50 < 1s", "--try-for", "2s..4s"];
    let ended = Running::load(&args).ends_within(Duration::from_secs(120));
    let found = ended.json();
    assert!(found["rate_per_s"].is_null() && matches!(ended.code(), 3 | 4), "{found:#}");
}
