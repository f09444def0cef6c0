//! One load on a running target, and what it cost there, also by kind of thread: how much of Arashi's work is SQLite's, and how
//! much of that is the writer's.

use std::{collections::BTreeMap, fs, ops::Sub, time::Duration};

use measure::{Report, TimeFamily};
use senders::RunOptions;
use workloads::{
    StopFlag,
    plan::{Behaviour, ConnectionHabit, FailureRule, LoadPlan, UrlUsers, Users},
};

use super::{
    super::{RunFailure, live::target::TargetProcess},
    busy::PHASE,
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

/// The prefix of the store's names for the threads of its connections.
const SQLITE: &str = "sqlite-";

/// CPU seconds used so far.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ByThread {
    /// Threads of the connection for changes: the first that the store opens.
    pub writer_s: f64,
    /// Threads of the connections for reading.
    pub readers_s: f64,
}

impl ByThread {
    /// Reads a process's use so far. `None` where the kernel does not say, or it has no such threads.
    pub fn read(pid: u32) -> Option<Self> {
        let mut threads = BTreeMap::new();
        for entry in fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten() {
            let thread: u32 = entry.file_name().to_str()?.parse().ok()?;
            // A thread may have ended since.
            let Ok(name) = fs::read_to_string(entry.path().join("comm")) else { continue };
            let Ok(times) = fs::read_to_string(entry.path().join("schedstat")) else { continue };
            threads.insert(thread, (name, on_core(&times)?));
        }
        Self::of(&threads)
    }

    fn of(threads: &BTreeMap<u32, (String, f64)>) -> Option<Self> {
        let sqlite = |name: &str| name.starts_with(SQLITE);
        // Threads are numbered in the order of their beginning.
        let writer = *threads.iter().find(|(_, (name, _))| sqlite(name))?.0;
        let mut found = Self::default();
        for (&thread, (name, seconds)) in threads {
            if thread == writer {
                found.writer_s += seconds;
            } else if sqlite(name) {
                found.readers_s += seconds;
            }
        }
        Some(found)
    }
}

impl Sub for ByThread {
    type Output = Self;

    fn sub(self, earlier: Self) -> Self {
        Self { writer_s: self.writer_s - earlier.writer_s, readers_s: self.readers_s - earlier.readers_s }
    }
}

/// Seconds on a core: the first number of `schedstat`, in nanoseconds.
fn on_core(times: &str) -> Option<f64> {
    times.split_ascii_whitespace().next()?.parse::<u64>().ok().map(|nanos| nanos as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_sqlite_thread_is_the_writer() {
        let threads = [(10, "lab", 1.0), (12, "sqlite-0", 2.0), (13, "sqlite-1", 4.0), (99, "tokio-rt", 8.0)];
        let threads = threads.map(|(thread, name, seconds)| (thread, (name.to_owned(), seconds))).into();
        let found = ByThread::of(&threads).expect("has such threads");
        assert_eq!(found, ByThread { writer_s: 2.0, readers_s: 4.0 });
    }

    #[test]
    fn a_process_without_a_database_says_nothing() {
        assert_eq!(ByThread::of(&[(1, ("init".to_owned(), 1.0))].into()), None);
        assert_eq!(on_core("nonsense"), None);
        assert_eq!(on_core("1500000000 7 3\n"), Some(1.5));
    }
}
