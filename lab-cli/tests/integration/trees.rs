//! Several services live: each task a process of its own, started by `lab run`. Shape, never speed.

mod balance;
mod crash;
mod platform;

use std::{
    fs,
    path::Path,
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::program::{self, json, lab_in as lab, signal, wait_until};

/// An experiment on a tree of services: what differs from one to the next.
struct Tree {
    /// All of `target` but its app.
    target: &'static str,
    /// All of `users` but what is the same for all.
    users: &'static str,
    /// The arms, and what comes after them.
    arms: &'static str,
}

impl Tree {
    fn as_yaml(&self) -> String {
        let Self { target, users, arms } = self;
        format!(
            "name: tree\nabout: several services, live\ntarget:\n  app: tree{target}
objective: {{percentile: 90, response_time: 1s}}
users:
  model: url
  path: /
  timeout: 5s
  drain: 2s
  on_reject: {{then: leave}}
  on_failure: {{then: leave}}{users}
arms:{arms}
"
        )
    }
}

/// A front that only passes on, a middle that tries again, and an end that lets one request in at a time and takes long:
/// nearly all that comes is refused there.
const STACK: Tree = Tree {
    target: "
  services:
    a: {service: 1ms, servers: 8, workers: 64, calls: [b]}
    b: {service: 1ms, servers: 8, workers: 64, calls: [c]}
    c: {service: 1s, servers: 1, workers: 1, batch: 1}",
    users: "
  phases: [{name: all, requests: 40/s, for: 2s}]",
    arms: "
  - none: {as: rule, services: {c: {concurrency: {max: 1}}}, calls: {attempts: 3, when_refused: dont-retry}}",
};

/// Two tasks behind a front, one entry for each class, and customers with a quota of nothing at the last service.
const MARKS: Tree = Tree {
    target: "
  entry: {0: a, 1: c}
  services:
    a: {service: 1ms, servers: 8, workers: 64, calls: [b]}
    b: {service: 1ms, servers: 8, workers: 64, calls: [c]}
    c: {service: 1ms, servers: 8, workers: 64, tasks: 2}",
    users: "
  customer: {0: 7, 1: 8}
  phases:
    - {name: all, for: 2s, loads: [{requests: 40/s, class: 0}, {requests: 40/s, class: 1}]}",
    arms: "
  - none: {as: quota, services: {c: {quota: {limits: {7: 0, 8: 1}, default_limit: 0, reserve: 0}}}}",
};

/// The front decides nothing; the service behind it sheds by criticality, which it knows from the call alone.
const LEVELS: Tree = Tree {
    target: "
  services:
    front: {service: 0.1ms, servers: 16, workers: 512, calls: [back]}
    back: {service: 20ms, servers: 1, workers: 1, batch: 1}",
    users: "
  criticality: {0: SHEDDABLE, 1: CRITICAL_PLUS}
  phases:
    - {name: all, for: 5s, loads: [{requests: 150/s, class: 0}, {requests: 20/s, class: 1}]}",
    arms: " [none: {as: sheds, services: {back: {utilization: {preset: few-processors}}}}]",
};

/// One server is asked for three times what it can do, by those that are refused first, and looks at nothing but the CPU.
const PROCESSORS: Tree = Tree {
    target: "
  services:
    back: {service: 20ms, servers: 1, workers: 1, batch: 1}",
    users: "
  criticality: {0: SHEDDABLE}
  phases: [{name: all, requests: 150/s, for: 4s}]",
    arms: " [none: {as: sheds, services: {back: {utilization: {load: false, cpu: true}}}}]",
};

/// A task at a fifth of the usual speed, and a class whose requests are twice the work.
const SLOW: Tree = Tree {
    target: "
  class: {header: User-Class}
  services:
    back: {service: 5ms, servers: 1, workers: 1, batch: 1, slow: {tasks: 1, speed: 0.2}, class_work: {1: 2}}",
    users: "
  phases: [{name: all, requests: 10/s, class: 1, for: 3s}]",
    arms: " [{quota: {place: stage, default_limit: 10}}]",
};

/// Each of two tasks would let the customer have a whole CPU; a quota server beside them knows of a limit for both.
const QUOTAS: Tree = Tree {
    target: "
  services:
    back: {service: 10ms, servers: 2, workers: 2, batch: 1, tasks: 2}
  machines:
    - quota-server: {limits: {1: 0.1}}",
    users: "
  customer: {0: 1}
  phases: [{name: all, requests: 80/s, for: 6s}]",
    arms: " [{quota: {place: stage, default_limit: 1, report_usage: true, report_every: 500ms}}]",
};

/// Two services of two tasks with a cap: users ask the one themselves, the other is called by a front of one task.
const CAP: Tree = Tree {
    target: "
  entry: {0: a, 1: front}
  services:
    front: {service: 0.1ms, servers: 16, workers: 256, calls: [b]}
    a: {service: 200ms, servers: 64, workers: 64, tasks: 2, cap: 3}
    b: {service: 200ms, servers: 64, workers: 64, tasks: 2, cap: 1}",
    users: "
  phases:
    - {name: all, for: 3s, loads: [{requests: 100/s, class: 0}, {requests: 50/s, class: 1}]}",
    arms: " [none]",
};

/// A connection keeps the only server busy for a tenth of a second.
const ACCEPT: Tree = Tree {
    target: "
  services:
    back: {service: 1ms, servers: 1, workers: 1, costs: {accept: 100ms}}",
    users: "
  think: 10ms
  phases: [{name: all, users: 8, for: 3s}]",
    arms: " [none]
declares: [closed-overload]",
};

/// Reading and refusing take time of the only server. Customer 7 is refused, customer 8 is not.
const COSTS: Tree = Tree {
    target: "
  services:
    back: {service: 1ms, servers: 1, workers: 8, costs: {read: 10ms, refuse: 80ms}}",
    users: "
  customer: {0: 7, 1: 8}
  phases:
    - {name: all, for: 5s, loads: [{requests: 4/s, class: 0}, {requests: 4/s, class: 1}]}",
    arms: "
  - none: {as: quota, services: {back: {quota: {limits: {7: 0, 8: 1}, default_limit: 0, reserve: 0}}}}",
};

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The first arm of a live run, and its seconds.
fn ran(tree: &Tree) -> (Value, Vec<Value>) {
    ran_with(tree, &[])
}

fn ran_with(tree: &Tree, options: &[&str]) -> (Value, Vec<Value>) {
    let folder = tempfile::tempdir().expect("a folder");
    ran_in(folder.path(), tree, options)
}

fn ran_in(folder: &Path, tree: &Tree, options: &[&str]) -> (Value, Vec<Value>) {
    fs::write(folder.join("tree.yaml"), tree.as_yaml()).expect("written");
    let output = lab(folder).args(["run", "tree.yaml", "--out", "run"]).args(options).output();
    let output = output.expect("lab runs");
    // A crowded machine may make the measurement INVALID; that the run is whole does not depend on it.
    assert!(matches!(output.status.code(), Some(0 | 3)), "{:?}\n{}", output.status, stderr(&output));
    let seconds = fs::read_to_string(folder.join("run/timeline.jsonl")).expect("seconds");
    let seconds = seconds.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let arm = json(&folder.join("run/summary.json"))["arms"][0].clone();
    for reason in arm["reasons"].as_array().expect("reasons") {
        assert!(!["LEDGER", "EMPTY"].contains(&reason["code"].as_str().expect("text")), "{reason}");
    }
    (arm, seconds)
}

fn count(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no count"))
}

fn service<'a>(arm: &'a Value, name: &str) -> &'a Value {
    let services = arm["server"]["services"].as_array().expect("services");
    services.iter().find(|service| service["name"] == name).expect(name)
}

