//! Percentiles of response times, as reports show them: of requests served, and of all.

use crate::{
    summary::{Measured, RunSummary, Times},
    text::{known_or_at_least, percent},
};

const SHOWN: [&str; 3] = ["p50", "p90", "p99"];

/// The median, the 90th and the 99th percentile, or their bounds.
pub(super) fn percentiles(times: &Times) -> [String; 3] {
    SHOWN.map(|name| times.percentile(name)).map(|(value, bound)| known_or_at_least(value, bound))
}

/// The same of all requests: `never` where too few were served.
pub fn percentiles_of_all(times: &Times) -> [String; 3] {
    SHOWN.map(|name| times.percentile(name)).map(|(value, never)| match never {
        Some(_) => "never".to_owned(),
        None => known_or_at_least(value, None),
    })
}

/// The column of [`p90_of_all`], in tables of runs in which something was not served.
pub(super) const OF_ALL: &str = "p90 of all";

pub(super) fn any_not_served(summary: &RunSummary) -> bool {
    summary.arms.iter().flat_map(|arm| &arm.phases).any(|phase| phase.measured.response_time_all_ms.censored > 0)
}

/// `never: 47 % not served`.
pub(super) fn p90_of_all(measured: &Measured) -> String {
    let times = &measured.response_time_all_ms;
    let [_, p90, _] = percentiles_of_all(times);
    match times.p90_at_least {
        Some(_) => format!("{p90}: {} not served", percent(times.censored_share())),
        None => p90,
    }
}
