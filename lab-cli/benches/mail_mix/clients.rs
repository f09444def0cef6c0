//! The two clients, each a process of its own, and what they cost.

use std::{
    env, fmt, fs,
    io::Read as _,
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use measure::{Report, TimeFamily};
use nix::sys::{
    resource::{UsageWho, getrusage},
    time::TimeValLike,
};
use senders::RunOptions;
use tempfile::TempDir;
use traces::Think;
use workloads::{
    StopFlag,
    plan::{Account, ConnectionHabit, Load, LoadPlan, MailUsers, Phase, Target, Users},
};

use super::{
    CONNECTIONS, JUMP_SECONDS, MILLION, MILLION_SECONDS, SHARED,
    copy::{CopyServer, Seen},
};

/// One run of a client.
#[derive(Debug)]
pub(crate) struct Measured {
    answered: f64,
    seconds: f64,
    cpu: Duration,
    seen: Seen,
}

impl Measured {
    pub fn cpu_per_request_us(&self) -> f64 {
        self.cpu.as_secs_f64() * 1e6 / self.answered
    }

    /// Share of a request type, in per cent.
    pub fn share(&self, place: usize) -> f64 {
        100.0 * self.seen.requests[place] as f64 / self.seen.requests.iter().sum::<u64>() as f64
    }

    pub fn bytes_per_answer(&self) -> f64 {
        self.seen.bytes as f64 / self.seen.requests.iter().sum::<u64>() as f64
    }

    /// The client's count and the server's agree but for what was open at the end, and the server knew everything.
    fn checked(self, who: &str) -> Result<Self, String> {
        let seen = self.seen.requests.iter().sum::<u64>() as f64;
        if self.seen.unknown > 0 {
            return Err(format!("{who} asked {} times for what the copy does not have", self.seen.unknown));
        }
        if !(self.answered > 0.0 && (seen - self.answered).abs() <= f64::from(2 * CONNECTIONS)) {
            return Err(format!("{who} counted {} answers, the server {seen} requests", self.answered));
        }
        Ok(self)
    }
}

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:.2} us a request ({:.0}/s, {:.0} % of a core)",
            self.cpu_per_request_us(),
            self.answered / self.seconds,
            100.0 * self.cpu.as_secs_f64() / self.seconds
        )
    }
}

/// A folder with wrk's script and the requests that it sends.
pub fn script(requests: &[Vec<u8>]) -> Result<Script, String> {
    let failed = |error: std::io::Error| error.to_string();
    if requests.len() < super::RECORDED {
        return Err(format!("only {} requests could be recorded", requests.len()));
    }
    let folder = tempfile::tempdir().map_err(failed)?;
    let data = folder.path().join("requests");
    // One request a line. No header or form that users send has a tab in it.
    let lines: Vec<String> =
        requests.iter().map(|request| String::from_utf8_lossy(request).replace("\r\n", "\t")).collect();
    fs::write(&data, lines.join("\n")).map_err(failed)?;
    let script = format!(
        "local requests, count, at = {{}}, 0, 0\n\
         function init()\n\
           for line in io.lines('{}') do\n\
             count = count + 1\n\
             requests[count] = line:gsub('\\t', '\\r\\n')\n\
           end\n\
         end\n\
         function request()\n\
           at = at % count + 1\n\
           return requests[at]\n\
         end\n",
        data.display()
    );
    fs::write(folder.path().join("mix.lua"), script).map_err(failed)?;
    Ok(Script(folder))
}

/// Gone when dropped.
pub struct Script(TempDir);

impl Script {
    pub fn path(&self) -> std::path::PathBuf {
        self.0.path().join("mix.lua")
    }
}

pub fn run_wrk(copy: &CopyServer, script: impl AsRef<Path>, seconds: u64) -> Result<Measured, String> {
    let mut command = Command::new("wrk");
    command.args(["-t1", &format!("-c{CONNECTIONS}"), &format!("-d{seconds}s"), "-s"]);
    command.arg(script.as_ref()).arg(format!("http://{}/", copy.address));
    let (output, measured) = measure(&mut command, copy, seconds, |output| {
        let line = output.lines().find(|line| line.contains(" requests in "))?;
        line.split_whitespace().next()?.parse().ok()
    })?;
    if let Some(trouble) = output.lines().find(|line| line.contains("Non-2xx") || line.contains("Socket errors")) {
        return Err(format!("wrk: {}", trouble.trim()));
    }
    measured.checked("wrk")
}

pub fn run_users(copy: &CopyServer, accounts: &[Account], seconds: u64) -> Result<Measured, String> {
    child("users", copy, seconds, accounts)?.1.checked("the users")
}

