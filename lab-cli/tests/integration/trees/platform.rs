//! A tree whose tasks come and go while the load runs.

use super::*;

/// A sentry with 5 ms of work for each request before servers of 10 ms: a second one is needed over 120/s, and at 10/s one is
/// enough.
const PLATFORM: Tree = Tree {
    target: "
  services:
    front: {service: 5ms, servers: 1, workers: 256, queue: 10000, calls: [{to: back, timeout: 10s}]}
    back: {service: 10ms, servers: 1, discipline: processor-sharing, workers: 256, batch: 1, balancer: least-loaded}
  platform:
    nodes: 8
    applications: {back: {sentries: front, min_servers: 2}}
    period: 2s
    drop_window: 5s
    high_cpu: 0.6
    high_for: 1s
    low_cpu: 0.2
    low_for: 1s",
    users: "
  phases: [{name: busy, for: 5s, requests: 150/s}, {name: quiet, for: 6s, requests: 10/s}]",
    arms: "
  - none: {as: it, services: {front: {sentry: {classes: 1, servers: 2}}}}",
};

/// Once a task has come during the load: the run, and its processes then.
fn with_a_task_more(folder: &Path, lab: Command) -> (Child, Vec<u32>) {
    fs::write(folder.join("tree.yaml"), PLATFORM.as_yaml().replace("for: 5s", "for: 60s")).expect("written");
    let child = begun(lab);
    has_written(folder, "events.jsonl", "takes requests");
    let tasks = children(child.id());
    assert!(tasks.len() >= 4, "a sentry and two servers at the start: {tasks:?}");
    (child, tasks)
}

#[test]
fn tasks_come_and_go_while_the_load_runs_and_no_request_is_lost() {
    let by_task = |service: &Value| -> Vec<u64> {
        service["read_by_task"].as_array().expect("tasks").iter().map(count).collect()
    };
    let has_come = |arm: &Value| by_task(service(arm, "front")).iter().filter(|read| **read > 0).count() >= 2;
    // On a busy machine a task may take requests only once the load is over: then it is run again.
    let runs = (0..3).map(|_| {
        let folder = tempfile::tempdir().expect("a folder");
        let (arm, seconds) = ran_in(folder.path(), &PLATFORM, &[]);
        (folder, arm, seconds)
    });
    let (folder, arm, seconds) = runs.into_iter().find(|(_, arm, _)| has_come(arm)).expect("a task that comes in time");
    let events = fs::read_to_string(folder.path().join("run/events.jsonl")).expect("events");
    let lines = |text: &str| events.lines().filter(|line| line.contains("platform") && line.contains(text)).count();
    assert!(lines("takes requests") >= 1 && lines("has finished and ended") >= 1, "{events}");
    assert_eq!(lines("did not end as it should"), 0, "{events}");
    // Both sides' books, with those of tasks that have ended.
    let sum = |what: &str| (0..2).map(|phase| count(&arm["phases"][phase][what])).sum::<u64>();
    let planned = sum("planned");
    assert!(planned > 500 && sum("served") + sum("served_late") == planned, "each was answered: {arm}");
    let (front, back) = (service(&arm, "front"), service(&arm, "back"));
    assert_eq!(count(&arm["server"]["requests_read"]), planned, "{front}");
    let calls = &front["calls"][0];
    assert_eq!((count(&calls["answered"]), count(&back["calls_served"])), (planned, planned), "{calls} {back}");
    for of in [by_task(front), by_task(back)] {
        assert!(of.iter().sum::<u64>() == planned && of.iter().filter(|read| **read > 0).count() >= 2, "{of:?}");
    }
    // The same row as in virtual time.
    let gauge = |second: &Value, name: &str| {
        let stages = second["target"]["stages"].as_array()?;
        stages.iter().find(|stage| stage["name"] == "platform/back")?["gauges"][name].as_f64()
    };
    let sentries: Vec<f64> = seconds.iter().filter_map(|second| gauge(second, "sentries")).collect();
    assert!(sentries.first() == Some(&1.0) && sentries.iter().any(|running| *running >= 2.0), "{sentries:?}");
    assert_eq!(sentries.last(), Some(&1.0), "{sentries:?}");
    assert!(seconds.iter().filter_map(|second| gauge(second, "first_sentry_cpu")).any(|cpu| cpu > 0.6));
}

