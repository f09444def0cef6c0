//! Envoy's circuit breakers of a cluster: limits on requests, and on retries among them.

use crate::{
    Ctx, Entry, Gauge, Grant, Machine, Offer, Place, Policy, Reason, Refusal, RetryHint, Seen, Verdict,
    entry::{EntryKind, Source, count, flag, number, params},
};

const API: &str = "circuit_breaker.proto, the default";

params! {
    struct BreakersParams {
        max_requests: u32 = count(1..=1_000_000, 1024), "most requests in progress", API;
        max_retries: u32 = count(0..=1_000_000, 3), "most retries in progress, without the budget", API;
        retry_budget: bool = flag(false), "whether retries have a budget in place of max_retries", "retry_budget: none by default";
        budget_percent: f64 = number(0.0..=100.0, 20.0), "most percent of the requests in progress that may be retries", API;
        min_retry_concurrency: u32 = count(0..=1_000_000, 3), "retries in progress that the budget always allows", API;
    }
}

/// The cookie of a retry.
const RETRY: u64 = 1;

#[derive(Debug)]
struct Breakers {
    retries: u32,
    params: BreakersParams,
}

impl Breakers {
    /// The largest number of retries in progress.
    fn most_retries(&self, in_flight: u32) -> u32 {
        let BreakersParams { retry_budget, budget_percent, min_retry_concurrency, max_retries, .. } = self.params;
        if !retry_budget {
            return max_retries;
        }
        let share = (budget_percent / 100.0 * f64::from(in_flight)) as u32;
        share.max(min_retry_concurrency)
    }
}

impl Machine for Breakers {
    fn observe(&mut self, seen: &Seen, _: &mut Ctx<'_>) {
        if let Seen::Ended { grant: Grant { cookie: RETRY, .. }, .. } = seen {
            self.retries = self.retries.saturating_sub(1);
        }
    }

    fn gauges(&self, visit: &mut dyn FnMut(Gauge, f64)) {
        visit(Gauge::of("limit"), f64::from(self.params.max_requests));
        visit(Gauge::of("retries"), f64::from(self.retries));
    }
}

impl Policy for Breakers {
    fn offer(&mut self, job: &Offer, cx: &mut Ctx<'_>) -> Verdict {
        if cx.in_flight >= self.params.max_requests {
            return Verdict::Refuse(Refusal::new(Reason::Concurrency));
        }
        if job.tags.attempt == 0 {
            return Verdict::Admit(Grant::default());
        }
        if self.retries >= self.most_retries(cx.in_flight) {
            return Verdict::Refuse(Refusal { reason: Reason::RetryBudget, retry: RetryHint::Never });
        }
        self.retries += 1;
        Verdict::Admit(Grant::new(RETRY))
    }
}

pub(crate) const ENVOY_BREAKERS: Entry = Entry {
    name: "envoy-breakers",
    about: "Envoy's circuit breakers: a limit on requests in progress, and one on retries among them",
    caution: "with its defaults it allows a thousand requests at once, which is no limit to most services; retries are counted, not their share of the load",
    source: Source {
        title: "Envoy 1.40, circuit breakers of a cluster",
        place: "circuit_breaker.proto, resource_manager_impl.h",
    },
    deviations: &[
        "Connections and pending requests are the proxy's own and have no limit here.",
        "There is one priority.",
    ],
    places: &[Place::Client, Place::Proxy],
    presets: &[],
    samples: &[],
    roles: &[],
    kind: EntryKind::Policy(|reader| {
        reader.make(|params: &BreakersParams, _| Box::new(Breakers { retries: 0, params: params.clone() }))
    }),
};
