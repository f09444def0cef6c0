//! With a limit on connections, requests wait in the kernel and some are never read. Both ledgers still agree to the last one.

use serde_json::Value;

use crate::program::{json, lab_with};

/// Sixty users and two connections at a time: most of them write to a service that has not accepted them, and time out.
const EXPERIMENT: &str = "
name: unread
about: connections that nobody accepts in time
target: {app: emulated, service: 50ms, servers: 2}
objective: {percentile: 90, response_time: 1s}
users:
  model: url
  think: 20ms
  timeout: 1s
  connect_timeout: 500ms
  connections: per-request
  drain: 200ms
  phases:
    - {name: crowd, users: 60, for: 3s}
arms: [{connections: {max: 2, backlog: 32}}]
declares: [closed-overload]
";

#[test]
fn what_was_written_and_not_read_is_what_was_left_unread() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = lab_with(folder.path(), EXPERIMENT, &["run", "x.yaml", "--details", "--out", "run"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    let summary = json(&folder.path().join("run/summary.json"));
    let (arm, phase) = (&summary["arms"][0], &summary["arms"][0]["phases"][0]);
    let count = |of: &Value, key: &str| of[key].as_u64().unwrap_or_else(|| panic!("{key} in {of}"));

    // Counters of the two sides, and the join of the two by number.
    let (written, read) = (count(phase, "sent") + count(phase, "hops"), count(&arm["server"], "requests_read"));
    let unread = count(&arm["server"], "unread");
    assert!(unread > 0, "nothing was left unread: {text}");
    assert_eq!(written, read + unread, "{text}");
    for (fate, unread) in arm["requests"]["unread"].as_object().expect("by fate") {
        assert!(unread.as_u64() <= arm["requests"]["unanswered"][fate].as_u64(), "{arm}");
    }
    let unanswered = arm["requests"]["unanswered"].as_object().expect("by fate");
    for (fate, unanswered) in unanswered {
        assert_eq!(unanswered, &phase[fate], "the ledger's own count of {fate}");
    }
    assert!(count(phase, "connect_failed") > 0, "failed connects have a line of their own");
    assert!(text.contains(" unread"), "{text}");
    let reasons = summary["reasons"].as_array().expect("reasons");
    assert!(reasons.iter().all(|reason| reason["code"] != "LEDGER"), "{reasons:?}");
}
