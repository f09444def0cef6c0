//! `lab serve` as a process, ended by its process id when it is dropped.

use std::{
    fs,
    io::Write,
    net::SocketAddr,
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use controllers::{Objective, catalogue::PolicySpec};
use live_service::control::client::ControlClient;
use serde_json::{Value, json};
use spec::{App, EmulatedSpec, ServiceTime, TargetSpec, WorkSpec, services::TaskSpec, wire::ServerLedger};

use crate::{
    arashi::{Mail, Program},
    served::Kept,
};

/// A running service.
pub struct Service {
    child: Kept,
    pub name: &'static str,
    pub address: SocketAddr,
    pub ready: Value,
    /// The service that it is a proxy of.
    pub behind: Option<Box<Service>>,
    _folder: tempfile::TempDir,
}

impl Service {
    /// One whose every request takes a millisecond.
    pub fn emulated(edge: Value) -> Self {
        Self::start("emulated", tempfile::tempdir().expect("a folder"), Self::quick(), edge)
    }

    /// The same with answers of so many bytes.
    pub fn emulated_with(answer_bytes: u32, edge: Value) -> Self {
        Self::start("emulated", tempfile::tempdir().expect("a folder"), Self::quick_with(answer_bytes), edge)
    }

    fn quick() -> App {
        Self::quick_with(200)
    }

    fn quick_with(answer_bytes: u32) -> App {
        let time = ServiceTime::Constant(Duration::from_millis(1));
        App::Emulated(EmulatedSpec { servers: 64, answer_bytes, ..EmulatedSpec::one(time) })
    }

    /// Arashi with this mail (mbox), for alice with the password `secret`.
    pub fn arashi(mail: &str, edge: Value) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let database = folder.path().join("mail.sqlite");
        import(folder.path(), &database, mail);
        let app = App::Arashi { database, work: WorkSpec::default(), spec: spec::ArashiSpec::default() };
        Self::start("arashi", folder, app, edge)
    }

    /// An emulated one that may have so many descriptors.
    pub fn with_files(files: u32, edge: Value) -> Self {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("ulimit -n {files}; exec \"$0\" serve --spec-stdin")]).arg(crate::program::path());
        Self::told("emulated", tempfile::tempdir().expect("a folder"), Self::quick(), edge, command)
    }

    /// An emulated one with a token from a file.
    pub fn with_token_file(file: &Path) -> Self {
        let mut command = crate::program::lab();
        command.args(["serve", "--spec-stdin", "--control-token-file"]).arg(file);
        Self::told("emulated", tempfile::tempdir().expect("a folder"), Self::quick(), json!({}), command)
    }

    /// Both kinds, with every limit as usual.
    pub fn both() -> [Self; 2] {
        [Self::arashi(LETTER, json!({})), Self::emulated(json!({}))]
    }

    /// An emulated one behind `lab proxy` with these settings.
    pub fn proxied(settings: Value) -> Self {
        Self::emulated(json!({})).behind_proxy(settings)
    }

    /// `lab proxy` with these settings, before this service.
    pub fn behind_proxy(self, mut settings: Value) -> Self {
        let behind = self;
        settings["to"] = json!([behind.ready["url"]]);
        settings["listen"] = json!("127.0.0.1:0");
        let mut command = crate::program::lab();
        command.args(["proxy", "--json", "--config", "-"]);
        let folder = tempfile::tempdir().expect("a folder");
        let mut proxy = Self::ready("proxy", folder, &settings.to_string(), command);
        proxy.behind = Some(Box::new(behind));
        proxy
    }

    fn start(name: &'static str, folder: tempfile::TempDir, app: App, edge: Value) -> Self {
        let mut command = crate::program::lab();
        command.args(["serve", "--spec-stdin"]);
        Self::told(name, folder, app, edge, command)
    }

    /// Starts it, and tells it what it is to be.
    fn told(name: &'static str, folder: tempfile::TempDir, app: App, edge: Value, command: Command) -> Self {
        let objective = Objective { percentile: 90.0, response_time: Duration::from_secs(1) };
        let policy = PolicySpec { name: "none".to_owned(), place: None, settings: Default::default() };
        let target = TargetSpec::new(app, policy, objective);
        let mut task = serde_json::to_value(TaskSpec::alone(target)).expect("is JSON");
        task["target"]["edge"] = edge; // with what is not said as usual
        Self::ready(name, folder, &task.to_string(), command)
    }

    /// Starts it with its settings, and waits until it is ready.
    fn ready(name: &'static str, folder: tempfile::TempDir, settings: &str, mut command: Command) -> Self {
        command.current_dir(folder.path());
        let mut child = Kept(command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("lab starts"));
        child.0.stdin.take().expect("piped").write_all(settings.as_bytes()).expect("takes its settings");
        let line = child.first_line();
        let ready: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("no ready line: {line:?}"));
        let address = ready["url"].as_str().and_then(|url| url.strip_prefix("http://")?.parse().ok());
        Self { child, name, address: address.expect("an address"), ready, behind: None, _folder: folder }
    }

    /// Heads that it read and that were no acceptable HTTP, as its own ledger says.
    pub fn malformed(&self) -> u64 {
        self.ledger().malformed
    }

    /// Open connections of clients.
    pub fn connections(&self) -> u64 {
        self.ledger().connections_open
    }

    fn ledger(&self) -> ServerLedger {
        let ready = serde_json::from_value(self.ready.clone()).expect("a ready line");
        ControlClient::of(&ready).expect("an address").gauges().expect("it runs").ledger
    }

    pub fn pid(&self) -> u32 {
        self.child.0.id()
    }

    /// Resident memory, bytes.
    pub fn resident(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid())).expect("it runs");
        let kib = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix("kB"));
        kib.and_then(|kib| kib.trim().parse::<u64>().ok()).expect("a size") * 1024
    }

    /// Whether it has ended by itself.
    pub fn has_ended(&mut self) -> bool {
        self.child.0.try_wait().expect("is a child").is_some()
    }
}

/// A letter without anything about it.
pub const LETTER: &str = "From a@b.example Mon Nov 23 07:00:00 2026\nFrom: a@b.example\nTo: alice@b.example\nSubject: one\n\
                      Date: Mon, 23 Nov 2026 07:00:00 +0000\n\nHello.\n";

/// Has the program itself import the mail.
fn import(home: &Path, database: &Path, mail: &str) {
    let mbox = home.join("mail.mbox");
    fs::write(&mbox, mail).expect("is written");
    Program::serve(home, database, Some(Mail { path: &mbox, user: "alice" })).address();
}
