//! Load samples that policies and machines ask for, taken when they are due.

use std::{fmt, time::Duration};

use crate::{
    LoadSample, Timestamp,
    catalogue::{SampleKind, Sampling},
};

/// Where load samples come from: the process, emulated servers in it, or a plant that stands for one.
pub trait Probe: fmt::Debug + Send + Sync {
    /// CPU time used so far.
    fn cpu_time(&self) -> Duration;
    /// Processors that it may use: its CPU time grows by so much a second at most.
    fn cpus(&self) -> f64;
    /// Share of its memory limit in use, 0 to 1.
    fn memory_share(&self) -> f64;
}

/// A load sample that somebody asked for, and when it is to be taken next.
#[derive(Debug)]
pub(super) struct Sampler {
    sampling: Sampling,
    pub(super) due: Timestamp,
    /// When CPU time was last looked at, and what had been used by then.
    looked: Option<(Timestamp, Duration)>,
}

impl Sampler {
    /// One for each of these.
    pub(super) fn all(samples: &[Sampling], now: Timestamp) -> Vec<Self> {
        let sampler = |&sampling: &Sampling| Self {
            sampling,
            // A share of CPU time needs a first look to count from, at once.
            due: if sampling.what == SampleKind::Cpu { now } else { now + sampling.period },
            looked: None,
        };
        samples.iter().map(sampler).collect()
    }

    /// The sample, if it is due. A late one is taken once, not once for each period that was missed.
    pub(super) fn take(
        &mut self,
        now: Timestamp,
        stage: LoadSample,
        ready: u32,
        probe: &dyn Probe,
    ) -> Option<LoadSample> {
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

    /// CPU time over the time that the process could have had since the last look, 0 to 1; `None` at the first.
    fn cpu_share(&mut self, now: Timestamp, probe: &dyn Probe) -> Option<f64> {
        let used = probe.cpu_time();
        let (at, before) = self.looked.replace((now, used))?;
        let could = now.since(at).as_secs_f64() * probe.cpus();
        let did = used.saturating_sub(before).as_secs_f64();
        Some(if could > 0.0 { (did / could).clamp(0.0, 1.0) } else { 0.0 })
    }
}

/// Jobs being worked on and waiting, for a machine that has no seat to count them: a worker's batch counts as one.
pub(super) fn ready(stage: LoadSample) -> u32 {
    match stage {
        LoadSample::Stage { queue, workers, idle, .. } => workers.saturating_sub(idle) + queue,
        LoadSample::Cpu(_) | LoadSample::Memory(_) | LoadSample::Ready(_) => 0,
    }
}
