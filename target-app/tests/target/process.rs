//! A target as a process of its own: signals, descriptors, and its parent's end.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::{Duration, Instant},
};

use live_service::control::client::ControlClient;
use nix::{
    sys::{
        resource::{Resource, setrlimit},
        signal::{Signal, kill},
    },
    unistd::Pid,
};
use spec::{
    EdgeSpec, TargetSpec,
    services::TaskSpec,
    wire::{InjectFault, Ready},
};
use target_app::serve;

use crate::common::{answer, checksum, edge, emulated, spec};

/// Tells this very test binary, started again, what to be.
const ROLE: &str = "TARGET_TEST_ROLE";
const SPEC: &str = "TARGET_TEST_SPEC";
const FILES: &str = "TARGET_TEST_FILES";

/// Not a test of its own: the process that the others start.
#[test]
fn child() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let spec: TargetSpec = serde_json::from_str(&std::env::var(SPEC).unwrap()).unwrap();
    if role == "parent" {
        // Starts the target, passes its ready line on, and waits to be killed.
        let spec = TargetSpec { die_with: Some(std::process::id()), ..spec };
        let mut target = start_with(&spec, "target", None);
        println!("\n{}", serde_json::to_string(&ready(&mut target)).unwrap());
        thread::sleep(Duration::from_secs(30));
        return;
    }
    if let Ok(files) = std::env::var(FILES) {
        let files = files.parse().unwrap();
        setrlimit(Resource::RLIMIT_NOFILE, files, files).unwrap();
    }
    serve(TaskSpec::alone(spec), |ready| println!("\n{}", serde_json::to_string(&ready).unwrap())).unwrap();
}

/// Starts this test binary again, with the spec in its environment.
fn start_with(spec: &TargetSpec, role: &str, files: Option<u32>) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "process::child", "--nocapture", "--test-threads=1"]).env(ROLE, role);
    command.env(SPEC, serde_json::to_string(spec).unwrap());
    if let Some(files) = files {
        command.env(FILES, files.to_string());
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap()
}

fn ready(child: &mut Child) -> Ready {
    let mut lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
    lines.find_map(|line| serde_json::from_str(&line.unwrap()).ok()).expect("a ready line")
}

fn pid(child: &Child) -> Pid {
    Pid::from_raw(i32::try_from(child.id()).unwrap())
}

fn connect(ready: &Ready) -> TcpStream {
    let stream = TcpStream::connect(ready.url.trim_start_matches("http://")).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    stream
}

fn get(stream: &mut TcpStream) -> u16 {
    stream.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    answer(stream).0
}

