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
    /// The share of a full account that is reserved for each higher level of criticality.
    pub(super) reserve: f64,
    /// The lifetime of a limit from a quota server.
    pub(super) lease: Duration,
}

impl Limits {
    /// Creates a customer's account, full.
    pub(super) fn account(&self, customer: u32) -> Account {
        let own = self.of.get(&customer).copied().unwrap_or(self.others);
        Account::new(own, self.burst_s)
    }

    /// Creates the account of a customer without a limit of its own, full.
    pub(super) fn account_of_others(&self) -> Account {
        Account::new(self.others, self.burst_s)
    }
}

/// An account of CPU time that fills at the customer's limit, and can have a negative balance.
#[derive(Debug)]
pub(super) struct Account {
    /// The configured limit, CPU seconds per second.
    own: f64,
    /// The limit in force, CPU seconds per second.
    limit: f64,
    /// The balance, CPU seconds.
    balance: f64,
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

impl Account {
    fn new(own: f64, burst_s: f64) -> Self {
        Self {
            own,
            limit: own,
            balance: own * burst_s,
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
        let earned = now.since(self.filled_at).as_secs_f64() * self.limit;
        self.filled_at = now;
        if self.lent_until.is_some_and(|until| until <= now) {
            self.lent_until = None;
            self.limit = self.own;
        }
        // What was saved under a higher limit stays, and nothing is added to it.
        let most = self.balance.max(self.limit * burst_s);
        self.balance = (self.balance + earned).min(most);
    }

    /// Sets a limit until a time. What was saved under limits of a quota server stays when they fall; what an account
    /// holds under the configured limit, which knows nothing of the global one, does not.
    pub(super) fn lend(&mut self, limit: f64, until: Timestamp, burst_s: f64) {
        if self.lent_until.is_none() {
            self.balance = self.balance.min(limit * burst_s);
        }
        self.limit = limit;
        self.lent_until = Some(until);
    }

    /// True if the balance exceeds the reserve for higher levels.
    pub(super) fn has_for(&self, criticality: Criticality, reserve: f64, burst_s: f64) -> bool {
        let higher = Criticality::CriticalPlus.level() - criticality.level();
        self.balance > higher as f64 * reserve * self.limit * burst_s
    }

    /// Deducts the expected cost of a request.
    pub(super) fn charge(&mut self, expected: f64) {
        self.balance -= expected;
    }

    /// Replaces the charge of a request by its cost. The balance can exceed the capacity by charges of requests that
    /// were under way.
    pub(super) fn settle(&mut self, charged: f64, cost: f64) {
        self.balance += charged - cost;
        self.used += cost;
        self.cost.add(cost);
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
        self.lent_until.is_none() && !unsaid && self.balance >= self.limit * burst_s
    }

    /// True while the balance is negative.
    pub(super) fn in_debt(&self) -> bool {
        self.balance < 0.0
    }
}
