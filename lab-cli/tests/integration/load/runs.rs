//! Live runs and replays whose service is not there, or not there any more.

use std::{fs, path::Path};

use service::nobody;

use super::*;

/// Users who begin anew at once, whatever went wrong.
const EXPERIMENT: &str = "
name: short
about: an emulated service that is killed
target: {app: emulated, service: 5ms, servers: 1}
objective: {percentile: 90, response_time: 5s}
users:
  model: url
  think: 20ms
  timeout: 20s
  on_failure: {then: login, wait: 0ms}
  phases: [{name: busy, users: 20, for: 4s}]
arms: [none]
declares: [closed-overload]
";

fn in_folder(folder: &Path, args: &[&str]) -> Running {
    let mut command = lab(args);
    command.current_dir(folder).env("LAB_CACHE", folder.join("cache"));
    Running::start(command)
}

#[test]
fn a_run_whose_target_is_killed_ends_at_its_time_and_says_whose_doing_it_was() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    fs::write(at.join("short.yaml"), EXPERIMENT).expect("written");
    let running = in_folder(at, &["run", "short.yaml", "--no-tui", "--out", "run", "--output", "json"]);
    let timeline = at.join("run/timeline.jsonl");
    program::wait_until("the first second is recorded", || {
        fs::read(&timeline).is_ok_and(|bytes| bytes.contains(&b'\n'))
    });
    let id = running.child.id();
    let children = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).expect("a target");
    let target = children.split_ascii_whitespace().next().and_then(|id| id.parse().ok()).expect("a target");
    program::signal("KILL", target);
    let ended = running.ends_within(Duration::from_secs(60));
    let found = ended.json();
    let arm = &found["arms"][0];
    for code in ["LITTLE", "BOOKS", "HDR"] {
        assert!(!codes(arm).contains(&code), "{arm:#}");
    }
    assert!(codes(arm).contains(&"LEDGER"), "the service's own books are lost with it: {arm:#}");
    assert!(arm["generator"]["loop_gap_max_ms"].as_f64() < Some(1000.0), "{:#}", arm["generator"]);
    let phase = &arm["phases"][0];
    assert!(count(phase, "served") > 0 && count(&phase["statuses"], "200") > 0, "{phase:#}");
    assert_eq!(ended.code(), 3);
}

/// A trace of requests by user and second.
fn with_trace(folder: &Path, requests: impl Iterator<Item = (u32, u32)>) {
    let line = |(user, second)| {
        format!("192.0.2.{user} - - [21/Nov/2026:01:39:{second:02} +0000] \"GET /list?folderid=3 HTTP/1.1\" 200 5\n")
    };
    fs::write(folder.join("access.log"), requests.map(line).collect::<String>()).expect("written");
    program::done(folder, &["trace", "import", "access.log", "-o", "web.jsonl"]);
}

#[test]
fn a_replay_without_a_service_keeps_to_its_times_and_is_empty() {
    let folder = tempfile::tempdir().expect("a folder");
    // Three users with a request a second.
    with_trace(folder.path(), (10..16).flat_map(|second| (1..4).map(move |user| (user, second))));
    let url = format!("http://{}/{{action}}", nobody());
    for by in ["clock", "sessions"] {
        let args = ["replay", "web.jsonl", "--target", &url, "--by", by, "--speed", "5", "--output", "json"];
        let ended = in_folder(folder.path(), &args).ends_within(SOON);
        let found = ended.json();
        assert_eq!((count(&found, "planned"), count(&found, "connect_failed")), (18, 18), "{found:#}");
        assert!(codes(&found).contains(&"EMPTY"), "{found:#}");
        assert_eq!(ended.code(), 4);
    }
}

/// What is recorded is recorded, however early a replay is stopped.
#[test]
fn a_replay_that_is_stopped_counts_the_sessions_that_never_began() {
    let folder = tempfile::tempdir().expect("a folder");
    // One session a user: after 0, 20 and 40 s, of two requests each.
    with_trace(folder.path(), [(1, 10), (1, 11), (2, 30), (2, 31), (3, 50), (3, 51)].into_iter());
    let service = service::Service::start(service::Behaves::Well);
    let url = format!("{}{{action}}", service.url());
    for output in ["json", "text"] {
        let running = in_folder(folder.path(), &["replay", "web.jsonl", "--target", &url, "--output", output]);
        running.loads_for(Duration::from_millis(2500));
        running.signal("TERM");
        let ended = running.ends_within(SOON);
        assert_eq!(ended.code(), 143);
        if output == "json" {
            let replayed = &ended.json()["replayed"];
            let asked = count(replayed, "asked");
            assert_eq!((count(replayed, "recorded"), asked + count(replayed, "cut_off")), (6, 6), "{replayed:#}");
            assert!((1..=2).contains(&asked), "{replayed:#}");
        } else {
            let text = String::from_utf8(ended.output.stdout).expect("text");
            assert!(text.lines().any(|line| line.split_whitespace().eq(["recorded", "6"])), "{text}");
        }
    }
}
