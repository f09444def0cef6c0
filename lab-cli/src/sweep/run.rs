//! One run of an arm, as a value that anybody can compute.

use std::sync::Arc;

use analysis::summary::{Arm, Capacity};
use experiment::Experiment;
use workloads::StopFlag;

use crate::run::{RunFailure, VirtualSetup};

/// A seed and its number, which is the block of its runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seed {
    /// The number of the block, from 1.
    pub block: u32,
    /// The seed of all that is random.
    pub seed: u64,
}

/// Users and service of runs that share them.
#[derive(Debug)]
pub struct SweepWorld {
    /// Without arms, but for those that have a service of their own.
    of: Experiment,
    pub setup: VirtualSetup,
    pub capacity: Option<Capacity>,
}

/// One run of an arm.
#[derive(Debug)]
pub struct SweepRun {
    /// The name in messages and in the journal.
    pub name: String,
    pub experiment: Arc<Experiment>,
    pub world: Arc<SweepWorld>,
    /// The number of the arm.
    pub arm: usize,
    pub seed: Seed,
}

impl SweepWorld {
    /// Solves for the capacity, where one is asked for.
    ///
    /// # Errors
    /// There is no solution, or it was stopped.
    pub fn solved(experiment: &Experiment, stop: &StopFlag) -> Result<Self, RunFailure> {
        let setup = VirtualSetup::of(experiment);
        let capacity = setup.capacity(experiment, stop)?;
        Ok(Self { of: shared(experiment), setup, capacity })
    }

    /// With a capacity that was solved for elsewhere.
    pub fn with(experiment: &Experiment, capacity: Option<Capacity>) -> Self {
        Self { of: shared(experiment), setup: VirtualSetup::of(experiment), capacity }
    }

    /// True if runs of the experiment share it.
    pub fn is_of(&self, experiment: &Experiment) -> bool {
        self.of == shared(experiment)
    }
}

fn shared(experiment: &Experiment) -> Experiment {
    let mut of = experiment.clone();
    of.arms.retain(|arm| arm.own_target.is_some());
    (of.thresholds, of.figure) = (Vec::new(), None);
    of
}

impl SweepRun {
    /// Computes it; `None`: it was stopped.
    ///
    /// # Errors
    /// What a run of the arm would fail with.
    pub fn compute(&self, stop: &StopFlag) -> Result<Option<Arm>, RunFailure> {
        if stop.is_stopped() {
            return Ok(None);
        }
        let experiment = &*self.experiment;
        let arm = &experiment.arms[self.arm];
        let SweepWorld { setup, capacity, .. } = &*self.world;
        let foreknown = arm.hindsight.as_ref().is_some_and(|known| experiment.computes(known));
        let mut found = if foreknown {
            setup.bound(experiment, arm, self.seed.seed)?
        } else {
            setup.measured(experiment, arm, self.seed.seed, capacity.as_ref(), stop)?
        };
        found.block = self.seed.block;
        Ok((!stop.is_stopped()).then_some(found))
    }
}
