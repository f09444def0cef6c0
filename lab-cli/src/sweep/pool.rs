//! Where runs are computed: on threads of this process, or elsewhere.

use std::fmt::Debug;

use analysis::summary::Arm;

use super::run::SweepRun;
use crate::{
    exit::Failure,
    run::{RunFailure, StopSignal, side_by_side},
};

/// The reason why not all cases were run.
#[derive(Debug)]
pub enum BenchError {
    /// It was interrupted: the journal has what ended before.
    Stopped,
    /// A run failed.
    Failed(RunFailure),
    /// What ran has no answer.
    Said(Failure),
}

impl From<RunFailure> for BenchError {
    fn from(failure: RunFailure) -> Self {
        Self::Failed(failure)
    }
}

/// What becomes of runs, by their number.
#[derive(Debug)]
pub enum PoolNews {
    /// It goes on.
    Waiting,
    /// The run has this result.
    Found(usize, Box<Arm>),
    /// Nobody comes to a result, for this reason; others go on.
    Lost(usize, String),
}

/// Hears of runs.
pub type HearPool<'a> = dyn FnMut(PoolNews) -> Result<(), RunFailure> + 'a;

/// Computes runs.
pub trait RunPool: Debug {
    /// Computes all, and tells of each in their order. What was stopped is told of by nobody.
    ///
    /// # Errors
    /// The first failure of a run; the pool does not work; or what the listener returns.
    fn compute(&self, runs: &[SweepRun], stop: &StopSignal, heard: &mut HearPool<'_>) -> Result<(), BenchError>;
}

/// Threads of this process, one on each processor.
#[derive(Debug, Clone, Copy)]
pub struct Threads;

impl RunPool for Threads {
    fn compute(&self, runs: &[SweepRun], stop: &StopSignal, heard: &mut HearPool<'_>) -> Result<(), BenchError> {
        let flag = stop.fresh_flag();
        let numbers: Vec<usize> = (0..runs.len()).collect();
        side_by_side(
            &numbers,
            None,
            |number: usize| runs[number].compute(&flag),
            |ended| match ended {
                None => heard(PoolNews::Waiting),
                Some((number, found)) => match found? {
                    Some(arm) => heard(PoolNews::Found(number, Box::new(arm))),
                    None => Ok(()),
                },
            },
        )?;
        Ok(())
    }
}
