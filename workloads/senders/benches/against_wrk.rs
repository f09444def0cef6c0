//! The generator beside wrk, on one machine and against one server: `cargo bench -p senders --bench against_wrk`.
//!
//! Three processes: this one, which only starts the others; a server that does nothing, on core 1; a client, on core 0,
//! which is wrk or this program again. CPU times are those that the kernel charges to the client process, start and end
//! included. Pairs alternate, so that what drifts on the machine hits both; the interval of the median of 7 is that of
//! the smallest to the largest of the pairs, which holds the true median in 98 % of cases (1 - 2/2^7).
//!
//! Without wrk only the parts that need none are run.

mod null_server;

use std::{
    env,
    io::{BufRead, BufReader, Read as _},
    net::SocketAddr,
    process::{Child, Command, ExitCode, Stdio},
    time::Duration,
};

use nix::{
    sched::{CpuSet, sched_setaffinity},
    sys::{
        resource::{Resource, UsageWho, getrlimit, getrusage, setrlimit},
        time::TimeValLike,
    },
    unistd::Pid,
};
use senders::RunOptions;
use workloads::{
    StopFlag,
    plan::{Behaviour, ConnectionHabit, Load, LoadPlan, Phase, Target, UrlUsers, Users},
};

const PAIRS: usize = 7;
const SECONDS: u64 = 4;
/// Share of the many users that keep their connection: as many as fit into 20 000 descriptors with room for the others.
const KEPT: f64 = 0.15;
/// Over which the many users arrive. Each sends at once and every 10 s on average from then on, so the ramp ends with more
/// requests a second (14 000) than there are afterwards (10 000).
const RAMP_SECONDS: u64 = 25;
const STEADY_SECONDS: u64 = 20;
/// A million users, who think for a minute and take turns on this many connections.
const MILLION: u32 = 1_000_000;
const SHARED: u32 = 4000;
const MILLION_RUNS: usize = 3;
/// A million users who are 100 us apart are there after 100 s. Each sends at once and every 60 s on average from then on: 10 000 requests
/// a second at first, 23 000 at the end of the jump, 16 700 afterwards.
const JUMP_SECONDS: u64 = 105;
const MILLION_SECONDS: u64 = 60;
const CLIENT_CORE: usize = 0;
const SERVER_CORE: usize = 1;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).filter(|argument| argument != "--bench").collect();
    match &arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["serve"] => null_server::serve(),
        ["closed", address, connections, seconds] => closed(parsed(address), parsed(connections), parsed(seconds)),
        ["many", address, users, ramp, seconds] => {
            many(parsed(address), parsed(users), parsed(ramp), parsed(seconds));
        }
        ["million", address] => million(parsed(address)),
        ["paced", address, users, seconds] => paced(parsed(address), parsed(users), parsed(seconds)),
        [] => return compare(&["cpu", "many"]),
        parts => return compare(parts),
    }
    ExitCode::SUCCESS
}

fn compare(parts: &[&str]) -> ExitCode {
    pin(CLIENT_CORE);
    let mut server = start_server();
    let address = server.address;
    for part in parts {
        match *part {
            "cpu" => cpu_per_request(address),
            "many" => many_users(address),
            "million" => a_million_users(address),
            "stalls" => stalls(address),
            other => eprintln!("there is no part `{other}`: cpu, many, million, stalls"),
        }
    }
    let _ = server.process.kill();
    let _ = server.process.wait();
    ExitCode::SUCCESS
}

/// CPU per request of closed users without a pause at 64 connections, as a multiple of wrk's.
fn cpu_per_request(address: SocketAddr) {
    if Command::new("wrk").arg("--version").output().is_err() {
        println!("CPU per request: wrk is not installed, so there is nothing to compare with");
        return;
    }
    let seconds = SECONDS.to_string();
    let mut ratios = Vec::new();
    for pair in 1..=PAIRS {
        let url = format!("http://{address}/");
        let wrk = measure(Command::new("wrk").args(["-t1", "-c64", "-d", &format!("{seconds}s"), &url]), wrk_requests);
        let ours = measure(myself().args(["closed", &address.to_string(), "64", &seconds]), first_number);
        println!(
            "  pair {pair}: wrk {:.2} us a request ({:.0}/s), lab {:.2} us ({:.0}/s), ratio {:.3}",
            wrk.cpu_per_request_us(),
            wrk.requests / SECONDS as f64,
            ours.cpu_per_request_us(),
            ours.requests / SECONDS as f64,
            ours.cpu_per_request_us() / wrk.cpu_per_request_us()
        );
        ratios.push(ours.cpu_per_request_us() / wrk.cpu_per_request_us());
    }
    print_median("CPU per request at 64 connections, lab / wrk", &mut ratios, "at most 1.15", |median| median <= 1.15);
}

/// 100 000 users with 10 s of think time in one process. The bound is on the time when all are there; the ramp is shown too.
fn many_users(address: SocketAddr) {
    let (ramp, steady) = (RAMP_SECONDS.to_string(), STEADY_SECONDS.to_string());
    crowds("100 000 users", PAIRS, 400.0, &["many", &address.to_string(), "100000", &ramp, &steady]);
}

