//! Load samples for policies and machines, taken periodically.

use std::{fmt, time::Duration};

use crate::{
    LoadSample, Timestamp,
    catalogue::{SampleKind, Sampling},
};

/// The source of load samples: the process, emulated servers in it, or a simulated plant.
pub trait Probe: fmt::Debug + Send + Sync {
    /// CPU time used since the start.
    fn cpu_time(&self) -> Duration;
    /// Available processors: the largest growth of CPU time per second.
    fn cpus(&self) -> f64;
    /// Memory in use, as a share of the memory limit, 0 to 1.
    fn memory_share(&self) -> f64;
}

/// The load at one moment, as a probe shows it. The default is no load.
#[derive(Debug, Clone, Copy, Default)]
pub struct LoadReading {
    /// CPU time used since the start.
    pub used: Duration,
    /// Available processors.
    pub cpus: f64,
    /// Memory in use, as a share of the memory limit, 0 to 1.
    pub memory: f64,
}

impl Probe for LoadReading {
    fn cpu_time(&self) -> Duration {
        self.used
    }

    fn cpus(&self) -> f64 {
        self.cpus
    }

    fn memory_share(&self) -> f64 {
        self.memory
    }
}

/// The load samples that an entry requests.
#[derive(Debug)]
pub(super) struct Samplers(Vec<Sampler>);

impl Samplers {
    /// The samplers of these requests.
    pub(super) fn new(samples: &[Sampling], now: Timestamp) -> Self {
        let sampler = |&sampling: &Sampling| Sampler {
            sampling,
            // A share of CPU time needs a first value at once.
            due: if sampling.what == SampleKind::Cpu { now } else { now + sampling.period },
            looked: None,
        };
        Self(samples.iter().map(sampler).collect())
    }

    /// Takes the samples that are due, and returns the time of the next one.
    pub(super) fn take(
        &mut self,
        now: Timestamp,
        stage: LoadSample,
        ready: u32,
        probe: &dyn Probe,
        tell: impl FnMut(LoadSample),
    ) -> Option<Timestamp> {
        self.0.iter_mut().filter_map(|sampler| sampler.take(now, stage, ready, probe)).for_each(tell);
        self.0.iter().map(|sampler| sampler.due).min()
    }
}

/// A requested load sample, with the time of the next one.
#[derive(Debug)]
struct Sampler {
    sampling: Sampling,
    due: Timestamp,
    /// The time of the previous sample of CPU time, and its value.
    looked: Option<(Timestamp, Duration)>,
}

impl Sampler {
    /// The sample, if it is due. A late call takes it once, not once for each missed period.
    fn take(&mut self, now: Timestamp, stage: LoadSample, ready: u32, probe: &dyn Probe) -> Option<LoadSample> {
        if now < self.due {
            return None;
        }
        self.due = now + self.sampling.period;
        match self.sampling.what {
            SampleKind::Stage => Some(stage),
            SampleKind::Ready => Some(LoadSample::Ready(ready)),
            SampleKind::Memory => Some(LoadSample::Memory(probe.memory_share())),
            SampleKind::Cpu => self.cpu_share(now, probe).map(LoadSample::Cpu),
        }
    }

    /// CPU time since the previous sample as a share of the available CPU time, 0 to 1; `None` at the first sample.
    fn cpu_share(&mut self, now: Timestamp, probe: &dyn Probe) -> Option<f64> {
        let used = probe.cpu_time();
        let (at, before) = self.looked.replace((now, used))?;
        let could = now.since(at).as_secs_f64() * probe.cpus();
        let did = used.saturating_sub(before).as_secs_f64();
        Some(if could > 0.0 { (did / could).clamp(0.0, 1.0) } else { 0.0 })
    }
}

/// Runnable tasks, for a machine without a seat that counts jobs: busy workers and queued jobs. A worker's batch counts
/// as one.
pub(super) fn ready(stage: LoadSample) -> u32 {
    match stage {
        LoadSample::Stage { queue, workers, idle, .. } => workers.saturating_sub(idle) + queue,
        LoadSample::Cpu(_) | LoadSample::Memory(_) | LoadSample::Ready(_) => 0,
    }
}
