use std::time::Duration;

use controllers::webq::EpochSample;

use super::*;

fn read(text: &str) -> Result<WaitingRoomSpec, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

#[test]
fn every_key_has_a_default_and_a_preset_changes_them() {
    assert_eq!(read("{}"), Ok(WaitingRoomSpec::default()));
    let published = read(r#"{"preset": "as-published", "capacity": "720/s", "skew": "2s"}"#);
    assert_eq!(
        published,
        Ok(WaitingRoomSpec { capacity: Some(720.0), skew_s: 2, ..WaitingRoomSpec::as_published() }),
        "what is written counts more than the preset"
    );
    let again = read(&serde_json::to_string(&published.clone().unwrap()).unwrap());
    assert_eq!(again, published, "as written again");
}

#[test]
fn what_cannot_be_is_refused_with_the_way_out() {
    for (text, message) in [
        (r#"{"capacity": "fast"}"#, "capacity: \"fast\" is not a rate over 0 and up to 1000000/s; 100/s is one"),
        (r#"{"capacity": 0}"#, "capacity: 0 is not a rate"),
        (r#"{"skew": "1500ms"}"#, "skew: \"1500ms\" is not a time in whole seconds"),
        (r#"{"skew": "31s"}"#, "skew_s is 31: at most 30 seconds"),
        (r#"{"horizon": "2h"}"#, "horizon_s is 7200: 1 to 3600 seconds can be booked"),
        (r#"{"hardness": []}"#, "hardness is empty"),
        (r#"{"hardness": [1, 0]}"#, "hardness: 0 is none; 1 for the easiest class"),
        (r#"{"binding": "ip"}"#, "unknown variant `ip`, expected `cookie` or `address`"),
        (r#"{"replicas": ["127.0.0.1:1"]}"#, "both or none"),
        (r#"{"replicas": ["127.0.0.1:1"], "listen_replicas": "127.0.0.1:2"}"#, "they need a capacity"),
        (r#"{"replicas": [], "listen_replicas": "127.0.0.1:2", "capacity": 1}"#, "replicas: 0; 1 to 15 others"),
        (r#"{"search": "gradient"}"#, "unknown variant `gradient`, expected `cma-es` or `annealing`"),
        (r#"{"capactiy": 1}"#, "unknown field `capactiy`"),
    ] {
        let found = read(text).unwrap_err();
        assert!(found.contains(message), "{text}: {found}");
    }
}

#[test]
fn both_searches_find_the_hardness_of_the_same_epochs() {
    // Requests of 20 and 60 ms at 100 subunits a second and less; response times grow with the load, at 80 to the highest ratio.
    let epoch = |load: f64, hard: f64| {
        let (easy, hard) = ((load * (1.0 - hard) * 10.0).round(), (load * hard / 3.0 * 10.0).round());
        let response = 0.02 * (1.0 + (load / 80.0).powi(4) / 3.0);
        EpochSample {
            length: Duration::from_secs(10),
            arrived: vec![easy as u64, hard as u64],
            served: vec![easy as u64, hard as u64],
            response_s: vec![easy * response, hard * 3.0 * response],
        }
    };
    let loads = (0..40).map(|n| epoch(20.0 + 2.0 * f64::from(n), [0.1, 0.8, 0.4, 0.6][n as usize % 4]));
    let samples: Vec<EpochSample> = loads.collect();
    for search in [HardnessSearch::CmaEs, HardnessSearch::Annealing] {
        let found = search.estimate(&samples, 1).expect("a peak inside");
        assert!((found.hardness[1] - 3.0).abs() < 0.1, "{search:?}: {:?}", found.hardness);
        assert!((found.capacity - 80.0).abs() < 4.0, "{search:?}: {}", found.capacity);
        assert!(found.unexplained < 0.1 * found.unexplained_unscaled, "{search:?}: {found:?}");
    }
}

#[test]
fn the_memory_holds_all_turns_that_may_come_while_one_is_remembered() {
    let memory = |capacity, skew_s| WaitingRoomSpec { capacity, skew_s, ..WaitingRoomSpec::default() }.memory();
    assert_eq!((memory(None, 5), memory(Some(1000.0), 5)), (65_536, 65_536));
    assert_eq!(memory(Some(10_000.0), 5), 330_000, "three slices of 11 s");
}

#[test]
fn keys_are_changed_and_a_preset_begins_anew() {
    let with = |room: &WaitingRoomSpec, key: &str, value: serde_json::Value| room.with([(key.to_owned(), value)]);
    let room = with(&WaitingRoomSpec::default(), "preset", "as-published".into()).unwrap();
    assert_eq!(room, WaitingRoomSpec::as_published());
    let room = with(&room, "capacity", "100/s".into()).unwrap();
    assert_eq!(room, WaitingRoomSpec { capacity: Some(100.0), ..WaitingRoomSpec::as_published() });
    assert!(with(&room, "stay", 5.into()).unwrap_err().contains("expected a string"));
    let written = serde_json::json!(WaitingRoomSpec {
        source_share: Some(0.1),
        page: Some("a".into()),
        keys: Some("b".into()),
        replicas: Some(ReplicaSpec {
            listen: "127.0.0.1:1".parse().unwrap(),
            peers: vec!["127.0.0.1:2".parse().unwrap()],
        }),
        ..room
    });
    assert!(written.as_object().unwrap().keys().all(|key| WaitingRoomSpec::has_key(key)));
    assert!(WaitingRoomSpec::has_key("preset") && !WaitingRoomSpec::has_key("policy"));
}