/// A million users with 60 s of think time in one process, on shared connections. They come as a jump, which is shown too.
fn a_million_users(address: SocketAddr) {
    crowds("a million users", MILLION_RUNS, 1200.0, &["million", &address.to_string()]);
}

/// Runs of so many users, each a process of its own with these arguments; `most`: the bound on its memory, MB.
fn crowds(users: &str, runs: usize, most: f64, arguments: &[&str]) {
    let (mut lags, mut memory) = (Vec::new(), Vec::new());
    for run in 1..=runs {
        let client = measure(myself().args(arguments), first_number);
        let numbers: Vec<f64> = client.output.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let [requests, lag_ms, with_ramp_ms, megabytes, cpu, gap_ms, steal, ..] = numbers[..] else {
            println!("  run {run}: the client failed: {}", client.output);
            continue;
        };
        println!(
            "  run {run}: {requests:.0} requests, send lag p99 {lag_ms:.2} ms ({with_ramp_ms:.2} with the ramp), \
             {megabytes:.0} MB, {:.0} % of a core, largest gap {gap_ms:.1} ms, steal {:.1} % of the machine",
            cpu * 100.0,
            steal * 100.0,
        );
        if let Some((_, rest)) = client.output.split_once("without ports") {
            println!("    without ports{}", rest.trim_end());
        }
        lags.push(lag_ms);
        memory.push(megabytes);
    }
    print_median(&format!("send lag p99 of {users}, ms"), &mut lags, "under 5", |median| median < 5.0);
    print_median(&format!("memory of {users}, MB"), &mut memory, &format!("under {most}"), |median| median < most);
}

/// Users that think and keep their connection, at several rates: how often the sender's loop stalls, and why.
fn stalls(address: SocketAddr) {
    for users in ["100", "500", "1000"] {
        for _ in 0..PAIRS {
            let client = measure(myself().args(["paced", &address.to_string(), users, "8"]), first_number);
            println!("  {users} users: {}", client.output.trim());
        }
    }
}

// The clients.

fn closed(address: SocketAddr, connections: u32, seconds: u64) {
    let users = vec![Load::users(connections)];
    let plan = plan(address, Duration::from_secs(seconds), users, ConnectionHabit::PerUser);
    let report = run(&plan);
    println!("{}", report.total.measured.served);
}

fn many(address: SocketAddr, users: u32, ramp_seconds: u64, seconds: u64) {
    let ramp = Load::Users { from: 0, to: users, class: controllers::Class(0) };
    let all = Load::users(users);
    let mut plan = plan(address, Duration::from_secs(ramp_seconds), vec![ramp], ConnectionHabit::Mixed { keep: KEPT });
    plan.phases.push(Phase { name: "all".to_owned(), duration: Duration::from_secs(seconds), loads: vec![all] });
    if let Users::Url(users) = &mut plan.users {
        users.think = traces::Think::Exponential { mean: Duration::from_secs(10) };
    }
    plan.sources = 16;
    print_crowd(&run(&plan));
}

fn million(address: SocketAddr) {
    let shared = ConnectionHabit::Shared { most: Some(SHARED) };
    let mut plan = plan(address, Duration::from_secs(JUMP_SECONDS), vec![Load::users(MILLION)], shared);
    let lasts = Duration::from_secs(MILLION_SECONDS);
    plan.phases.push(Phase { name: "all".to_owned(), duration: lasts, loads: vec![Load::users(MILLION)] });
    if let Users::Url(users) = &mut plan.users {
        users.think = traces::Think::Exponential { mean: Duration::from_secs(60) };
    }
    print_crowd(&run(&plan));
}

fn print_crowd(report: &workloads::measure::Report) {
    let health = &report.generator.health;
    let steady = report.distribution("all", workloads::measure::TimeFamily::SendLag, None);
    let steady_lag = steady.and_then(|lag| lag.percentiles().p99).unwrap_or(f64::INFINITY);
    println!(
        "{} {steady_lag} {} {} {} {} {} without ports {}, without descriptors {}, at most {} in flight, {:?}, {} stalls: {:?}",
        report.total.measured.served + report.total.measured.served_late,
        report.generator.send_lag_p99_ms.unwrap_or(f64::INFINITY),
        health.resident_peak / 1_000_000,
        health.process_cpu.as_secs_f64() / health.wall.as_secs_f64(),
        health.largest_gap.as_secs_f64() * 1e3,
        health.steal,
        health.out_of_ports,
        health.out_of_descriptors,
        health.in_flight_peak,
        report.total.measured,
        health.stalls.len() as u64 + health.more_stalls,
        &health.stalls[..health.stalls.len().min(8)],
    );
}

