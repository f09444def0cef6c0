//! Load of others on the processors of generator and service while an arm runs: also of those that no process here shows.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, fs,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use analysis::summary::{NeighbourUse, ServiceWait, Stolen, Throttled};
use health::{OthersMeter, ProcessorSample, ThreadSample};
use measure::{Report, WAKE_UP};
use nix::{
    sched::{CpuSet, sched_getaffinity},
    unistd::Pid,
};

use super::cgroup;
use crate::run::{Cpus, sampler::Sampler};

const PERIOD: Duration = Duration::from_secs(1);

/// Follows the processors and the service's threads, second by second.
#[derive(Debug)]
pub struct NeighbourWatch {
    followed: Arc<Mutex<Followed>>,
    sampler: Sampler<()>,
    service: ServiceProcesses,
    /// Processors of the generator and of the service.
    lab: BTreeSet<usize>,
    of_service: BTreeSet<usize>,
    began: Instant,
    used: OthersMeter,
    processors: BTreeMap<usize, ProcessorSample>,
    throttled: [Option<Throttled>; 2],
    pressure: Option<Duration>,
}

impl NeighbourWatch {
    /// The arm begins. A generator that is kept to no processor may use those of the service.
    pub fn begin(cpus: &Cpus, service: ServiceProcesses) -> std::io::Result<Self> {
        let first = service.pids().ok().and_then(|pids| pids.first().copied());
        let used = OthersMeter::begin(&[]);
        let of_service = first.map(allowed).filter(|found| !found.is_empty());
        let of_service = of_service.unwrap_or_else(|| cpus.target.into_iter().collect());
        let lab: BTreeSet<usize> = cpus.generator.into_iter().chain(cpus.proxy).collect();
        let lab = if lab.is_empty() { of_service.clone() } else { lab };
        let followed = Followed::begin(service.clone(), lab.union(&of_service).copied().collect());
        let (began, processors) = (followed.at, followed.processors.clone());
        let followed = Arc::new(Mutex::new(followed));
        let looked = Arc::clone(&followed);
        let sampler = Sampler::begin("neighbours", PERIOD, move || {
            looked.lock().unwrap_or_else(PoisonError::into_inner).look();
            None
        })?;
        let throttled = [first.and_then(cgroup::throttled), cgroup::throttled(std::process::id())];
        let pressure = pressure();
        Ok(Self { followed, sampler, service, lab, of_service, began, used, processors, throttled, pressure })
    }

    /// The arm is over. `ours`: the processes of the lab and all that it has started.
    pub fn end(self, ours: &[i32], report: &Report) -> NeighbourUse {
        let Self { followed, sampler, service, lab, of_service, began, used, processors, throttled, pressure: pressed } =
            self;
        drop(sampler);
        let mut followed = followed.lock().unwrap_or_else(PoisonError::into_inner);
        followed.look();
        let (now, elapsed) = (ProcessorSample::all(), began.elapsed());
        let first = service.pids().ok().and_then(|pids| pids.first().copied());
        let service_throttled = cgroup::since(throttled[0], first.and_then(cgroup::throttled));
        let lab_throttled = cgroup::since(throttled[1], cgroup::throttled(std::process::id()));
        let mut found = NeighbourUse {
            service_throttled,
            lab_throttled,
            pressure: pressed.zip(pressure()).map(|(then, now)| share(now.saturating_sub(then), elapsed)),
            stolen: by_phase(&followed.stolen, report),
            ..NeighbourUse::default()
        };
        if let Err(why) = service.pids() {
            found.unknown = (!service.is_elsewhere).then_some(why);
            return found;
        }
        // Threads that were there for less than a second may never have been seen.
        let seen = followed.threads.as_ref().map_or(Duration::ZERO, |threads| threads.total.cpu);
        let pids: Vec<i32> =
            service.pids().unwrap_or_default().into_iter().filter_map(|pid| i32::try_from(pid).ok()).collect();
        let ran = used.used(&pids).ours.max(seen);
        let ours = used.used(&[ours, &pids].concat()).ours;
        let busy = |on: &BTreeSet<usize>| -> Option<Duration> {
            on.iter().map(|cpu| Some(now.get(cpu)?.busy_since(processors.get(cpu)?, elapsed))).sum::<Option<Duration>>()
        };
        found.others =
            busy(&lab.union(&of_service).copied().collect()).map(|busy| share(busy.saturating_sub(ours), elapsed));
        found.service = followed.threads.as_ref().map(|threads| {
            // The lab's own use of a processor that both may use is no neighbour's.
            let of_lab = if lab.is_disjoint(&of_service) { Duration::ZERO } else { ours.saturating_sub(ran) };
            let others = busy(&of_service).map(|busy| busy.saturating_sub(ran + of_lab));
            let threads = ThreadSample { cpu: ran, ..threads.total };
            waited(&threads, elapsed * of_service.len().max(1) as u32, others)
        });
        if found.service.is_none() && found.others.is_none() {
            found.unknown =
                Some("the kernel tells neither how long threads wait nor how busy its processors are".to_owned());
        }
        found
    }
}