/// Waits for a child; kills it if it does not end.
fn wait(child: &mut Child, within: Duration) -> Option<std::process::ExitStatus> {
    let end = Instant::now() + within;
    while Instant::now() < end {
        if let Some(status) = child.try_wait().unwrap() {
            return Some(status);
        }
        thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    None
}

#[test]
fn sigterm_finishes_what_was_admitted_and_exits_with_0() {
    let spec = TargetSpec { app: emulated(Duration::from_millis(500), 4), ..spec() };
    let mut child = start_with(&spec, "target", None);
    let ready = ready(&mut child);
    let mut idle = connect(&ready);
    let mut busy = connect(&ready);
    busy.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    thread::sleep(Duration::from_millis(200));
    kill(pid(&child), Signal::SIGTERM).unwrap();
    assert_eq!(answer(&mut busy).0, 200);
    assert_eq!(idle.read(&mut [0]).unwrap(), 0, "idle connections are closed");
    assert!(wait(&mut child, Duration::from_secs(5)).expect("it ends by itself").success());
}

#[test]
fn those_who_come_while_it_drains_are_told_so_and_none_is_reset() {
    let spec = TargetSpec { app: emulated(Duration::from_millis(1200), 4), ..spec() };
    let mut child = start_with(&spec, "target", None);
    let ready = ready(&mut child);
    let mut idle = connect(&ready);
    assert_eq!(get(&mut idle), 200);
    let mut busy = connect(&ready);
    busy.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    let mut new = connect(&ready);
    thread::sleep(Duration::from_millis(200));
    kill(pid(&child), Signal::SIGTERM).unwrap();
    assert_eq!(idle.read(&mut [0]).unwrap(), 0, "it drains");
    assert_eq!(get(&mut new), 503, "it was about to ask");
    let mut told = 0;
    while let Ok(mut late) = TcpStream::connect(ready.url.trim_start_matches("http://")) {
        late.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let mut text = Vec::new();
        let _ = late.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").and_then(|()| late.read_to_end(&mut text));
        let head = String::from_utf8_lossy(&text).to_ascii_lowercase();
        if head.is_empty() {
            // The port was closed between the kernel's handshake and its next look.
            assert!(TcpStream::connect(ready.url.trim_start_matches("http://")).is_err(), "after {told}");
            break;
        }
        let whole = head.starts_with("http/1.1 503 ") && head.contains("connection: close");
        assert!(whole && head.contains("x-refused: draining"), "{head}");
        told += 1;
        thread::sleep(Duration::from_millis(5));
    }
    assert!(told > 10, "{told}");
    assert_eq!(answer(&mut busy).0, 200);
    assert!(wait(&mut child, Duration::from_secs(5)).expect("it ends by itself").success());
}

#[test]
fn a_second_signal_does_not_wait() {
    let spec = TargetSpec {
        app: emulated(Duration::from_secs(8), 4),
        edge: EdgeSpec { drain: Duration::from_secs(20), ..edge() },
        ..spec()
    };
    let mut child = start_with(&spec, "target", None);
    let ready = ready(&mut child);
    let mut busy = connect(&ready);
    busy.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    thread::sleep(Duration::from_millis(200));
    kill(pid(&child), Signal::SIGTERM).unwrap();
    thread::sleep(Duration::from_millis(300));
    kill(pid(&child), Signal::SIGTERM).unwrap();
    assert!(wait(&mut child, Duration::from_secs(4)).expect("it ends at once").success());
}

#[test]
fn without_descriptors_it_goes_on_for_those_inside_and_lets_others_in() {
    // The cap lies above the descriptors, so that it is the descriptors that run out.
    let spec = TargetSpec { edge: EdgeSpec { connections: 1000, ..edge() }, ..spec() };
    let mut child = start_with(&spec, "target", Some(48));
    let ready = ready(&mut child);
    let control = ControlClient::of(&ready).unwrap();
    let mut inside = connect(&ready);
    assert_eq!(get(&mut inside), 200);
    let before = control.gauges().unwrap();
    let crowd: Vec<_> = (0..60).map(|_| connect(&ready)).collect();
    thread::sleep(Duration::from_millis(500));
    let mut late = connect(&ready);
    assert_eq!(get(&mut late), 200, "an idler made room");
    drop(crowd);
    thread::sleep(Duration::from_millis(300));
    let mut after = connect(&ready);
    assert_eq!(get(&mut after), 200);
    let gauges = control.gauges().unwrap();
    assert!(gauges.ledger.accept_errors > 0, "{:?}", gauges.ledger);
    let (cpu, time) = (gauges.cpu_s - before.cpu_s, (gauges.at_ms - before.at_ms) / 1e3);
    assert!(cpu < time * 0.7, "it must not spin: {cpu} s of CPU in {time} s");
    control.stop().unwrap();
    assert!(wait(&mut child, Duration::from_secs(5)).expect("it ends").success());
}

/// With a process of its own: its CPU time is nobody else's.
#[test]
fn a_capacity_cut_is_kept_over_all_jobs() {
    let app = checksum(20, 100);
    let mut child = start_with(&TargetSpec { app, cpus: vec![0], ..spec() }, "target", None);
    let ready = ready(&mut child);
    let control = ControlClient::of(&ready).unwrap();
    control.hinder(&InjectFault::Capacity { share: 0.1, for_ms: 60_000.0 }).unwrap();
    let until = Instant::now() + Duration::from_secs(2);
    let (before, served) = (control.gauges().unwrap(), AtomicU32::new(0));
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut stream = connect(&ready);
                while Instant::now() < until {
                    assert_eq!(get(&mut stream), 200);
                    served.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    let after = control.gauges().unwrap();
    let (cpu, time) = (after.cpu_s - before.cpu_s, (after.at_ms - before.at_ms) / 1e3);
    // Its work outside of jobs is in addition.
    assert!(cpu < 0.2 * time, "{cpu} s of CPU in {time} s");
    assert!(served.into_inner() > 8, "and still it works");
    control.stop().unwrap();
    assert!(wait(&mut child, Duration::from_secs(5)).expect("it ends").success());
}

#[test]
fn it_dies_with_the_process_that_started_it() {
    let mut parent = start_with(&spec(), "parent", None);
    let ready = ready(&mut parent);
    assert_eq!(get(&mut connect(&ready)), 200);
    parent.kill().unwrap();
    parent.wait().unwrap();
    let end = Instant::now() + Duration::from_secs(5);
    while TcpStream::connect(ready.url.trim_start_matches("http://")).is_ok() {
        assert!(Instant::now() < end, "it lives on");
        thread::sleep(Duration::from_millis(20));
    }
}

/// As if it had been killed while this one was being started: its place has been taken by another process.
#[test]
fn it_does_not_begin_without_the_process_that_started_it() {
    let spec = TargetSpec { die_with: Some(1), ..spec() };
    let mut child = start_with(&spec, "target", None);
    let status = wait(&mut child, Duration::from_secs(5)).expect("it ends by itself");
    assert!(!status.success());
}
