//! Counts and times of a group of requests, as `summary.json` has them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Times;

/// What was measured of a group of requests.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Measured {
    /// Requests that users meant to send.
    pub planned: u64,
    /// Never sent: the generator's fault.
    pub unsent: u64,
    /// Never sent: a client-side policy refused, or did not let it go in time.
    pub refused_locally: u64,
    /// No connection came about.
    pub connect_failed: u64,
    /// Of these, the ones that ran into the connect time-out.
    pub connect_timed_out: u64,
    /// Written to a connection.
    pub sent: u64,
    /// Answered as asked, within the objective from the intended start of the first attempt.
    pub served: u64,
    /// Answered as asked, later than that.
    pub served_late: u64,
    /// Refused because of load.
    pub rejected: u64,
    /// No answer within the time-out.
    pub timed_out: u64,
    /// Answered with something else than what was asked for, or broken.
    pub failed: u64,
    /// The user's patience ended first.
    pub abandoned: u64,
    /// Open when the run ended.
    pub in_flight: u64,
    /// First attempts a second.
    pub offered_per_s: f64,
    /// Intents a second that were met within the objective.
    pub goodput_per_s: f64,
    /// Rejected of those that got an answer or none: `rejected / sent`.
    pub reject_fraction: f64,
    /// Attempts beyond the first.
    pub retries: u64,
    /// Found their kept connection closed before anything was written to it, and went out on a new one; no part of `sent`.
    pub resent: u64,
    /// Of `failed`: sent to another host, where users do not go.
    #[serde(default)]
    pub elsewhere: u64,
    /// Redirects and refreshes that were followed: written beside `sent`, so the service reads `sent + hops`.
    pub hops: u64,
    /// Users that asked for something.
    pub clients: u64,
    /// Share of them that saw at least one connect time-out.
    pub clients_with_connect_timeout: f64,
    /// From intended start to the end of the answer, of what was served. Includes connecting.
    pub response_time_ms: Times,
    /// From the intended start of a request's first attempt to the end of its answer, over all requests that users wanted, retries not
    /// counted: `count` of them were answered; `censored` of them were not, whatever the reason, and are longer than all that were.
    /// A percentile among these is null, with a lower bound beside it: the users' time-out, or the longest answer.
    pub response_time_all_ms: Times,
    /// From actual send to the end of the answer, of what was served.
    pub service_time_ms: Times,
    /// From intended start to the end of the refusal.
    pub reject_time_ms: Times,
    /// From the first SYN to an open connection.
    pub connect_time_ms: Times,
    /// In replays: how long after its recorded time a request was wanted of the service, because its user was still at the one
    /// before. First attempts; the generator's own lateness is not in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub behind_ms: Option<Times>,
}

impl Measured {
    /// Requests written to a connection: the number that the service should have read.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.sent + self.hops
    }

    /// First attempts: the offered load.
    #[must_use]
    pub fn first_attempts(&self) -> u64 {
        self.planned.saturating_sub(self.retries)
    }

    /// The mean number of attempts for a request of a user; 1 without retries.
    #[must_use]
    pub fn amplification(&self) -> Option<f64> {
        ratio(self.planned, self.first_attempts())
    }

    /// Requests that the service was asked for and did not answer as asked.
    #[must_use]
    pub fn errors(&self) -> u64 {
        self.planned.saturating_sub(self.unsent + self.served + self.served_late)
    }

    /// The share of what users wanted that had an answer, in time or late; `None` where nothing was wanted.
    #[must_use]
    pub fn answered(&self) -> Option<f64> {
        ratio(self.served + self.served_late, self.first_attempts())
    }

    /// The equation that does not hold, if one does not: nothing planned is lost, nothing sent is lost.
    #[must_use]
    pub fn imbalance(&self) -> Option<String> {
        let planned = self.unsent + self.refused_locally + self.connect_failed + self.sent;
        let ended = self.served + self.served_late + self.rejected + self.timed_out + self.failed + self.abandoned;
        let sent = ended + self.in_flight;
        if self.planned != planned {
            return Some(format!("{} requests were planned, but {planned} are accounted for", self.planned));
        }
        (self.sent != sent).then(|| format!("{} requests were sent, but {sent} are accounted for", self.sent))
    }
}

/// The share of a whole; `None` of nothing.
pub(super) fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}