#[test]
fn only_the_layer_right_above_the_refusing_one_tries_again() {
    let (arm, seconds) = ran(&STACK);
    let (a, b, c) = (service(&arm, "a"), service(&arm, "b"), service(&arm, "c"));
    let asked = count(&a["users_requests_read"]);
    assert!(asked > 50, "{a}");
    assert_eq!(count(&arm["server"]["requests_read"]), asked, "the users' books are those of the entry alone");
    let (of_a, of_b) = (&a["calls"][0], &b["calls"][0]);
    assert_eq!((count(&of_a["attempts"]), count(&of_a["retries"])), (asked, 0), "{of_a}");
    // Nearly all of what b asks is refused, and tried twice more.
    let (attempts, refused) = (count(&of_b["attempts"]), count(&of_b["refused"]));
    assert!(refused > 100 && attempts <= 3 * asked && attempts > 2 * asked, "{of_b}");
    assert_eq!(count(&c["calls_read"]), count(&of_b["written"]), "{c}");
    assert_eq!(
        (count(&c["users_requests_read"]), &c["calls_refused"]["concurrency"]),
        (0, &Value::from(refused)),
        "{c}"
    );
    // The same names as in virtual time.
    let gauge = |second: &Value, stage: &str, name: &str| {
        let stages = second["target"]["stages"].as_array()?;
        let stage = stages.iter().find(|found| found["name"] == stage)?;
        stage[name].as_u64().or_else(|| stage["gauges"][name].as_f64().map(|value| value as u64))
    };
    let sum = |stage: &str, name: &str| seconds.iter().filter_map(|second| gauge(second, stage, name)).sum::<u64>();
    let (read, refused) = (sum("c/read", "completed"), sum("c/dispatch", "refused") + sum("c/work", "refused"));
    assert!(read > 100 && refused > 100, "{read} read, {refused} refused");
    assert!(sum("b/calls c", "retries") > 50 && sum("a/calls b", "retries") == 0);
    assert!(sum("c/read", "attempt_2") > 20, "attempts are counted where they arrive");
}

