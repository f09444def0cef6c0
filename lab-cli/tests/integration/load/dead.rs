//! Nobody listens, or nobody does any more: the end comes at its time, and when it is asked for.

use service::{Behaves, Service, nobody};

use super::*;

#[test]
fn where_nobody_listens_a_load_ends_at_its_time_and_backs_off() {
    let url = format!("http://{}/", nobody());
    for connections in ["1", "4", "64"] {
        let ended = Running::load(&[&url, "-c", connections, "-d", "1s"]).ends_within(SOON);
        let found = ended.json();
        assert!(ended.took >= Duration::from_secs(1), "{:?}", ended.took);
        // Bounds of 10, 20, 40 ... ms in a row: about 10 attempts in a second, 100 with luck, 20 000 without a pause.
        let attempts = count(&found, "connect_failed");
        let each = attempts / connections.parse::<u64>().expect("a number");
        assert!((3..100).contains(&each), "{attempts} attempts with {connections} connections");
    }
}

#[test]
fn a_stop_ends_a_load_on_a_dead_service_at_once() {
    let url = format!("http://{}/", nobody());
    for (signal, code) in [("TERM", 143), ("INT", 130)] {
        let running = Running::load(&[&url, "-c", "16", "-d", "1m"]);
        running.loads_for(Duration::from_secs(1));
        running.signal(signal);
        let ended = running.ends_within(SOON);
        assert_eq!(ended.code(), code);
        let found = ended.json();
        assert_eq!(found["partial"], true);
        assert!(count(&found, "connect_failed") > 0 && found["seconds"].as_f64() < Some(7.0), "{found:#}");
    }
}

#[test]
fn a_stop_does_not_wait_for_answers() {
    let silent = Service::start(Behaves::Does(service::is_silent));
    let running = Running::load(&[&silent.url(), "-c", "4", "-d", "1m"]);
    silent.wait_for(4);
    running.signal("INT");
    let ended = running.ends_within(Duration::from_secs(6));
    assert_eq!((ended.code(), count(&ended.json(), "in_flight")), (130, 4));
}

#[test]
fn a_service_that_dies_in_the_middle_does_not_keep_the_load() {
    let service = Service::start(Behaves::Well);
    let running = Running::load(&[&service.url(), "-c", "8", "-d", "2s"]);
    service.wait_for(100);
    service.die();
    let ended = running.ends_within(SOON);
    let found = ended.json();
    assert!(count(&found, "served") > 0 && count(&found, "connect_failed") > 8, "{found:#}");
    assert!(count(&found["errors"], "Connection refused") > 8, "{found:#}");
    ends_with(&ended, 0);
}

#[test]
fn a_service_that_closes_every_connection_is_backed_off_from() {
    let rude = Service::start(Behaves::ClosesAtOnce);
    let ended = Running::load(&[&rude.url(), "-c", "4", "-d", "1s"]).ends_within(SOON);
    // As few as on nobody: each connection is one attempt.
    assert!((12..400).contains(&rude.connections()), "{} connections", rude.connections());
    ends_with(&ended, 4);
}

#[test]
fn in_an_open_load_every_request_tries_once_at_its_time() {
    let url = format!("http://{}/", nobody());
    let ended = Running::load(&[&url, "-R", "200", "-d", "1s"]).ends_within(SOON);
    let found = ended.json();
    assert_eq!((count(&found, "planned"), count(&found, "connect_failed"), count(&found, "unsent")), (200, 200, 0));
}

/// Whose service restarts is told so, and not that the lab is at fault.
#[test]
fn a_service_that_restarts_is_no_fault_of_the_generator() {
    let service = Service::start(Behaves::Well);
    let running = Running::load(&[&service.url(), "-c", "32", "-d", "4s"]);
    service.wait_for(100);
    let service = service.restart(Duration::from_millis(1500));
    let ended = running.ends_within(Duration::from_secs(12));
    let found = ended.json();
    for code in ["LITTLE", "GAP", "BOOKS", "HDR"] {
        assert!(!codes(&found).contains(&code), "{found:#}");
    }
    assert!(count(&found, "connect_failed") > 0 && service.connections() > 0, "{found:#}");
    assert!(found["generator"]["loop_gap_max_ms"].as_f64() < Some(1000.0), "{found:#}");
    ends_with(&ended, 0);
}
