//! gRPC's retry throttling: tokens that failures take and successes give back, and retries while more than half are there.

use crate::{
    Ctx, Entry, Gauge, Machine, Offer, Outcome, Place, Reason, Refusal, RetryHint, Seen,
    entry::{CompositionRole, EntryKind, Source, count, number, params},
    sre::guard::{Guard, Guarded},
};

params! {
    struct GrpcThrottleParams {
        max_tokens: u32 = count(1..=1000, 10), "tokens at the start, and at most", "maxTokens, the example of A6";
        token_ratio: f64 = number(0.001..=1000.0, 0.1), "tokens that a success gives, to a thousandth", "tokenRatio, the example of A6";
        attempts: u32 = count(2..=5, 5), "attempts of one request in all", "maxAttempts, of which clients heed 5 at most";
    }
}

/// Tokens in thousandths, as in gRPC's own code.
#[derive(Debug)]
struct GrpcThrottle {
    milli_tokens: u32,
    params: GrpcThrottleParams,
}

impl GrpcThrottle {
    fn most(&self) -> u32 {
        self.params.max_tokens * 1000
    }
}

impl Machine for GrpcThrottle {
    fn observe(&mut self, seen: &Seen, _: &mut Ctx<'_>) {
        let Seen::Ended { outcome, .. } = seen else { return };
        match outcome {
            Outcome::Served => {
                let given = (self.params.token_ratio * 1000.0) as u32;
                self.milli_tokens = (self.milli_tokens + given).min(self.most());
            }
            Outcome::Overloaded { .. } | Outcome::Unavailable | Outcome::Failed | Outcome::TimedOut => {
                self.milli_tokens = self.milli_tokens.saturating_sub(1000);
            }
            Outcome::Abandoned | Outcome::Ignored => {}
        }
    }

    fn gauges(&self, visit: &mut dyn FnMut(Gauge, f64)) {
        visit(Gauge::of("tokens"), f64::from(self.milli_tokens) / 1000.0);
    }
}

impl Guard for GrpcThrottle {
    fn refusal(&mut self, job: &Offer, _: &mut Ctx<'_>) -> Option<Refusal> {
        let Offer { tags, .. } = job;
        let tried_enough = u32::from(tags.attempt) >= self.params.attempts;
        let throttled = self.milli_tokens <= self.most() / 2;
        let refused = tags.attempt > 0 && (tags.told_not_to_retry || tried_enough || throttled);
        refused.then_some(Refusal { reason: Reason::RetryBudget, retry: RetryHint::Never })
    }
}

pub(crate) const GRPC_THROTTLE: Entry = Entry {
    name: "grpc-throttle",
    about: "gRPC's retry throttling: a failure takes a token, ten successes give one, and retries need more than half of ten",
    caution: "from a share of failures of one in eleven on there are soon no retries at all, also where they would have helped",
    source: Source { title: "gRPC proposal A6, client retries", place: "Throttling Retry Attempts and Hedged RPCs" },
    deviations: &[
        "Every failure of a request, a time-out among them, is one of a status that is retried; gRPC is told which are, and counts no others.",
        "Hedged requests are left out.",
    ],
    places: &[Place::Client, Place::Proxy],
    presets: &[],
    samples: &[],
    roles: &[CompositionRole::Select],
    kind: EntryKind::Policy(|reader| {
        reader.make(|params: &GrpcThrottleParams, _| {
            let throttle = GrpcThrottle { milli_tokens: params.max_tokens * 1000, params: params.clone() };
            Box::new(Guarded::new(vec![Box::new(throttle)]))
        })
    }),
};
