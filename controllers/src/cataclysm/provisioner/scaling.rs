//! When sentries are added and released (WWW'05, section 4.2).

use std::collections::BTreeMap;

use super::plan::SentryScaling;
use crate::{Timestamp, cataclysm::pool::NodeId};

/// What the load of a sentry calls for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SentryNeed {
    Nothing,
    Another,
    Release,
}

/// Since when a sentry has been over or under a threshold.
#[derive(Debug, Default, Clone, Copy)]
struct Watched {
    high_since: Option<Timestamp>,
    low_since: Option<Timestamp>,
}

/// The loads of all sentries.
#[derive(Debug)]
pub(super) struct SentryLoads {
    plan: SentryScaling,
    watched: BTreeMap<NodeId, Watched>,
}

impl SentryLoads {
    pub(super) fn new(plan: SentryScaling) -> Self {
        Self { plan, watched: BTreeMap::new() }
    }

    /// Takes in the CPU utilization of a sentry. Times are counted between observations.
    pub(super) fn observe(&mut self, now: Timestamp, sentry: NodeId, cpu: f64) -> SentryNeed {
        let watched = self.watched.entry(sentry).or_default();
        let since = |since: Option<Timestamp>, holds: bool| holds.then(|| since.unwrap_or(now));
        watched.high_since = since(watched.high_since, cpu > self.plan.high_cpu);
        watched.low_since = since(watched.low_since, cpu < self.plan.low_cpu);
        if watched.high_since.is_some_and(|since| now.since(since) >= self.plan.high_for) {
            SentryNeed::Another
        } else if watched.low_since.is_some_and(|since| now.since(since) >= self.plan.low_for) {
            SentryNeed::Release
        } else {
            SentryNeed::Nothing
        }
    }

    /// Forgets a sentry's times: it was released, or its share of the load has changed.
    pub(super) fn forget(&mut self, sentry: NodeId) {
        self.watched.remove(&sentry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(secs: u64) -> Timestamp {
        Timestamp::from_secs(secs)
    }

    #[test]
    fn loads_must_last() {
        let mut loads = SentryLoads::new(SentryScaling::default());
        let sentry = NodeId(0);
        for (secs, cpu, need) in [
            (0, 0.9, SentryNeed::Nothing),
            (29, 0.9, SentryNeed::Nothing),
            (30, 0.81, SentryNeed::Another),
            (31, 0.8, SentryNeed::Nothing), // not over
            (32, 0.9, SentryNeed::Nothing),
            (61, 0.9, SentryNeed::Nothing),
            (62, 0.9, SentryNeed::Another),
            (100, 0.1, SentryNeed::Nothing),
            (399, 0.1, SentryNeed::Nothing),
            (400, 0.1, SentryNeed::Release),
        ] {
            assert_eq!(loads.observe(at(secs), sentry, cpu), need, "at {secs} s");
        }
        loads.forget(sentry);
        assert_eq!(loads.observe(at(401), sentry, 0.1), SentryNeed::Nothing);
    }
}
