//! The whole sender's side in one policy.

use crate::{
    Entry,
    catalogue::{Make, NO_CLASHES, Place},
};

use super::{
    Guarded, joined,
    retry_budget::{self, RetryBudget},
    section,
    throttle::{self, Throttle, WINDOW},
};

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
    params: &joined::<12>(&[&[WINDOW], &retry_budget::PARAMS, &throttle::PARAMS]),
    presets: &throttle::PRESETS,
    clashes: NO_CLASHES,
    samples: &[],
    make: Make::Policy(|values, _| {
        Box::new(Guarded::new(vec![Box::new(RetryBudget::new(values)), Box::new(Throttle::new(values))]))
    }),
};
