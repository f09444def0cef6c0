//! Whether the generator could keep up, in numbers that its host supplies.

use serde::{Deserialize, Serialize};

/// What a host knows of itself. A number that a host cannot know is `None`; counts that it never makes stay 0.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Health {
    /// Share of one core that the generator's thread used, 0 to 1.
    pub cpu: f64,
    /// CPU seconds of the generator's thread.
    pub cpu_seconds: f64,
    /// Share of the time that the generator's thread was ready to run and did not (run-queue delay), 0 to 1.
    pub run_queue_delay: Option<f64>,
    /// Longest gap between two turns of the generator's loop, in milliseconds.
    pub loop_gap_max_ms: Option<f64>,
    /// Descriptors: most open at once, and the limit.
    pub descriptors: u64,
    /// The limit of them.
    pub descriptor_limit: u64,
    /// Connects that failed for want of a local port (`EADDRNOTAVAIL`).
    pub ports_exhausted: u64,
    /// Connects that failed for want of a descriptor (`EMFILE`, `ENFILE`).
    pub descriptors_exhausted: u64,
    /// Most requests under way at once, and how many can be.
    pub in_flight_max: u64,
    /// How many requests can be under way at once.
    pub in_flight_limit: u64,
    /// Fibers or tasks that panicked: the run is not to be believed.
    pub panics: u64,
    /// Resident memory at its largest, in bytes.
    pub memory_max: Option<u64>,
    /// Anything else that a person should read, one sentence each.
    pub notes: Vec<String>,
}
