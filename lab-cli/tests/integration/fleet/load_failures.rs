//! Loads of agents, one of which dies, or whose coordinator or server does: what is lost is said, and what is not lost is there.

use std::{
    fs::{self, File},
    net::TcpStream,
    path::PathBuf,
    process::Stdio,
    thread,
    time::Duration,
};

use serde_json::Value;

use super::{
    super::{
        load::service::{Behaves, OK, Service, say},
        program::{done, json, told, wait_until},
    },
    loads::{arm_of, assert_agrees, assert_told, codes, sum},
    server::{Server, Started},
};

/// A coordinator of a load, whose words are in a file.
pub struct Coordinator {
    pub folder: PathBuf,
    out: String,
    pub process: Started,
}

impl Coordinator {
    pub fn of(server: &Server, out: &str, args: &[&str]) -> Self {
        let said = File::create(server.folder().join(format!("{out}.said"))).expect("made");
        let mut command = server.coordinator(&[args, &["--out", out]].concat());
        let process = Started(command.stdout(Stdio::null()).stderr(said).spawn().expect("lab starts"));
        Self { folder: server.folder(), out: out.to_owned(), process }
    }

    /// Of a load on this service, sent by two agents.
    pub fn begins(server: &Server, service: &Service, out: &str, load: &[&str]) -> Self {
        Self::of(server, out, &[&["load", &service.url(), "--no-tui", "--agents", "2"][..], load].concat())
    }

    /// Of a load that another one has begun.
    pub fn attaches(server: &Server, load: &str, out: &str) -> Self {
        Self::of(server, out, &["load", "--attach", load])
    }

    pub fn said(&self) -> String {
        fs::read_to_string(self.folder.join(format!("{}.said", self.out))).expect("there")
    }

    /// The name of its load, once agents were told to begin.
    pub fn load(&self) -> String {
        let name = || self.said().split_once("--attach ")?.1.split_once(' ').map(|(name, _)| name.to_owned());
        wait_until("agents are told to begin", || name().is_some());
        name().expect("it was said")
    }

    /// Its exit code, and the arm in its folder, which agrees with itself.
    #[track_caller]
    pub fn ends(mut self) -> (i32, Value) {
        wait_until("it ends", || self.process.ended());
        let code = self.process.0.wait().expect("it has ended").code().expect("a code");
        assert!(self.folder.join(&self.out).join("summary.json").exists(), "{code}: {}", self.said());
        (code, arm_of(&self.folder, &self.out))
    }

    /// On a crowded machine it may be INVALID; nothing is missing all the same.
    #[track_caller]
    pub fn ends_whole(self, sent: u64) -> Value {
        let (code, arm) = self.ends();
        assert!(matches!(code, 0 | 3), "{code}");
        for count in ["planned", "sent"] {
            assert_eq!((sum(&arm["phases"], count), sum(&arm["parts"], count)), (sent, sent), "{count}: {arm:#}");
        }
        assert_agrees(&arm);
        arm
    }
}

#[track_caller]
pub fn reason<'a>(arm: &'a Value, code: &str) -> &'a Value {
    let found = arm["reasons"].as_array().and_then(|reasons| reasons.iter().find(|reason| reason["code"] == code));
    found.unwrap_or_else(|| panic!("no {code}: {}", arm["reasons"]))
}

/// What this part lacks, in an arm of two.
pub fn wrong(arm: &Value, part: usize) -> String {
    arm["parts"][part]["wrong"].as_str().unwrap_or_default().to_owned()
}

/// Agents have nothing to do, and do what comes.
#[track_caller]
pub fn assert_free(server: &Server, service: &Service) {
    Coordinator::begins(server, service, "next", &["-R", "20", "-d", "1s"]).ends_whole(20);
}

fn an_agent_dies_before_the_beginning() {
    let Some(server) = Server::start() else { return };
    let service = Service::start(Behaves::Well);
    let (_first, mut second) = (server.agent("a"), server.agent("b"));
    let load = Coordinator::begins(&server, &service, "run", &["-R", "40", "-d", "2s"]);
    load.load();
    second.kill();
    let (code, arm) = load.ends();
    assert_eq!((code, wrong(&arm, 0), wrong(&arm, 1)), (3, String::new(), "missing".to_owned()));
    assert_eq!((sum(&arm["parts"], "sent"), service.requests()), (40, 40), "the other half is sent");
    assert_eq!((&arm["verdict"], &reason(&arm, "SHARES")["verdict"]), (&"INVALID".into(), &"INVALID".into()));
}