#[test]
fn what_a_request_says_of_itself_arrives_at_the_last_service_and_classes_at_their_own() {
    let (arm, _) = ran(&MARKS);
    let class = |class: &str, what: &str| count(&arm["phases"][0]["by_class"][class][what]);
    // Customer 7 may use nothing there, and is known two calls further down.
    let refused = class("0", "rejected");
    assert!(refused > 50 && class("0", "served") < 10, "{arm}");
    assert!(class("1", "served") > 50, "{arm}");
    let (a, c) = (service(&arm, "a"), service(&arm, "c"));
    assert_eq!(count(&a["users_requests_read"]), class("0", "sent"));
    assert_eq!(count(&c["users_requests_read"]), class("1", "sent"));
    let by_task: Vec<u64> = c["read_by_task"].as_array().expect("tasks").iter().map(count).collect();
    assert!(by_task.len() == 2 && by_task[0].abs_diff(by_task[1]) <= 2, "one after the other: {by_task:?}");
}

#[test]
fn criticality_decides_one_call_further_down() {
    let (arm, _) = ran(&LEVELS);
    let share = |class: &str| arm["phases"][0]["by_class"][class]["reject_fraction"].as_f64().expect("a share");
    assert!(share("0") > 0.5 && share("1") < 0.1, "{} of SHEDDABLE, {} of CRITICAL_PLUS", share("0"), share("1"));
    assert!(
        count(&service(&arm, "back")["calls_read"]) > 100
            && count(&service(&arm, "front")["users_requests_read"]) > 100
    );
}

