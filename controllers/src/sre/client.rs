//! The complete sender's side in one policy.

use std::time::Duration;

use crate::{
    Entry, Place,
    entry::{CompositionRole, EntryKind, params},
};

use super::{
    chapter::{WINDOW, section},
    guard::Guarded,
    retry_budget::{BudgetRules, RetryBudget},
    throttle::{self, Throttle, ThrottleRules},
};

params! {
    struct ClientParams {
        window: Duration = WINDOW;
        retry_budget: BudgetRules;
        throttle: ThrottleRules;
    }
}

pub(crate) const SRE_CLIENT: Entry = Entry {
    name: "sre-client",
    about: "the retry budget, then adaptive throttling, as one sender has them",
    caution: "as for throttle and retry-budget: needs refusals to learn from, and many requests",
    source: section("Client-Side Throttling; Deciding to Retry"),
    deviations: &[
        "All of throttle's and of retry-budget's.",
        "Whether to retry is decided before the throttle sees the request: a retry that the budget holds back is no request to the throttle.",
        "Both count over the same window.",
    ],
    places: &[Place::Client, Place::Proxy],
    presets: &throttle::PRESETS,
    samples: &[],
    roles: &[CompositionRole::Select],
    kind: EntryKind::Policy(|reader| {
        reader.make(|params: &ClientParams, _| {
            let budget = RetryBudget::new(&params.retry_budget, params.window);
            let throttle = Throttle::new(&params.throttle, params.window);
            Box::new(Guarded::new(vec![Box::new(budget), Box::new(throttle)]))
        })
    }),
};
