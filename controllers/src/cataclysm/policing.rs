//! The change between batch and threshold policing (WWW'05, end of section 3.3).

use std::time::Duration;

use super::setup_error::{SetupError, require};
use crate::{Gauge, Timestamp};

/// How a sentry decides about requests beyond the guaranteed rates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policing {
    /// A test for each batch: accurate.
    Batch,
    /// A threshold that is computed once a period: a comparison a request.
    Threshold,
}

impl Policing {
    /// The gauge of the policing: 1 by a threshold, 0 by batches.
    pub const GAUGE: Gauge = Gauge::of("threshold_policing");

    /// The value of [`Self::GAUGE`].
    pub(super) fn gauge(self) -> f64 {
        f64::from(self == Self::Threshold)
    }

    /// The policing that a value of [`Self::GAUGE`] shows.
    #[must_use]
    pub fn of_gauge(value: f64) -> Self {
        if value > 0.5 { Self::Threshold } else { Self::Batch }
    }
}

/// Which policing a sentry uses.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PolicingPlan {
    /// Always the same.
    Always(Policing),
    /// Batch policing, and threshold policing while the sentry itself is too busy.
    ByLoad(SwitchPlan),
}

/// When a sentry changes its policing. Loads are CPU utilizations of the sentry, 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SwitchPlan {
    /// Over this load, batch policing gives way to threshold policing at once.
    pub busy_over: f64,
    /// Under this load for [`SwitchPlan::quiet_for`], batch policing returns. At most [`SwitchPlan::busy_over`].
    pub quiet_under: f64,
    /// The quiet time.
    pub quiet_for: Duration,
}

impl Default for SwitchPlan {
    /// The paper has one threshold, and states neither its value nor the time: 0.8 is that of its sentry provisioning.
    fn default() -> Self {
        Self { busy_over: 0.8, quiet_under: 0.8, quiet_for: Duration::from_secs(60) }
    }
}

impl PolicingPlan {
    /// The policing in force at the start.
    pub(super) fn initial(self) -> Policing {
        match self {
            Self::Always(policing) => policing,
            Self::ByLoad(_) => Policing::Batch,
        }
    }

    pub(super) fn check(self) -> Result<(), SetupError> {
        let Self::ByLoad(plan) = self else { return Ok(()) };
        let in_order = plan.quiet_under > 0.0 && plan.quiet_under <= plan.busy_over && plan.busy_over <= 1.0;
        require(in_order, "policing", "0 < quiet_under ≤ busy_over ≤ 1 is needed")
    }
}

/// The policing in force.
#[derive(Debug)]
pub(super) struct PolicingSwitch {
    plan: PolicingPlan,
    current: Policing,
    quiet_since: Option<Timestamp>,
}

impl PolicingSwitch {
    pub(super) fn new(plan: PolicingPlan) -> Self {
        Self { plan, current: plan.initial(), quiet_since: None }
    }

    pub(super) fn current(&self) -> Policing {
        self.current
    }

    /// Takes in the sentry's load. `Some`: the policing changes to this one. The quiet time is counted between
    /// observations: a sentry that is not observed is not known to be quiet.
    pub(super) fn observe(&mut self, now: Timestamp, load: f64) -> Option<Policing> {
        let PolicingPlan::ByLoad(plan) = self.plan else { return None };
        if load >= plan.quiet_under {
            self.quiet_since = None;
        } else {
            self.quiet_since.get_or_insert(now);
        }
        let quiet = self.quiet_since.is_some_and(|since| now.since(since) >= plan.quiet_for);
        let next = match self.current {
            Policing::Batch if load > plan.busy_over => Policing::Threshold,
            Policing::Threshold if quiet => Policing::Batch,
            Policing::Batch | Policing::Threshold => return None,
        };
        self.current = next;
        self.quiet_since = None;
        Some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(secs: u64) -> Timestamp {
        Timestamp::from_secs(secs)
    }

    fn switch() -> PolicingSwitch {
        let plan = SwitchPlan { busy_over: 0.8, quiet_under: 0.5, quiet_for: Duration::from_secs(30) };
        PolicingSwitch::new(PolicingPlan::ByLoad(plan))
    }

    #[test]
    fn busy_at_once_and_back_after_the_quiet_time() {
        let mut switch = switch();
        assert_eq!(switch.observe(at(0), 0.8), None, "not over");
        assert_eq!(switch.observe(at(1), 0.81), Some(Policing::Threshold));
        assert_eq!(switch.observe(at(2), 0.4), None);
        // 0.6 is neither busy nor quiet: the time begins anew.
        assert_eq!(switch.observe(at(20), 0.6), None);
        assert_eq!(switch.observe(at(21), 0.4), None);
        assert_eq!(switch.observe(at(50), 0.4), None, "29 s");
        assert_eq!(switch.observe(at(51), 0.4), Some(Policing::Batch));
        assert_eq!(switch.observe(at(52), 0.4), None);
    }

    #[test]
    fn a_fixed_policing_stays() {
        let mut switch = PolicingSwitch::new(PolicingPlan::Always(Policing::Threshold));
        assert_eq!((switch.observe(at(0), 0.0), switch.observe(at(1000), 0.0)), (None, None));
        assert_eq!(switch.current(), Policing::Threshold);
    }
}
