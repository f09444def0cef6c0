//! The target: this same program as a process of its own; those that start while a run goes on do so on a thread of its own, as the
//! kernel ends a target with the thread that has started it.

use std::{
    fs::File,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use live_service::control::client::ControlClient;
use serde::Serialize;
use spec::{proxy::ProxySpec, services::TaskSpec, wire::Ready};

use crate::run::RunFailure;

/// Longest wait for a target to take requests. It opens a fresh copy of the mail, and the first sync of that file may have to
/// wait for a busy disk.
const START: Duration = Duration::from_secs(120);
/// Longest wait for a target to end once it was told to.
const END: Duration = Duration::from_secs(20);

/// A running target. Killed and reaped when dropped.
#[derive(Debug)]
pub struct TargetProcess {
    child: Child,
    /// The addresses that it serves at.
    pub ready: Ready,
    pub control: ControlClient,
}

impl TargetProcess {
    /// Starts one, which ends when this process does, and waits until it takes requests. What it says goes to `log`.
    pub fn start(mut task: TaskSpec, log: &Path) -> Result<Self, RunFailure> {
        task.target.die_with = Some(std::process::id());
        Self::start_as(&["serve", "--spec-stdin"], &task, log)
    }

    /// Starts a proxy, in the same way.
    pub fn start_proxy(mut spec: ProxySpec, log: &Path) -> Result<Self, RunFailure> {
        spec.die_with = Some(std::process::id());
        spec.experiment = true;
        Self::start_as(&["proxy", "--json", "--config", "-"], &spec, log)
    }

    /// Starts this program with these arguments, and `spec` on standard input.
    fn start_as(arguments: &[&str], spec: &impl Serialize, log: &Path) -> Result<Self, RunFailure> {
        let start = |what: &str| {
            let cause = what.to_owned();
            move |error: std::io::Error| RunFailure::TargetStart {
                cause: format!("{cause}: {error}"),
                last_words: String::new(),
            }
        };
        let program = std::env::current_exe().map_err(start("this program's own path"))?;
        let log_file = File::options().create(true).append(true).open(log).map_err(RunFailure::at(log))?;
        let mut command = Command::new(program);
        command.args(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log_file);
        // Ctrl-C on a terminal goes to a whole process group: the target's end is the lab's to decide.
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.spawn().map_err(start("starting it"))?;
        let told = match child.stdin.take() {
            Some(mut input) => input.write_all(&serde_json::to_vec(spec)?),
            None => Ok(()),
        };
        let ready = told
            .map_err(|error| format!("it did not take its settings: {error}"))
            .and_then(|()| wait_until_ready(&mut child));
        match ready {
            Ok(ready) => {
                let control = ControlClient::of(&ready)?;
                Ok(Self { child, ready, control })
            }
            Err(cause) => {
                let _ = child.kill();
                let _ = child.wait();
                Err(RunFailure::TargetStart { cause, last_words: last_lines(log, 10) })
            }
        }
    }

    /// The end of the process, in words; `None`: it runs.
    pub fn has_ended(&mut self) -> Option<String> {
        match self.child.try_wait() {
            Ok(Some(status)) => Some(format!("ended with {status}")),
            Ok(None) => None,
            Err(error) => Some(format!("cannot be waited for: {error}")),
        }
    }

    /// Drains it and reaps it; kills it if it does not end.
    pub fn stop(mut self) -> Result<(), RunFailure> {
        self.control.stop()?;
        match end_of(&mut self.child, END) {
            Ok(Some(status)) if status.success() => Ok(()),
            Ok(Some(status)) => Err(RunFailure::Target(format!("the target ended with {status}"))),
            Ok(None) => Err(RunFailure::Target(format!("the target had not drained after {END:?}, and was killed"))),
            Err(source) => Err(RunFailure::Machine { what: "waiting for the target", source }),
        }
    }
}

impl Drop for TargetProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The address of a target that is ready, for users.
pub fn destination(ready: &Ready) -> Result<workloads::plan::Target, RunFailure> {
    let host = ready.url.trim_start_matches("http://").trim_end_matches('/');
    let address = host.parse().map_err(|_| RunFailure::Target(format!("{:?} is not an address", ready.url)))?;
    Ok(workloads::plan::Target::at(address))
}

fn wait_until_ready(child: &mut Child) -> Result<Ready, String> {
    let Some(output) = child.stdout.take() else { return Err("it has no standard output".to_owned()) };
    let (tell, told) = mpsc::channel();
    thread::spawn(move || {
        let mut line = String::new();
        let read = BufReader::new(output).read_line(&mut line);
        let _ = tell.send(read.map(|_| line));
    });
    match told.recv_timeout(START) {
        Ok(Ok(line)) if line.is_empty() => Err(match end_of(child, Duration::from_secs(1)) {
            Ok(Some(status)) => format!("it ended with {status} before it was ready"),
            _ => "it closed its standard output before it was ready".to_owned(),
        }),
        Ok(Ok(line)) => {
            serde_json::from_str(&line).map_err(|error| format!("its first line was no ready line: {error}"))
        }
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err(format!("it was not ready after {START:?}")),
    }
}

/// How a process ended; `None`: it still runs after this time.
fn end_of(child: &mut Child, within: Duration) -> std::io::Result<Option<std::process::ExitStatus>> {
    let asked = Instant::now();
    loop {
        match child.try_wait()? {
            None if asked.elapsed() < within => thread::sleep(Duration::from_millis(10)),
            end => return Ok(end),
        }
    }
}

/// The last lines of a log, as many of them.
pub fn last_lines(log: &Path, most: usize) -> String {
    let text = String::from_utf8_lossy(&std::fs::read(log).unwrap_or_default()).into_owned();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(most)..].join("\n")
}

/// For messages.
impl std::fmt::Display for TargetProcess {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.ready.url)
    }
}

/// The file for a target's output.
pub fn log_in(folder: &Path) -> PathBuf {
    folder.join("target.log")
}

type Started = Result<TargetProcess, RunFailure>;

/// A thread that starts targets. It ends with the last handle; its targets, which end with it, are to be gone by then.
#[derive(Debug, Clone)]
pub struct Starter(mpsc::Sender<Order>);

struct Order {
    task: TaskSpec,
    then: Box<dyn FnOnce(Started) + Send>,
}

impl Starter {
    /// Begins. What targets say goes to `log`.
    pub fn begin(log: PathBuf) -> Result<Self, RunFailure> {
        let (order, orders) = mpsc::channel::<Order>();
        let start = move || {
            for Order { task, then } in orders {
                then(TargetProcess::start(task, &log));
            }
        };
        let thread = thread::Builder::new().name("starter".to_owned()).spawn(start);
        thread.map_err(RunFailure::machine("the thread that starts tasks"))?;
        Ok(Self(order))
    }

    /// Starts a target, and hands it to `then`, one after the other.
    pub fn start(&self, task: TaskSpec, then: impl FnOnce(Started) + Send + 'static) {
        // The thread is there as long as this handle.
        let _ = self.0.send(Order { task, then: Box::new(then) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_ends_before_it_is_ready_says_how() {
        let told = |script: &str| {
            let mut child =
                Command::new("sh").args(["-c", script]).stdout(Stdio::piped()).spawn().expect("a shell starts");
            wait_until_ready(&mut child).expect_err("it never is ready")
        };
        assert!(told("kill -9 $$").starts_with("it ended with signal: 9"), "{}", told("kill -9 $$"));
        assert_eq!(told("exit 3"), "it ended with exit status: 3 before it was ready");
    }
}
