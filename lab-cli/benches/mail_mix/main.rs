//! Markov mail users beside wrk on the same mix of pages: `cargo bench -p lab-cli --bench mail_mix`, with `-- 1` for one
//! pair only, `-- million` for a million of them who think for a minute.
//!
//! Bound: at most 2.5 times wrk's CPU per request, in the median of 7 alternating pairs. The interval is that of the
//! smallest to the largest pair, which holds the true median in 98 % of cases (1 - 2/2^7).
//!
//! **The server is a copy of Arashi, not Arashi itself.** Arashi answers some 6000 requests a second on one core.
//! Against it both clients would sleep most of the time, and what is compared would be two sleeps and two wakings, which
//! cost both the same and hide what a user machine costs. So before anything is measured, real Arashi (`lab serve`, no
//! extra work, generated mail) is read through once, as far as its links lead a mail user, and each answer is kept byte
//! for byte (see `crawl`). The copy then gives these answers at the speed of a server that does nothing (see `copy`).
//! Mail that users delete or move is still there afterwards: so the pages do not run out, however long the run is.
//!
//! **The Markov users are the real ones**: the model of the thesis, each page parsed for its links, forms filled in, each
//! answer judged. They do not think. 64 users keep 64 connections.
//!
//! **wrk has what the users asked for**: their first 20 000 requests against the copy are recorded and written to a file;
//! a Lua script of wrk reads it once, and sends these very bytes in this order, again and again, on 64 connections. It
//! parses no page.
//!
//! The server counts what each client asked for. If the shares of the request types differ by more than
//! [`MIX_POINTS`], or anything but a whole 200 came, there is no result, and the program fails.
//!
//! The client is on core 0, the server on core 1. CPU times are those that the kernel charges to the client process, its
//! start included (wrk reads its 20 000 requests in it, the users their model).

mod clients;
mod copy;
mod crawl;

use std::{
    env,
    process::{Command, ExitCode},
};

use nix::{
    sched::{CpuSet, sched_setaffinity},
    unistd::Pid,
};

use clients::Measured;
use copy::{CopyServer, TYPES};

const PAIRS: usize = 7;
const SECONDS: u64 = 4;
const CONNECTIONS: u32 = 64;
const CLIENT_CORE: usize = 0;
const SERVER_CORE: usize = 1;
const BOUND: f64 = 2.5;
/// A million users, who think for a minute and take turns on this many connections. They come 100 us apart.
const MILLION: u32 = 1_000_000;
const SHARED: u32 = 4000;
const MILLION_RUNS: usize = 3;
const JUMP_SECONDS: u64 = 105;
const MILLION_SECONDS: u64 = 60;
/// Requests that are recorded for wrk.
const RECORDED: usize = 20_000;
/// Most by which the share of a request type may differ between the clients, in points of 100.
const MIX_POINTS: f64 = 1.5;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let result = match &arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["users", address, seconds, accounts] => clients::users(address, seconds, accounts),
        ["million", address, _, accounts] => clients::million(address, accounts),
        ["million"] => a_million(),
        [] => compare(PAIRS),
        [pairs] => pairs.parse().map_err(|_| format!("`{pairs}` is no number of pairs")).and_then(compare),
        _ => Err("usage: mail_mix [PAIRS|million]".to_owned()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
    }
}

fn compare(pairs: usize) -> Result<(), String> {
    if Command::new("wrk").arg("--version").output().is_err() {
        return Err("wrk is not installed, so there is nothing to compare with".to_owned());
    }
    let mail = crawl::read_through(CONNECTIONS as usize)?;
    println!("the copy: {} answers for {} users", mail.answers.len(), mail.accounts.len());
    let copy = CopyServer::serve(mail.answers)?;
    pin(CLIENT_CORE);
    copy.record(RECORDED);
    clients::run_users(&copy, &mail.accounts, 2)?;
    let script = clients::script(&copy.recorded())?;

    let (mut ratios, mut of_wrk, mut of_users) = (Vec::new(), Vec::new(), Vec::new());
    for pair in 1..=pairs {
        let wrk = clients::run_wrk(&copy, script.path(), SECONDS)?;
        let users = clients::run_users(&copy, &mail.accounts, SECONDS)?;
        let ratio = users.cpu_per_request_us() / wrk.cpu_per_request_us();
        println!("  pair {pair}: wrk {wrk}; Markov users {users}; ratio {ratio:.3}");
        same_mix(&wrk, &users)?;
        ratios.push(ratio);
        of_wrk.push(wrk);
        of_users.push(users);
    }
    print_mix(&of_wrk, &of_users);
    ratios.sort_by(f64::total_cmp);
    let (Some(least), Some(most)) = (ratios.first(), ratios.last()) else { return Ok(()) };
    let median = ratios[ratios.len() / 2];
    let verdict = if median <= BOUND { "holds" } else { "DOES NOT HOLD" };
    println!(
        "CPU per request of Markov mail users / wrk, {CONNECTIONS} connections: median {median:.3} [{least:.3}, {most:.3}] \
         of {}; at most {BOUND}: {verdict}",
        ratios.len()
    );
    Ok(())
}

/// A million users in one process, without wrk. Bounds: lateness of the 99th percentile under 5 ms, at most 1200 MB, one core.
fn a_million() -> Result<(), String> {
    let mail = crawl::read_through(CONNECTIONS as usize)?;
    let copy = CopyServer::serve(mail.answers)?;
    pin(CLIENT_CORE);
    for run in 1..=MILLION_RUNS {
        let [lag, with_jump, megabytes, cpu] = clients::run_million(&copy, &mail.accounts)?;
        let verdict = if lag < 5.0 && megabytes <= 1200.0 { "holds" } else { "DOES NOT HOLD" };
        println!(
            "  run {run}: send lag p99 {lag:.2} ms ({with_jump:.2} with the jump), {megabytes:.0} MB, {:.0} % of a core: {verdict}",
            cpu * 100.0
        );
    }
    Ok(())
}

/// Whether both clients asked for the same, and the server had it all.
fn same_mix(wrk: &Measured, users: &Measured) -> Result<(), String> {
    for (place, name) in TYPES.iter().enumerate() {
        let (a, b) = (wrk.share(place), users.share(place));
        if (a - b).abs() > MIX_POINTS {
            return Err(format!(
                "the mix is not the same: {name} is {a:.2} % of wrk's requests, {b:.2} % of the users'"
            ));
        }
    }
    Ok(())
}

fn print_mix(of_wrk: &[Measured], of_users: &[Measured]) {
    let total = |all: &[Measured], place| all.iter().map(|one| one.share(place)).sum::<f64>() / all.len() as f64;
    println!("the mix          wrk        users   (shares of requests)");
    for (place, name) in TYPES.iter().enumerate() {
        println!("  {name:<14} {:>6.2} %  {:>6.2} %", total(of_wrk, place), total(of_users, place));
    }
    let bytes = |all: &[Measured]| all.iter().map(Measured::bytes_per_answer).sum::<f64>() / all.len() as f64;
    println!("  bytes an answer {:>5.0}    {:>5.0}", bytes(of_wrk), bytes(of_users));
}

/// Pins this thread, and what it starts, to one core. On a machine with one core everything shares it.
fn pin(core: usize) {
    let mut cores = CpuSet::new();
    if cores.set(core).is_err() || sched_setaffinity(Pid::from_raw(0), &cores).is_err() {
        eprintln!("core {core} is not there: client and server share what is");
    }
}
