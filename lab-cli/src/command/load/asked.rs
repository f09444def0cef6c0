//! A load's flags as an experiment: one arm, whose users go to the service itself.

use std::{
    io,
    net::{IpAddr, SocketAddr, UdpSocket},
    os::unix::fs::FileTypeExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use analysis::summary::LatencyObjective;
use experiment::{
    Changes, Experiment, FileRequests,
    plan::{AppPlan, LoadStream, Model, PhasePlan, Rate},
};
use senders::{RunOptions, tls::authorities};
use url::Url;
use workloads::plan::{ArrivalLaw, Behaviour, ConnectionHabit, FailureRule, HttpVersion, Target, TlsOptions};

use super::{
    super::input::{contents, read_text},
    conditions::thresholds,
    expect::expected,
    requests::requests,
};
use crate::{
    args::{LoadArgs, TransportArgs},
    exit::Failure,
};

const DEFAULT_CONNECTIONS: u64 = 64;
const DEFAULT_TIME: Duration = Duration::from_secs(10);
/// Longest time for a count of requests without a rate.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// An experiment without keys of its own: defaults of a load are those of an experiment.
const BARE: &str = "
name: load
target: {url: \"http://127.0.0.1:1\"}
objective: {percentile: 99, response_time: 1s}
users: {model: url, phases: [{name: load, users: 1, for: 1s}]}
arms: [{none: {as: load, direct: true}}]
declares: [kernel-backlog, closed-overload]
";

/// The experiment of a load on this target.
pub(super) fn experiment(args: &LoadArgs, url: &Url, target: &Target) -> Result<Experiment, Failure> {
    let mut asked = read_text(BARE, "built in", &Changes::default())?;
    asked.name = name(url);
    asked.about = in_words(args);
    asked.seed = args.seed;
    if let AppPlan::Own(service) = &mut asked.target.app {
        service.url = Some(target.url.clone());
    }
    let deadline = args.deadline.unwrap_or(args.timeout);
    if deadline > args.timeout {
        return Err(Failure::usage("--deadline is over the time-out: raise --timeout, or lower it"));
    }
    asked.objective = LatencyObjective { percentile: 99.0, response_time_ms: deadline.as_secs_f64() * 1e3 };
    let think = traces::Think::Constant(Duration::ZERO);
    let FileRequests { requests, left_out } = requests(args)?;
    let check = expected(&args.expect)?;
    asked.users.model = Model::Url { path: "/".to_owned(), requests, left_out, check, think };
    let asks_again = Behaviour::on_any_failure(FailureRule::Login { wait: Duration::ZERO });
    asked.users.behaviour = Behaviour { redirects: args.request.follow, refresh: false, ..asks_again };
    asked.users.connections = connections(args)?;
    asked.users.timeout = args.timeout;
    asked.users.connect_timeout = args.timeout.min(Duration::from_secs(10));
    asked.users.drain = args.timeout.min(Duration::from_secs(10));
    asked.users.phases = phases(args)?;
    let phases: Vec<&str> = asked.users.phases.iter().map(|phase| phase.name.as_str()).collect();
    let all = args.fail_if.iter().map(|condition| thresholds(condition, &phases)).collect::<Result<Vec<_>, _>>()?;
    asked.thresholds = all.concat();
    Ok(asked)
}

/// Letters, digits and hyphens: what names of runs have.
fn name(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    let port = url.port().map_or_else(String::new, |port| format!("-{port}"));
    let safe = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    format!("load-{}{port}", host.chars().map(safe).collect::<String>().trim_matches('-'))
}

/// True if requests come at their times, whatever was answered.
pub(super) fn is_open(args: &LoadArgs) -> bool {
    args.rates.rate.is_some() || args.rates.ramp.is_some()
}

pub(super) fn in_words(args: &LoadArgs) -> String {
    let law = match args.rates.arrivals.law().name() {
        "constant" => "",
        _ => ", Poisson arrivals",
    };
    match (args.rates.rate, args.rates.ramp) {
        (Some(rate), _) => format!("{rate} requests/s, open loop{law}"),
        (None, Some([from, to])) => format!("{from} to {to} requests/s, open loop{law}"),
        (None, None) => format!("{} connections, closed loop", closed(args)),
    }
}

/// The number of connections of a closed load; no more by default than there are requests.
fn closed(args: &LoadArgs) -> u64 {
    args.connections.unwrap_or_else(|| args.requests.map_or(DEFAULT_CONNECTIONS, |most| most.min(DEFAULT_CONNECTIONS)))
}

fn few(connections: u64) -> Result<u32, Failure> {
    u32::try_from(connections).map_err(|_| Failure::usage("-c: too many connections"))
}

fn connections(args: &LoadArgs) -> Result<ConnectionHabit, Failure> {
    Ok(match (args.rates.new_connections, is_open(args)) {
        (true, true) if args.connections.is_some() => {
            let message = "-c limits kept connections, and --new-connections keeps none: leave one of them out";
            return Err(Failure::usage(message));
        }
        (true, _) => ConnectionHabit::PerRequest,
        (false, true) => ConnectionHabit::Shared { most: args.connections.map(few).transpose()? },
        (false, false) => ConnectionHabit::PerUser,
    })
}

fn phases(args: &LoadArgs) -> Result<Vec<PhasePlan>, Failure> {
    let law = args.rates.arrivals.law();
    let open = |[from, to]: [f64; 2]| {
        let (from, to) = (Rate::PerSecond(from), Rate::PerSecond(to));
        LoadStream::Requests { from, to, law, class: 0 }
    };
    let (lasts, least) = (args.duration.unwrap_or(DEFAULT_TIME), Duration::from_millis(100));
    Ok(match (args.rates.rate, args.rates.ramp, args.rates.steps) {
        (Some(rate), ..) => {
            let lasts = args.requests.map_or(lasts, |requests| long_enough(requests, rate));
            vec![PhasePlan::of_load("load", lasts, open([rate, rate]))]
        }
        (None, Some(ramp), None) => vec![PhasePlan::of_load("load", lasts, open(ramp))],
        (None, Some([from, to]), Some(steps)) => {
            let each = lasts / steps;
            if each < least {
                return Err(Failure::usage(format!("--steps {steps}: each is to last 0.1s at least; lengthen -d")));
            }
            let at = |step: u32| from + (to - from) * f64::from(step) / f64::from(steps - 1);
            let one = |step| PhasePlan::of_load(&format!("step-{}", step + 1), each, open([at(step), at(step)]));
            (0..steps).map(one).collect()
        }
        (None, None, _) => {
            let users = few(closed(args))?;
            let longest = if args.requests.is_some() { LONGEST } else { DEFAULT_TIME };
            let load = LoadStream::Users { from: users, to: users, class: 0 };
            vec![PhasePlan::of_load("load", args.duration.unwrap_or(longest), load)]
        }
    })
}

/// Seconds until the last request is due. A number of requests at exponential gaps is given the time that it takes at
/// the most.
pub(super) fn due_within(args: &LoadArgs) -> f64 {
    match (args.rates.rate, args.requests) {
        (Some(rate), Some(requests)) if args.rates.arrivals.law() == ArrivalLaw::Constant => requests as f64 / rate,
        (Some(rate), Some(requests)) => long_enough(requests, rate).as_secs_f64(),
        _ => args.duration.unwrap_or(DEFAULT_TIME).as_secs_f64(),
    }
}

/// Until so many requests have come: with exponential gaps that takes a few standard deviations longer than on the average.
fn long_enough(requests: u64, rate: f64) -> Duration {
    let requests = requests as f64;
    Duration::from_secs_f64((requests + 6.0 * requests.sqrt() + 10.0) / rate)
}

/// The addresses of a target that can be reached from these of this machine.
pub(super) fn from_these(sources: &[IpAddr], mut target: Target) -> Result<Target, Failure> {
    for source in sources {
        let problem = |error: io::Error| {
            let hint = "name an address of this machine (`ip address` lists them)";
            Failure::usage(format!("--source-address {source}: {}; {hint}", error.kind()))
        };
        UdpSocket::bind((*source, 0)).map_err(problem)?;
    }
    let reached = |to: &SocketAddr| sources.is_empty() || sources.iter().any(|from| from.is_ipv4() == to.is_ipv4());
    let mut addresses: Vec<SocketAddr> = target.addresses().filter(reached).collect();
    let Some(first) = addresses.first().copied() else {
        let family = if target.address.is_ipv4() { "IPv4" } else { "IPv6" };
        let message =
            format!("--source-address: {} has {family} addresses alone, and none of these is one", target.host);
        return Err(Failure::usage(message));
    };
    (target.address, target.others) = (first, addresses.split_off(1));
    Ok(target)
}

/// A Unix socket that is there.
fn socket(path: &Path) -> Result<PathBuf, Failure> {
    let bad = |why: &str| Failure::usage(format!("--unix-socket {}: {why}", path.display()));
    match path.metadata() {
        Err(_) => Err(bad("there is nothing with this name: is the service up?")),
        Ok(found) if !found.file_type().is_socket() => Err(bad("this is no Unix socket")),
        Ok(_) => Ok(path.to_owned()),
    }
}

/// Options that no experiment file has.
pub(super) fn options(args: &LoadArgs, url: &Url) -> Result<RunOptions, Failure> {
    let TransportArgs { insecure, cacert, cert, key, source_address, unix_socket, http1, http2 } = &args.transport;
    let flags = [("-k", *insecure), ("--cacert", cacert.is_some()), ("--cert", cert.is_some())];
    if let Some((flag, _)) = flags.iter().find(|(_, given)| *given && url.scheme() == "http") {
        let message = format!("{flag} is about certificates, and {} has none: write https://", args.url);
        return Err(Failure::usage(message));
    }
    let given_host =
        |line: &String| line.split(':').next().is_some_and(|name| name.trim().eq_ignore_ascii_case("host"));
    if *http2 && args.request.headers.iter().any(given_host) {
        return Err(Failure::usage("HTTP/2 has the URL's host in place of a Host line: leave -H Host out, or --http2"));
    }
    let file = |flag: &'static str, path: &Option<std::path::PathBuf>| {
        path.as_ref().map(|path| contents(flag, path)).transpose()
    };
    let trusted = file("--cacert", cacert)?;
    if let (Some(path), Some(Err(problem))) = (cacert, trusted.as_deref().map(authorities)) {
        return Err(Failure::usage(format!("--cacert {}: {problem}", path.display())));
    }
    let mut identity = file("--cert", cert)?;
    if let (Some(identity), Some(key)) = (&mut identity, file("--key", key)?) {
        identity.push(b'\n');
        identity.extend(key);
    }
    Ok(RunOptions {
        requests_limit: args.requests,
        source_addresses: source_address.clone(),
        unix_socket: unix_socket.as_deref().map(socket).transpose()?,
        tls: TlsOptions { insecure: *insecure, authorities: trusted, identity },
        version: match (http1, http2) {
            (true, _) => HttpVersion::Http1,
            (_, true) => HttpVersion::Http2,
            _ => HttpVersion::Auto,
        },
        ..RunOptions::default()
    })
}
