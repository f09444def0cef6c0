//! A server of NATS of a test's own, and agents.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    net::{Ipv4Addr, TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use super::super::program::{lab, lab_in, signal, wait_until};

pub const COORDINATOR: &str = "coordinator:to-and-fro";
pub const AGENT: &str = "agent:hither-and-thither";

/// A server on loopback with the settings that the program prints, and a folder of its own.
pub struct Server {
    scratch: tempfile::TempDir,
    port: u16,
    process: Option<Child>,
}

/// A process that does not outlive its test.
pub struct Started(pub Child);

impl Server {
    /// `None`: this machine has no server of NATS.
    pub fn start() -> Option<Self> {
        Self::with_fsync(true)
    }

    /// Without it, what is acknowledged is on the disk after a while.
    pub fn with_fsync(always: bool) -> Option<Self> {
        Self::with_file(|listen| {
            let text = printed_settings(listen);
            if always { text } else { text.replace("  sync_interval: always\n", "") }
        })
    }

    /// With other settings than those that are printed.
    pub fn with_settings(settings: &str) -> Option<Self> {
        Self::with_file(|listen| format!("listen: \"{listen}\"\njetstream {{ store_dir: \"lab-nats\" }}\n{settings}"))
    }

    /// With a file of settings for this address.
    pub fn with_file(settings: impl FnOnce(&str) -> String) -> Option<Self> {
        if !is_installed() {
            return None;
        }
        let scratch = tempfile::tempdir().expect("a folder");
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port").local_addr().expect("known").port();
        fs::write(scratch.path().join("nats.conf"), settings(&format!("127.0.0.1:{port}"))).expect("written");
        let mut server = Self { scratch, port, process: None };
        server.again();
        Some(server)
    }

    /// Starts it with what it kept.
    pub fn again(&mut self) {
        let started = with_passwords(&mut Command::new("nats-server")).current_dir(self.scratch.path()).spawn();
        self.process = Some(started.expect("nats-server starts"));
        wait_until("the server greets", || {
            let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
            let mut line = String::new();
            stream.is_ok_and(|stream| BufReader::new(stream).read_line(&mut line).is_ok()) && line.starts_with("INFO ")
        });
    }

    /// As a power failure would, but for what the system still writes.
    pub fn kill(&mut self) {
        let mut process = self.process.take().expect("it runs");
        process.kill().expect("killed");
        process.wait().expect("gone");
    }

    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// A folder for commands.
    pub fn folder(&self) -> PathBuf {
        self.scratch.path().to_owned()
    }

    /// A command of a coordinator.
    pub fn coordinator(&self, args: &[&str]) -> Command {
        let mut command = lab_in(self.scratch.path());
        command.env("LAB_NATS_TOKEN", COORDINATOR).args(args).args(["--nats", &self.url()]);
        command
    }

    /// The same, of a search that agents compute.
    pub fn lab(&self, args: &[&str]) -> Command {
        self.coordinator(&[args, &["--workers"]].concat())
    }

    /// An agent with one thread.
    pub fn agent(&self, name: &str) -> Started {
        self.agent_with(name, &[])
    }

    /// The same with more flags.
    pub fn agent_with(&self, name: &str, more: &[&str]) -> Started {
        self.agent_in(name, more, &[])
    }

    /// The same in another environment.
    pub fn agent_in(&self, name: &str, more: &[&str], environment: &[(&str, &str)]) -> Started {
        let mut command = lab_in(self.scratch.path());
        command.env("LAB_NATS_TOKEN", AGENT).args(["agent", "--nats", &self.url(), "--jobs", "1", "--name", name]);
        command.envs(environment.iter().copied());
        Started(command.args(more).stdout(Stdio::null()).stderr(Stdio::inherit()).spawn().expect("lab starts"))
    }

    /// Agents with these names.
    pub fn agents(&self, names: &str) -> Vec<Started> {
        names.split(' ').map(|name| self.agent(name)).collect()
    }

    /// A connection of somebody who has this secret.
    pub fn connected(&self, name: &str, secret: &str) -> fleet::Fleet {
        let file = self.scratch.path().join(format!("{name}.secret"));
        fs::write(&file, secret).expect("written");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        fs::set_permissions(&file, mode).expect("set");
        let access = fleet::NatsAccess { url: self.url(), credentials: Some(file), insecure: false };
        fleet::Fleet::connect(&access, name).expect("connected")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.process.is_some() {
            self.kill();
        }
    }
}

impl Started {
    pub fn signal(&self, name: &str) {
        signal(name, self.0.id());
    }

    /// A wait for what it does is in vain then.
    pub fn ended(&mut self) -> bool {
        self.0.try_wait().expect("asked").is_some()
    }

    pub fn kill(&mut self) {
        self.0.kill().expect("killed");
        self.0.wait().expect("gone");
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// False, with a word, where this machine has no server of NATS.
pub fn is_installed() -> bool {
    let found = Command::new("nats-server").arg("--version").stdout(Stdio::null()).status().is_ok();
    if !found {
        assert!(std::env::var_os("LAB_REQUIRE_TOOLS").is_none(), "nats-server is not installed");
        eprintln!("skipped: nats-server is not installed");
    }
    found
}

/// The settings that the program prints, for a server at this address.
pub fn printed_settings(listen: &str) -> String {
    let printed = lab().args(["agent", "--print-nats-config"]).output().expect("lab runs");
    let text = String::from_utf8(printed.stdout).expect("text");
    assert!(text.contains("listen: \"127.0.0.1:4222\"\n") && text.contains("\"lab-nats\""), "{text}");
    text.replace("listen: \"127.0.0.1:4222\"\n", &format!("listen: \"{listen}\"\n"))
}

/// A command of a server that has its settings in `nats.conf`.
pub fn with_passwords(server: &mut Command) -> &mut Command {
    let password = |secret: &str| secret.rsplit(':').next().unwrap_or_default().to_owned();
    server.args(["-c", "nats.conf", "--log", "nats.log"]).env("LAB_COORDINATOR_PASSWORD", password(COORDINATOR)).envs(
        ["LAB_AGENT_PASSWORD", "LAB_AGENT_PASSWORD_A", "LAB_AGENT_PASSWORD_B_1"].map(|name| (name, password(AGENT))),
    )
}

/// The number of runs that a search has.
pub fn runs(folder: &Path) -> usize {
    fs::read_to_string(folder.join("runs.jsonl")).map_or(0, |text| text.lines().count())
}

/// What stands in two folders, but for files that say which machine it was, is the same to the last byte.
#[track_caller]
pub fn assert_same(one: &Path, other: &Path) {
    let names = |folder: &Path| {
        let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        let mut names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
        names.sort();
        names
    };
    assert_eq!(names(one), names(other));
    for name in names(one) {
        let [a, b] = [one, other].map(|folder| folder.join(&name));
        if a.is_dir() {
            assert_same(&a, &b);
        } else if name != "manifest.json" && name != "digests.json" {
            assert!(fs::read(&a).expect("read") == fs::read(&b).expect("read"), "{} differs", a.display());
        }
    }
}