/// This program once more, with this as its first argument.
fn child(what: &str, copy: &CopyServer, seconds: u64, accounts: &[Account]) -> Result<(String, Measured), String> {
    let myself = env::current_exe().map_err(|error| error.to_string())?;
    let accounts: Vec<String> = accounts.iter().map(|a| format!("{}:{}", a.user, a.password)).collect();
    let mut command = Command::new(myself);
    command.args([what, &copy.address.to_string(), &seconds.to_string(), &accounts.join(",")]);
    measure(&mut command, copy, seconds, |output| output.split_whitespace().next()?.parse().ok())
}

fn measure(
    command: &mut Command,
    copy: &CopyServer,
    seconds: u64,
    answered: impl Fn(&str) -> Option<f64>,
) -> Result<(String, Measured), String> {
    let failed = |error: std::io::Error| error.to_string();
    let _ = copy.seen();
    let before = cpu_of_children();
    let mut child = command.stdout(Stdio::piped()).spawn().map_err(failed)?;
    let mut output = String::new();
    child.stdout.take().expect("piped").read_to_string(&mut output).map_err(failed)?;
    let status = child.wait().map_err(failed)?;
    let cpu = cpu_of_children().saturating_sub(before);
    let Some(answered) = answered(&output).filter(|_| status.success()) else {
        return Err(format!("{:?} failed ({status}): {output}", command.get_program()));
    };
    Ok((output, Measured { answered, seconds: seconds as f64, cpu, seen: copy.seen() }))
}

fn cpu_of_children() -> Duration {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).expect("the kernel keeps books");
    Duration::from_micros((usage.user_time().num_microseconds() + usage.system_time().num_microseconds()) as u64)
}

/// A million users in a process of its own: how late their requests were once all were there (99th percentile, ms), likewise with
/// their coming, memory (MB) and share of a core.
pub fn run_million(copy: &CopyServer, accounts: &[Account]) -> Result<[f64; 4], String> {
    let (output, measured) = child("million", copy, JUMP_SECONDS + MILLION_SECONDS, accounts)?;
    measured.checked("the users")?;
    let figures: Vec<f64> = output.split_whitespace().skip(1).filter_map(|word| word.parse().ok()).collect();
    figures.try_into().map_err(|_| format!("figures are missing: {output}"))
}

/// The child process: Markov users without a pause. Prints how many requests were answered as asked.
pub fn users(address: &str, seconds: &str, accounts: &str) -> Result<(), String> {
    let seconds = seconds.parse().map_err(|_| "seconds")?;
    let users = markov(accounts, &Think::Constant(Duration::ZERO));
    let report = send(address, users, &[("load", seconds, CONNECTIONS)])?;
    println!("{}", answered(&report)?);
    Ok(())
}

/// The child process: a million Markov users who think for a minute. Prints the number of answers, and the figures.
pub fn million(address: &str, accounts: &str) -> Result<(), String> {
    let mut users = markov(accounts, &Think::Exponential { mean: Duration::from_secs(60) });
    users.connections = ConnectionHabit::Shared { most: Some(SHARED) };
    let report = send(address, users, &[("jump", JUMP_SECONDS, MILLION), ("all", MILLION_SECONDS, MILLION)])?;
    let steady = report.distribution("all", TimeFamily::SendLag, None).and_then(|lag| lag.percentiles().p99);
    let [steady, with_jump] = [steady, report.generator.send_lag_p99_ms].map(|lag| lag.unwrap_or(f64::INFINITY));
    let health = &report.generator.health;
    let (megabytes, cpu) = (health.resident_peak / 1_000_000, health.process_cpu.div_duration_f64(health.wall));
    println!("{} {steady} {with_jump} {megabytes} {cpu}", answered(&report)?);
    Ok(())
}

fn markov(accounts: &str, thinks: &Think) -> MailUsers {
    let accounts = accounts.split(',').filter_map(|account| account.split_once(':'));
    let mut model = workloads::mail::arashi();
    model.think.values_mut().for_each(|think| think.clone_from(thinks));
    let accounts = accounts.map(|(user, password)| Account { user: user.into(), password: password.into() }).collect();
    MailUsers::new(model, accounts)
}

fn send(address: &str, users: MailUsers, phases: &[(&str, u64, u32)]) -> Result<Report, String> {
    let phase = |&(name, seconds, users): &(&str, u64, u32)| Phase {
        name: name.into(),
        duration: Duration::from_secs(seconds),
        loads: vec![Load::users(users)],
    };
    let target = Target::at(address.parse().map_err(|_| "address")?);
    let plan = LoadPlan {
        timeout: Duration::from_secs(10),
        connect_timeout: Duration::from_secs(5),
        drain: Duration::from_secs(2),
        ..LoadPlan::new(target, Users::Mail(users), phases.iter().map(phase).collect())
    };
    senders::run(&plan, &RunOptions::default(), |_| {}, &StopFlag::new()).map_err(|e| e.to_string())
}

fn answered(report: &Report) -> Result<u64, String> {
    let ledger = &report.total.measured;
    let served = ledger.served + ledger.served_late;
    if ledger.sent != served { Err(format!("not every request was answered as asked: {ledger:?}")) } else { Ok(served) }
}
