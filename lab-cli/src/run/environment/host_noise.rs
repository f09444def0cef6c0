//! Noise of the host during an arm: other programs, and the kernel's clock.

use std::time::{Duration, Instant};

use analysis::{
    arm_metrics,
    summary::{ClockConditions, Conditions},
};
use health::{OthersMeter, clock::clock_source};
use measure::Report;

use super::neighbours::{NeighbourWatch, ServiceProcesses};
use crate::run::Cpus;

/// Looks before an arm and after it.
#[derive(Debug)]
pub struct HostNoise {
    others: OthersMeter,
    neighbours: NeighbourWatch,
    began: Instant,
    clock: String,
}

impl HostNoise {
    /// The arm begins.
    pub fn begin(cpus: &Cpus, service: ServiceProcesses) -> std::io::Result<Self> {
        let mut used: Vec<usize> = cpus.generator.into_iter().chain(cpus.target).collect();
        used.dedup();
        let neighbours = NeighbourWatch::begin(cpus, service)?;
        Ok(Self { others: OthersMeter::begin(&used), neighbours, began: Instant::now(), clock: clock_source() })
    }

    /// Ends the measurement. `ours`: the processes of the experiment apart from this one. `silent`: the longest time that the target did not answer.
    pub fn end(self, report: &Report, ours: &[u32], silent: Duration) -> Conditions {
        let seconds = self.began.elapsed().as_secs_f64();
        let pids: Vec<i32> =
            ours.iter().copied().chain([std::process::id()]).filter_map(|pid| i32::try_from(pid).ok()).collect();
        let others = self.others.used(&pids);
        let share = |used: Duration| Some(used.as_secs_f64() / seconds.max(f64::MIN_POSITIVE));
        let known = arm_metrics::conditions(report);
        Conditions {
            noise: share(others.programs),
            kernel_noise: share(others.kernel),
            clocks: ClockConditions { source: self.clock, source_at_end: clock_source(), ..known.clocks },
            service_silent_max_ms: silent.as_secs_f64() * 1e3,
            neighbours: Some(self.neighbours.end(&pids, report)),
            ..known
        }
    }
}
