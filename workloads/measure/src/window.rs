//! One second of a run, for live views and `timeline.jsonl`.

mod sum;

use std::collections::BTreeMap;

use controllers::site::ClientGauges;
use serde::{Deserialize, Serialize};

use super::{Distribution, Group, Replies, Reported, Times};

/// The activities of users at one moment, counted by the host.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserStates {
    /// Thinking between requests.
    pub thinking: u64,
    /// Waiting as the service told them.
    pub waiting: u64,
    /// Backing off after a reject or failure.
    pub backing_off: u64,
    /// With a request that the host has not taken yet: the generator is behind.
    pub queued: u64,
    /// Connecting.
    pub connecting: u64,
    /// With a request open.
    pub in_flight: u64,
    /// Left on their own since the beginning, of those that were to stay; they are in no total.
    pub gone: u64,
}

impl UserStates {
    /// The number of users present.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.thinking + self.waiting + self.backing_off + self.queued + self.connecting + self.in_flight
    }
}

/// The times of one second: for each histogram bucket its smallest microsecond, and the number of times in it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecondTimes {
    /// Response times of requests that were answered as requested.
    pub response: Vec<[u64; 2]>,
    /// Waits of abandoned requests.
    pub response_censored: Vec<[u64; 2]>,
    /// Times of rejections.
    pub reject: Vec<[u64; 2]>,
}

impl SecondTimes {
    /// Adds the times of others in the same second.
    pub fn add(&mut self, other: &Self) {
        let all = [
            (&mut self.response, &other.response),
            (&mut self.response_censored, &other.response_censored),
            (&mut self.reject, &other.reject),
        ];
        for (own, others) in all {
            let mut sum: BTreeMap<u64, u64> = own.iter().map(|&[time, count]| (time, count)).collect();
            for [time, count] in others {
                *sum.entry(*time).or_default() += count;
            }
            *own = sum.into_iter().map(|(time, count)| [time, count]).collect();
        }
    }

    /// The percentiles of response times, each the upper end of its bucket.
    #[must_use]
    pub fn percentiles(&self) -> Times {
        let all = Distribution::of_buckets(u64::MAX, [&self.response, &self.response_censored]);
        all.with_longest_of_bucket().percentiles()
    }
}

/// One second of a run. Events are counted in the second in which they happened, whenever they were planned.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Window {
    /// The second of the run at which it begins.
    pub second: u64,
    /// The phase at its beginning, as an index into the plan; the number of phases while the run drains.
    pub phase: usize,
    /// First attempts whose intended start lay in it.
    pub offered: u64,
    /// Retries whose intended start lay in it.
    pub retries: u64,
    /// Written to the service.
    pub sent: u64,
    /// Answered as requested within the objective, counted from the first attempt: goodput per second.
    pub served: u64,
    /// Answered as requested, late.
    pub late: u64,
    /// Refused by the service.
    pub rejected: u64,
    /// Timed out.
    pub timed_out: u64,
    /// Answered wrongly, or the connection broke.
    pub failed: u64,
    /// Abandoned by the user.
    pub abandoned: u64,
    /// Without a connection.
    pub connect_failed: u64,
    /// Of these: connect time-outs.
    pub connect_timed_out: u64,
    /// Refused by a client-side policy.
    pub refused_locally: u64,
    /// Bytes of the bodies of answers.
    pub body_bytes: u64,
    /// Open at its end.
    pub in_flight: u64,
    /// Median response time of the requests answered as requested in it, in milliseconds.
    pub p50_ms: Option<f64>,
    /// 90th percentile of these times.
    pub p90_ms: Option<f64>,
    /// 99th percentile of these times.
    pub p99_ms: Option<f64>,
    /// A lower bound of the median, where time-outs of this second hide it.
    pub p50_at_least_ms: Option<f64>,
    /// A lower bound of the 90th percentile, likewise.
    pub p90_at_least_ms: Option<f64>,
    /// A lower bound of the 99th percentile, likewise.
    pub p99_at_least_ms: Option<f64>,
    /// Response times of the requests that ended in the report window that ends with this second; `None` in the seconds
    /// between.
    pub reported: Option<Box<Reported>>,
    /// 99th percentile of the send lag, in milliseconds; the maximum where there are too few sends for a percentile.
    pub send_lag_p99_ms: Option<f64>,
    /// The longest time by which the host's loop was late for a wake-up, in milliseconds, where the host measures it.
    pub loop_gap_ms: Option<f64>,
    /// By request type; types without any request are left out.
    pub by_type: BTreeMap<String, Group>,
    /// By class, where there are several.
    pub by_class: BTreeMap<String, Group>,
    /// Its times as histograms, if wanted ([`Recorder::keeping_times`](super::Recorder::keeping_times)).
    pub times: Option<Box<SecondTimes>>,
    /// All answers by status and errors by text up to its end, likewise.
    pub replies: Option<Box<Replies>>,
    /// The activities of users at its end.
    pub users: UserStates,
    /// Gauges of client-side policies at its end, where there are any.
    #[serde(skip)]
    pub client: Option<ClientGauges>,
    /// Refusals by balancers in front of services up to its end, where they have a cap.
    #[serde(skip)]
    pub turned_back: BTreeMap<String, TurnedBack>,
}

/// Requests of the second that was under way when the run ended, whose window was not closed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastSecond {
    /// Requests whose intended start was reported in it, sent or not.
    pub planned: u64,
    /// Requests that were written in it.
    pub sent: u64,
}

/// Refusals by a balancer because every task was at its limit of requests under way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TurnedBack {
    /// Requests.
    pub requests: u64,
    /// Health checks, which are in no ledger of requests.
    pub checks: u64,
}
