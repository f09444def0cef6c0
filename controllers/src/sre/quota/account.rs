//! One customer's account of CPU time.

use std::{collections::BTreeMap, time::Duration};

use crate::{Criticality, Timestamp, estimate::Ewma};

/// The weight of the old mean cost at the end of a request.
pub(super) const OLD_COST: f64 = 0.9;

/// The configured limits.
#[derive(Debug)]
pub(super) struct Limits {
    /// Limits by customer, CPU seconds per second.
    pub(super) of: BTreeMap<u32, f64>,
    /// The limit of other customers, CPU seconds per second.
    pub(super) others: f64,
    /// The capacity of an account, in seconds of its limit.
    pub(super) burst_s: f64,
    /// How levels of criticality share an account.
    pub(super) levels: Levels,
    /// The lifetime of a limit from a quota server.
    pub(super) lease: Duration,
}

/// How the levels of criticality share a customer's limit. A level is refused only if all lower ones are.
#[derive(Debug, Clone, Copy)]
pub(super) enum Levels {
    /// One account, of which this share of a full one is reserved for each higher level.
    Reserve(f64),
    /// A limit each: these shares of the customer's, lowest level first. A level also uses what lower ones have left.
    Shares([f64; LEVELS]),
}

const LEVELS: usize = 4;
/// The account of all levels, where there is one.
const ONLY: usize = LEVELS - 1;

impl Levels {
    /// The part of each account in a customer's limit.
    fn parts(self) -> [f64; LEVELS] {
        match self {
            Self::Reserve(_) => [0.0, 0.0, 0.0, 1.0],
            Self::Shares(shares) => shares,
        }
    }
}

impl Limits {
    /// Creates a customer's account, full.
    pub(super) fn account(&self, customer: u32) -> Account {
        let own = self.of.get(&customer).copied().unwrap_or(self.others);
        Account::new(own, self)
    }

    /// Creates the account of a customer without a limit of its own, full.
    pub(super) fn account_of_others(&self) -> Account {
        Account::new(self.others, self)
    }
}

/// An account of CPU time that fills at the customer's limit, and can have a negative balance.
#[derive(Debug)]
pub(super) struct Account {
    /// The configured limit, CPU seconds per second.
    own: f64,
    /// The limit in force, CPU seconds per second.
    limit: f64,
    levels: Levels,
    /// The balance of each level, CPU seconds.
    balances: [f64; LEVELS],
    filled_at: Timestamp,
    /// The expiry of a limit from a quota server.
    lent_until: Option<Timestamp>,
    cost: Ewma,
    settled: bool,
    /// CPU seconds since the last report: the cost of finished requests, and the estimated cost of refused ones.
    used: f64,
    refused: f64,
    /// True if the last report had usage or demand.
    reported: bool,
}

/// What a request was charged at its admission.
#[derive(Debug, Clone, Copy)]
pub(super) struct Charge {
    /// The level that pays.
    pub(super) level: usize,
    /// CPU seconds.
    pub(super) cost: f64,
}

impl Charge {
    /// In a grant's cookie: whole nanoseconds, and the level in the two lowest bits.
    pub(super) fn cookie(self) -> u64 {
        ((self.cost * 1e9) as u64) << 2 | self.level as u64
    }

    pub(super) fn of_cookie(cookie: u64) -> Self {
        Self { level: (cookie & 3) as usize, cost: (cookie >> 2) as f64 / 1e9 }
    }
}

impl Account {
    fn new(own: f64, Limits { burst_s, levels, .. }: &Limits) -> Self {
        Self {
            own,
            limit: own,
            levels: *levels,
            balances: levels.parts().map(|part| own * part * burst_s),
            filled_at: Timestamp::ZERO,
            lent_until: None,
            cost: Ewma::from_first(OLD_COST),
            settled: false,
            used: 0.0,
            refused: 0.0,
            reported: false,
        }
    }

