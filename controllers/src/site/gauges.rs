//! The gauges of sites.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Gauge, seat::Counts};

/// The gauges of a stage or gate.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StageGauges {
    /// The site's name.
    pub name: String,
    /// Jobs waiting.
    pub queue: u32,
    /// Workers in the pool.
    pub workers: u32,
    /// Idle workers.
    pub idle: u32,
    /// The largest batch, jobs.
    pub batch: u32,
    /// Offered jobs since the start.
    pub offered: u64,
    /// Admitted jobs since the start.
    pub admitted: u64,
    /// Refused jobs since the start.
    pub refused: u64,
    /// Finished jobs since the start.
    pub completed: u64,
    /// Busy time of the workers since the start, milliseconds.
    pub busy_ms: f64,
    /// Gauges of policy and machines: `admission_rate_per_s`, `p90_ms`, `quality`, `limit`; of one class:
    /// `name[class]`.
    pub policy: BTreeMap<String, f64>,
    /// Other counters since the start: `attempt_0`, the first attempts.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counts: BTreeMap<String, u64>,
    /// The installed policy; empty for a stage without one.
    #[serde(default)]
    pub policy_name: String,
}

/// The name in [`StageGauges::counts`] of the counter of contradictions ([`crate::seat::Counts::contradictions`]).
pub const CONTRADICTIONS: &str = "contradictions";

/// Counters without a column of their own; empty while no contradiction was found.
pub(super) fn counts_beside(counts: Counts) -> BTreeMap<String, u64> {
    let wrong = (counts.contradictions > 0).then(|| (CONTRADICTIONS.to_owned(), counts.contradictions));
    wrong.into_iter().collect()
}

/// A gauge's name; of one class: `name[class]`.
pub(super) fn name_of(gauge: Gauge) -> String {
    gauge.class.map_or_else(|| gauge.name.to_owned(), |class| format!("{}[{}]", gauge.name, class.0))
}

/// A length as a count of gauges and facts.
pub(super) fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{
        Catalogue, JobId, Offer, Outcome, Seat, Settings, SiteId, Tags, Timestamp,
        site::{Entered, Gate, PolicySite},
        testing,
    };

    #[test]
    fn a_row_shows_a_contradiction_and_nothing_where_there_was_none() {
        let policy = testing::policy("concurrency", &Settings::new(), Duration::from_secs(1));
        let seat = Seat::new(SiteId(1), policy, 1, Box::new(()));
        let site = PolicySite::new(seat, Catalogue::built_in().find("concurrency").unwrap(), Vec::new());
        let mut gate: Gate<()> = Gate::new("dispatch", site, 1);
        let offer = Offer { id: JobId(1), tags: Tags::default(), entered: Timestamp::ZERO, note: None };
        let Entered::In(Some(permit)) = gate.offer(Timestamp::ZERO, offer, || ()) else { panic!("there is room") };
        gate.ended(Timestamp::ZERO, permit, Outcome::Served, None, None);
        assert_eq!(gate.gauges().counts, BTreeMap::new());
        // Reported twice: a panic with debug assertions, which tests have.
        let again = || gate.ended(Timestamp::ZERO, permit, Outcome::Served, None, None);
        let told = std::panic::catch_unwind(std::panic::AssertUnwindSafe(again));
        assert_eq!(told.is_err(), cfg!(debug_assertions));
        assert_eq!(gate.gauges().counts, [(CONTRADICTIONS.to_owned(), 1)].into());
    }
}
