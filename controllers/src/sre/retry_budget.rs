//! Budgets of retries, for each request and for each sender ("Deciding to Retry").

use crate::{
    Ctx, Entry, Gauge, Grant, Machine, Offer, Reason, Refusal, RetryHint, Seen,
    catalogue::{Make, NO_CLASHES, Param, ParamKind, Place, Values},
    estimate::WindowCounts,
};

use super::{Guard, Guarded, joined, section, throttle::WINDOW};

/// Refuses retries: those of a request that was tried often enough, those beyond a share of all requests, and those
/// that the other side asked not to make. First attempts always pass.
#[derive(Debug)]
pub(super) struct RetryBudget {
    /// Attempts of a request in all.
    attempts: Option<u64>,
    /// Share of retries in all requests below which one more may be made.
    share: Option<f64>,
    heed: bool,
    /// Of requests that were let go: all, and retries.
    sent: WindowCounts<2>,
}

const ALL: usize = 0;
const RETRIES: usize = 1;

impl RetryBudget {
    pub(super) fn new(values: &Values) -> Self {
        Self {
            attempts: values.flag("per_request").then(|| values.count("attempts")),
            share: values.flag("per_client").then(|| values.number("retry_share")),
            heed: values.flag("heed_dont_retry"),
            sent: WindowCounts::new(values.time("window")),
        }
    }

    fn may_retry(&mut self, job: &Offer, cx: &Ctx<'_>) -> bool {
        let told_not_to = self.heed && job.tags.told_not_to_retry;
        // Attempt 0 is the first: with three in all, attempt 3 is one too many.
        let tried_enough = self.attempts.is_some_and(|attempts| u64::from(job.tags.attempt) >= attempts);
        let [all, retries] = self.sent.totals(cx.now);
        let too_many = self.share.is_some_and(|share| retries as f64 >= share * all as f64);
        !(told_not_to || tried_enough || too_many)
    }
}

impl Machine for RetryBudget {
    fn observe(&mut self, _: &Seen, _: &mut Ctx<'_>) {}

    fn gauges(&self, visit: &mut dyn FnMut(Gauge, f64)) {
        let [all, retries] = self.sent.last_totals();
        visit(Gauge::of("retry_share"), retries as f64 / all.max(1) as f64);
    }
}

impl Guard for RetryBudget {
    fn refusal(&mut self, job: &Offer, cx: &mut Ctx<'_>) -> Option<Refusal> {
        let refused = job.tags.attempt > 0 && !self.may_retry(job, cx);
        refused.then_some(Refusal { reason: Reason::RetryBudget, retry: RetryHint::Never })
    }

    fn admitted(&mut self, job: &Offer, _: &mut Grant, cx: &mut Ctx<'_>) {
        self.sent.count(cx.now, ALL);
        if job.tags.attempt > 0 {
            self.sent.count(cx.now, RETRIES);
        }
    }
}

/// All but the window.
pub(super) const PARAMS: [Param; 5] = [
    Param {
        name: "per_request",
        about: "whether a request has a budget of attempts",
        kind: ParamKind::Flag { default: true },
        source: "chapter 21, Deciding to Retry: a per-request retry budget",
    },
    Param {
        name: "attempts",
        about: "attempts of one request in all, the first among them",
        kind: ParamKind::Count { min: 1, max: 255, default: 3 },
        source: "chapter 21, Deciding to Retry: up to three attempts",
    },
    Param {
        name: "per_client",
        about: "whether retries have a share of all requests that they must stay below",
        kind: ParamKind::Flag { default: true },
        source: "chapter 21, Deciding to Retry: a per-client retry budget",
    },
    Param {
        name: "retry_share",
        about: "share of retries in all requests, retries among them, below which one more is let go",
        kind: ParamKind::Number { min: 0.0, max: 1.0, default: 0.1, unit: "" },
        source: "chapter 21, Deciding to Retry: only as long as this ratio is below 10 %",
    },
    Param {
        name: "heed_dont_retry",
        about: "whether \"overloaded; don't retry\" is heeded",
        kind: ParamKind::Flag { default: true },
        source: "chapter 21, Deciding to Retry: an error instead of the one that triggers retries",
    },
];

pub(crate) const RETRY_BUDGET: Entry = Entry {
    name: "retry-budget",
    about: "three attempts a request, at most a tenth of all requests retries, and none where the other side said so",
    caution: "says yes or no only: whether and when to retry at all is the sender's; the first attempts of a crowd all pass",
    source: section("Deciding to Retry"),
    deviations: &[
        "The book does not say over which time the ratio is taken: here over the two minutes of adaptive throttling, to a sixtieth of them.",
        "Only requests that were let go are counted: what is held back here or by a throttle after it is no load.",
        "That the attempt before was answered \"overloaded; don't retry\" must come with the retry, in its tags.",
    ],
    places: &[Place::Client, Place::Proxy],
    params: &joined::<6>(&[&[WINDOW], &PARAMS]),
    presets: &[],
    clashes: NO_CLASHES,
    samples: &[],
    make: Make::Policy(|values, _| Box::new(Guarded::new(vec![Box::new(RetryBudget::new(values))]))),
};
