//! The attempt counters of recent requests, which show whether a retry elsewhere can succeed ("Deciding to Retry").

use std::time::Duration;

use crate::{
    Gauge, Offer, RetryHint, Timestamp,
    entry::{count, number, params},
    estimate::WindowCounts,
};

use super::chapter::WINDOW;

/// The histogram of attempt counters over a window.
#[derive(Debug)]
pub struct Attempts {
    /// First attempts, first retries, second retries, and later ones.
    counts: WindowCounts<4>,
    params: AttemptsParams,
}

impl Attempts {
    /// An empty histogram.
    #[must_use]
    pub fn new(params: &AttemptsParams) -> Self {
        Self { counts: WindowCounts::new(params.window), params: params.clone() }
    }

    /// Counts a request, admitted or not.
    pub fn count(&mut self, now: Timestamp, job: &Offer) {
        self.counts.count(now, usize::from(job.tags.attempt.min(3)));
    }

    /// Advice for the sender of a refused request.
    pub fn advice(&mut self, now: Timestamp) -> RetryHint {
        let counts = self.counts.totals(now);
        let all: u64 = counts.iter().sum();
        if all >= u64::from(self.params.retry_samples) && retries(counts) as f64 >= self.params.retry_share * all as f64
        {
            RetryHint::Never
        } else {
            RetryHint::Unsaid
        }
    }

    /// Visits the share of retries.
    pub fn gauges(&self, visit: &mut dyn FnMut(Gauge, f64)) {
        let counts = self.counts.last_totals();
        let all: u64 = counts.iter().sum();
        visit(Gauge::of("retry_share"), retries(counts) as f64 / all.max(1) as f64);
    }
}

fn retries([_, once, twice, more]: [u64; 4]) -> u64 {
    once + twice + more
}

params! {
    /// The window, and the share of retries that counts as many.
    pub struct AttemptsParams {
        window: Duration = WINDOW;
        retry_share: f64 = number(0.0..=1.0, 0.09),
            "share of retries among recent requests from which a refusal says that others are overloaded too",
            "the lab's choice: just below the senders' own budget of 10 %, or it would never be seen; the book says a significant amount";
        retry_samples: u32 = count(1..=1_000_000, 20), "requests in the window below which the histogram says nothing",
            "the lab's choice: with fewer a single retry is a twentieth or more";
    }
}
