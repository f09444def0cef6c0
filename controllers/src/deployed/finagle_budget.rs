//! Finagle's retry budget: each request pays for a part of a retry, and some a second are free.

use std::time::Duration;

use crate::{
    Ctx, Entry, Gauge, Grant, Machine, Offer, Place, Reason, Refusal, RetryHint, Seen, Timestamp,
    entry::{CompositionRole, EntryKind, Given, Preset, Source, count, number, params, s, time},
    sre::guard::{Guard, Guarded},
};

const CODE: &str = "RetryBudget.scala, the default";

params! {
    struct FinagleBudgetParams {
        ttl: Duration = time(s(1)..=s(60), s(10)), "time for which a request pays", CODE;
        min_per_s: u32 = count(0..=1_000_000, 10), "retries a second that are free", CODE;
        share: f64 = number(0.0..=1000.0, 0.2), "retries that a request pays for", CODE;
    }
}

/// Slices of the time for which a deposit lasts.
const SLICES: usize = 10;
/// Deposit of a request, so that shares are whole numbers.
const DEPOSIT: i64 = 1000;

/// Deposits and withdrawals of the last `ttl`, and a reserve.
#[derive(Debug)]
struct FinagleBudget {
    slices: [i64; SLICES],
    /// The slice that is written to, counted from time zero.
    newest: u64,
    width_ns: u64,
    reserve: i64,
    deposit: i64,
    withdrawal: i64,
}

impl FinagleBudget {
    fn new(params: &FinagleBudgetParams) -> Self {
        let (deposit, withdrawal) = match params.share {
            0.0 => (0, 1),
            share => (DEPOSIT, (DEPOSIT as f64 / share) as i64),
        };
        Self {
            slices: [0; SLICES],
            newest: 0,
            width_ns: u64::try_from(params.ttl.as_nanos() / SLICES as u128).unwrap_or(u64::MAX).max(1),
            reserve: i64::from(params.min_per_s) * i64::try_from(params.ttl.as_secs()).unwrap_or(i64::MAX) * withdrawal,
            deposit,
            withdrawal,
        }
    }

    fn add(&mut self, now: Timestamp, amount: i64) {
        self.expire(now);
        self.slices[(self.newest % SLICES as u64) as usize] += amount;
    }

    fn balance(&self) -> i64 {
        self.slices.iter().sum::<i64>() + self.reserve
    }

    fn expire(&mut self, now: Timestamp) {
        let current = now.as_nanos() / self.width_ns;
        for slice in self.newest + 1..=current.min(self.newest.saturating_add(SLICES as u64)) {
            self.slices[(slice % SLICES as u64) as usize] = 0;
        }
        self.newest = self.newest.max(current);
    }
}

impl Machine for FinagleBudget {
    fn observe(&mut self, _: &Seen, _: &mut Ctx<'_>) {}

    fn gauges(&self, visit: &mut dyn FnMut(Gauge, f64)) {
        visit(Gauge::of("retries_left"), self.balance().max(0) as f64 / self.withdrawal as f64);
    }
}

impl Guard for FinagleBudget {
    fn refusal(&mut self, job: &Offer, cx: &mut Ctx<'_>) -> Option<Refusal> {
        if job.tags.attempt == 0 {
            return None;
        }
        self.expire(cx.now);
        let refused = job.tags.told_not_to_retry || self.balance() < self.withdrawal;
        refused.then_some(Refusal { reason: Reason::RetryBudget, retry: RetryHint::Never })
    }

    fn admitted(&mut self, job: &Offer, _: &mut Grant, cx: &mut Ctx<'_>) {
        let amount = if job.tags.attempt == 0 { self.deposit } else { -self.withdrawal };
        self.add(cx.now, amount);
    }
}

pub(crate) const FINAGLE_BUDGET: Entry = Entry {
    name: "finagle-budget",
    about: "Finagle's and Linkerd's retry budget: a fifth of the requests of the last ten seconds, and ten a second in any case",
    caution: "the ten a second are each sender's: many small senders repeat everything",
    source: Source { title: "Finagle 24.2, RetryBudget", place: "RetryBudget.scala, LeakyTokenBucket.scala" },
    deviations: &["Slices of the window begin at whole multiples of their length, not with the first request."],
    places: &[Place::Client, Place::Proxy],
    presets: &[
        Preset { name: "finagle", about: "Finagle's default", given: &[] },
        Preset {
            name: "linkerd",
            about: "Linkerd's default for service profiles, the same",
            given: &[("min_per_s", Given::Number(10.0)), ("share", Given::Number(0.2))],
        },
    ],
    samples: &[],
    roles: &[CompositionRole::Select],
    kind: EntryKind::Policy(|reader| {
        reader
            .make(|params: &FinagleBudgetParams, _| Box::new(Guarded::new(vec![Box::new(FinagleBudget::new(params))])))
    }),
};