/// Sums up stolen time by phase, from that of each second.
fn by_phase(seconds: &[f64], report: &Report) -> Vec<Stolen> {
    let longest = report.generator.health.largest_gap.as_secs_f64();
    let mut begin = 0.0;
    let phase = |lasted: f64| {
        let end: f64 = begin + lasted;
        let from = (begin as usize).min(seconds.len());
        let until = (end.ceil() as usize).clamp(from, seconds.len());
        begin = end;
        Stolen::of(&seconds[from..until], longest)
    };
    if seconds.is_empty() { Vec::new() } else { report.phases.iter().map(|phase| phase.seconds).map(phase).collect() }
}

/// The most of its threads' waits that was not for each other, nor for a limit of its own (THROTTLED).
fn waited(threads: &ThreadSample, available: Duration, others: Option<Duration>) -> ServiceWait {
    let own_waits = WAKE_UP.saturating_mul(u32::try_from(threads.turns).unwrap_or(u32::MAX));
    let queued = threads.run_queue_delay.saturating_sub(own_waits);
    let free = available.saturating_sub(threads.cpu).as_secs_f64();
    let caused = others.map_or(f64::INFINITY, |others| others.as_secs_f64());
    ServiceWait {
        ran_s: threads.cpu.as_secs_f64(),
        queued_s: queued.as_secs_f64(),
        starved_s: queued.as_secs_f64().min(free).min(caused),
        available_s: available.as_secs_f64(),
        confirmed: others.is_some(),
    }
}

/// The state of the thread that follows them.
#[derive(Debug)]
struct Followed {
    service: ServiceProcesses,
    cpus: Vec<usize>,
    at: Instant,
    processors: BTreeMap<usize, ProcessorSample>,
    /// Seconds that the host took away in each second: of the two processors that lost most, since a request needs two.
    stolen: Vec<f64>,
    /// `None`: the kernel does not tell.
    threads: Option<Threads>,
}

/// The service's threads. Those that end between two looks take what they did since with them.
#[derive(Debug, Default)]
struct Threads {
    last: BTreeMap<(u32, i32), ThreadSample>,
    total: ThreadSample,
}

impl Followed {
    fn begin(service: ServiceProcesses, cpus: Vec<usize>) -> Self {
        let last = samples(&service);
        let threads = (!last.is_empty()).then(|| Threads { last, total: ThreadSample::default() });
        Self { service, cpus, at: Instant::now(), processors: ProcessorSample::all(), stolen: Vec::new(), threads }
    }

    fn look(&mut self) {
        if let Some(threads) = &mut self.threads {
            threads.add(samples(&self.service));
        }
        let (now, elapsed) = (ProcessorSample::all(), self.at.elapsed());
        // The first look follows at once, and the last one at any time: seconds are to be whole ones.
        if elapsed < PERIOD / 2 || now.is_empty() {
            return;
        }
        let lost = |cpu: &usize| {
            let (now, then) = (now.get(cpu)?, self.processors.get(cpu)?);
            Some(now.stolen.saturating_sub(then.stolen).as_secs_f64())
        };
        let mut lost: Vec<f64> = self.cpus.iter().filter_map(lost).collect();
        lost.sort_by(|a, b| b.total_cmp(a));
        self.stolen.push(lost.iter().take(2).sum::<f64>() / elapsed.as_secs_f64());
        (self.processors, self.at) = (now, Instant::now());
    }
}

impl Threads {
    fn add(&mut self, now: BTreeMap<(u32, i32), ThreadSample>) {
        for (thread, sample) in &now {
            let more = sample.since(&self.last.get(thread).copied().unwrap_or_default());
            self.total.cpu += more.cpu;
            self.total.run_queue_delay += more.run_queue_delay;
            self.total.turns += more.turns;
        }
        self.last = now;
    }
}

