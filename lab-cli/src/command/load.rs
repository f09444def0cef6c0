//! `lab load`: quick load on any HTTP service, in the manner of wrk2 and oha.

mod silence;
mod text;

use std::{
    net::{IpAddr, SocketAddr, ToSocketAddrs},
    time::Duration,
};

use analysis::{
    figures,
    judge::gates,
    summary::{Arm, GateFinding, Generator, LatencyObjective, Measured, Validity},
};
use controllers::Class;
use measure::{Replayed, Replies, Report, Window};
use reqwest::Url;
use serde::Serialize;
use workloads::{
    RunError, RunOptions,
    plan::{ArrivalLaw, Behaviour, FailureRule, Load, LoadPlan, Phase, Target, UrlUsers, Users},
};

use self::silence::Silence;
use super::print_as;
use crate::{
    args::{self, Output},
    exit::{CommandResult, End, Failure},
    run::StopSignal,
    tui::restore,
};

const DEFAULT_CONNECTIONS: u64 = 64;
const DEFAULT_TIME: Duration = Duration::from_secs(10);
/// Longest time for a count of requests without a rate.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// What `--output json` prints.
#[derive(Debug, Serialize)]
pub(super) struct Loaded {
    schema: u32,
    url: String,
    seconds: f64,
    verdict: Validity,
    valid: bool,
    partial: bool,
    /// The service was gone for so long that the rest of the requests were not made.
    #[serde(skip_serializing_if = "Option::is_none")]
    gave_up: Option<GaveUp>,
    reasons: Vec<GateFinding>,
    generator: Generator,
    requests_per_s: f64,
    /// Something was sent, and nothing was answered as asked: the service failed, whatever the figures are worth.
    nothing_served: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    replayed: Option<Replayed>,
    #[serde(flatten)]
    measured: Measured,
    #[serde(flatten)]
    replies: Replies,
}

/// A count of requests that was not reached.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct GaveUp {
    /// Seconds in a row without a connection or an answer.
    after_s: u64,
    /// Requests that were asked for.
    asked: u64,
    /// Of these: made, whether or not they found a connection.
    made: u64,
}

/// What was done, for the report.
#[derive(Debug, Clone, Copy)]
pub(super) struct Told<'a> {
    /// Where to.
    pub url: &'a str,
    /// Which load.
    pub how: &'a str,
    /// As fast as it goes: a busy generator is what was asked for.
    pub flat_out: bool,
}

pub fn load(args: &args::LoadArgs) -> CommandResult {
    let target = destination(&args.url, &args.allow_host)?;
    let plan = plan(args, target)?;
    let options = RunOptions { requests_limit: args.requests, ..RunOptions::default() };
    let (report, stop, silent) = run(&plan, &options, args.rate.is_none())?;
    let how = match args.rate {
        Some(rate) => format!("{rate} requests/s, open loop"),
        None => format!("{} connections, closed loop", connections(args)),
    };
    let told = Told { url: &args.url, how: &how, flat_out: args.rate.is_none() };
    let asked = args.requests.filter(|_| silent);
    report_on(&told, &plan, &report, asked, args.output, &stop)
}

/// Runs the load until it is over, or until it is interrupted: requests in flight are then cut off.
/// `gives_up`: a load with a count is also over once the service has been gone for [`silence::GIVES_UP_AFTER`]; the flag beside the
/// report says that it was.
pub(super) fn run(
    plan: &LoadPlan,
    options: &RunOptions,
    gives_up: bool,
) -> Result<(Report, StopSignal, bool), Failure> {
    let stop = StopSignal::listen_and_cut(restore).map_err(Failure::because)?;
    let flag = stop.fresh_flag();
    let gives_up = gives_up && options.requests_limit.is_some();
    let (mut silence, mut gave_up) = (Silence::default(), false);
    let on_second = |second: Window| {
        if gives_up && silence.lasts(&second) {
            gave_up = true;
            flag.stop_now();
        }
    };
    let report = workloads::run(plan, options, on_second, &flag).map_err(|error| match error {
        // What was typed cannot be sent.
        RunError::Crowd(problem) => Failure::usage(problem),
        other => Failure::because(other),
    })?;
    Ok((report, stop, gave_up))
}

/// Judges and prints. `given_up`: a count of requests that was not reached, since the service was gone.
pub(super) fn report_on(
    told: &Told<'_>,
    plan: &LoadPlan,
    report: &Report,
    given_up: Option<u64>,
    output: Output,
    stop: &StopSignal,
) -> CommandResult {
    let loaded = judged(told, plan, report, given_up, stop.is_asked());
    print_as(output, &loaded, || text::of(told, &loaded))?;
    if let Some(end) = stop.end() {
        return Ok(end);
    }
    Ok(match (loaded.valid, loaded.nothing_served) {
        (false, _) => End::Invalid,
        (true, true) => End::Failed,
        (true, false) => End::Done,
    })
}

