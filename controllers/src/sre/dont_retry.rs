//! "Overloaded; don't retry": attempts of recent requests tell whether trying elsewhere can help ("Deciding to Retry").

use crate::{
    Entry, Gauge, Offer, RetryHint, Timestamp,
    catalogue::{Make, Param, ParamKind, Place, Values},
    estimate::WindowCounts,
};

use super::{
    Guarded, joined, section,
    throttle::WINDOW,
    utilization::{self, Utilization},
};

/// The histogram of attempt counters over a window.
#[derive(Debug)]
pub(super) struct Attempts {
    /// First attempts, first retries, second retries, and later ones.
    counts: WindowCounts<4>,
    /// Share of retries from which there are many.
    share: f64,
    /// Requests in the window below which it says nothing.
    least: u64,
}

impl Attempts {
    pub(super) fn new(values: &Values) -> Self {
        Self {
            counts: WindowCounts::new(values.time("window")),
            share: values.number("retry_share"),
            least: values.count("retry_samples"),
        }
    }

    /// Takes in a request, whatever becomes of it.
    pub(super) fn count(&mut self, now: Timestamp, job: &Offer) {
        self.counts.count(now, usize::from(job.tags.attempt.min(3)));
    }

    /// What to tell the sender of a request that is refused.
    pub(super) fn advice(&mut self, now: Timestamp) -> RetryHint {
        let counts = self.counts.totals(now);
        let all: u64 = counts.iter().sum();
        if all >= self.least && retries(counts) as f64 >= self.share * all as f64 {
            RetryHint::Never
        } else {
            RetryHint::Unsaid
        }
    }

    pub(super) fn gauges(&self, visit: &mut dyn FnMut(Gauge, f64)) {
        let counts = self.counts.last_totals();
        let all: u64 = counts.iter().sum();
        visit(Gauge::of("retry_share"), retries(counts) as f64 / all.max(1) as f64);
    }
}

fn retries([_, once, twice, more]: [u64; 4]) -> u64 {
    once + twice + more
}

/// All but the window.
pub(super) const PARAMS: [Param; 2] = [
    Param {
        name: "retry_share",
        about: "share of retries among recent requests from which a refusal says that others are overloaded too",
        kind: ParamKind::Number { min: 0.0, max: 1.0, default: 0.09, unit: "" },
        source: "the lab's choice: just below the senders' own budget of 10 %, or it would never be seen; the book says a significant amount",
    },
    Param {
        name: "retry_samples",
        about: "requests in the window below which the histogram says nothing",
        kind: ParamKind::Count { min: 1, max: 1_000_000, default: 20 },
        source: "the lab's choice: with fewer a single retry is a twentieth or more",
    },
];

pub(crate) const DONT_RETRY: Entry = Entry {
    name: "dont-retry",
    about: "as utilization; refusals say \"don't retry\" while many of the requests that come are retries",
    caution: "senders with a retry budget below retry_share never send enough retries to be seen here; set it lower for them",
    source: section("Deciding to Retry; figure 21-1"),
    deviations: &[
        "All of utilization's, by which it refuses.",
        "The book gives neither the window nor what a significant amount is.",
        "Senders that heed it take the retries away that it was decided by, so that the share of retries settles at `retry_share`.",
    ],
    places: &[Place::Single, Place::Stage, Place::Proxy],
    params: &joined::<20>(&[&[WINDOW], &PARAMS, &utilization::PARAMS]),
    presets: &utilization::PRESETS,
    clashes: utilization::clashes,
    samples: &utilization::SAMPLES,
    make: Make::Policy(|values, _| {
        Box::new(Guarded::new(vec![Box::new(Utilization::new(values))]).advising(Attempts::new(values)))
    }),
};