/// Servers that work on one request at a time, of which more come than they can do: the others wait there.
const WAITING: Tree = Tree {
    target: "
  machines: [nucleus]
  services:
    front: {service: 0.1ms, servers: 1, workers: 256, queue: 10000, calls: [{to: back, timeout: 10s}]}
    back: {service: 20ms, servers: 1, workers: 1, batch: 1, queue: 10000, balancer: least-loaded}
  platform:
    nodes: 4
    applications: {back: {sentries: front, min_servers: 2}}",
    users: "
  phases: [{name: busy, for: 6s, requests: 150/s}]",
    arms: "
  - none: {as: it, services: {front: {sentry: {classes: 1, servers: 2}}}}",
};

#[test]
fn what_waits_at_live_servers_reaches_the_sentry_from_their_nuclei() {
    let folder = tempfile::tempdir().expect("a folder");
    let (_, seconds) = ran_in(folder.path(), &WAITING, &[]);
    let most = |row: &str, gauge: &str| {
        let of = |second: &Value| {
            let stages = second["target"]["stages"].as_array()?;
            stages.iter().find(|stage| stage["name"] == row)?["gauges"][gauge].as_f64()
        };
        seconds.iter().filter_map(of).fold(0.0, f64::max)
    };
    assert!(most("back/work", "queueing_ms") > 50.0, "servers with a queue have waits");
    // Without reports the sentry believes that nothing waits.
    assert!(most("front/dispatch", "queueing_ms") > 50.0, "{}", most("front/dispatch", "queueing_ms"));
}

#[test]
fn whatever_ends_the_run_no_task_is_left() {
    let folder = tempfile::tempdir().expect("a folder");
    let (child, tasks) = with_a_task_more(folder.path(), lab(folder.path()));
    signal("INT", child.id());
    let output = ended(child, &tasks);
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    let summary = json(&folder.path().join("run/summary.json"));
    assert!(summary["partial"] == true && count(&service(&summary["arms"][0], "back")["calls_read"]) > 0);

    let folder = tempfile::tempdir().expect("a folder");
    let (child, tasks) = with_a_task_more(folder.path(), lab(folder.path()));
    // The newest one.
    signal("KILL", *tasks.iter().max().expect("some"));
    let output = ended(child, &tasks);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("ended with signal: 9"), "{}", stderr(&output));

    let folder = tempfile::tempdir().expect("a folder");
    let (mut child, tasks) = with_a_task_more(folder.path(), lab(folder.path()));
    signal("KILL", child.id());
    child.wait().expect("it ends");
    wait_until("no task is left", || !tasks.iter().any(|task| is_there(*task)));
}

#[test]
fn a_task_that_cannot_be_started_ends_the_run_with_the_reason() {
    let (folder, programs) = (tempfile::tempdir(), tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")));
    let (folder, programs) = (folder.expect("a folder"), programs.expect("a folder"));
    let program = programs.path().join("lab");
    fs::hard_link(program::path(), &program).or_else(|_| fs::copy(program::path(), &program).map(drop)).expect("made");
    let mut other = Command::new(&program);
    other.current_dir(folder.path()).stdin(Stdio::null());
    other.envs(lab(folder.path()).get_envs().filter_map(|(name, value)| Some((name, value?))));
    fs::write(folder.path().join("tree.yaml"), PLATFORM.as_yaml().replace("for: 5s", "for: 60s")).expect("written");
    let child = begun(other);
    // The first tasks run; those that come later find no program.
    wait_until("its tasks run", || children(child.id()).len() >= 3);
    fs::remove_file(&program).expect("removed");
    let tasks = children(child.id());
    let output = ended(child, &tasks);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("did not start"), "{}", stderr(&output));
}
