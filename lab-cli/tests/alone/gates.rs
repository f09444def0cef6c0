//! Validity gates against faults that are really made: a stopped process, a starved generator, ports that run out. The pair
//! of every gate, made of figures, is in `judge/gates`.

use std::{
    collections::BTreeSet,
    fs,
    net::{TcpListener, TcpStream},
    path::Path,
    process::{Child, Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use nix::{
    sched::{CpuSet, sched_getaffinity, sched_setaffinity},
    sys::{
        signal::{Signal, kill},
        socket::{Backlog, listen},
    },
    unistd::Pid,
};
use senders::null::Null;
use serde_json::Value;

use crate::{alone, program};

/// A service that does nothing, for as long as the test lives.
struct Service {
    null: Null,
    thread: Option<thread::JoinHandle<()>>,
}

impl Service {
    fn start() -> Self {
        let null = Null::bind().expect("a port");
        let serving = null.clone();
        let thread = thread::spawn(move || serving.serve().expect("sockets can be watched"));
        Self { null, thread: Some(thread) }
    }

    fn url(&self) -> String {
        format!("http://{}/", self.null.address())
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.null.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn lab() -> Command {
    let mut command = program::lab();
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn started(command: &mut Command) -> Child {
    command.spawn().expect("lab starts")
}

fn pid(child: &Child) -> Pid {
    Pid::from_raw(i32::try_from(child.id()).expect("an id"))
}

/// Stops a process for so long.
fn stop(pid: Pid, lasts: Duration) {
    kill(pid, Signal::SIGSTOP).expect("it is stopped");
    thread::sleep(lasts);
    kill(pid, Signal::SIGCONT).expect("it goes on");
}

fn printed(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)))
}

/// Codes with their verdicts.
fn found(of: &Value) -> BTreeSet<(String, String)> {
    let reasons = of["reasons"].as_array().expect("reasons");
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    reasons.iter().map(|reason| (text(&reason["code"]), text(&reason["verdict"]))).collect()
}

fn has(of: &Value, code: &str, verdict: &str) -> bool {
    found(of).contains(&(code.to_owned(), verdict.to_owned()))
}

/// Codes that no machine, however crowded, has a reason to find in a second of light load.
fn finds_any_of(of: &Value, codes: &[&str]) -> bool {
    found(of).iter().any(|(code, _)| codes.contains(&code.as_str()))
}

#[test]
fn a_generator_that_is_stopped_is_found_and_its_pause_is_in_the_response_times() {
    let _alone = alone();
    let service = Service::start();
    let load = |lasts: &str| {
        let mut command = lab();
        command.args(["load", &service.url(), "-R", "200", "-d", lasts, "--no-save", "--output", "json"]);
        started(&mut command)
    };
    let child = load("4s");
    thread::sleep(Duration::from_millis(1200));
    stop(pid(&child), Duration::from_millis(1500));
    let output = child.wait_with_output().expect("it ends");
    let stopped = printed(&output);
    assert!(has(&stopped, "GAP", "INVALID"), "{:?}", found(&stopped));
    assert_eq!(output.status.code(), Some(3));
    // A third of the requests were due while nobody could send them. From when they were to be sent, one in a hundred took
    // longer than a second; from when they were, it did not.
    let p99 = |times: &str| stopped[times]["p99"].as_f64().expect("enough samples");
    assert!(p99("response_time_ms") > 1000.0 && p99("service_time_ms") < 1000.0, "{stopped:#}");

    let clean = printed(&load("1s").wait_with_output().expect("it ends"));
    assert!(
        !finds_any_of(&clean, &["GAP", "PORTS", "FILES", "LEDGER", "BOOKS", "PANIC", "UNSENT"]),
        "{:?}",
        found(&clean)
    );
}

/// Lets a process go on for so long and stops it for so long, until it has ended.
fn stop_again_and_again(child: &mut Child, goes_on: Duration, stopped: Duration) {
    while child.try_wait().expect("it is ours").is_none() {
        thread::sleep(goes_on);
        stop(pid(child), stopped);
    }
}

/// Nobody chose an objective: what is shown is what is judged.
#[test]
fn a_load_whose_generator_is_stopped_for_part_of_the_time_is_void_open_or_closed() {
    let _alone = alone();
    let service = Service::start();
    let ms = Duration::from_millis;
    let load = |load: &[&str]| {
        let mut command = lab();
        command.args(["load", &service.url(), "-d", "4s", "--no-save", "--output", "json"]).args(load);
        started(&mut command)
    };
    let judged = |what: &str, child: Child| {
        let output = child.wait_with_output().expect("it ends");
        let stopped = printed(&output);
        assert!(has(&stopped, "HICCUP", "INVALID"), "{what}: {:?}", found(&stopped));
        assert_eq!(output.status.code(), Some(3), "{what}");
        assert!(!finds_any_of(&stopped, &["GAP"]), "{what}");
    };
    let child = load(&["-R", "100"]);
    thread::sleep(ms(1500));
    stop(pid(&child), ms(400));
    judged("once, for 400 ms", child);
    for (what, plan, goes_on, stopped) in [
        ("twice a second for 200 ms", &["-R", "100"][..], 300, 200),
        ("15 ms of every 50 ms", &["-R", "100"][..], 35, 15),
        ("closed, twice a second for 150 ms", &["-c", "8"][..], 350, 150),
    ] {
        let mut child = load(plan);
        stop_again_and_again(&mut child, ms(goes_on), ms(stopped));
        judged(what, child);
    }
}

/// Keeps a processor busy until it is dropped.
struct Burner(Child);

impl Burner {
    fn start() -> Self {
        let loops = Command::new("sh").args(["-c", "while :; do :; done"]).spawn().expect("a shell");
        Self(loops)
    }
}

impl Drop for Burner {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// This thread and what it starts stay on one processor: the first of those that it may use, or as many further.
fn pin_to_one(further: usize) {
    let allowed = sched_getaffinity(Pid::from_raw(0)).expect("known");
    let all: Vec<usize> = (0..CpuSet::count()).filter(|&cpu| allowed.is_set(cpu).unwrap_or(false)).collect();
    let mut one = CpuSet::new();
    one.set(all[further.min(all.len() - 1)]).expect("a processor");
    sched_setaffinity(Pid::from_raw(0), &one).expect("it may be pinned");
}

#[test]
fn a_generator_whose_processor_is_taken_is_found() {
    let _alone = alone();
    let service = Service::start();
    let url = service.url();
    // On a thread of its own: the service stays where it likes.
    let starved = thread::spawn(move || {
        pin_to_one(0);
        let _burner = Burner::start();
        // Next to nothing is left for it.
        let mut command = Command::new("nice");
        command.args([
            "-n",
            "19",
            &program::path(),
            "load",
            &url,
            "-R",
            "500",
            "-d",
            "2s",
            "--no-save",
            "--output",
            "json",
        ]);
        command.stdin(Stdio::null()).output().expect("lab runs")
    });
    let output = starved.join().expect("no panic");
    let starved = printed(&output);
    assert!(has(&starved, "CROWDED", "INVALID"), "{:?}", found(&starved));
    assert_eq!(output.status.code(), Some(3));
    assert!(starved["generator"]["run_queue"].as_f64() > Some(0.01), "{starved:#}");
}

const EXPERIMENT: &str = "
name: short
target: {app: emulated, service: 5ms, servers: 1}
objective: {percentile: 90, response_time: 5s}
users:
  model: url
  timeout: 20s
  phases: [{name: calm, requests: 50/s, for: 4s}]
arms: [none]
";

/// The objective is of five seconds, and times are of milliseconds.
#[test]
fn a_run_whose_generator_is_stopped_twice_a_second_is_void_whatever_its_objective_is() {
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("short.yaml"), EXPERIMENT).expect("written");
    let mut command = lab();
    command.args(["run", "short.yaml", "--out", "stopped"]).current_dir(folder.path());
    command.env("LAB_CACHE", folder.path().join("cache")).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = started(&mut command);
    let timeline = folder.path().join("stopped/timeline.jsonl");
    wait_until("the first second", || fs::read(&timeline).is_ok_and(|bytes| bytes.contains(&b'\n')));
    stop_again_and_again(&mut child, Duration::from_millis(260), Duration::from_millis(240));
    assert_eq!(child.wait().expect("it ended").code(), Some(3));
    let stopped = summary(folder.path(), "stopped");
    assert!(has(&stopped, "HICCUP", "INVALID"), "{:?}", found(&stopped));
}

/// In a network of its own, where there are four ports to connect from once the service is there: whoever asks for it, again and again on a busy
/// machine, keeps ports of others busy.
const FEW_PORTS: &str = "
ip link set lo up && [ -w /proc/sys/net/ipv4/ip_local_port_range ] || exit 77
\"$LAB\" serve short.yaml --port 8080 > serve.log 2>&1 &
tries=0
until \"$LAB\" load http://127.0.0.1:8080/ -n 1 --no-save > first.txt 2>&1 || [ $tries -ge 50 ]; do tries=$((tries + 1)); sleep 0.2; done
echo '40000 40003' > /proc/sys/net/ipv4/ip_local_port_range || exit 77
\"$LAB\" load http://127.0.0.1:8080/ $LOAD -d 1s --output json
code=$?
kill $! && wait $!
exit $code
";

#[test]
fn a_generator_that_runs_out_of_ports_is_found() {
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("short.yaml"), EXPERIMENT).expect("written");
    let load = |flags: &str| {
        Command::new("unshare")
            .args(["--map-root-user", "--net", "sh", "-c", FEW_PORTS])
            .env("LAB", program::path())
            .env("LAB_CACHE", folder.path().join("cache"))
            .env("LOAD", flags)
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .output()
    };
    if !is_given(&["--map-root-user", "--net"]) {
        eprintln!("skipped: this machine gives no network of its own");
        return;
    }
    // More users that keep connections than there are ports are refused before anything is sent.
    let refused = load("-c 32").expect("unshare runs");
    assert_ne!(refused.status.code(), Some(77), "the network has no such range of ports");
    let why = String::from_utf8_lossy(&refused.stderr);
    assert!(refused.status.code() == Some(1) && why.contains("4 local ports"), "{:?}: {why}", refused.status);
    // A connection a request, and five times what the service can do: more wait at once than there are ports.
    let many = load("-R 1000 --new-connections").expect("it ran before");
    let exhausted = printed(&many);
    assert!(has(&exhausted, "PORTS", "INVALID"), "{:?}", found(&exhausted));
    assert_eq!(many.status.code(), Some(3));
    assert!(exhausted["generator"]["ports_exhausted"].as_u64() > Some(0), "{exhausted:#}");
    // Two connections find a port each.
    let few = printed(&load("-c 2").expect("it ran before"));
    assert!(!finds_any_of(&few, &["PORTS"]), "{:?}", found(&few));
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(60), "waited for a minute: {what}");
        thread::sleep(Duration::from_millis(50));
    }
}

