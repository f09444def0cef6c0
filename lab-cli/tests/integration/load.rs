//! What `lab load` sends and says; and loads on services that are down, die, come back, or answer as no service should: each ends at its time, says what happened,
//! and does not take the service's doing for the generator's.

pub mod carriers;
mod dead;
mod descriptors;
mod expect;
mod find_rate;
mod headers;
mod hostile;
mod open;
mod requests;
mod runs;
mod saved;
mod secure;
mod seen;
pub mod service;
mod unanswered;
mod verdicts;
mod ways;

use std::{
    fs,
    process::{Child, Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::program;

/// However crowded the machine is.
const SOON: Duration = Duration::from_secs(8);

fn lab(args: &[&str]) -> Command {
    let mut command = program::lab();
    // Results go where a test asks for them, and nowhere else.
    let saves = args.first() != Some(&"load") || args.contains(&"--out") || args.contains(&"--no-save");
    command.args(args).args((!saves).then_some("--no-save"));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A program under way; it is killed if it does not end in time.
struct Running {
    child: Child,
    began: Instant,
}

/// What came of it.
struct Ended {
    output: Output,
    took: Duration,
    /// The most memory that it had resident, in bytes.
    memory: u64,
}

impl Running {
    fn start(mut command: Command) -> Self {
        Self { began: Instant::now(), child: command.spawn().expect("lab starts") }
    }

    fn load(args: &[&str]) -> Self {
        Self::start(lab(&[&["load"], args, &["--output", "json"]].concat()))
    }

    /// Lets it load for so long, from when it handles signals: before that, one would kill it.
    fn loads_for(&self, time: Duration) {
        let status = format!("/proc/{}/status", self.child.id());
        let handles = || {
            let status = fs::read_to_string(&status).unwrap_or_default();
            let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
            caught
                .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
                .is_some_and(|mask| mask & 1 << (15 - 1) != 0)
        };
        while !handles() {
            assert!(self.began.elapsed() < Duration::from_secs(30), "it handles no signals");
            thread::sleep(Duration::from_millis(10));
        }
        thread::sleep(time);
    }

    fn signal(&self, name: &str) {
        program::signal(name, self.child.id());
    }

    /// Waits until it has ended, for so long at most.
    fn ends_within(mut self, most: Duration) -> Ended {
        let (mut cpu, mut memory) = (Duration::ZERO, 0);
        while self.child.try_wait().expect("it can be waited for").is_none() {
            if self.began.elapsed() > most {
                let _ = self.child.kill();
                let _ = self.child.wait();
                panic!("it goes on after {most:?}, and had used {cpu:?} of the processor");
            }
            cpu = cpu_of(self.child.id()).unwrap_or(cpu);
            memory = memory_of(self.child.id()).unwrap_or(memory);
            thread::sleep(Duration::from_millis(20));
        }
        let took = self.began.elapsed();
        Ended { output: self.child.wait_with_output().expect("it has ended"), took, memory }
    }
}

impl Ended {
    fn code(&self) -> i32 {
        self.output.status.code().expect("it ended by itself")
    }

    fn json(&self) -> Value {
        program::printed(&self.output)
    }
}

/// User and system time, in ticks of 10 ms: the 12th and 13th field behind the name (proc(5)).
fn cpu_of(process: u32) -> Option<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    let ticks = fields.split_ascii_whitespace().skip(11).take(2).filter_map(|field| field.parse::<u64>().ok());
    Some(Duration::from_millis(ticks.sum::<u64>() * 10))
}

fn memory_of(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = peak.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

fn count(of: &Value, key: &str) -> u64 {
    of[key].as_u64().unwrap_or_else(|| panic!("{key}: {of:#}"))
}

fn codes(of: &Value) -> Vec<&str> {
    of["reasons"].as_array().expect("reasons").iter().filter_map(|reason| reason["code"].as_str()).collect()
}

/// The code where the machine leaves the run in peace; where it makes it INVALID, that is 3, unless nothing was served.
fn ends_with(ended: &Ended, code: i32) {
    let found = ended.json();
    let expected = if found["valid"] == false && found["nothing_served"] != true { 3 } else { code };
    assert_eq!(ended.code(), expected, "{found:#}");
}
