//! Loads of agents under what does not happen every day: a process that stands still for long, a clock that is an hour off, a long record,
//! a second coordinator.

use std::{fmt::Write as _, fs, path::Path, thread, time::Duration};

use super::{
    super::{
        load::service::{Behaves, Service},
        program::{json, told, wait_until},
    },
    load_failures::{Coordinator, assert_free, reason, wrong},
    loads::codes,
    server::Server,
};

#[test]
fn an_agent_that_stands_still_for_twenty_seconds_is_lost_and_comes_back() {
    let Some(server) = Server::start() else { return };
    let service = Service::start(Behaves::Well);
    let (_first, second) = (server.agent("a"), server.agent("b"));
    let load = Coordinator::begins(&server, &service, "run", &["-R", "40", "-d", "6s", "--lost-at-most", "0.5"]);
    service.wait_for(20);
    second.signal("STOP");
    let stopped = thread::spawn(|| thread::sleep(Duration::from_secs(20)));
    let (code, arm) = load.ends();
    assert!(matches!(code, 0 | 3), "{code}");
    assert_eq!((wrong(&arm, 0), wrong(&arm, 1)), (String::new(), "missing".to_owned()));
    assert_eq!((&arm["parts"][0]["sent"], &reason(&arm, "SHARES")["verdict"]), (&120.into(), &"WARN".into()));
    stopped.join().expect("it sleeps");
    let read = service.requests();
    second.signal("CONT");
    // It has been alone for longer than ten seconds: it sends nothing more of a load that is over.
    thread::sleep(Duration::from_secs(2));
    assert!(service.requests() - read <= 1, "{} after it woke", service.requests() - read);
    assert_free(&server, &service);
}

/// The library of Debian's package faketime.
const FAKETIME: &str = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1";

#[test]
fn a_clock_that_is_an_hour_off_moves_nothing() {
    if !Path::new(FAKETIME).exists() {
        assert!(std::env::var_os("LAB_REQUIRE_TOOLS").is_none(), "faketime is not installed");
        return;
    }
    let Some(server) = Server::start() else { return };
    let service = Service::start(Behaves::Well);
    let _first = server.agent("a");
    let ahead = [("LD_PRELOAD", FAKETIME), ("FAKETIME", "+3600"), ("FAKETIME_DONT_FAKE_MONOTONIC", "1")];
    let _second = server.agent_in("b", &[], &ahead);
    let arm = Coordinator::begins(&server, &service, "run", &["-R", "40", "-d", "3s"]).ends_whole(120);
    let found = codes(&arm);
    assert!(!found.contains(&"SKEW") && !found.contains(&"SHARES"), "{found:?}");
    let began = |agent: &str| {
        let of_part = arm["parts"].as_array().expect("parts").iter().find(|part| part["agent"] == agent);
        of_part.expect("a part")["begins_ms"].as_f64().expect("a moment")
    };
    assert!((began("a") - began("b")).abs() < 1.0, "{arm:#}");
}

#[test]
fn a_record_of_more_than_a_message_arrives_whole() {
    let Some(server) = Server::start() else { return };
    let service = Service::start(Behaves::Well);
    let _agents = server.agents("a b");
    let mut phases = String::new();
    for number in 0..120 {
        let _ = write!(phases, "{{name: p{number}, requests: 200/s, law: constant, for: 100ms}}, ");
    }
    let paths: Vec<String> = (0..20).map(|number| format!("{{name: page{number}, path: /{number}}}")).collect();
    let text = format!(
        "name: long\ntarget: {{url: \"{}\"}}\nobjective: {{response_time: 500ms}}\nusers: {{model: url, paths: [{}], phases: [{phases}]}}\n\
         arms: [none: {{as: direct, direct: true}}]\n",
        service.url(),
        paths.join(", ")
    );
    fs::write(server.folder().join("long.yaml"), text).expect("written");
    let arm = Coordinator::of(&server, "run", &["run", "long.yaml", "--no-tui", "--agents", "2"]).ends_whole(2400);
    let parts: Vec<_> = fs::read_dir(server.folder().join("run")).expect("a folder").flatten().collect();
    let longest = parts.iter().filter(|file| file.path().to_string_lossy().ends_with(".record.json"));
    let longest = longest.map(|file| file.metadata().expect("there").len()).max();
    assert!(longest > Some(512 << 10), "{longest:?} bytes: {}", arm["parts"]);
}

#[test]
fn a_second_coordinator_is_refused_while_the_first_one_lives() {
    let Some(server) = Server::start() else { return };
    let service = Service::start(Behaves::Well);
    let _agents = server.agents("a b");
    let load = Coordinator::begins(&server, &service, "first", &["-R", "40", "-d", "9s"]);
    let name = load.load();
    service.wait_for(20);
    let second = server.coordinator(&["load", "--attach", &name, "--out", "second"]).output().expect("lab runs");
    let text = told(&second);
    assert_eq!(second.status.code(), Some(2), "{text}");
    assert!(text.contains(&format!("load {name} has a coordinator")) && text.contains("end that first"), "{text}");
    assert!(!server.folder().join("second").exists());
    load.ends_whole(360);
}

#[test]
fn a_run_that_is_ended_while_it_waits_for_agents_leaves_no_folder() {
    let Some(server) = Server::start() else { return };
    let _one = server.agent("a");
    let text = "name: waits\ntarget: {app: emulated, service: 5ms}\nobjective: {response_time: 500ms}\n\
                users: {model: url, phases: [{requests: 5/s, for: 1s}]}\narms: [none]\n";
    fs::write(server.folder().join("waits.yaml"), text).expect("written");
    let mut run = Coordinator::of(&server, "run", &["run", "waits.yaml", "--no-tui", "--agents", "2"]);
    wait_until("it waits", || run.said().contains("of 2 agents are there: waiting"));
    run.process.signal("INT");
    wait_until("it ends", || run.process.ended());
    assert_eq!(run.process.0.wait().expect("it has ended").code(), Some(130), "{}", run.said());
    assert!(!run.folder.join("run").exists(), "{}", run.said());
    // What was measured stays: as before.
    let _two = server.agent("b");
    let whole = Coordinator::of(&server, "whole", &["run", "waits.yaml", "--no-tui", "--agents", "2"]);
    let (code, _) = whole.ends();
    assert!(matches!(code, 0 | 3), "{code}");
    assert_eq!(json(&server.folder().join("whole/summary.json"))["arms"][0]["name"], "none");
}
