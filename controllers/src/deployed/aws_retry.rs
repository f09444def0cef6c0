//! The retry quota of AWS's clients in their standard mode: retries cost tokens, which successes give back.

use std::collections::BTreeSet;

use crate::{
    Ctx, Entry, Gauge, Grant, Machine, Offer, Outcome, Place, Reason, Refusal, RetryHint, Seen,
    entry::{CompositionRole, EntryKind, Source, count, params},
    sre::guard::{Guard, Guarded},
};

const CODE: &str = "retries/standard.py, RetryQuotaChecker";

params! {
    struct AwsRetryParams {
        capacity: u32 = count(1..=1_000_000, 500), "tokens at the start, and at most", CODE;
        cost: u32 = count(0..=1_000_000, 5), "tokens that a retry costs", CODE;
        timeout_cost: u32 = count(0..=1_000_000, 10), "tokens that a retry after a time-out costs", CODE;
        refund: u32 = count(0..=1_000_000, 1), "tokens that a success at the first attempt gives", CODE;
        attempts: u32 = count(1..=100, 3), "attempts of one request in all", "the default of max_attempts in standard mode";
    }
}

/// Users are remembered as far as this.
const MOST_USERS: usize = 1 << 16;

#[derive(Debug)]
struct AwsRetry {
    tokens: u32,
    /// Users whose last attempt was not answered in time.
    timed_out: BTreeSet<u64>,
    params: AwsRetryParams,
}

impl AwsRetry {
    fn cost(&self, job: &Offer) -> u32 {
        match self.timed_out.contains(&job.tags.user) {
            true => self.params.timeout_cost,
            false => self.params.cost,
        }
    }
}

impl Machine for AwsRetry {
    fn observe(&mut self, seen: &Seen, _: &mut Ctx<'_>) {
        let Seen::Ended { outcome, tags, grant, .. } = seen else { return };
        match outcome {
            // A retry gives back what it has cost.
            Outcome::Served => {
                let paid = u32::try_from(grant.cookie).unwrap_or(u32::MAX);
                let given = if paid > 0 { paid } else { self.params.refund };
                self.tokens = self.tokens.saturating_add(given).min(self.params.capacity);
            }
            Outcome::TimedOut if self.timed_out.len() < MOST_USERS => {
                self.timed_out.insert(tags.user);
                return;
            }
            _ => {}
        }
        self.timed_out.remove(&tags.user);
    }

    fn gauges(&self, visit: &mut dyn FnMut(Gauge, f64)) {
        visit(Gauge::of("tokens"), f64::from(self.tokens));
    }
}

impl Guard for AwsRetry {
    fn refusal(&mut self, job: &Offer, _: &mut Ctx<'_>) -> Option<Refusal> {
        let tags = &job.tags;
        if tags.attempt == 0 {
            self.timed_out.remove(&tags.user);
            return None;
        }
        let tried_enough = u32::from(tags.attempt) >= self.params.attempts;
        let refused = tags.told_not_to_retry || tried_enough || self.tokens < self.cost(job);
        refused.then_some(Refusal { reason: Reason::RetryBudget, retry: RetryHint::Never })
    }

    fn admitted(&mut self, job: &Offer, grant: &mut Grant, _: &mut Ctx<'_>) {
        if job.tags.attempt > 0 {
            let cost = self.cost(job);
            self.tokens -= cost;
            grant.cookie = u64::from(cost);
        }
    }
}

pub(crate) const AWS_RETRY: Entry = Entry {
    name: "aws-retry",
    about: "AWS's standard retry quota: of 500 tokens a retry costs five or ten, and a success gives one, or what it has cost",
    caution: "the first hundred retries of each sender are free; many small senders never run out",
    source: Source { title: "botocore, standard retry mode", place: CODE },
    deviations: &[
        "Whether the attempt before a retry had timed out is remembered by user, of 65 536 at most.",
        "The rate limit of the adaptive mode is left out.",
    ],
    places: &[Place::Client, Place::Proxy],
    presets: &[],
    samples: &[],
    roles: &[CompositionRole::Select],
    kind: EntryKind::Policy(|reader| {
        reader.make(|params: &AwsRetryParams, _| {
            let quota = AwsRetry { tokens: params.capacity, timed_out: BTreeSet::new(), params: params.clone() };
            Box::new(Guarded::new(vec![Box::new(quota)]))
        })
    }),
};
