//! One second of a run, for live views and `timeline.jsonl`.

use std::collections::BTreeMap;

use controllers::site::ClientGauges;
use serde::{Deserialize, Serialize};

use super::Group;

/// Activities of users at one moment, counted by the host.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserStates {
    /// Thinking between requests.
    pub thinking: u64,
    /// Told to wait by the service.
    pub waiting: u64,
    /// Backing off after a reject or failure.
    pub backing_off: u64,
    /// With a request whose turn has not come: the generator is behind.
    pub queued: u64,
    /// Connecting.
    pub connecting: u64,
    /// With a request open.
    pub in_flight: u64,
    /// Gone by themselves since the beginning, of those that were to stay; they are in no total.
    #[serde(default)]
    pub gone: u64,
}

impl UserStates {
    /// All users that are there.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.thinking + self.waiting + self.backing_off + self.queued + self.connecting + self.in_flight
    }
}

/// The times of one second: of each histogram bucket its least microsecond, and how many lie in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SecondTimes {
    /// Response times of what was answered as asked.
    pub response: Vec<[u64; 2]>,
    /// Waits of requests that were given up.
    pub response_censored: Vec<[u64; 2]>,
    /// Times of rejections.
    pub reject: Vec<[u64; 2]>,
}

/// One second of a run. Counts are of what happened in this second, whenever it was planned.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Window {
    /// Second of the run at which it begins.
    pub second: u64,
    /// Phase at its beginning, as an index into the plan; the number of phases while the run drains.
    pub phase: usize,
    /// First attempts whose intended start lay in it.
    pub offered: u64,
    /// Retries whose intended start lay in it.
    pub retries: u64,
    /// Written to the service.
    pub sent: u64,
    /// Answered as asked within the objective.
    pub served: u64,
    /// Answered as asked, late.
    pub late: u64,
    /// Refused by the service.
    pub rejected: u64,
    /// Timed out.
    pub timed_out: u64,
    /// Answered wrongly, or the connection broke.
    pub failed: u64,
    /// Given up.
    pub abandoned: u64,
    /// No connection came about.
    pub connect_failed: u64,
    /// Of these: within the connect time-out.
    pub connect_timed_out: u64,
    /// Refused by a client-side policy.
    pub refused_locally: u64,
    /// Unique wants answered within the objective: goodput per second.
    pub goodput: u64,
    /// Open at its end.
    pub in_flight: u64,
    /// Median response time of what was answered as asked in it, in milliseconds.
    pub p50_ms: Option<f64>,
    /// 90th percentile of the same.
    pub p90_ms: Option<f64>,
    /// 99th percentile of the same.
    pub p99_ms: Option<f64>,
    /// Where time-outs of this second hide the median: at least this.
    pub p50_at_least_ms: Option<f64>,
    /// The same for the 90th.
    pub p90_at_least_ms: Option<f64>,
    /// The same for the 99th.
    pub p99_at_least_ms: Option<f64>,
    /// 99th percentile of the send lag, in milliseconds; the greatest where there are too few for one.
    pub send_lag_p99_ms: Option<f64>,
    /// Longest time that the host's loop was late to its own wake-up, where the host knows.
    pub loop_gap_ms: Option<f64>,
    /// By request type; types without any request are left out.
    #[serde(default)]
    pub by_type: BTreeMap<String, Group>,
    /// By class, where there are several.
    #[serde(default)]
    pub by_class: BTreeMap<String, Group>,
    /// Its times one by one, where they are asked for ([`Recorder::keeping_times`](super::Recorder::keeping_times)).
    #[serde(skip)]
    pub times: Option<Box<SecondTimes>>,
    /// Activities of users at its end.
    pub users: UserStates,
    /// Gauges of client-side policies at its end, where there are any.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub client: Option<ClientGauges>,
    /// Refusals of balancers before services by its end, where they have a cap.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub turned_back: BTreeMap<String, TurnedBack>,
}

/// What a balancer has refused, since every task had as many requests under way as it may.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnedBack {
    /// Requests.
    pub requests: u64,
    /// Health checks, which are in no books of requests.
    pub checks: u64,
}
