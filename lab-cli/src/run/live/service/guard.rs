//! The guard of a command that is not the lab's: a process that starts the command in a process group of its own, keeps its
//! output, and ends the whole group when the lab asks for it or has ended, for whatever reason.

use std::{
    collections::VecDeque,
    fs::File,
    io::{self, BufRead, PipeReader, Read, Write},
    os::unix::process::CommandExt as _,
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::mpsc::{self, Receiver, RecvTimeoutError, Sender},
    thread,
    time::{Duration, Instant},
};

use nix::{
    errno::Errno,
    sys::{
        prctl,
        signal::{Signal, kill, killpg},
        wait::{WaitPidFlag, waitpid},
    },
    unistd::Pid,
};
use serde::{Deserialize, Serialize};

use super::process_tree::children;
use crate::run::environment::cpus::pin_this_thread;

/// Output of a command is kept up to this size, in bytes; beyond it only the end is kept.
const KEPT: u64 = 1 << 20;
/// The size of that end, in bytes.
const LAST: usize = 16 << 10;
/// The time that a command has to end after SIGTERM.
const GRACE: Duration = Duration::from_secs(3);
/// The pause between two checks of whether it has ended.
const PAUSE: Duration = Duration::from_millis(10);

/// The command to start: the first line that a guard reads.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct GuardOrder {
    /// The program and its arguments.
    pub words: Vec<String>,
    /// The processor that the command is kept to.
    pub cpu: Option<usize>,
    /// The port of the command: `PORT` in its environment.
    pub port: Option<u16>,
    /// The file that the output is appended to.
    pub log: PathBuf,
}

/// The reports of a guard, one a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GuardTold {
    /// The command runs.
    Started {
        /// The process id of the command, which leads its group.
        pid: u32,
    },
    /// The command could not be started.
    Failed {
        /// The reason, in words.
        cause: String,
    },
    /// The command has ended by itself.
    Ended {
        /// The status in words: `exit status: 1`.
        how: String,
        /// True if the status is a success.
        success: bool,
    },
}

/// Guards one command until standard input ends: `lab guard`, which the lab alone starts.
///
/// # Errors
/// If the order cannot be read.
pub fn guard() -> io::Result<()> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    let order: GuardOrder = serde_json::from_str(&line)?;
    // Orphans of the command become children of this process.
    let _ = prctl::set_child_subreaper(true);
    if let Some(cpu) = order.cpu {
        // Without permission to set it, the figures are noisier.
        pin_this_thread(cpu);
    }
    let (tell, over) = mpsc::channel();
    let (mut child, keeper) = match start(&order) {
        Ok(started) => started,
        Err(error) => {
            let program = order.words.first().map_or("", String::as_str);
            say(&GuardTold::Failed { cause: format!("{program}: {error}") });
            return Ok(());
        }
    };
    say(&GuardTold::Started { pid: child.id() });
    watch_stdin(tell);
    let group = Pid::from_raw(i32::try_from(child.id()).unwrap_or(i32::MAX));
    let alive = wait(&mut child, &over);
    end(&mut child, group, alive);
    let _ = keeper.join(); // what it could not write is lost
    Ok(())
}

fn start(order: &GuardOrder) -> io::Result<(Child, thread::JoinHandle<()>)> {
    let log = File::options().create(true).append(true).open(&order.log)?;
    let (said, says) = io::pipe()?;
    let Some((program, arguments)) = order.words.split_first() else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "there is no program to start"));
    };
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(says.try_clone()?).stderr(says).process_group(0);
    if let Some(port) = order.port {
        command.env("PORT", port.to_string());
    }
    let child = command.spawn()?;
    let keeper = thread::spawn(move || {
        let _ = keep(said, log); // a full disk must not stop the command
    });
    Ok((child, keeper))
}

/// Sends a message when standard input ends: the lab has closed it, or has ended.
fn watch_stdin(over: Sender<()>) {
    thread::spawn(move || {
        let mut rest = [0; 64];
        while io::stdin().read(&mut rest).is_ok_and(|read| read > 0) {}
        let _ = over.send(());
    });
}

/// Waits until the guard must end; true if the command still runs at that time.
fn wait(child: &mut Child, over: &Receiver<()>) -> bool {
    loop {
        if let Ok(Some(status)) = child.try_wait() {
            say(&GuardTold::Ended { how: status.to_string(), success: status.success() });
            let _ = over.recv();
            return false;
        }
        match over.recv_timeout(PAUSE) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(()) | Err(RecvTimeoutError::Disconnected) => return true,
        }
    }
}

/// Ends the group, and processes that have left it: first with SIGTERM, then with SIGKILL.
fn end(child: &mut Child, group: Pid, alive: bool) {
    let _ = killpg(group, Signal::SIGTERM);
    let asked = Instant::now();
    let mut gone = !alive;
    while asked.elapsed() < GRACE {
        gone |= !matches!(child.try_wait(), Ok(None));
        reap();
        if gone && children(std::process::id()).is_empty() && killpg(group, None) == Err(Errno::ESRCH) {
            return;
        }
        thread::sleep(PAUSE);
    }
    let _ = killpg(group, Signal::SIGKILL);
    for _ in 0..100 {
        for left in children(std::process::id()) {
            let _ = i32::try_from(left).map(|pid| kill(Pid::from_raw(pid), Signal::SIGKILL));
        }
        let _ = child.try_wait();
        reap();
        if children(std::process::id()).is_empty() {
            return;
        }
        thread::sleep(PAUSE);
    }
}

/// Reaps processes that have ended.
fn reap() {
    while waitpid(None::<Pid>, Some(WaitPidFlag::WNOHANG)).is_ok_and(|status| status.pid().is_some()) {}
}

fn say(told: &GuardTold) {
    let mut out = io::stdout().lock();
    // The end of the lab closes standard input too.
    let _ = writeln!(out, "{}", serde_json::to_string(told).unwrap_or_default());
    let _ = out.flush();
}

/// Keeps the beginning and the end of the output.
fn keep(mut said: PipeReader, mut log: impl Write) -> io::Result<()> {
    let (mut kept, mut left_out) = (0, 0);
    let mut last: VecDeque<u8> = VecDeque::new();
    let mut buffer = [0; 8192];
    loop {
        let read = match said.read(&mut buffer)? {
            0 => break,
            read => &buffer[..read],
        };
        let room = usize::try_from(KEPT - kept).unwrap_or(usize::MAX).min(read.len());
        log.write_all(&read[..room])?;
        kept += room as u64;
        last.extend(&read[room..]);
        let beyond = last.len().saturating_sub(LAST);
        left_out += beyond as u64;
        last.drain(..beyond);
    }
    if left_out > 0 {
        writeln!(log, "\n[{left_out} bytes are left out here]")?;
    }
    log.write_all(last.make_contiguous())?;
    log.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_output_the_beginning_and_the_end_are_kept() {
        let (said, mut says) = io::pipe().expect("a pipe");
        let writer = thread::spawn(move || {
            for line in 0..200_000 {
                writeln!(says, "line {line:06}").expect("written");
            }
        });
        let mut log = Vec::new();
        keep(said, &mut log).expect("kept");
        writer.join().expect("it ends");
        let text = String::from_utf8(log).expect("text");
        assert!(text.starts_with("line 000000\n") && text.ends_with("line 199999\n"));
        assert!(text.contains("bytes are left out here") && text.len() < (1 << 20) + (17 << 10), "{}", text.len());
    }
}