    /// Fills the account up to `now`. The configured limit is in force unless a quota server sent one recently.
    pub(super) fn fill(&mut self, now: Timestamp, burst_s: f64) {
        let earned_at = self.limit;
        let since_s = now.since(self.filled_at).as_secs_f64();
        self.filled_at = now;
        if self.lent_until.is_some_and(|until| until <= now) {
            self.lent_until = None;
            self.limit = self.own;
        }
        for (balance, part) in self.balances.iter_mut().zip(self.levels.parts()) {
            // What was saved under a higher limit stays, and nothing is added to it.
            let most = balance.max(self.limit * part * burst_s);
            *balance = (*balance + since_s * earned_at * part).min(most);
        }
    }

    /// Sets a limit until a time. What was saved under limits of a quota server stays when they fall; what an account
    /// holds under the configured limit, which knows nothing of the global one, does not.
    pub(super) fn lend(&mut self, limit: f64, until: Timestamp, burst_s: f64) {
        if self.lent_until.is_none() {
            for (balance, part) in self.balances.iter_mut().zip(self.levels.parts()) {
                *balance = balance.min(limit * part * burst_s);
            }
        }
        self.limit = limit;
        self.lent_until = Some(until);
    }

    /// The level whose balance pays for a request of this criticality: its own, or the next lower one with anything left.
    /// `None`: there is none, or not more than the reserve for higher levels.
    pub(super) fn payer(&self, criticality: Criticality, burst_s: f64) -> Option<usize> {
        match self.levels {
            Levels::Reserve(reserve) => {
                let higher = Criticality::CriticalPlus.level() - criticality.level();
                (self.balances[ONLY] > higher as f64 * reserve * self.limit * burst_s).then_some(ONLY)
            }
            Levels::Shares(_) => (0..=criticality.level()).rev().find(|level| self.balances[*level] > 0.0),
        }
    }

    /// Deducts the expected cost of a request.
    pub(super) fn charge(&mut self, Charge { level, cost }: Charge) {
        self.balances[level] -= cost;
    }

    /// Replaces the charge of a request by its cost, or takes it back (`None`). A balance can exceed the capacity by charges
    /// of requests that were under way.
    pub(super) fn settle(&mut self, charged: Charge, cost_s: Option<f64>) {
        self.balances[charged.level] += charged.cost - cost_s.unwrap_or(0.0);
        let Some(cost_s) = cost_s else { return };
        self.used += cost_s;
        self.cost.add(cost_s);
        self.settled = true;
    }

    /// Counts a refused request of this expected cost.
    pub(super) fn turned_away(&mut self, expected: f64) {
        self.refused += expected;
    }

    /// The mean cost of the customer's requests, CPU seconds; `None` before the first end.
    pub(super) fn mean_cost(&self) -> Option<f64> {
        self.settled.then(|| self.cost.current())
    }

    /// Removes usage and demand since the last report, CPU seconds; `None`: both are zero, and the last report said so.
    pub(super) fn take_usage(&mut self) -> Option<(f64, f64)> {
        let (used, refused) = (std::mem::take(&mut self.used), std::mem::take(&mut self.refused));
        let any = used + refused > 0.0;
        let said = std::mem::replace(&mut self.reported, any);
        (any || said).then_some((used, used + refused))
    }

    /// True if the account is full and has nothing to report, so that a new account is equivalent. `reports`: usage
    /// reports are on.
    pub(super) fn is_idle(&self, burst_s: f64, reports: bool) -> bool {
        let unsaid = reports && (self.reported || self.used + self.refused > 0.0);
        let mut of_levels = self.balances.iter().zip(self.levels.parts());
        let is_full = of_levels.all(|(balance, part)| *balance >= self.limit * part * burst_s);
        self.lent_until.is_none() && !unsaid && is_full
    }

    /// True while a balance is negative.
    pub(super) fn in_debt(&self) -> bool {
        self.balances.iter().any(|balance| *balance < 0.0)
    }
}
