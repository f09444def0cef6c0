//! The settings of a sentry.

use std::time::Duration;

use crate::{
    Class,
    cataclysm::{
        buckets::ServiceRanges,
        delays::{DelayBound, DelayPlan},
        policing::{PolicingPlan, SwitchPlan},
        pool::Skew,
        service_time::ServiceTimePlan,
        setup_error::{SetupError, require},
        threshold::ThresholdService,
    },
};

/// One class of requests.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SentryClass {
    /// `λ_i^min`: requests per second that are admitted without a test; 0: none.
    pub guaranteed_per_s: f64,
    /// The leaky bucket holds the guaranteed requests of this time, and at least one.
    pub burst: Duration,
}

impl SentryClass {
    /// A class that is guaranteed this rate, with bursts of a second of it.
    #[must_use]
    pub const fn guaranteed(per_s: f64) -> Self {
        Self { guaranteed_per_s: per_s, burst: Duration::from_secs(1) }
    }
}

/// The settings of a sentry.
#[derive(Debug, Clone, PartialEq)]
pub struct SentryPlan {
    /// The classes, the most important first: the first of `n` is `Class(n − 1)`. 1 to 256.
    pub classes: Vec<SentryClass>,
    /// `R_sla` until the control plane sets another, over 0.
    pub response: Duration,
    /// The buckets of each class.
    pub ranges: ServiceRanges,
    /// `d_i`.
    pub delays: DelayPlan,
    /// Batch policing, threshold policing, or both.
    pub policing: PolicingPlan,
    /// The period of estimates, after which threshold and delays are computed; the paper has 15 s. Over 0.
    pub period: Duration,
    /// The weight of the old averages at the end of a period, 0 to under 1.
    pub old_weight: f64,
    /// The service times that the threshold takes.
    pub threshold_service: ThresholdService,
    /// The utilization of servers that the threshold aims at; 1 in equations 5 and 6. Over 0, at most 1.
    pub utilization: f64,
    /// The threshold sets the servers aside that the requests in service occupy for a period. As published it does not:
    /// what was admitted too much in one period then keeps servers behind in all later ones that are full.
    pub drains_backlog: bool,
    /// A batch that fails while no request is in service sends its oldest one. As published it does not: what is once
    /// expected to take longer than the response time is then never served again, and its estimate never corrected.
    pub probes_when_idle: bool,
    /// Service times by URL.
    pub service_times: ServiceTimePlan,
    /// The balance between servers.
    pub skew: Skew,
    /// The most requests that wait for an examination, at least 1.
    pub held: u32,
}

impl SentryPlan {
    /// The paper's three classes, Gold, Silver and Bronze, without guaranteed rates, and its response time of 1 s; delays
    /// within the bound, and policing by load.
    ///
    /// # Panics
    /// Never: the ranges ascend.
    #[must_use]
    pub fn three_classes() -> Self {
        Self {
            classes: vec![SentryClass::guaranteed(0.0); 3],
            response: Duration::from_secs(1),
            ranges: ServiceRanges::doubling(0.001, 11).expect("1 ms to 1024 ms ascend"),
            delays: DelayPlan::Bounded(DelayBound::default()),
            policing: PolicingPlan::ByLoad(SwitchPlan::default()),
            period: Duration::from_secs(15),
            old_weight: 0.3,
            threshold_service: ThresholdService::Inherent,
            utilization: 1.0,
            drains_backlog: false,
            probes_when_idle: false,
            service_times: ServiceTimePlan::default(),
            skew: Skew::NONE,
            held: 10_000,
        }
    }

    /// The place of a class in the order of importance, 0 for the most important one.
    pub(super) fn rank(&self, class: Class) -> usize {
        (self.classes.len() - 1).saturating_sub(usize::from(class.0))
    }

    /// The class at a place in the order of importance.
    pub(super) fn class(&self, rank: usize) -> Class {
        // At most 256 classes.
        Class((self.classes.len() - 1 - rank) as u8)
    }

    pub(in crate::cataclysm) fn check(&self) -> Result<(), SetupError> {
        require((1..=256).contains(&self.classes.len()), "classes", "1 to 256 classes are needed")?;
        let rates =
            self.classes.iter().all(|class| class.guaranteed_per_s >= 0.0 && class.guaranteed_per_s.is_finite());
        require(rates, "classes", "guaranteed rates must be finite and at least 0")?;
        require(!self.response.is_zero(), "response", "it must be over 0")?;
        self.delays.check(self.classes.len())?;
        self.policing.check()?;
        self.skew.check()?;
        require(!self.period.is_zero(), "period", "it must be over 0")?;
        require((0.0..1.0).contains(&self.old_weight), "old_weight", "it must be at least 0 and under 1")?;
        let utilization = self.utilization > 0.0 && self.utilization <= 1.0;
        require(utilization, "utilization", "it must be over 0 and at most 1")?;
        require(self.held > 0, "held", "it must be at least 1")?;
        self.service_times.check()
    }
}