fn summary(folder: &Path, out: &str) -> Value {
    let text = fs::read(folder.join(out).join("summary.json")).expect("a summary");
    serde_json::from_slice(&text).expect("JSON")
}

#[test]
fn a_service_that_is_stopped_is_found_and_headroom_and_conditions_are_in_the_summary() {
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("short.yaml"), EXPERIMENT).expect("written");
    let run = |out: &str, stops: bool| {
        let mut command = lab();
        command.args(["run", "short.yaml", "--out", out]).current_dir(folder.path());
        command.env("LAB_CACHE", folder.path().join("cache")).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = started(&mut command);
        if stops {
            let timeline = folder.path().join(out).join("timeline.jsonl");
            wait_until("the first second", || fs::read(&timeline).is_ok_and(|bytes| bytes.contains(&b'\n')));
            let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", child.id())).expect("a target");
            let target = children.split_ascii_whitespace().next().expect("a target").parse().expect("an id");
            stop(Pid::from_raw(target), Duration::from_millis(1700));
        }
        child.wait().expect("it ends");
        summary(folder.path(), out)
    };
    let stopped = run("stopped", true);
    assert!(has(&stopped, "GAP", "WARN"), "{:?}", found(&stopped));
    let silent = &stopped["arms"][0]["conditions"]["service_silent_max_ms"];
    assert!(silent.as_f64() > Some(1000.0), "{silent}");
    // In time before it, and late because of it.
    assert!(stopped["arms"][0]["phases"][0]["response_time_ms"]["max"].as_f64() > Some(1000.0));

    let clean = run("clean", false);
    assert!(!finds_any_of(&clean, &["GAP", "CAP", "LEDGER", "UNSTABLE"]), "{:?}", found(&clean));
    // Other tests may have the processor meanwhile: then both say so, and rightly.
    assert!(has(&clean, "NOISE", "INVALID") || !finds_any_of(&clean, &["HEADROOM"]), "{:?}", found(&clean));
    let conditions = &clean["arms"][0]["conditions"];
    assert!(
        conditions["noise"].as_f64().is_some() && conditions["sent_per_s_max"].as_f64() > Some(20.0),
        "{conditions}"
    );
    assert!(clean["headroom"]["ceiling_per_s"].as_f64() > Some(200.0), "{}", clean["headroom"]);
    let phase = &clean["arms"][0]["phases"][0]["measures"];
    assert_eq!(phase["load"]["requests_per_s"], 50.0, "{phase:#}");
    assert_eq!(phase["amplification"], 1.0);
    assert!(phase["arrivals"]["windows"].as_u64() > Some(30), "{phase:#}");
}

