//! The generator's own condition: a run whose generator was the bottleneck measured the generator.
//!
//! Figures alone. Limits belong to the validity gates of a run.

mod clocks;
mod descriptors;
mod gaps;
mod others;
mod procfs;
mod sender;

use std::time::Duration;

use controllers::Timestamp;
use serde::{Deserialize, Serialize};

pub use clocks::{ClockMeter, ClockReport};
pub use descriptors::DescriptorMeter;
pub use gaps::GapMeter;
pub use others::{Others, OthersMeter};
pub use procfs::{
    MachineSample, ProcessSample, ThreadMeter, ThreadSample, descriptor_limit, local_ports, max_map_count,
    open_descriptors, thread_id,
};
pub use sender::SenderMeter;

/// The generator's own state over a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Health {
    /// How long it was watched.
    pub wall: Duration,
    /// CPU time of the whole process, user and system.
    pub process_cpu: Duration,
    /// CPU time of the thread that sends.
    pub sender_cpu: Duration,
    /// How long that thread was ready to run and waited for its core (field 2 of `schedstat`).
    pub run_queue_delay: Duration,
    /// How often it was given its core: each time it waits for some microseconds, however quiet the machine.
    pub sender_turns: u64,
    /// Share of the machine's CPU time that its own host took away, 0 to 1.
    pub steal: f64,
    /// Longest time that the sender's loop was late for a wake-up of its own.
    pub largest_gap: Duration,
    /// 999 of 1000 of its wake-ups came no later than this; `None` with too few of them (2995).
    pub gap_p999: Option<Duration>,
    /// Loop gaps over [`GapMeter::STALL`], the first ones in order.
    pub stalls: Vec<Stall>,
    /// Further stalls, counted only.
    pub more_stalls: u64,
    /// Most file descriptors open at once, and how many the process may have.
    pub descriptors_peak: u64,
    /// Soft `RLIMIT_NOFILE`.
    pub descriptors_limit: u64,
    /// Connections that could not be made because the process had no descriptor left (EMFILE, ENFILE).
    pub out_of_descriptors: u64,
    /// Answers that were given up because the memory for all answers under way was used up.
    pub out_of_memory: u64,
    /// Connections that could not be made because no local port was left (EADDRNOTAVAIL).
    pub out_of_ports: u64,
    /// Most requests in flight at once.
    pub in_flight_peak: u32,
    /// Most requests that the host would hold in flight.
    pub in_flight_limit: u32,
    /// Requests that waited since the limit of requests in flight was reached: the wait is in their send lag.
    pub waited_for_fiber: u64,
    /// Users that died of a panic: a bug, and the run is void.
    pub fiber_panics: u64,
    /// Kept connections that the service had closed by the time of the next request; a new one was opened.
    pub stale_connections: u64,
    /// Most memory that the process had resident, in bytes.
    pub resident_peak: u64,
    /// Page faults that had to wait for a disk.
    pub major_faults: u64,
    /// Deviations of the machine's clocks.
    pub clocks: ClockReport,
}

/// One time that the sender's loop came late to its own wake-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stall {
    /// When the wake-up was due.
    pub due: Timestamp,
    /// How late it came.
    pub late: Duration,
    /// CPU time that the sender used between its last look and this one.
    pub on_cpu: Duration,
    /// How much of that time it waited for its core.
    pub waited_for_core: Duration,
    /// How much CPU time, on any core, the machine's own host took away meanwhile (since a second before at most; the
    /// kernel counts it in ticks of 10 ms).
    pub stolen: Duration,
    /// Most likely cause.
    pub cause: StallCause,
}

/// Why the sender's loop came late.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StallCause {
    /// The loop was at work: more to do than time to do it in.
    Busy,
    /// The thread was ready, and another process had its core.
    Crowded,
    /// The machine's own host had taken its processors away (steal).
    Stolen,
    /// The thread neither worked nor waited for a core: the machine itself stood still, or the wake-up came late.
    Asleep,
}
