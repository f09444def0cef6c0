//! What is known of a run: made from events alone, bounded in memory.

use std::collections::VecDeque;

use crate::{
    live::{Second, Shape},
    summary::Arm,
};

/// Seconds of an arm that are kept to be drawn: an hour.
pub(super) const MOST_SECONDS: usize = 3600;
/// Lines of the log that are kept.
pub(super) const MOST_LINES: usize = 200;
/// Finished arms that are kept.
pub(super) const MOST_ARMS: usize = 64;

#[derive(Debug, Default)]
pub(super) struct State {
    pub shape: Option<Shape>,
    /// The arm that runs.
    pub running: Option<Running>,
    /// How many have begun.
    pub begun: usize,
    /// Those that are over.
    pub finished: VecDeque<Arm>,
    /// Newest last; scrubbed.
    pub log: VecDeque<String>,
    pub paused: bool,
    pub stopping: bool,
    pub over: bool,
}

#[derive(Debug, Default)]
pub(super) struct Running {
    pub name: String,
    pub block: u32,
    pub phase: String,
    /// Second of the arm at which the phase began.
    pub phase_began: u32,
    pub seconds: VecDeque<Second>,
}

impl Running {
    pub fn latest(&self) -> Option<&Second> {
        self.seconds.back()
    }
}

impl State {
    /// Arms times blocks.
    pub fn turns(&self) -> usize {
        self.shape.as_ref().map_or(0, |shape| shape.arms.len() * shape.blocks as usize)
    }

    /// How long an arm is meant to last, seconds, without its drain.
    pub fn planned_seconds(&self) -> f64 {
        self.shape.as_ref().map_or(0.0, |shape| shape.phases.iter().map(|phase| phase.seconds).sum())
    }

    /// Seconds of the arm at which one phase ends and the next begins.
    pub fn boundaries(&self) -> Vec<f64> {
        let Some(shape) = &self.shape else { return Vec::new() };
        let mut at = 0.0;
        let mut found = Vec::new();
        for phase in &shape.phases {
            at += phase.seconds;
            found.push(at);
        }
        found
    }

    pub fn objective_ms(&self) -> Option<f64> {
        self.shape.as_ref().map(|shape| shape.objective.response_time_ms)
    }
}