/// 50 requests a second and user.
fn paced(address: SocketAddr, users: u32, seconds: u64) {
    let load = Load::users(users);
    let mut plan = plan(address, Duration::from_secs(seconds), vec![load], ConnectionHabit::PerUser);
    if let Users::Url(users) = &mut plan.users {
        users.think = traces::Think::Exponential { mean: Duration::from_millis(20) };
    }
    let report = run(&plan);
    let health = &report.generator.health;
    println!(
        "{} served, response p50 {:?} p99 {:?} ms, send lag p50 {:?} p99 {:?} max {:?} ms, CPU {:.2}, steal {:.4}, \
         largest gap {:?}, {} stalls: {:?}",
        report.total.measured.served,
        report.total.measured.response_time_ms.p50,
        report.total.measured.response_time_ms.p99,
        report.generator.send_lag_p50_ms,
        report.generator.send_lag_p99_ms,
        report.generator.send_lag_max_ms,
        health.sender_cpu.as_secs_f64() / health.wall.as_secs_f64(),
        health.steal,
        health.largest_gap,
        health.stalls.len() as u64 + health.more_stalls,
        &health.stalls[..health.stalls.len().min(5)],
    );
}

fn run(plan: &LoadPlan) -> workloads::measure::Report {
    senders::run(plan, &RunOptions::default(), |_| {}, &StopFlag::new()).unwrap_or_else(|error| {
        eprintln!("{error}");
        std::process::exit(1);
    })
}

fn plan(address: SocketAddr, duration: Duration, loads: Vec<Load>, connections: ConnectionHabit) -> LoadPlan {
    let behaviour = Behaviour { redirects: 0, refresh: false, ..Behaviour::default() };
    let users = Users::Url(UrlUsers { behaviour, connections, ..UrlUsers::new("/") });
    LoadPlan {
        timeout: Duration::from_secs(10),
        connect_timeout: Duration::from_secs(5),
        drain: Duration::from_secs(2),
        ..LoadPlan::new(Target::at(address), users, vec![Phase { name: "load".to_owned(), duration, loads }])
    }
}

// Processes and numbers.

struct Server {
    process: Child,
    address: SocketAddr,
}

fn start_server() -> Server {
    let mut process = myself().arg("serve").stdout(Stdio::piped()).spawn().expect("this program can be started again");
    let mut line = String::new();
    BufReader::new(process.stdout.take().expect("piped")).read_line(&mut line).expect("the server says where it is");
    Server { process, address: parsed(line.trim()) }
}

struct Measured {
    requests: f64,
    cpu: Duration,
    output: String,
}

impl Measured {
    fn cpu_per_request_us(&self) -> f64 {
        self.cpu.as_secs_f64() * 1e6 / self.requests
    }
}

fn measure(command: &mut Command, requests: fn(&str) -> Option<f64>) -> Measured {
    let before = children_cpu();
    let mut child = command.stdout(Stdio::piped()).spawn().expect("the client can be started");
    let mut output = String::new();
    child.stdout.take().expect("piped").read_to_string(&mut output).expect("the client prints text");
    child.wait().expect("the client ends");
    Measured { requests: requests(&output).unwrap_or(f64::NAN), cpu: children_cpu().saturating_sub(before), output }
}

fn children_cpu() -> Duration {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).expect("the kernel keeps books");
    Duration::from_micros((usage.user_time().num_microseconds() + usage.system_time().num_microseconds()) as u64)
}

/// `  540123 requests in 4.00s, 65.4MB read`
fn wrk_requests(output: &str) -> Option<f64> {
    let line = output.lines().find(|line| line.contains(" requests in "))?;
    line.split_whitespace().next()?.parse().ok()
}

fn first_number(output: &str) -> Option<f64> {
    output.split_whitespace().next()?.parse().ok()
}

fn print_median(what: &str, values: &mut [f64], bound: &str, holds: impl Fn(f64) -> bool) {
    values.sort_by(f64::total_cmp);
    let (Some(least), Some(most)) = (values.first(), values.last()) else { return };
    let median = values[values.len() / 2];
    let verdict = if holds(median) { "holds" } else { "DOES NOT HOLD" };
    println!("{what}: median {median:.3} [{least:.3}, {most:.3}] of {}; {bound}: {verdict}", values.len());
}

/// A server of many needs a descriptor for each.
fn raise_descriptor_limit() {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).expect("a limit");
    if soft < hard {
        setrlimit(Resource::RLIMIT_NOFILE, hard, hard).expect("a soft limit may be raised to the hard one");
    }
}

fn myself() -> Command {
    Command::new(env::current_exe().expect("this program has a path"))
}

/// Pins this process, and what it starts, to one core. On a machine with one core everything shares it.
fn pin(core: usize) {
    let mut cores = CpuSet::new();
    if cores.set(core).is_err() || sched_setaffinity(Pid::from_raw(0), &cores).is_err() {
        eprintln!("core {core} is not there: client and server share what is");
    }
}

fn parsed<T: std::str::FromStr>(text: &str) -> T {
    text.parse().unwrap_or_else(|_| {
        eprintln!("`{text}` is not what this argument should be");
        std::process::exit(2)
    })
}
