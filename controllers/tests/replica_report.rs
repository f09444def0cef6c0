//! Reports of WebQ's replicas as JSON.

use controllers::{
    UnixSeconds,
    webq::{ReplicaId, ReplicaReport, Subunits},
};

#[test]
fn a_report_is_the_same_when_read_again_and_bounded_in_size() {
    let report = ReplicaReport {
        version: 1,
        from: ReplicaId(3),
        started: UnixSeconds(1000),
        sequence: 7,
        second: UnixSeconds(1009),
        load: Subunits::of(0.5),
        booked: [3, 0, 1].map(Subunits::whole).to_vec(),
    };
    let text = serde_json::to_string(&report).expect("JSON");
    let expected = concat!(
        r#"{"version":1,"from":3,"started":1000,"sequence":7,"second":1009,"#,
        r#""load":500000,"booked":[3000000,0,1000000]}"#
    );
    assert_eq!(text, expected);
    assert_eq!(serde_json::from_str::<ReplicaReport>(&text).expect("JSON"), report);
    let longest = ReplicaReport { booked: vec![Subunits::UNLIMITED; 3600], load: Subunits::UNLIMITED, ..report };
    assert!(serde_json::to_string(&longest).expect("JSON").len() < 80_000);
}
