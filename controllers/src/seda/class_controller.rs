//! The state of the response time controller for one user class.

use std::time::Duration;

use crate::{
    Class, Ctx, Timestamp,
    estimate::{Ewma, PercentileOfN},
    primitives::TokenBucket,
};

use super::percentile_param;

/// Estimator, admission rate and bucket of one class (USITS'03, section 3.3: "a separate instance for each class").
#[derive(Debug)]
pub(super) struct ClassController {
    pub(super) class: Class,
    target_s: f64,
    samples: PercentileOfN,
    estimate_s: Ewma,
    rate: f64,
    bucket: TokenBucket,
    /// True if a higher class was over its target: the next increase is skipped.
    pub(super) preempted: bool,
    /// Consecutive violations with every lower class at the lowest rate (`lc`).
    pub(super) lag: u32,
    last_run: Option<Timestamp>,
}

/// The result of one run of the estimator.
#[derive(Debug, Clone, Copy)]
pub(super) struct Estimate {
    pub(super) samples: u32,
    pub(super) seconds: f64,
    /// The relative error: (estimate − target) / target.
    pub(super) error: f64,
}

impl ClassController {
    pub(super) fn new(
        class: Class,
        target: Duration,
        samples: PercentileOfN,
        estimate_s: Ewma,
        rate: f64,
        bucket: TokenBucket,
    ) -> Self {
        Self {
            class,
            target_s: target.as_secs_f64(),
            samples,
            estimate_s,
            rate,
            bucket,
            preempted: false,
            lag: 0,
            last_run: None,
        }
    }

    /// Takes a token. False: there is none.
    pub(super) fn pass(&mut self, now: Timestamp) -> bool {
        self.last_run.get_or_insert(now); // the time-out counts from the first call
        self.bucket.pass(now)
    }

    /// Adds a response time.
    pub(super) fn record(&mut self, now: Timestamp, response: Duration) {
        self.last_run.get_or_insert(now);
        self.samples.record(response);
    }

    /// True if there is no sample.
    pub(super) fn is_empty(&self) -> bool {
        self.samples.len() == 0
    }

    /// True if the samples suffice for a run.
    pub(super) fn is_full(&self) -> bool {
        self.samples.is_full()
    }

    /// The end of the time-out.
    pub(super) fn times_out_at(&self, timeout: Duration) -> Option<Timestamp> {
        Some(self.last_run? + timeout)
    }

    /// Estimates from the samples, and removes them. `None`: there are none.
    pub(super) fn estimate(&mut self, now: Timestamp) -> Option<Estimate> {
        self.last_run = Some(now);
        let samples = u32::try_from(self.samples.len()).unwrap_or(u32::MAX);
        let seconds = self.estimate_s.add(self.samples.take()?);
        Some(Estimate { samples, seconds, error: (seconds - self.target_s) / self.target_s })
    }

    /// Admissions per second.
    pub(super) fn rate(&self) -> f64 {
        self.rate
    }

    /// Changes the rate; with `empty_on_cut` a cut removes the tokens.
    pub(super) fn set_rate(&mut self, cx: &Ctx<'_>, rate: f64, empty_on_cut: bool) {
        if empty_on_cut && rate < self.rate {
            self.bucket.empty(cx.now);
        }
        self.rate = rate;
        self.bucket.set_rate(cx.now, rate);
    }

    /// The smoothed percentile, seconds.
    pub(super) fn seconds(&self) -> f64 {
        self.estimate_s.current()
    }

    /// The name of the percentile's gauge.
    pub(super) fn gauge(&self) -> &'static str {
        percentile_param::gauge(self.samples.percent())
    }

    /// The target, seconds.
    pub(super) fn target_s(&self) -> f64 {
        self.target_s
    }
}
