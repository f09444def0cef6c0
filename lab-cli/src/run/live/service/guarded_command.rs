//! A command that is not the lab's, run by a guard: the lab's side.

use std::{
    io::{BufRead, BufReader, Write},
    os::unix::process::CommandExt as _,
    path::Path,
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{self, Receiver},
    thread,
    time::{Duration, Instant},
};

use super::guard::{GuardOrder, GuardTold};

/// The longest wait for a guard's report that its command runs.
const START: Duration = Duration::from_secs(10);
/// The longest wait for a guard to end its command, which takes it a few seconds at most.
const END: Duration = Duration::from_secs(8);

/// A command and the process that guards it. Dropping this value ends both.
#[derive(Debug)]
pub struct GuardedCommand {
    guard: Child,
    /// The guard's standard input: closing it ends the command.
    stdin: Option<ChildStdin>,
    told: Receiver<GuardTold>,
    /// The command's process.
    pub pid: u32,
    ended: Option<(String, bool)>,
}

impl GuardedCommand {
    /// Starts a command.
    ///
    /// # Errors
    /// The reason why the command does not run, in words.
    pub fn start(words: Vec<String>, cpu: Option<usize>, port: Option<u16>, log: &Path) -> Result<Self, String> {
        let system = |error: std::io::Error| format!("its guard could not be started: {error}");
        let program = std::env::current_exe().map_err(system)?;
        let mut command = Command::new(program);
        command.arg("guard").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        // Ctrl-C on a terminal goes to a whole process group, but it is the lab that decides when the command ends.
        command.process_group(0);
        let mut guard = command.spawn().map_err(system)?;
        let (tell, told) = mpsc::channel();
        if let Some(said) = guard.stdout.take() {
            thread::spawn(move || {
                let lines = BufReader::new(said).lines().map_while(Result::ok);
                for line in lines.filter_map(|line| serde_json::from_str(&line).ok()) {
                    if tell.send(line).is_err() {
                        return;
                    }
                }
            });
        }
        let stdin = guard.stdin.take();
        let mut guarded = Self { guard, stdin, told, pid: 0, ended: None };
        let log = std::path::absolute(log).map_err(system)?;
        let order = serde_json::to_string(&GuardOrder { words, cpu, port, log }).map_err(|error| error.to_string())?;
        if let Some(stdin) = &mut guarded.stdin {
            writeln!(stdin, "{order}").map_err(system)?;
        }
        match guarded.told.recv_timeout(START) {
            Ok(GuardTold::Started { pid }) => guarded.pid = pid,
            Ok(GuardTold::Failed { cause }) => return Err(cause),
            Ok(GuardTold::Ended { how, .. }) => return Err(format!("it ended with {how}")),
            Err(_) => return Err("its guard did not start it".to_owned()),
        }
        Ok(guarded)
    }

    /// The process id of the guard.
    pub fn guard(&self) -> u32 {
        self.guard.id()
    }

    /// The status of a command that has ended; `None`: it runs.
    pub fn has_ended(&mut self) -> Option<String> {
        self.look(self.told.try_recv().ok());
        self.ended.as_ref().map(|(how, _)| how.clone())
    }

    /// Waits for the end of the command: its status in words, and whether that is a success. `None`: it still runs after `most`.
    pub fn wait(&mut self, most: Duration) -> Option<(String, bool)> {
        if self.ended.is_none() {
            self.look(self.told.recv_timeout(most).ok());
        }
        self.ended.clone()
    }

    fn look(&mut self, told: Option<GuardTold>) {
        if let Some(GuardTold::Ended { how, success }) = told {
            self.ended = Some((how, success));
        }
    }
}

impl Drop for GuardedCommand {
    fn drop(&mut self) {
        self.stdin = None;
        let asked = Instant::now();
        while asked.elapsed() < END {
            if !matches!(self.guard.try_wait(), Ok(None)) {
                return;
            }
            thread::sleep(Duration::from_millis(5));
        }
        let _ = self.guard.kill();
        let _ = self.guard.wait();
    }
}
