//! The results of a fit, as stored in the model file.

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{PreviousPage, Think};

/// The data and the quality of a fit, a part of the model's file. Simulated users ignore it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fitted {
    /// The size of the data.
    pub read: Extent,
    /// The reading of delete and refile without a row: `users.previous_page` of an experiment.
    pub previous_page: PreviousPage,
    /// The probability that all intervals contain their cells: 0.99 (Bonferroni: each has its share of the 0.01).
    pub confidence: f64,
    /// Transitions, in the order of states.
    pub cells: Vec<Cell>,
    /// States after which users return to the previous page, with counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub back: Vec<PreviousPageReturns>,
    /// The test whether the next page depends on the last one only.
    pub order: Order,
    /// Pauses after each state, over all next states.
    pub think: BTreeMap<String, Pauses>,
    /// Requests in a session, of sessions that ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lengths: Option<Lengths>,
    /// The times at which sessions began.
    pub arrivals: Arrivals,
    /// Bytes of answers, by action.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sizes: BTreeMap<String, Quantiles>,
    /// Messages in a folder: the highest message number of any record, a lower bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folders: Option<Quantiles>,
    /// Records outside the model, by action: actions that web-mail users do not have, and states that no session
    /// leaves.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub left_out: BTreeMap<String, u64>,
}

/// The size of the data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Extent {
    /// Records.
    pub records: u64,
    /// Sessions.
    pub sessions: u64,
    /// Cut sessions: their end is unknown, and their last page is not counted.
    pub cut: u64,
    /// Sessions that did not begin with a login: they count as if they had.
    pub without_login: u64,
    /// Users.
    pub users: u64,
    /// Length.
    #[serde(with = "crate::span")]
    pub length: Duration,
}

/// A transition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cell {
    /// From this state.
    pub from: String,
    /// To this one.
    pub to: String,
    /// The count.
    pub count: u64,
    /// The share of the transitions from the state.
    pub share: f64,
    /// The lower bound of the share (Clopper and Pearson, Biometrika 26, 1934).
    pub low: f64,
    /// The upper bound of the share.
    pub high: f64,
    /// Pauses between these two pages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub think: Option<Pauses>,
}

/// Pauses, and the law that describes them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pauses {
    /// The number of values.
    pub count: u64,
    /// Their mean.
    #[serde(with = "crate::span")]
    pub mean: Duration,
    /// The law: the best of a few families if it fits, else the pauses themselves.
    pub law: Think,
    /// The best family, fitting or not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub family: Option<Family>,
}

/// The best of the families (by Akaike's criterion), and whether it fits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Family {
    /// The family: constant, exponential, lognormal, uniform.
    pub name: String,
    /// The probability of pauses at least as far from the law, if it is true: chi-square over cells of equal
    /// probability. Slightly too low where the law's parameters are estimated from the same pauses. `None`: too few
    /// pauses to test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p: Option<f64>,
}

/// A state after which users return to the previous page.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PreviousPageReturns {
    /// The state.
    pub state: String,
    /// The number of transitions from it.
    pub seen: u64,
    /// The number of returns to the previous page.
    pub returned: u64,
}

/// The test whether the next page depends on the last one only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Order {
    /// The verdict in words.
    pub verdict: String,
    /// A test for each state that was reached from more than one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tests: Vec<OrderTest>,
    /// Counts of three consecutive pages, where a second-order model is worth it: the source of the model's rows of
    /// second order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub second: Vec<Second>,
}

/// Likelihood ratio of second against first order at one state (Anderson and Goodman, Ann. Math. Stat. 28, 1957).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OrderTest {
    /// The state.
    pub state: String,
    /// Transitions with a known previous page.
    pub seen: u64,
    /// Twice the logarithm of the ratio.
    pub statistic: f64,
    /// Degrees of freedom.
    pub degrees: u32,
    /// The probability of a statistic at least as large, if the previous page does not matter.
    pub p: f64,
    /// The distance of the rows from the common row: mean total variation distance, 0 to 1.
    pub distance: f64,
    /// True if the Bayesian criterion (Schwarz 1978) prefers the second order.
    pub worth: bool,
}

/// Three consecutive pages.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Second {
    /// The first.
    pub before: String,
    /// The second.
    pub from: String,
    /// The third.
    pub to: String,
    /// The count.
    pub count: u64,
}

/// Requests in a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lengths {
    /// The observed numbers.
    pub seen: Quantiles,
    /// The mean that follows from the matrix.
    pub model_mean: f64,
    /// The probability of lengths at least as far from those that follow from the matrix: chi-square. `None`: too few
    /// sessions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p: Option<f64>,
}

/// The times at which sessions began.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arrivals {
    /// Sessions a second, over the whole trace.
    pub per_second: f64,
    /// Length of a bin.
    #[serde(with = "crate::span")]
    pub bin: Duration,
    /// Sessions that began in each bin.
    pub bins: Vec<u64>,
    /// Variance of the bins over their mean: 1 for a Poisson process of constant rate. `None`: fewer than two bins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dispersion: Option<f64>,
    /// The probability of a dispersion at least as far from 1 in such a process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p: Option<f64>,
}

/// Quantiles of a sample.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quantiles {
    /// The number of values.
    pub count: u64,
    /// Mean.
    pub mean: f64,
    /// The smallest value.
    pub min: u64,
    /// Median.
    pub p50: u64,
    /// 90 % are at most this.
    pub p90: u64,
    /// 99 % are at most this.
    pub p99: u64,
    /// The largest value.
    pub max: u64,
}