/// Where to. A generator is a weapon: hosts beyond this machine have to be named a second time.
pub(super) fn destination(url: &str, allowed: &[String]) -> Result<(Url, Target), Failure> {
    let bad = |why: &str| Failure::usage(format!("{url}: {why}; write http://127.0.0.1:8080/path"));
    let parsed = Url::parse(url).map_err(|error| bad(&error.to_string()))?;
    if !matches!(parsed.scheme(), "http" | "https") {
        return Err(bad("only http and https can be loaded"));
    }
    let host = parsed.host_str().ok_or_else(|| bad("there is no host"))?.to_owned();
    let port = parsed.port_or_known_default().ok_or_else(|| bad("there is no port"))?;
    if !parsed.username().is_empty() || parsed.password().is_some() {
        return Err(bad("a name and password in the URL end up in shell histories: send a header (-H)"));
    }
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    // Decided by name, before anything is looked up: nothing leaves this machine for a host that was not allowed.
    let here = bare == "localhost" || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    let named = allowed.iter().any(|name| name == &host || name == bare);
    let beyond = || {
        Failure::usage(format!(
            "{host} is beyond this machine: load only what is yours and prepared for it, then say --allow-host {bare}"
        ))
    };
    if !here && !named {
        return Err(beyond());
    }
    let addresses: Vec<SocketAddr> =
        (bare, port).to_socket_addrs().map_err(|error| Failure::because(format!("{host}: {error}")))?.collect();
    let address = *addresses.first().ok_or_else(|| Failure::because(format!("{host} has no address")))?;
    if !address.ip().is_loopback() && !named {
        return Err(beyond()); // a hosts file may say anything of localhost
    }
    let authority = match parsed.port() {
        Some(port) => format!("{host}:{port}"),
        None => host,
    };
    let base = format!("{}://{authority}", parsed.scheme());
    Ok((parsed, Target { url: base, address, host: authority, entries: Vec::new() }))
}

fn connections(args: &args::LoadArgs) -> u64 {
    args.connections.unwrap_or(DEFAULT_CONNECTIONS)
}

fn plan(args: &args::LoadArgs, (url, target): (Url, Target)) -> Result<LoadPlan, Failure> {
    let mut path = url.path().to_owned();
    if let Some(query) = url.query() {
        path.push('?');
        path.push_str(query);
    }
    let headers = args.headers.iter().map(|line| header(line)).collect::<Result<_, _>>()?;
    let connections = u32::try_from(connections(args)).map_err(|_| Failure::usage("-c: too many connections"))?;
    let (duration, loads) = match args.rate {
        None => {
            let longest = if args.requests.is_some() { LONGEST } else { DEFAULT_TIME };
            (args.duration.unwrap_or(longest), vec![Load::users(connections)])
        }
        Some(rate) => {
            let rate = rate as f64;
            let by_count = args.requests.map(|n| Duration::from_secs_f64(n as f64 / rate));
            let load =
                Load::Requests { from_per_s: rate, to_per_s: rate, law: ArrivalLaw::Constant, class: Class::default() };
            (args.duration.or(by_count).unwrap_or(DEFAULT_TIME), vec![load])
        }
    };
    let asks_again = Behaviour::on_any_failure(FailureRule::Login { wait: Duration::ZERO });
    let users = Users::Url(UrlUsers {
        method: args.method.clone(),
        headers,
        body: args.body.clone(),
        behaviour: Behaviour { redirects: 0, refresh: false, ..asks_again },
        ..UrlUsers::new(path)
    });
    Ok(LoadPlan {
        seed: args.seed,
        timeout: args.timeout,
        connect_timeout: args.timeout.min(Duration::from_secs(10)),
        objective: args.timeout,
        drain: args.timeout.min(Duration::from_secs(10)),
        ..LoadPlan::new(target, users, vec![Phase { name: "load".to_owned(), duration, loads }])
    })
}

pub(super) fn header(line: &str) -> Result<(String, String), Failure> {
    match line.split_once(':') {
        Some((name, value)) => Ok((name.trim().to_owned(), value.trim().to_owned())),
        None => Err(Failure::usage(format!("-H {line:?} is no header line: write -H 'Name: value'"))),
    }
}

fn judged(told: &Told<'_>, plan: &LoadPlan, report: &Report, given_up: Option<u64>, partial: bool) -> Loaded {
    let mut arm = Arm {
        generator: figures::generator(report),
        conditions: figures::conditions(report),
        phases: report.phases.iter().map(figures::phase).collect(),
        ..Arm::default()
    };
    let context = gates::Context {
        objective: LatencyObjective { percentile: 99.0, response_time_ms: plan.objective.as_secs_f64() * 1e3 },
        closed: false,
        flat_out: told.flat_out,
        kernel_backlog_declared: true,
        tasks_crash: false,
        own_target: false,
        without_live_view: false,
        foreign_service: false,
        debug_build_plant: false,
        headroom: None,
    };
    gates::stamp(&mut arm, &context);
    let verdict = gates::verdict(&arm.reasons);
    let mut measured = arm.phases.first().map(|phase| phase.measured.clone()).unwrap_or_default();
    // With a count of requests the phase may end long before its time.
    let planned: Duration = plan.phases.iter().map(|phase| phase.duration).sum();
    let seconds = report.seconds.min(planned.as_secs_f64());
    if seconds > 0.0 {
        measured.offered_per_s = (measured.planned - measured.retries) as f64 / seconds;
        measured.goodput_per_s = measured.served as f64 / seconds;
    }
    let replies = arm.phases.first().map(|phase| phase.replies.clone()).unwrap_or_default();
    let gave_up = given_up.filter(|asked| measured.planned < *asked).map(|asked| GaveUp {
        after_s: silence::GIVES_UP_AFTER.as_secs(),
        asked,
        made: measured.planned,
    });
    let answered = measured.served + measured.served_late + measured.rejected + measured.failed;
    Loaded {
        schema: analysis::summary::SCHEMA,
        url: told.url.to_owned(),
        seconds,
        verdict,
        valid: verdict != Validity::Invalid,
        partial,
        gave_up,
        reasons: arm.reasons,
        generator: arm.generator,
        replayed: report.replayed,
        requests_per_s: if seconds > 0.0 { answered as f64 / seconds } else { 0.0 },
        // What is still open may yet be served.
        nothing_served: measured.sent > measured.in_flight && measured.served + measured.served_late == 0,
        measured,
        replies,
    }
}