#[test]
fn emulated_work_counts_as_cpu_time_live_as_in_virtual_time() {
    let refused = |options: &[&str]| {
        let (arm, seconds) = ran_with(&PROCESSORS, options);
        let stages = seconds.iter().filter_map(|second| second["target"]["stages"].as_array()).flatten();
        let shares = stages.filter_map(|stage| stage["gauges"]["cpu_share"].as_f64());
        let share = arm["phases"][0]["reject_fraction"].as_f64().expect("a share");
        (share, shares.fold(0.0, f64::max))
    };
    let (simulated, live) = (refused(&["--virtual"]), refused(&[]));
    // A process that sleeps for its service times uses a few percent.
    assert!(simulated.1 > 0.95 && live.1 > 0.95, "{simulated:?} {live:?}");
    // A crowded generator sends less.
    assert!((live.0 - simulated.0).abs() < 0.3 && simulated.0 > 0.5, "{simulated:?} {live:?}");
}

#[test]
fn a_slow_task_and_a_class_with_more_work_cost_the_same_live_as_in_virtual_time() {
    let cost = |options: &[&str]| {
        let (_, seconds) = ran_with(&SLOW, options);
        let stages = seconds.iter().filter_map(|second| second["target"]["stages"].as_array()).flatten();
        let told = stages.filter_map(|stage| stage["gauges"]["mean_cost_ms"].as_f64());
        told.fold(0.0, f64::max)
    };
    // Twice 5 ms of work at a fifth of the speed.
    assert_eq!((cost(&["--virtual"]), cost(&[])), (50.0, 50.0));
}

#[test]
fn a_limit_for_all_tasks_reaches_them() {
    let (arm, seconds) = ran(&QUOTAS);
    let all = &arm["phases"][0];
    // 80 requests of 10 ms a second want 0.8 CPUs of both tasks; each alone would let in 1.
    assert!(count(&all["rejected"]) > 40, "{all}");
    assert!(count(&arm["server"]["refused"]["quota"]) > 40, "{arm}");
    let stages = seconds.iter().filter_map(|second| second["target"]["stages"].as_array());
    assert!(stages.flatten().any(|stage| stage["name"] == "beside"), "who divides quotas is seen");
}

#[test]
fn balancers_refuse_what_is_beyond_their_cap_and_the_books_agree() {
    let (arm, seconds) = ran(&CAP);
    let class = |class: &str, what: &str| count(&arm["phases"][0]["by_class"][class][what]);
    // At most six of a's at a time, each for 200 ms, are 30 a second, and the six that are there at the end; fewer on a crowded machine.
    assert!((20..=100).contains(&class("0", "served")) && class("0", "rejected") > 100, "{arm}");
    assert!((5..=36).contains(&class("1", "served")) && class("1", "rejected") > 50, "two of b's: {arm}");
    let (front, a, b) = (service(&arm, "front"), service(&arm, "a"), service(&arm, "b"));
    let by_task = |service: &Value| service["read_by_task"].as_array().expect("tasks").iter().map(count).sum::<u64>();
    assert_eq!(count(&a["users_requests_read"]), class("0", "sent"), "the balancer has read what its tasks have not");
    assert_eq!(by_task(a), class("0", "served"), "{a}");
    assert_eq!(count(&arm["server"]["refused"]["concurrency"]), class("0", "rejected"), "{arm}");
    let calls = &front["calls"][0];
    assert_eq!((count(&calls["refused"]), count(&calls["written"])), (class("1", "rejected"), by_task(b)), "{calls}");
    let refused = |row: &str| {
        let stages = seconds.iter().filter_map(|second| second["target"]["stages"].as_array()).flatten();
        stages.filter(|stage| stage["name"] == row).map(|stage| count(&stage["refused"])).sum::<u64>()
    };
    // The last look at them may be a moment before the end.
    let (of_users, of_calls) = (refused("a/balancer"), refused("b/balancer"));
    assert!(of_users > 100 && of_users <= class("0", "rejected"), "{of_users}");
    assert!(of_calls > 80 && of_calls <= class("1", "rejected"), "{of_calls}");
}