fn an_agent_dies_amid_a_load_that_may_not_lose_it() {
    let Some(server) = Server::start() else { return };
    let service = Service::start(Behaves::Well);
    let (_first, mut second) = (server.agent("a"), server.agent("b"));
    let load = Coordinator::begins(&server, &service, "run", &["-R", "40", "-d", "50s"]);
    service.wait_for(20);
    second.kill();
    let said = load.load();
    let (code, arm) = load.ends();
    assert_eq!((code, wrong(&arm, 1)), (3, "missing".to_owned()), "{said}");
    // The other one was told to end.
    assert!(sum(&arm["parts"], "sent") < 40 * 20, "{arm:#}");
    assert_eq!(reason(&arm, "SHARES")["verdict"], "INVALID");
    let _third = server.agent("b");
    assert_free(&server, &service);
}

fn an_agent_dies_amid_a_load_that_may_lose_it() {
    let Some(server) = Server::start() else { return };
    let service = Service::start(Behaves::Well);
    let (_first, mut second) = (server.agent("a"), server.agent("b"));
    let args = ["-R", "40", "-d", "13s", "--lost-at-most", "0.5"];
    let load = Coordinator::begins(&server, &service, "run", &args);
    service.wait_for(20);
    second.kill();
    let (code, arm) = load.ends();
    assert!(matches!(code, 0 | 3), "{code}");
    assert_eq!((wrong(&arm, 0), wrong(&arm, 1)), (String::new(), "missing".to_owned()));
    assert_eq!(arm["parts"][0]["sent"], 20 * 13, "it went on");
    assert_eq!(reason(&arm, "SHARES")["verdict"], "WARN");
}

fn an_agent_dies_in_the_drain() {
    let Some(server) = Server::start() else { return };
    let service = Service::start(Behaves::Does(slow));
    let (_first, mut second) = (server.agent("a"), server.agent("b"));
    let load = Coordinator::begins(&server, &service, "run", &["-R", "10", "-d", "1s", "--timeout", "8s"]);
    service.wait_for(10);
    second.kill();
    let (code, arm) = load.ends();
    assert_eq!((code, wrong(&arm, 0), wrong(&arm, 1)), (3, String::new(), "missing".to_owned()));
    assert_eq!((sum(&arm["parts"], "sent"), sum(&arm["phases"], "served")), (5, 5));
}

/// Two arms, of which the first loses an agent.
const RUN: &str = "
name: two
target: {app: emulated, servers: 4, service: {exponential: 5ms}}
objective: {response_time: 500ms}
users:
  model: url
  phases: [{name: calm, requests: 60/s, for: 4s}]
arms: [none, concurrency: {max: 4}]
";

/// Begins it; the agents that are left.
fn run_that_loses_an_agent(server: &Server) -> (Coordinator, Started) {
    fs::write(server.folder().join("two.yaml"), RUN).expect("written");
    let (first, mut second) = (server.agent("a"), server.agent("b"));
    let run = Coordinator::of(server, "run", &["run", "two.yaml", "--no-tui", "--agents", "2"]);
    let timeline = server.folder().join("run/timeline.jsonl");
    let told = || fs::read_to_string(&timeline).map_or(0, |text| text.lines().count());
    wait_until("two seconds are told", || told() >= 2);
    second.kill();
    (run, first)
}

fn an_agent_dies_in_the_first_arm_of_a_run() {
    let Some(server) = Server::start() else { return };
    let (run, _first) = run_that_loses_an_agent(&server);
    let _third = server.agent("c");
    let (code, arm) = run.ends();
    assert_eq!((code, wrong(&arm, 0), wrong(&arm, 1)), (3, String::new(), "missing".to_owned()));
    let other = &json(&server.folder().join("run/summary.json"))["arms"][1];
    assert_agrees(other);
    assert_eq!(other["server"]["requests_read"], sum(&other["phases"], "sent"));
}

/// Half a minute is given to those who are still to come.
#[test]
#[ignore = "three quarters of a minute; docs/benchmarks.md: cargo test -p lab-cli --features fleet --test integration fleet::load -- --ignored"]
fn a_run_without_agents_for_its_second_arm_keeps_the_first() {
    let Some(server) = Server::start() else { return };
    let (run, _first) = run_that_loses_an_agent(&server);
    let folder = run.folder.clone();
    let said = || fs::read_to_string(folder.join("run.said")).expect("there");
    let (code, arm) = run.ends();
    let text = said();
    assert_eq!((code, wrong(&arm, 1)), (1, "missing".to_owned()), "{text}");
    assert!(
        text.contains("there are only 1: a") && text.contains("the arms before it are kept: lab report run"),
        "{text}"
    );
    assert_eq!(json(&folder.join("run/summary.json"))["partial"], true);
}

