//! The generator's own state: figures only. The validity gates of a run set the limits.

use std::time::Duration;

use controllers::Timestamp;
use serde::{Deserialize, Serialize};

/// What a wake-up may take on a machine with nothing else to do: about 13 µs were seen, and twice that is allowed.
pub const WAKE_UP: Duration = Duration::from_micros(25);

/// The generator's own state over a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Health {
    /// The time that it was measured for.
    pub wall: Duration,
    /// CPU time of the whole process, user and system.
    pub process_cpu: Duration,
    /// CPU time of the thread that sends.
    pub sender_cpu: Duration,
    /// The time that this thread was ready to run and waited for its core (field 2 of `schedstat`).
    pub run_queue_delay: Duration,
    /// The number of times that this thread was given its core: each time it waits for some microseconds, however quiet
    /// the machine.
    pub sender_turns: u64,
    /// The share of the machine's CPU time that its own host stole, 0 to 1.
    pub steal: f64,
    /// The longest time by which the sender's loop was late for a wake-up.
    pub largest_gap: Duration,
    /// The 99.9th percentile of the lateness of its wake-ups; `None` with fewer than 2995 of them.
    pub gap_p999: Option<Duration>,
    /// Gaps of the loop that were long enough to be stalls, the first ones in order.
    pub stalls: Vec<Stall>,
    /// The number of further stalls.
    pub more_stalls: u64,
    /// The largest number of file descriptors open at once.
    pub descriptors_peak: u64,
    /// The number of file descriptors that the process may have (soft `RLIMIT_NOFILE`).
    pub descriptors_limit: u64,
    /// Connections that could not be made because the process had no descriptor left (EMFILE, ENFILE).
    pub out_of_descriptors: u64,
    /// Answers that were abandoned because the memory for all answers under way was exhausted.
    pub out_of_memory: u64,
    /// Connections that could not be made because no local port was left (EADDRNOTAVAIL).
    pub out_of_ports: u64,
    /// The largest number of requests in flight.
    pub in_flight_peak: u32,
    /// The host's limit of requests in flight.
    pub in_flight_limit: u32,
    /// Requests that waited because the limit in flight was reached: the wait is in their send lag.
    pub waited_for_fiber: u64,
    /// Requests that waited because all connections that users share were in use: the wait is not in their send lag.
    #[serde(skip_serializing_if = "is_zero")]
    pub waited_for_connection: u64,
    /// Kept connections on which bytes came that no request had asked for: each was closed.
    #[serde(skip_serializing_if = "is_zero")]
    pub unasked: u64,
    /// Users lost to a panic: a bug, and the run is void.
    pub fiber_panics: u64,
    /// Starts and ends of requests that the users' own policies did not know as in flight: a bug, and the run is void.
    #[serde(skip_serializing_if = "is_zero")]
    pub contradictions: u64,
    /// The peak of the process's resident memory, in bytes.
    pub resident_peak: u64,
    /// Page faults that had to wait for a disk.
    pub major_faults: u64,
    /// The deviations of the machine's clocks.
    pub clocks: ClockReport,
}

/// A count that is left out where there is nothing to say.
pub(super) fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// One late wake-up of the sender's loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stall {
    /// When the wake-up was due.
    pub due: Timestamp,
    /// The lateness.
    pub late: Duration,
    /// CPU time that the sender used between the previous reading and this one.
    pub on_cpu: Duration,
    /// The part of that time in which it waited for its core.
    pub waited_for_core: Duration,
    /// CPU time, on any core, that the machine's own host stole meanwhile (since at most a second before; the kernel
    /// counts it in ticks of 10 ms).
    pub stolen: Duration,
    /// The most likely cause.
    pub cause: StallCause,
}

/// The cause of a late wake-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StallCause {
    /// The sender was busy: more work than time to do it in.
    Busy,
    /// The sender was ready, and another process had its core.
    Crowded,
    /// The machine's own host had taken its processors away (steal).
    Stolen,
    /// The sender neither worked nor waited for a core: the machine itself stood still, or the wake-up came late.
    Asleep,
}

/// Deviations of the machine's clocks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClockReport {
    /// The rate by which the wall clock or the raw hardware counter ran faster or slower than the clock that timed the
    /// run, whichever is larger: parts per million.
    pub drift_ppm: f64,
    /// The largest step of the wall clock between two readings.
    pub step: Duration,
    /// The time that the machine slept.
    pub suspended: Duration,
}

impl ClockReport {
    /// The clocks are read one after the other: smaller differences between two readings may be due to that.
    pub const STEP: Duration = Duration::from_millis(10);
}