fn samples(service: &ServiceProcesses) -> BTreeMap<(u32, i32), ThreadSample> {
    let pids = service.pids().unwrap_or_default();
    let of = |pid: u32| ThreadSample::of_process(pid).into_iter().map(move |(thread, sample)| ((pid, thread), sample));
    pids.into_iter().flat_map(of).collect()
}

/// The processors that a process may use.
fn allowed(pid: u32) -> BTreeSet<usize> {
    let pid = i32::try_from(pid).map(Pid::from_raw);
    let Some(set) = pid.ok().and_then(|pid| sched_getaffinity(pid).ok()) else { return BTreeSet::new() };
    let there = ProcessorSample::all();
    (0..CpuSet::count()).filter(|cpu| set.is_set(*cpu).unwrap_or(false) && there.contains_key(cpu)).collect()
}

/// The time so far in which something waited for a processor (`some` of /proc/pressure/cpu).
fn pressure() -> Option<Duration> {
    let text = fs::read_to_string("/proc/pressure/cpu").ok()?;
    let total = text.lines().find_map(|line| line.strip_prefix("some "))?.rsplit_once("total=")?.1;
    total.trim().parse().ok().map(Duration::from_micros)
}

fn share(part: Duration, whole: Duration) -> f64 {
    part.as_secs_f64() / whole.as_secs_f64().max(f64::MIN_POSITIVE)
}

/// The processes of a service, which may come and go.
#[derive(Clone)]
pub struct ServiceProcesses {
    pids: Arc<dyn Fn() -> Result<Vec<u32>, String> + Send + Sync>,
    /// It runs on another machine.
    pub is_elsewhere: bool,
}

impl ServiceProcesses {
    /// Makes the list from `pids`, which tells them, or the reason why they are not known.
    pub fn new(is_elsewhere: bool, pids: impl Fn() -> Result<Vec<u32>, String> + Send + Sync + 'static) -> Self {
        Self { pids: Arc::new(pids), is_elsewhere }
    }

    /// Process ids at this moment.
    ///
    /// # Errors
    /// The reason why they are not known.
    pub fn pids(&self) -> Result<Vec<u32>, String> {
        (self.pids)()
    }
}

impl fmt::Debug for ServiceProcesses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServiceProcesses").field("is_elsewhere", &self.is_elsewhere).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn threads(cpu_ms: u64, queued_ms: u64, turns: u64) -> ThreadSample {
        let ms = Duration::from_millis;
        ThreadSample { cpu: ms(cpu_ms), run_queue_delay: ms(queued_ms), turns }
    }

    #[test]
    fn threads_that_wait_for_each_other_are_not_starved() {
        let second = Duration::from_secs(1);
        let starved = |threads: &ThreadSample, others: Option<u64>| {
            (waited(threads, second, others.map(Duration::from_millis)).starved_s * 1e3).round()
        };
        // Eight threads of a service that fills its processor wait most of the time, and nobody else has it.
        assert_eq!(starved(&threads(1000, 7000, 10), Some(0)), 0.0);
        assert_eq!(starved(&threads(1000, 7000, 10), None), 0.0);
        // Others have half of it, and one or eight threads wait for that.
        assert_eq!(starved(&threads(500, 500, 0), Some(500)), 500.0);
        assert_eq!(starved(&threads(500, 4000, 0), Some(500)), 500.0);
        // A fifth of a processor is the limit of its group, and nobody else is there.
        assert_eq!(starved(&threads(200, 800, 0), Some(0)), 0.0);
        // Where others are not known, it is no more than what it waited.
        assert_eq!(starved(&threads(100, 300, 0), None), 300.0);
        assert!(!waited(&threads(100, 300, 0), second, None).confirmed);
    }

    #[test]
    fn a_wake_up_takes_a_moment_on_any_machine() {
        // 4000 of them, of 25 µs each.
        let found = waited(&threads(300, 150, 4000), Duration::from_secs(1), None);
        assert_eq!((found.queued_s * 1e3).round(), 50.0);
    }

    #[test]
    fn threads_are_counted_from_when_they_were_first_seen() {
        let mut all = Threads { last: [((1, 1), threads(100, 10, 1))].into(), total: ThreadSample::default() };
        all.add([((1, 1), threads(150, 30, 3)), ((1, 2), threads(7, 5, 1))].into());
        all.add([((1, 1), threads(160, 30, 4))].into());
        assert_eq!(all.total, threads(67, 25, 4));
    }

    #[test]
    fn this_process_may_use_a_processor() {
        assert!(!allowed(std::process::id()).is_empty());
        assert!(allowed(0x3fff_ffff).is_empty(), "there is no such process");
    }
}