/// Whether `unshare` gives what these flags ask for. Where tools are required, it has to.
fn is_given(flags: &[&str]) -> bool {
    let tried = Command::new("unshare").args(flags).arg("true").stdin(Stdio::null()).output();
    let given = tried.is_ok_and(|output| output.status.success());
    assert!(given || std::env::var_os("LAB_REQUIRE_TOOLS").is_none(), "this machine does not give {flags:?}");
    given
}

/// The service computes for some milliseconds, on the processor that others keep busy. The lab sees no process but its own, as in a container.
#[test]
fn a_service_whose_processor_is_taken_from_outside_of_the_container_is_found() {
    let _alone = alone();
    let apart = ["--map-root-user", "--pid", "--fork", "--mount-proc"];
    if !is_given(&apart) {
        eprintln!("skipped: this machine gives no processes of its own");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let text = EXPERIMENT.replace("app: emulated, service: 5ms, servers: 1", "app: checksum, rounds: 20, reads: 100");
    fs::write(folder.path().join("short.yaml"), text).expect("written");
    let run = |out: &str| {
        let mut command = Command::new("unshare");
        command.args(apart).args(["nice", "-n", "19", &program::path()]).args(["run", "short.yaml", "--out", out]);
        command.args(["--repeat", "3", "--fail-fast"]);
        command.current_dir(folder.path()).env("LAB_CACHE", folder.path().join("cache")).stdin(Stdio::null());
        let output = command.output().expect("unshare runs");
        (output.status.code(), summary(folder.path(), out))
    };
    let burners = thread::spawn(|| {
        pin_to_one(1);
        [Burner::start(), Burner::start()]
    });
    let burners = burners.join().expect("no panic");
    let (code, starved) = run("starved");
    drop(burners);
    assert_eq!(code, Some(3), "{:?}", found(&starved));
    assert!(has(&starved, "STARVED", "INVALID"), "{:?}", found(&starved));
    assert_eq!(starved["arms"].as_array().map(Vec::len), Some(1), "the other blocks need not run");
    let conditions = &starved["arms"][0]["conditions"];
    let (unseen, wait) = (&conditions["neighbours"]["others"], &conditions["neighbours"]["service"]);
    assert!(unseen.as_f64() > Some(0.5) && conditions["noise"].as_f64() < Some(0.1), "{conditions:#}");
    assert!(wait["starved_s"].as_f64() > Some(0.5) && wait["ran_s"].as_f64() > Some(0.0), "{wait}");
}

/// A queue that overflows in another program is none of this run's.
#[test]
fn a_queue_that_overflows_elsewhere_is_not_held_against_a_run() {
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("short.yaml"), EXPERIMENT).expect("written");
    let mut command = lab();
    command.args(["run", "short.yaml", "--out", "beside"]).current_dir(folder.path());
    command.env("LAB_CACHE", folder.path().join("cache")).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = started(&mut command);
    let timeline = folder.path().join("beside/timeline.jsonl");
    wait_until("the first second", || fs::read(&timeline).is_ok_and(|bytes| bytes.contains(&b'\n')));
    let nobody_takes = TcpListener::bind("127.0.0.1:0").expect("a port");
    listen(&nobody_takes, Backlog::new(1).expect("a length")).expect("a shorter queue");
    let address = nobody_takes.local_addr().expect("an address");
    let connect = |_| TcpStream::connect_timeout(&address, Duration::from_millis(50)).ok();
    let _kept: Vec<TcpStream> = (0..8).filter_map(connect).collect();
    child.wait().expect("it ends");
    let beside = summary(folder.path(), "beside");
    let kernel = &beside["arms"][0]["kernel"];
    assert!(kernel["listen_overflows"].as_u64() > Some(0), "the kernel counted them: {kernel}");
    assert_eq!(kernel["own_drops"], 0, "{kernel}");
    assert!(!finds_any_of(&beside, &["BACKLOG"]), "{:?}", found(&beside));
}