#[test]
fn a_connection_costs_what_it_is_said_to() {
    let (arm, _) = ran(&ACCEPT);
    let times = &arm["phases"][0]["response_time_ms"];
    // Eight connect at once: 800 ms until the last one's first request, 1 ms for each of those that follow.
    let (p50, max) = (times["p50"].as_f64().expect("known"), times["max"].as_f64().expect("known"));
    assert!(max > 700.0 && p50 < 100.0, "{times}");
}

#[test]
fn reading_and_refusing_cost_what_they_are_said_to() {
    let (arm, _) = ran(&COSTS);
    let p50 = |class: &str, times: &str| arm["phases"][0]["by_class"][class][times]["p50"].as_f64().expect("known");
    // A crowded machine makes all of it longer, and none of it shorter.
    let (served, refused) = (p50("1", "response_time_ms"), p50("0", "reject_time_ms"));
    assert!(served >= 11.0, "10 ms to read it, and 1 ms of work: {served}");
    assert!(refused >= 90.0 && refused > served, "10 ms and 80 ms: {refused}, {served}");
}

/// A run of a minute, once its first second is recorded, and the processes of its three tasks.
fn started(folder: &Path) -> (Child, Vec<u32>) {
    fs::write(folder.join("tree.yaml"), STACK.as_yaml().replace("for: 2s", "for: 60s")).expect("written");
    let child = begun(lab(folder));
    has_written(folder, "timeline.jsonl", "\n");
    let tasks = children(child.id());
    assert_eq!(tasks.len(), 3, "a process each: {tasks:?}");
    (child, tasks)
}

/// Begins the run of `tree.yaml`.
fn begun(mut lab: Command) -> Child {
    let run = lab.args(["run", "tree.yaml", "--out", "run"]).stdout(Stdio::null()).stderr(Stdio::piped());
    run.spawn().expect("lab starts")
}

/// The processes that any thread of a process has started.
fn children(process: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).expect("it runs").flatten();
    // A thread may have ended meanwhile.
    let of_thread = |thread: fs::DirEntry| fs::read_to_string(thread.path().join("children")).unwrap_or_default();
    let children: Vec<String> = threads.map(of_thread).collect();
    let words = children.iter().flat_map(|children| children.split_ascii_whitespace());
    words.map(|word| word.parse().expect("a number")).collect()
}

/// How it ended, within less than its own length, and that none of its tasks is left.
fn ended(child: Child, tasks: &[u32]) -> Output {
    let asked = Instant::now();
    let output = child.wait_with_output().expect("it ends");
    assert!(asked.elapsed() < Duration::from_secs(30), "it ended early");
    none_is_left(tasks);
    output
}

fn none_is_left(tasks: &[u32]) {
    for task in tasks {
        assert!(!is_there(*task), "{task} is still there");
    }
}

fn is_there(process: u32) -> bool {
    Path::new(&format!("/proc/{process}")).exists()
}

/// Waits until a file of the results has this text.
fn has_written(folder: &Path, file: &str, text: &str) {
    let file = folder.join("run").join(file);
    wait_until(text, || fs::read_to_string(&file).is_ok_and(|written| written.contains(text)));
}

#[test]
fn a_task_that_dies_ends_the_run_and_is_named_and_leaves_nobody_behind() {
    let folder = tempfile::tempdir().expect("a folder");
    let (child, tasks) = started(folder.path());
    // Those that are called start first: the second is b.
    signal("KILL", tasks[1]);
    let output = ended(child, &tasks);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("b ended with signal: 9"), "{}", stderr(&output));
}

#[test]
fn an_interrupt_ends_all_tasks_in_order_and_keeps_what_was_measured() {
    let folder = tempfile::tempdir().expect("a folder");
    let (child, tasks) = started(folder.path());
    signal("INT", child.id());
    let output = ended(child, &tasks);
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    let summary = json(&folder.path().join("run/summary.json"));
    assert_eq!(summary["partial"], true);
    assert!(count(&service(&summary["arms"][0], "c")["calls_read"]) > 0, "the books of the last service");
}
