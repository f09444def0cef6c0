//! `lab load`: quick load on any HTTP service, in the manner of wrk2 and oha.

use std::{
    fmt::Write,
    net::{IpAddr, SocketAddr, ToSocketAddrs},
    time::Duration,
};

use controllers::Class;
use reqwest::Url;
use serde::Serialize;
use workloads::{
    Options,
    measure::{Report, least_samples},
    plan::{ArrivalLaw, Behaviour, Load, LoadPlan, OnTrouble, Phase, Target, UrlUsers, Users},
};

use super::print;
use crate::{
    args::{self, Output},
    exit::{End, Failure, Outcome},
    judge::gates,
    run::{Stop, conditions_of, generator_of, phase_of},
    summary::{Arm, Generator, Measured, Objective, Reason, Times, Verdict},
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
    verdict: Verdict,
    valid: bool,
    partial: bool,
    reasons: Vec<Reason>,
    generator: Generator,
    requests_per_s: f64,
    #[serde(flatten)]
    measured: Measured,
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

pub fn load(args: &args::Load) -> Outcome {
    let target = destination(&args.url, &args.allow_host)?;
    let plan = plan(args, target)?;
    let stop = Stop::listen().map_err(Failure::because)?;
    let options = Options { requests_limit: args.requests, ..Options::default() };
    let report = workloads::run(&plan, &options, |_| {}, &stop.fresh_flag()).map_err(Failure::because)?;
    let how = match args.rate {
        Some(rate) => format!("{rate} requests/s, open loop"),
        None => format!("{} connections, closed loop", connections(args)),
    };
    let told = Told { url: &args.url, how: &how, flat_out: args.rate.is_none() };
    report_on(&told, &plan, &report, args.output, &stop)
}

/// Judges and prints.
pub(super) fn report_on(told: &Told<'_>, plan: &LoadPlan, report: &Report, output: Output, stop: &Stop) -> Outcome {
    let loaded = judged(told, plan, report, stop.is_asked());
    match output {
        Output::Json => {
            let mut text = serde_json::to_string_pretty(&loaded).map_err(Failure::because)?;
            text.push('\n');
            print(text.as_bytes())?;
        }
        Output::Text => {
            print(for_people(told, &loaded).as_bytes())?;
        }
    }
    if let Some(end) = stop.end() {
        return Ok(end);
    }
    Ok(if loaded.valid { End::Done } else { End::Invalid })
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

fn connections(args: &args::Load) -> u64 {
    args.connections.unwrap_or(DEFAULT_CONNECTIONS)
}

fn plan(args: &args::Load, (url, target): (Url, Target)) -> Result<LoadPlan, Failure> {
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
    let asks_again = Behaviour::in_trouble(OnTrouble::Login { wait: Duration::ZERO });
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

fn judged(told: &Told<'_>, plan: &LoadPlan, report: &Report, partial: bool) -> Loaded {
    let mut arm = Arm {
        generator: generator_of(report),
        conditions: conditions_of(report),
        phases: report.phases.iter().map(phase_of).collect(),
        ..Arm::default()
    };
    let context = gates::Context {
        objective: Objective { percentile: 99.0, response_time_ms: plan.objective.as_secs_f64() * 1e3 },
        closed: false,
        kernel_backlog_declared: true,
        own_target: false,
        headroom: None,
    };
    gates::stamp(&mut arm, &context);
    if told.flat_out {
        arm.reasons.retain(|reason| reason.code != "CPU" && reason.code != "LAG");
    }
    let verdict = gates::verdict(&arm.reasons);
    let mut measured = arm.phases.first().map(|phase| phase.measured.clone()).unwrap_or_default();
    // With a count of requests the phase may end long before its time.
    let planned: Duration = plan.phases.iter().map(|phase| phase.duration).sum();
    let seconds = report.seconds.min(planned.as_secs_f64());
    if seconds > 0.0 {
        measured.offered_per_s = (measured.planned - measured.retries) as f64 / seconds;
        measured.goodput_per_s = measured.served as f64 / seconds;
    }
    let answered = measured.served + measured.served_late + measured.rejected + measured.failed;
    Loaded {
        schema: crate::summary::SCHEMA,
        url: told.url.to_owned(),
        seconds,
        verdict,
        valid: verdict != Verdict::Invalid,
        partial,
        reasons: arm.reasons,
        generator: arm.generator,
        requests_per_s: if seconds > 0.0 { answered as f64 / seconds } else { 0.0 },
        measured,
    }
}

fn for_people(told: &Told<'_>, loaded: &Loaded) -> String {
    let mut text = String::new();
    let found = &loaded.measured;
    let _ = writeln!(text, "{}: {}, {:.1} s", told.url, told.how, loaded.seconds);
    let _ = writeln!(text, "  answered        {:>12.1} /s", loaded.requests_per_s);
    for (name, count) in [
        ("served", found.served + found.served_late),
        ("rejected", found.rejected),
        ("failed", found.failed),
        ("- elsewhere", found.elsewhere),
        ("timed out", found.timed_out),
        ("no connection", found.connect_failed),
        ("open at the end", found.in_flight),
        ("unsent", found.unsent),
    ] {
        if count > 0 || name == "served" {
            let _ = writeln!(text, "  {name:<15} {count:>12}");
        }
    }
    percentiles(&mut text, "response time", &found.response_time_ms);
    if found.rejected > 0 {
        percentiles(&mut text, "rejects", &found.reject_time_ms);
    }
    if let Some(behind) = &found.behind_ms {
        percentiles(&mut text, "behind the recorded times", behind);
    }
    let _ = writeln!(
        text,
        "  generator       {:>10.0} % CPU, send lag p99 {:.2} ms",
        loaded.generator.cpu * 100.0,
        loaded.generator.send_lag_p99_ms
    );
    for reason in &loaded.reasons {
        let _ = writeln!(
            text,
            "{} {}: {} (allowed: {}): {}",
            reason.verdict.word(),
            reason.code,
            reason.value,
            reason.threshold,
            reason.remedy
        );
    }
    let _ = writeln!(text, "{}", loaded.verdict.word());
    text
}

fn percentiles(text: &mut String, title: &str, times: &Times) {
    let _ = writeln!(text, "  {title}, ms ({} samples)", times.count);
    let rows = [
        ("p50", 50.0, times.p50, times.p50_at_least),
        ("p90", 90.0, times.p90, times.p90_at_least),
        ("p99", 99.0, times.p99, times.p99_at_least),
        ("p99.9", 99.9, times.p999, times.p999_at_least),
    ];
    for (name, percentile, value, bound) in rows {
        let shown = match (value, bound) {
            (Some(value), _) => format!("{value:.3}"),
            (None, Some(bound)) => format!(">= {bound:.0}"),
            (None, None) => format!("needs {} samples", least_samples(percentile)),
        };
        let _ = writeln!(text, "    {name:<13} {shown:>12}");
    }
    if let Some(max) = times.max {
        let shown = if times.censored > 0 { format!(">= {max:.0}") } else { format!("{max:.3}") };
        let _ = writeln!(text, "    {:<13} {shown:>12}", "max");
    }
}
