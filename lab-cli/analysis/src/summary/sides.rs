//! Health of generator, service and kernel, each by its own counts.

use std::collections::BTreeMap;

use measure::ServiceTotals;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the load generator fared.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Generator {
    /// CPU used, as a share of its core.
    pub cpu: f64,
    /// Share of the time that the thread that sends was ready to run and waited for its core (run-queue delay).
    pub run_queue: f64,
    /// Of that, what is beyond the few microseconds that every wake-up takes (25 µs each): others had its core.
    pub crowded: f64,
    /// Mean wait for its core each time that it was ready, in milliseconds.
    pub core_wait_ms: f64,
    /// Actual send minus intended send, 99th percentile.
    pub send_lag_p99_ms: f64,
    /// The longest.
    pub send_lag_max_ms: f64,
    /// Planned requests that it never sent.
    pub unsent: u64,
    /// The longest time that its clock watch was late: a suspended or starved generator.
    pub loop_gap_max_ms: f64,
    /// Values beyond the range of a histogram.
    pub saturated: u64,
    /// Descriptors open at the most.
    pub open_files_max: u64,
    /// Descriptors that it may have; 0: unknown.
    pub open_files_limit: u64,
    /// Sends that failed because descriptors ran out.
    pub files_exhausted: u64,
    /// Sends that failed because local ports ran out.
    pub ports_exhausted: u64,
    /// Answers given up because the memory for all answers under way was used up.
    pub memory_exhausted: u64,
    /// Panics caught.
    pub panics: u64,
    /// Starts and ends of requests that the users' own policies did not know as in flight.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub contradictions: u64,
    /// Share of the machine's CPU time that its own host took away.
    pub steal: f64,
    /// Page faults that waited for a disk.
    pub major_faults: u64,
    /// By how much the mean number in flight differs from rate times time (Little's law), as a share of it.
    pub little: f64,
    /// Sums of its books that do not add up, in words.
    pub books: Vec<String>,
}

/// What the service itself counted, and its health.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Server {
    /// Connections taken.
    pub connections_accepted: u64,
    /// Connections refused or evicted by a limit.
    pub connections_refused: u64,
    /// Failures to accept.
    pub accept_errors: u64,
    /// Requests whose head was read whole.
    pub requests_read: u64,
    /// Answered 4xx as no acceptable HTTP.
    pub malformed: u64,
    /// Answered as asked.
    pub served: u64,
    /// Refused, by reason.
    pub refused: BTreeMap<String, u64>,
    /// Failed.
    pub errors: u64,
    /// The client had gone.
    pub client_gone: u64,
    /// Not finished when it was asked.
    pub in_flight: u64,
    /// Of those served: answers that said that they are less than was asked for, or older.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub degraded: u64,
    /// Health checks that it read, which are in no other count.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub checks: u64,
    /// Requests of clients without an answer that it never read, where both sides could be joined.
    pub unread: Option<u64>,
    /// CPU used, as a share of its core.
    pub cpu: f64,
    /// Panics caught.
    pub panics: u64,
    /// Starts and ends of jobs that a policy's site did not know as in flight.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub contradictions: u64,
    /// Where there are several services: the books of each. All above is about users' requests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub services: Vec<ServiceTotals>,
}

/// What the processes of a service that is not the lab's used while an arm ran, read from outside, and what the proxy
/// before it did.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ServiceUse {
    /// CPU used by the service's processes, as a share of a core; `None`: unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<f64>,
    /// The most resident memory that was seen, in millions of bytes; `None`: unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_mb: Option<f64>,
    /// The core that it was kept to; `None`: any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub core: Option<usize>,
    /// Why its CPU and memory are unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unknown: Option<String>,
    /// CPU used by the proxy, as a share of a core; `None`: users went past it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy_cpu: Option<f64>,
    /// Resident memory of the proxy before or after the load, whichever is more, in millions of bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy_memory_mb: Option<f64>,
    /// The core that the proxy was kept to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy_core: Option<usize>,
}

/// What the kernel counted while the arm ran (differences of `/proc/net/netstat`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Kernel {
    /// Connections dropped because an accept queue was full.
    pub listen_overflows: u64,
    /// All drops at a listening socket.
    pub listen_drops: u64,
    /// SYNs sent again.
    pub syn_retransmits: u64,
    /// SYNs dropped, or answered by cookie, because a queue of half-open connections was full.
    pub request_queue_full: u64,
    /// Connections dropped at the listening sockets of the target, or of the lab's proxy before a service of one's own; the other counts
    /// are of all programs of the machine. `None`: not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub own_drops: Option<u64>,
    /// The counters could not be read: nothing is known of the kernel's own refusals.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unread: bool,
}

impl Kernel {
    /// Connections that a full queue lost, in any program of the machine. All drops count overflows too, and those for want of memory; a queue of
    /// half-open connections that is full drops SYNs, or answers them by cookie, before there is a connection to count.
    pub fn dropped_by_anybody(&self) -> u64 {
        self.listen_overflows.max(self.listen_drops) + self.request_queue_full
    }
}

/// A count that is left out.
pub(super) fn is_zero(count: &u64) -> bool {
    *count == 0
}