fn a_coordinator_dies_and_nobody_comes() {
    let Some(server) = Server::start() else { return };
    let service = Service::start(Behaves::Well);
    let _agents = server.agents("a b");
    let mut load = Coordinator::begins(&server, &service, "dead", &["-R", "40", "-d", "60s"]);
    let name = load.load();
    service.wait_for(20);
    load.process.kill();
    thread::sleep(Duration::from_secs(11));
    let read = service.requests();
    thread::sleep(Duration::from_secs(2));
    assert_eq!(service.requests(), read, "the service is asked for nothing");
    let (code, arm) = Coordinator::attaches(&server, &name, "run").ends();
    let why = "not whole (no sign of its coordinator for 10 s)";
    assert_eq!((code, &*wrong(&arm, 0), &*wrong(&arm, 1)), (3, why, why));
    assert_eq!(reason(&arm, "SHARES")["verdict"], "INVALID");
    // What was under way when they stopped was written, and its answer not waited for.
    assert!(service.requests().abs_diff(sum(&arm["parts"], "sent")) <= 2, "{arm:#}");
    assert_free(&server, &service);
}

/// Each costs the ten seconds that nobody is heard of.
#[test]
fn who_is_not_heard_of_for_ten_seconds_is_lost() {
    let cases = [
        an_agent_dies_before_the_beginning,
        an_agent_dies_amid_a_load_that_may_not_lose_it,
        an_agent_dies_amid_a_load_that_may_lose_it,
        an_agent_dies_in_the_drain,
        an_agent_dies_in_the_first_arm_of_a_run,
        a_coordinator_dies_and_nobody_comes,
    ];
    thread::scope(|scope| {
        for case in cases {
            scope.spawn(case);
        }
    });
}

#[test]
fn a_coordinator_that_ends_loses_nothing_and_leaves_agents_free() {
    let Some(server) = Server::start() else { return };
    let service = Service::start(Behaves::Well);
    let _agents = server.agents("a b");
    // Before the beginning.
    let mut load = Coordinator::begins(&server, &service, "dead-early", &["-R", "50", "-d", "1s"]);
    let name = load.load();
    load.process.kill();
    Coordinator::attaches(&server, &name, "early").ends_whole(50);
    // Amid the load.
    let mut load = Coordinator::begins(&server, &service, "dead", &["-R", "50", "-d", "4s"]);
    let name = load.load();
    service.wait_for(50 + 40);
    load.process.kill();
    Coordinator::attaches(&server, &name, "run").ends_whole(200);
    // What a folder has is on no board any more.
    let unknown = server.coordinator(&["load", "--attach", &name]).output().expect("lab runs");
    let text = told(&unknown);
    assert!(unknown.status.code() == Some(2) && text.contains(&format!("there is no load {name}")), "{text}");

    let read = service.requests();
    let load = Coordinator::begins(&server, &service, "interrupted", &["-R", "50", "-d", "60s"]);
    service.wait_for(read + 40);
    load.process.signal("INT");
    let (code, arm) = load.ends();
    assert_eq!((code, service.requests() - read), (130, sum(&arm["phases"], "sent")));
    assert_eq!(json(&server.folder().join("interrupted/summary.json"))["partial"], true);
    assert_free(&server, &service);
}

#[test]
fn a_server_that_is_away_for_a_moment_loses_nothing() {
    let Some(mut server) = Server::start() else { return };
    let service = Service::start(Behaves::Well);
    let _agents = server.agents("a b");
    for (after, out) in [(0, "early"), (50, "run")] {
        let read = service.requests();
        let load = Coordinator::begins(&server, &service, out, &["-R", "50", "-d", "5s"]);
        load.load();
        service.wait_for(read + after);
        server.kill();
        thread::sleep(Duration::from_millis(1500));
        server.again();
        load.ends_whole(250);
        assert_eq!(service.requests() - read, 250);
        // Its seconds came later.
        assert_told(&server.folder(), out, 250);
    }
}

