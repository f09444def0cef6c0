//! Services that send more than anybody asked for.

use service::{Behaves, Service};

use super::*;

#[test]
fn a_flood_of_interim_answers_does_not_hold_the_sender() {
    let flooding = Service::start(Behaves::Does(service::floods));
    let ended = Running::load(&[&flooding.url(), "-c", "8", "-d", "2s"]).ends_within(SOON);
    let found = ended.json();
    assert!(found["seconds"].as_f64() <= Some(2.01), "{found:#}");
    for code in ["GAP", "HDR", "LITTLE", "BOOKS"] {
        assert!(!codes(&found).contains(&code), "{found:#}");
    }
    let errors = found["errors"].as_object().expect("errors");
    assert!(errors.keys().any(|text| text.contains("interim (1xx)")), "{found:#}");
    ends_with(&ended, 4);
}

#[test]
fn large_bodies_on_many_connections_take_little_memory() {
    let large = Service::start(Behaves::Does(service::nearly_ends));
    let ended = Running::load(&[&large.url(), "-c", "40", "-d", "3s", "--timeout", "3s"]).ends_within(SOON);
    let found = ended.json();
    assert!(count(&found, "planned") >= 40 && count(&found, "served") == 0, "{found:#}");
    for code in ["GAP", "HDR", "MEMORY"] {
        assert!(!codes(&found).contains(&code), "{found:#}");
    }
    // 40 of 15 MB would be 600.
    assert!(ended.memory < 150_000_000, "{} bytes", ended.memory);
    ends_with(&ended, 4);
}

#[test]
fn a_body_without_an_end_is_given_up_and_the_load_ends_at_its_time() {
    let endless = Service::start(Behaves::Does(service::never_ends));
    let ended = Running::load(&[&endless.url(), "-c", "8", "-d", "2s"]).ends_within(SOON);
    let found = ended.json();
    let errors = found["errors"].as_object().unwrap_or_else(|| panic!("{found:#}"));
    assert!(errors.keys().any(|text| text.contains("body of the response is over")), "{found:#}");
    assert!(!codes(&found).contains(&"GAP") && !codes(&found).contains(&"HDR"), "{found:#}");
    ends_with(&ended, 4);
}
