//! What is on the board of a load, for a coordinator that comes later.

use std::time::{Duration, SystemTime};

use experiment::Experiment;
use measure::Shard;
use serde::{Deserialize, Serialize};
use workloads::plan::LoadPlan;

use super::clock::ClockOffset;

/// A load, as its board has it.
#[derive(Debug, Serialize, Deserialize)]
pub struct LoadDescription {
    /// One arm.
    pub experiment: Experiment,
    /// The whole plan, without what must not be written down.
    pub plan: LoadPlan,
    pub members: Vec<CrewMember>,
    /// By the clock of who had it begun.
    pub begins: SystemTime,
    pub flat_out: bool,
    pub in_parts: bool,
    pub lost_at_most: f64,
}

/// An agent of a load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CrewMember {
    pub name: String,
    pub shard: Shard,
    /// Its clock ahead of the coordinator's. Clocks count from the start of a program.
    pub offset_ms: f64,
    pub clock_error_ms: f64,
}

impl CrewMember {
    /// Its clock as it was when the load began.
    pub fn clock(&self) -> ClockOffset {
        let error = Duration::try_from_secs_f64(self.clock_error_ms / 1e3).unwrap_or_default();
        ClockOffset { ahead_ns: (self.offset_ms * 1e6) as i64, error }
    }
}

/// A load that agents have been told to begin.
#[derive(Debug)]
pub struct ReadyLoad {
    pub name: String,
    pub members: Vec<CrewMember>,
    pub begins: SystemTime,
}
