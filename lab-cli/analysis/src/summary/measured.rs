//! Books and times of a group of requests.

use measure::{Ledger, Times};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
    /// Requests written to a connection: what the service should have read.
    pub fn written(&self) -> u64 {
        self.ledger().written()
    }

    /// Requests that the service was asked for and did not answer as asked.
    pub fn errors(&self) -> u64 {
        self.planned.saturating_sub(self.unsent + self.served + self.served_late)
    }

    /// The share of what users wanted that had an answer, in time or late; `None` where nothing was wanted.
    pub fn answered(&self) -> Option<f64> {
        let wanted = self.planned.saturating_sub(self.retries);
        (wanted > 0).then(|| (self.served + self.served_late) as f64 / wanted as f64)
    }

    /// The client's own equations: nothing planned is lost, nothing sent is lost.
    pub fn balances(&self) -> bool {
        self.ledger().imbalance().is_none()
    }

    /// Counts as the recorder has them, so that an equation of theirs is written once.
    fn ledger(&self) -> Ledger {
        Ledger {
            planned: self.planned,
            unsent: self.unsent,
            refused_locally: self.refused_locally,
            connect_failed: self.connect_failed,
            sent: self.sent,
            served: self.served,
            served_late: self.served_late,
            rejected: self.rejected,
            timed_out: self.timed_out,
            failed: self.failed,
            abandoned: self.abandoned,
            in_flight: self.in_flight,
            hops: self.hops,
            ..Ledger::default()
        }
    }
}
