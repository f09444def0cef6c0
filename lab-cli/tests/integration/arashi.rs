//! `lab serve` with mail as a process, killed when it is dropped, and those who visit it.

pub mod visit;

use std::{
    io::{BufRead, BufReader, Read, Write},
    path::Path,
    process::{Child, Stdio},
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    thread,
    time::{Duration, Instant},
};

/// Longest wait for anything that the program says.
const PATIENCE: Duration = Duration::from_secs(60);

pub struct Program {
    child: Child,
    out: Receiver<String>,
    err: Receiver<String>,
}

/// Mail to import, and whose it becomes.
#[derive(Clone, Copy)]
pub struct Mail<'a> {
    pub path: &'a Path,
    pub user: &'a str,
}

impl Program {
    /// Starts it on a free port, with every setting as it comes.
    pub fn serve(home: &Path, database: &Path, mail: Option<Mail<'_>>) -> Self {
        let mut command = crate::program::lab();
        command.current_dir(home).env("LAB_CACHE", home.join("cache"));
        command.args(["serve", "--port", "0", "--database"]).arg(database);
        if let Some(Mail { path, user }) = mail {
            command.args(["--user", user, "--password-stdin", "--mail"]).arg(path);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("lab starts");
        child.stdin.take().expect("piped").write_all(b"secret\n").expect("takes a password");
        let out = lines(child.stdout.take().expect("piped"));
        let err = lines(child.stderr.take().expect("piped"));
        Self { child, out, err }
    }

    /// Waits until it takes requests; says where.
    pub fn address(&self) -> String {
        self.address_within(PATIENCE)
    }

    /// As [`Program::address`], but waits no longer than this.
    pub fn address_within(&self, patience: Duration) -> String {
        let line = self.out.recv_timeout(patience);
        let line = line.unwrap_or_else(|_| panic!("it does not serve: {:?}", self.err.try_iter().collect::<Vec<_>>()));
        line.strip_prefix("serving http://").unwrap_or_else(|| panic!("{line:?}")).to_owned()
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Its memory in use, MiB.
    pub fn resident_mib(&self) -> f64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).expect("it runs");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("the kernel says");
        line.trim().trim_end_matches(" kB").parse::<f64>().expect("a number") / 1024.0
    }

    /// Waits until it has ended by itself; its exit code.
    pub fn ended(&mut self, within: Duration) -> Option<i32> {
        let end = Instant::now() + within;
        while Instant::now() < end {
            if let Some(status) = self.child.try_wait().expect("is a child") {
                return status.code();
            }
            thread::sleep(Duration::from_millis(50));
        }
        panic!("it still runs after {within:?}");
    }

    /// The next line on standard error, if it comes in time.
    pub fn says(&self, within: Duration) -> Option<String> {
        match self.err.recv_timeout(within.min(PATIENCE)) {
            Ok(line) => Some(line),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => panic!("it ended by itself"),
        }
    }

    /// `kill -9`; gives what it had said on standard error and nobody had read.
    pub fn kill(mut self) -> Vec<String> {
        assert!(self.child.try_wait().expect("is a child").is_none(), "it had ended by itself");
        self.child.kill().expect("can be killed");
        self.child.wait().expect("is gone");
        self.err.iter().collect()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Lines as they come, until the pipe is closed.
fn lines(pipe: impl Read + Send + 'static) -> Receiver<String> {
    let (tell, told) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(pipe).lines().map_while(Result::ok) {
            if tell.send(line).is_err() {
                return;
            }
        }
    });
    told
}