#[test]
fn an_agent_that_is_asked_to_end_or_started_again_is_named() {
    let Some(server) = Server::start() else { return };
    let service = Service::start(Behaves::Well);
    let (_first, mut second) = (server.agent("a"), server.agent("b"));
    let load = Coordinator::begins(&server, &service, "asked", &["-R", "50", "-d", "4s"]);
    service.wait_for(40);
    second.signal("TERM");
    assert_eq!(second.0.wait().expect("it ends").code(), Some(143));
    let (code, arm) = load.ends();
    assert_eq!((code, &*wrong(&arm, 0), &*wrong(&arm, 1)), (3, "", "not whole (its agent was stopped)"));
    assert_eq!(arm["parts"][0]["sent"], 100, "the other goes on");

    // It does not take ten seconds to see that it knows nothing.
    let read = service.requests();
    let mut second = server.agent("b");
    let load = Coordinator::begins(&server, &service, "again", &["-R", "50", "-d", "60s"]);
    service.wait_for(read + 40);
    second.kill();
    let _third = server.agent("b");
    wait_until("it is told", || load.said().contains("it was started again, and knows nothing of it"));
    let (code, arm) = load.ends();
    assert_eq!((code, wrong(&arm, 1)), (3, "missing".to_owned()));
}

#[test]
fn an_agent_that_stands_still_is_found_by_its_own_gates() {
    let Some(server) = Server::start() else { return };
    let service = Service::start(Behaves::Well);
    let (_first, second) = (server.agent("a"), server.agent("b"));
    let load = Coordinator::begins(&server, &service, "run", &["-R", "50", "-d", "6s"]);
    service.wait_for(40);
    second.signal("STOP");
    thread::sleep(Duration::from_secs(2));
    second.signal("CONT");
    let (code, arm) = load.ends();
    assert_eq!((code, sum(&arm["parts"], "sent")), (3, 300));
    let found = codes(&arm);
    assert!(!found.contains(&"SHARES"), "{found:?}");
    let gap = reason(&arm, "GAP")["value"].as_str().unwrap_or_default();
    assert!(gap.starts_with("1 of 2 ") && (gap.contains("(2)") || gap.contains("(b)")), "{gap}");
    let lag = |part: usize| arm["parts"][part]["send_lag_p99_ms"].as_f64().expect("a time");
    assert!(lag(1) > 1000.0 && lag(1) > 2.0 * lag(0), "{} and {}", lag(0), lag(1));
}

/// An answer that takes its time.
fn slow(stream: &mut TcpStream) -> bool {
    thread::sleep(Duration::from_secs(3));
    say(stream, OK)
}

#[test]
fn answers_that_are_waited_for_and_records_on_their_way_survive() {
    let Some(mut server) = Server::start() else { return };
    let service = Service::start(Behaves::Does(slow));
    let (_first, mut second) = (server.agent("a"), server.agent("b"));
    let short = ["-R", "10", "-d", "1s", "--timeout", "8s"];
    // The coordinator ends in the drain.
    let mut load = Coordinator::begins(&server, &service, "dead", &short);
    let name = load.load();
    service.wait_for(10);
    load.process.kill();
    let arm = Coordinator::attaches(&server, &name, "drained").ends_whole(10);
    assert_eq!(sum(&arm["phases"], "served"), 10);

    // The server ends in the drain, the coordinator while records wait for the server, and an agent, too.
    let folder = server.folder();
    for dies in ["coordinator", "agent"] {
        let read = service.requests();
        let mut load = Coordinator::begins(&server, &service, dies, &short);
        let name = load.load();
        service.wait_for(read + 10);
        server.kill();
        let parts = folder.join("cache/parts");
        let kept = |agent: &str| parts.join(format!("{name}.{agent}"));
        wait_until("records are written", || ["a", "b"].iter().all(|agent| kept(agent).join("digests.json").exists()));
        if dies == "coordinator" {
            load.process.kill();
            server.again();
            Coordinator::attaches(&server, &name, "stored").ends_whole(10);
            wait_until("what is stored is not kept twice", || !kept("a").exists() && !kept("b").exists());
        } else {
            second.kill();
            server.again();
            let (code, arm) = load.ends();
            assert_eq!((code, wrong(&arm, 0), wrong(&arm, 1)), (3, String::new(), "missing".to_owned()));
            let kept = kept("b").display().to_string();
            assert!(done(&folder, &["recheck", &kept]).contains("all the same"), "its part is there");
        }
    }
}
