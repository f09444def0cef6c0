//! Budgets of retries, for each request and for each sender ("Deciding to Retry").

use std::time::Duration;

use crate::{
    Ctx, Entry, Gauge, Grant, Machine, Offer, Place, Reason, Refusal, RetryHint, Seen,
    entry::{CompositionRole, EntryKind, count, flag, number, params},
    estimate::WindowCounts,
};

use super::{
    chapter::{WINDOW, section},
    guard::{Guard, Guarded},
};

/// Refuses retries: beyond a number of attempts of one request, beyond a share of all requests, and those that the
/// service advised against. First attempts always pass.
#[derive(Debug)]
pub(super) struct RetryBudget {
    rules: BudgetRules,
    /// Counts of sent requests: all, and retries.
    sent: WindowCounts<2>,
}

const ALL: usize = 0;
const RETRIES: usize = 1;

impl RetryBudget {
    pub(super) fn new(rules: &BudgetRules, window: Duration) -> Self {
        Self { rules: rules.clone(), sent: WindowCounts::new(window) }
    }

    fn may_retry(&mut self, job: &Offer, cx: &Ctx<'_>) -> bool {
        let BudgetRules { per_request, attempts, per_client, retry_share, heed_dont_retry } = self.rules;
        let told_not_to = heed_dont_retry && job.tags.told_not_to_retry;
        // Attempts count from 0: with three in total, attempt 3 is one too many.
        let tried_enough = per_request && u32::from(job.tags.attempt) >= attempts;
        let [all, retries] = self.sent.totals(cx.now);
        let too_many = per_client && retries as f64 >= retry_share * all as f64;
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

params! {
    /// The rules without the window.
    pub(super) struct BudgetRules {
        per_request: bool = flag(true), "whether a request has a budget of attempts",
            "chapter 21, Deciding to Retry: a per-request retry budget";
        attempts: u32 = count(1..=255, 3), "attempts of one request in all, the first among them",
            "chapter 21, Deciding to Retry: up to three attempts";
        per_client: bool = flag(true), "whether retries have a share of all requests that they must stay below",
            "chapter 21, Deciding to Retry: a per-client retry budget";
        retry_share: f64 = number(0.0..=1.0, 0.1),
            "share of retries in all requests, retries among them, below which one more is let go",
            "chapter 21, Deciding to Retry: only as long as this ratio is below 10 %";
        heed_dont_retry: bool = flag(true), "whether \"overloaded; don't retry\" is heeded",
            "chapter 21, Deciding to Retry: an error instead of the one that triggers retries";
    }
}

params! {
    struct RetryBudgetParams {
        window: Duration = WINDOW;
        rules: BudgetRules;
    }
}

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
    presets: &[],
    samples: &[],
    roles: &[CompositionRole::Select],
    kind: EntryKind::Policy(|reader| {
        reader.make(|params: &RetryBudgetParams, _| {
            Box::new(Guarded::new(vec![Box::new(RetryBudget::new(&params.rules, params.window))]))
        })
    }),
};
