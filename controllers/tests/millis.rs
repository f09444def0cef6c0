//! Durations as milliseconds.

use std::time::Duration;

use serde::{Deserialize, Serialize};

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Times {
    #[serde(with = "controllers::millis")]
    one: Duration,
    #[serde(with = "controllers::millis::option")]
    perhaps: Option<Duration>,
    #[serde(with = "controllers::millis::list")]
    many: Vec<Duration>,
}

#[test]
fn times_are_read_as_they_were_written() {
    for nanos in [0, 1, 999_999, 1_500_000, 86_400_000_000_001] {
        let time = Duration::from_nanos(nanos);
        for perhaps in [None, Some(time)] {
            let times = Times { one: time, perhaps, many: vec![time, Duration::ZERO] };
            let text = serde_json::to_string(&times).expect("JSON");
            assert_eq!(serde_json::from_str::<Times>(&text).expect("the same"), times, "{text}");
        }
    }
    let millis = Duration::from_micros(1500);
    let times = Times { one: millis, perhaps: Some(millis), many: vec![millis] };
    assert_eq!(serde_json::to_string(&times).expect("JSON"), r#"{"one":1.5,"perhaps":1.5,"many":[1.5]}"#);
}

#[test]
fn what_is_no_time_is_refused() {
    for (one, many) in [("-1", "1"), ("1e300", "1"), ("1", "-1"), (r#""1s""#, "1"), ("null", "1")] {
        let text = format!(r#"{{"one":{one},"perhaps":null,"many":[{many}]}}"#);
        assert!(serde_json::from_str::<Times>(&text).is_err(), "{text}");
    }
}
