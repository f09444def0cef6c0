//! What requests say of themselves reaches the policies of Google SRE, and what these advise reaches the client.

use std::{
    io::{Read, Write},
    thread,
    time::Duration,
};

use controllers::Settings;
use target_app::spec::{PolicySpec, TargetSpec};

use crate::common::{Target, emulated, spec, start, status};

fn get(target: &Target, header: &str) -> String {
    let mut stream = target.connect();
    write!(stream, "GET / HTTP/1.1\r\nHost: a\r\n{header}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.to_ascii_lowercase()
}

#[test]
fn ready_jobs_refuse_by_criticality_and_say_dont_retry() {
    let settings: Settings = [
        ("time_constant".to_owned(), "50ms".into()),
        ("load_critical".to_owned(), 100.0.into()),
        ("load_critical_plus".to_owned(), 100.0.into()),
        ("retry_share".to_owned(), 0.0.into()),
        ("retry_samples".to_owned(), 1.0.into()),
    ]
    .into();
    let policy = PolicySpec { name: "dont-retry".to_owned(), place: None, settings };
    let target = start(TargetSpec { app: emulated(Duration::from_millis(500), 4), policy, ..spec() });
    assert_eq!(status(&get(&target, "X-Criticality: SHEDDABLE")), 200, "nothing to do yet");
    thread::scope(|scope| {
        // Four at work, above the thresholds of 1 and 2 for a while.
        let busy: Vec<_> = (0..4).map(|_| scope.spawn(|| get(&target, "X-Criticality: CRITICAL_PLUS"))).collect();
        target.until("load", |gauges| {
            let dispatch = gauges.stages.iter().find(|stage| stage.name == "dispatch").unwrap();
            dispatch.policy["load_average"] > 2.5
        });
        let refused = get(&target, "X-Criticality: SHEDDABLE_PLUS");
        assert_eq!(status(&refused), 503, "{refused}");
        assert!(refused.contains("x-refused: utilization\r\n") && refused.contains("x-retry: never\r\n"), "{refused}");
        assert_eq!(status(&get(&target, "X-Criticality: whatever")), 200, "nonsense means CRITICAL");
        busy.into_iter().for_each(|one| assert_eq!(status(&one.join().unwrap()), 200));
    });
}
