//! Turns the counters of generator and target into figures for each second.

use std::{collections::BTreeMap, time::Instant};

use analysis::live::{GeneratorSecond, ReportedTimes, StageSecond, TargetSecond, TimelineSecond};
use health::{ProcessSample, ProcessSize, open_descriptors};
use measure::{ClientGauges, Reported, Times, Window};
use spec::wire::{Gauges, StageGauges};
use workloads::plan::LoadPlan;

/// Makes seconds: counters of both sides become counts of one second.
#[derive(Debug)]
pub struct Seconds {
    arm: String,
    block: u32,
    phases: Vec<String>,
    /// CPU time of this process, and when that was; `None` in virtual time, where the generator costs nothing.
    cpu: Option<(ProcessSample, Instant)>,
    gauges: Option<Gauges>,
    client: Option<ClientGauges>,
}

/// Adds refusals of balancers: those of users' requests are known to their host, and join here what they refused of
/// calls.
fn with_balancers(mut gauges: Gauges, window: &Window) -> Gauges {
    for (service, turned_back) in &window.turned_back {
        let name = format!("{service}/balancer");
        if let Some(row) = gauges.stages.iter_mut().find(|stage| stage.name == name) {
            row.refused += turned_back.requests + turned_back.checks;
        }
    }
    gauges
}

/// A report window, by the names under which thresholds know it.
fn reported(window: &Reported) -> BTreeMap<String, ReportedTimes> {
    let of = |times: &Times| ReportedTimes {
        count: times.count,
        p50_ms: times.p50.or(times.p50_at_least),
        p90_ms: times.p90.or(times.p90_at_least),
        p99_ms: times.p99.or(times.p99_at_least),
    };
    let all = ReportedTimes::OF_ALL;
    let types = window.by_type.iter().map(|(kind, times)| (format!("{all}/{kind}"), of(times)));
    let classes = window.by_class.iter().map(|(class, times)| (format!("{all}/class-{class}"), of(times)));
    [(all.to_owned(), of(&window.all))].into_iter().chain(types).chain(classes).collect()
}

/// Counters as gauges: how much each has grown.
fn grown<'a>(
    now: &'a BTreeMap<String, u64>,
    before: &'a BTreeMap<String, u64>,
) -> impl Iterator<Item = (String, f64)> + 'a {
    let of = move |(name, count): (&String, &u64)| {
        let earlier = before.get(name).copied().unwrap_or(0);
        (name.clone(), count.saturating_sub(earlier) as f64)
    };
    now.iter().map(of)
}

impl Seconds {
    /// For one arm.
    pub fn new(arm: &str, block: u32, plan: &LoadPlan) -> Self {
        let cpu = Some((ProcessSample::take(), Instant::now()));
        Self { cpu, ..Self::in_virtual_time(arm, block, plan) }
    }

    /// For one arm in virtual time.
    pub fn in_virtual_time(arm: &str, block: u32, plan: &LoadPlan) -> Self {
        let phases = plan.phases.iter().map(|phase| phase.name.clone()).collect();
        Self { arm: arm.to_owned(), block, phases, cpu: None, gauges: None, client: None }
    }

    /// The name of a phase; after the last one the run drains.
    pub fn phase(&self, index: usize) -> &str {
        self.phases.get(index).map_or("drain", String::as_str)
    }

    /// The next second.
    pub fn next(&mut self, window: &Window, gauges: Option<Gauges>) -> TimelineSecond {
        let users = &window.users;
        let count = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
        let states = [
            ("thinking", users.thinking),
            ("waiting", users.waiting),
            ("backing off", users.backing_off),
            ("queued", users.queued),
            ("connecting", users.connecting),
            ("in request", users.in_flight),
            ("gone", users.gone),
        ];
        TimelineSecond {
            arm: self.arm.clone(),
            block: self.block,
            second: count(window.second),
            phase: self.phase(window.phase).to_owned(),
            users: count(users.total()),
            users_by_state: states.into_iter().map(|(name, n)| (name.to_owned(), count(n))).collect(),
            planned: window.offered + window.retries,
            offered: window.offered,
            sent: window.sent,
            served: window.served,
            goodput: window.served,
            served_late: window.late,
            refused_locally: window.refused_locally,
            rejected: window.rejected,
            timed_out: window.timed_out,
            failed: window.failed,
            abandoned: window.abandoned,
            connect_failed: window.connect_failed,
            in_flight: window.in_flight,
            by_type: window.by_type.clone(),
            by_class: window.by_class.clone(),
            p50_ms: window.p50_ms,
            p90_ms: window.p90_ms,
            p99_ms: window.p99_ms,
            p50_at_least_ms: window.p50_at_least_ms,
            p90_at_least_ms: window.p90_at_least_ms,
            p99_at_least_ms: window.p99_at_least_ms,
            reported: window.reported.as_deref().map(reported).unwrap_or_default(),
            generator: self.generator(window),
            speed: None,
            agents: Vec::new(),
            target: gauges.map(|gauges| self.target(with_balancers(gauges, window), window.client.as_ref())),
        }
    }

