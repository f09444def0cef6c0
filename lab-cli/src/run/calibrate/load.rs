//! One load on a running target, and what it cost there.

use std::{collections::BTreeMap, time::Duration};

use measure::{Report, TimeFamily};
use senders::RunOptions;
use workloads::{
    StopFlag,
    plan::{Behaviour, ConnectionHabit, FailureRule, LoadPlan, UrlUsers, Users},
};

use super::{
    super::{RunFailure, live::target::TargetProcess},
    busy::PHASE,
    threads::ByThread,
};

/// Users of one page who ask again at once, also when they are refused.
pub fn url_users(path: &str, connections: ConnectionHabit) -> Users {
    let behaviour = Behaviour::on_any_failure(FailureRule::Login { wait: Duration::ZERO });
    Users::Url(UrlUsers { behaviour, connections, ..UrlUsers::new(path) })
}

/// Results of a load, and its cost to the target.
#[derive(Debug, Clone, Default)]
pub struct Loaded {
    /// Requests answered, refusals included.
    pub answered: f64,
    /// Refusals among them.
    pub refused: f64,
    /// Seconds from the first look at the target to the last.
    pub seconds: f64,
    /// CPU seconds of the target.
    pub cpu_s: f64,
    /// The same by thread, where the kernel says.
    pub threads: Option<ByThread>,
    /// Mean time of a refusal, milliseconds.
    pub refused_ms: Option<f64>,
    /// Mean number of workers that were busy.
    pub busy_workers: f64,
    /// Service times of served requests, by request type.
    pub by_type: BTreeMap<String, TypeTimes>,
}

/// Service times of one request type.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct TypeTimes {
    /// Requests served.
    pub count: f64,
    /// Mean service time, milliseconds.
    pub mean_ms: f64,
    /// Standard deviation of their logarithm.
    pub spread: f64,
}

impl Loaded {
    /// CPU time a request, milliseconds.
    pub fn cpu_ms(&self) -> f64 {
        self.cpu_s * 1e3 / self.answered.max(1.0)
    }

    /// Requests a second.
    pub fn per_second(&self) -> f64 {
        self.answered / self.seconds.max(1e-9)
    }

    /// The target's CPU time over the sum of the service times, for a load of one request at a time.
    pub fn busy_share(&self) -> f64 {
        let all: f64 = self.by_type.values().map(|times| times.count * times.mean_ms).sum();
        self.cpu_s * 1e3 / all.max(1e-9)
    }
}

/// Puts a load on a target. `most`: the request limit.
pub fn run(
    target: &TargetProcess,
    plan: &LoadPlan,
    most: Option<u64>,
    stop: &StopFlag,
) -> Result<(Loaded, Report), RunFailure> {
    let (gauges, threads) = (target.control.gauges()?, ByThread::read(target.ready.pid));
    let report = senders::run(plan, &RunOptions { requests_limit: most, ..RunOptions::default() }, |_| {}, stop)?;
    let (after, threads_after) = (target.control.gauges()?, ByThread::read(target.ready.pid));
    if stop.is_stopped() {
        return Err(RunFailure::Interrupted);
    }
    let total = &report.total;
    let ledger = &total.measured;
    let lost = ledger.timed_out + ledger.failed + ledger.connect_failed + ledger.in_flight;
    if lost * 100 > ledger.planned {
        return Err(RunFailure::Target(format!(
            "{lost} of {} requests got no proper answer while it was measured: see its log",
            ledger.planned
        )));
    }
    let by_type = total.by_type.iter().filter_map(|(kind, seen)| {
        let times = report.distribution(PHASE, TimeFamily::Service, Some(kind))?;
        let count = seen.served + seen.served_late;
        let spread = times.log_spread().unwrap_or(0.0);
        Some((kind.clone(), TypeTimes { count: count as f64, mean_ms: times.mean_ms()?, spread }))
    });
    let seconds = (after.at_ms - gauges.at_ms) / 1e3;
    let busy = |gauges: &spec::wire::Gauges| gauges.stages.iter().map(|stage| stage.busy_ms).sum::<f64>();
    let loaded = Loaded {
        answered: (ledger.served + ledger.served_late + ledger.rejected) as f64,
        refused: ledger.rejected as f64,
        seconds,
        cpu_s: after.cpu_s - gauges.cpu_s,
        threads: threads_after.zip(threads).map(|(after, before)| after - before),
        refused_ms: ledger.reject_time_ms.mean,
        busy_workers: (busy(&after) - busy(&gauges)) / 1e3 / seconds.max(1e-9),
        by_type: by_type.collect(),
    };
    Ok((loaded, report))
}
