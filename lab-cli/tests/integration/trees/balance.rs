//! Balancers that hear the utilization of tasks from their answers.

use super::*;

/// A task at a quarter of the speed. Users and a front choose among the same tasks, each for themselves.
const SLOWER: Tree = Tree {
    target: "
  entry: {0: front, 1: back}
  services:
    front: {service: 0.1ms, servers: 16, workers: 256, calls: [back]}
    back: {service: 5ms, servers: 1, workers: 64, batch: 1, tasks: 2, slow: {tasks: 1, speed: 0.25}}",
    users: "
  phases: [{name: all, for: 5s, loads: [{requests: 30/s, class: 0}, {requests: 30/s, class: 1}]}]",
    arms: "
  - none: {as: by-turns, balancer: round-robin}
  - none: {as: by-utilization, balancer: utilization}",
};

/// The share of requests that the slow task has read, by turns and by the utilization.
fn shares(options: &[&str]) -> [f64; 2] {
    let folder = tempfile::tempdir().expect("a folder");
    ran_in(folder.path(), &SLOWER, options);
    let summary = json(&folder.path().join("run/summary.json"));
    [0, 1].map(|arm| {
        let back = service(&summary["arms"][arm], "back");
        let by_task: Vec<u64> = back["read_by_task"].as_array().expect("tasks").iter().map(count).collect();
        by_task[0] as f64 / by_task.iter().sum::<u64>() as f64
    })
}

#[test]
fn a_slow_task_gets_less_where_its_utilization_is_heard() {
    // A fifth is what it can do of all; until the first reports, after a second, it gets half.
    for options in [&["--virtual"][..], &[]] {
        let [by_turns, by_utilization] = shares(options);
        assert!((0.48..0.52).contains(&by_turns), "{options:?}: {by_turns}");
        assert!((0.15..0.4).contains(&by_utilization), "{options:?}: {by_utilization}");
    }
}