    /// The policies on the users' own side, as a stage before all others.
    fn client(&mut self, now: &ClientGauges) -> StageSecond {
        let before = self.client.replace(now.clone()).unwrap_or_default();
        StageSecond {
            name: "client/users".to_owned(),
            queue: u32::try_from(now.held).unwrap_or(u32::MAX),
            offered: now.offered.saturating_sub(before.offered),
            admitted: now.let_go.saturating_sub(before.let_go),
            refused: now.refused.saturating_sub(before.refused),
            gauges: now.policy.clone(),
            ..StageSecond::default()
        }
    }

    fn generator(&mut self, window: &Window) -> GeneratorSecond {
        let send_lag_p99_ms = window.send_lag_p99_ms.unwrap_or(0.0);
        let Some((before, since)) = &mut self.cpu else {
            return GeneratorSecond { send_lag_p99_ms, ..GeneratorSecond::default() };
        };
        let (cpu, size, at) = (ProcessSample::take(), ProcessSize::take(), Instant::now());
        let wall = at.duration_since(*since).as_secs_f64();
        let used = cpu.cpu.saturating_sub(before.cpu).as_secs_f64();
        (*before, *since) = (cpu, at);
        GeneratorSecond {
            cpu: if wall > 0.0 { used / wall } else { 0.0 },
            send_lag_p99_ms,
            loop_gap_ms: window.loop_gap_ms.unwrap_or(0.0),
            open_files: open_descriptors(),
            threads: size.map(|size| size.threads),
            memory_mb: size.map(|size| size.resident as f64 / 1e6),
        }
    }

    fn target(&mut self, gauges: Gauges, client: Option<&ClientGauges>) -> TargetSecond {
        let client = client.map(|client| self.client(client));
        let earlier = self.gauges.take().unwrap_or_default();
        let seconds = (gauges.at_ms - earlier.at_ms) / 1e3;
        let none = StageGauges::default();
        let stages = gauges.stages.iter().map(|now| {
            let before = earlier.stages.iter().find(|stage| stage.name == now.name).unwrap_or(&none);
            StageSecond {
                name: now.name.clone(),
                queue: now.queue,
                workers: now.workers,
                busy: now.workers.saturating_sub(now.idle),
                batch: now.batch,
                offered: now.offered.saturating_sub(before.offered),
                admitted: now.admitted.saturating_sub(before.admitted),
                refused: now.refused.saturating_sub(before.refused),
                completed: now.completed.saturating_sub(before.completed),
                // JSON has no infinity: a gauge that has no value yet is left out.
                gauges: now
                    .policy
                    .iter()
                    .filter(|(_, value)| value.is_finite())
                    .map(|(k, v)| (k.clone(), *v))
                    .chain(grown(&now.counts, &before.counts))
                    .collect(),
            }
        });
        let second = TargetSecond {
            cpu: if seconds > 0.0 { (gauges.cpu_s - earlier.cpu_s) / seconds } else { 0.0 },
            rss_bytes: gauges.rss_bytes,
            connections: gauges.ledger.connections_open,
            answered: gauges.ledger.answered().saturating_sub(earlier.ledger.answered()),
            client_gone: gauges.ledger.client_gone.saturating_sub(earlier.ledger.client_gone),
            stages: client.into_iter().chain(stages).collect(),
        };
        self.gauges = Some(gauges);
        second
    }
}
