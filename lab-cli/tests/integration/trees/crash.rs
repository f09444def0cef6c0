//! A task that dies while the load runs, and another process in its place.

use super::*;

/// Users ask both services; the front asks the same tasks. One of these dies after a second, and is back two later.
const LOST: Tree = Tree {
    target: "
  entry: {0: front, 1: back}
  services:
    front: {service: 1ms, servers: 4, workers: 64, calls: [back]}
    back: {service: 50ms, servers: 8, workers: 8, batch: 1, tasks: 2}",
    users: "
  phases: [{name: all, for: 5s, loads: [{requests: 60/s, class: 0}, {requests: 60/s, class: 1}]}]",
    arms: " [none]
virtual: {faults: [{at: 1s, for: 2s, crash: true, service: back, task: 1}]}",
};

/// The sum of a gauge over the seconds of a run.
fn sum(seconds: &[Value], row: &str, gauge: &str) -> u64 {
    let stages = seconds.iter().filter_map(|second| second["target"]["stages"].as_array()).flatten();
    let of_row = stages.filter(|stage| stage["name"] == row);
    of_row.filter_map(|stage| stage[gauge].as_u64().or_else(|| stage["gauges"][gauge].as_f64().map(|n| n as u64))).sum()
}

fn what_both_worlds_show(arm: &Value, seconds: &[Value]) {
    let all = &arm["phases"][0];
    let of = |what: &str| count(&all[what]);
    assert_eq!(sum(seconds, "back/read", "crashes"), 1);
    // What was in the task is lost: about half of what is under way, 3 of users and 3 calls.
    assert!((1..60).contains(&(of("failed") + of("connect_failed"))), "{all}");
    assert!(of("served") + of("served_late") > of("planned") * 5 / 10, "{all}");
    let back = service(arm, "back");
    let by_task: Vec<u64> = back["read_by_task"].as_array().expect("tasks").iter().map(count).collect();
    // It was there for three of five seconds, and has half of the requests of these.
    assert!(by_task[1] * 10 > by_task[0] * 2 && by_task[1] * 10 < by_task[0] * 7, "{by_task:?}");
    let calls = &service(arm, "front")["calls"][0];
    assert!((1..60).contains(&count(&calls["failed"])), "{calls}");
    assert!(count(&calls["answered"]) > 200, "{calls}");
}

#[test]
fn a_task_dies_in_virtual_time_and_is_back() {
    let (arm, seconds) = ran_with(&LOST, &["--virtual"]);
    what_both_worlds_show(&arm, &seconds);
}

#[test]
fn a_process_ends_live_another_one_takes_its_place_and_the_books_agree() {
    let folder = tempfile::tempdir().expect("a folder");
    let (arm, seconds) = ran_in(folder.path(), &LOST, &[]);
    what_both_worlds_show(&arm, &seconds);
    let events = fs::read_to_string(folder.path().join("run/events.jsonl")).expect("events");
    let at = |text: &str| events.lines().filter(|line| line.contains("faults") && line.contains(text)).count();
    assert_eq!((at("back.1 has crashed"), at("back.1 takes requests again")), (1, 1), "{events}");
    // Of users every request that was written is known to have been read, or to have been lost in the kernel.
    let joined = &arm["requests"];
    let unread: u64 = joined["unread"].as_object().into_iter().flat_map(|of| of.values()).map(count).sum();
    assert_eq!(count(&joined["written"]), count(&arm["server"]["requests_read"]) + unread, "{joined}");
    // A crowded machine may have made it INVALID, which is a verdict that is found again.
    let output = lab(folder.path()).args(["recheck", "run"]).output().expect("lab runs");
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}", stderr(&output));
}

#[test]
fn processes_really_come_and_go() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("tree.yaml"), LOST.as_yaml()).expect("written");
    let mut command = lab(folder.path());
    command.args(["run", "tree.yaml", "--out", "run"]).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().expect("lab starts");
    has_written(folder.path(), "events.jsonl", "has crashed");
    let without = children(child.id());
    has_written(folder.path(), "events.jsonl", "takes requests again");
    let whole = children(child.id());
    let new: Vec<&u32> = whole.iter().filter(|id| !without.contains(id)).collect();
    assert_eq!((without.len(), whole.len(), new.len()), (2, 3, 1), "{without:?} {whole:?}");
    child.wait().expect("it ends");
}
