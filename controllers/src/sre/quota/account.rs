//! One customer's account of CPU time.

use std::{collections::BTreeMap, time::Duration};

use crate::{Criticality, Timestamp, estimate::Ewma};

/// Weight of the old mean cost with each request that ends.
pub(super) const OLD_COST: f64 = 0.9;

/// What was set.
#[derive(Debug)]
pub(super) struct Limits {
    /// By customer, CPU seconds a second.
    pub(super) of: BTreeMap<u32, f64>,
    /// Of customers that are not named.
    pub(super) others: f64,
    /// Seconds of its limit that an account holds.
    pub(super) burst_s: f64,
    /// Part of a full account kept for each higher level of criticality.
    pub(super) reserve: f64,
    /// How long a limit that was sent holds.
    pub(super) lease: Duration,
}

impl Limits {
    /// A customer's account, full.
    pub(super) fn account(&self, customer: u32) -> Account {
        let own = self.of.get(&customer).copied().unwrap_or(self.others);
        Account::new(own, self.burst_s)
    }

    /// The account of a customer that is not named, full.
    pub(super) fn account_of_others(&self) -> Account {
        Account::new(self.others, self.burst_s)
    }
}

/// Fills at the customer's limit; may be in debt.
#[derive(Debug)]
pub(super) struct Account {
    /// The limit that was set here, CPU seconds a second.
    own: f64,
    /// The one that holds now.
    limit: f64,
    /// CPU seconds.
    balance: f64,
    filled_at: Timestamp,
    /// The limit was sent, and holds until then.
    lent_until: Option<Timestamp>,
    cost: Ewma,
    settled: bool,
    /// CPU seconds since the last report: of requests that ended, and of those that were refused, as far as is known.
    used: f64,
    refused: f64,
    /// The last report said that something was used or wanted.
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

    /// Brings it to now. The limit that was set here holds when none was sent, or not lately.
    pub(super) fn fill(&mut self, now: Timestamp, burst_s: f64) {
        let earned = now.since(self.filled_at).as_secs_f64() * self.limit;
        self.filled_at = now;
        if self.lent_until.is_some_and(|until| until <= now) {
            self.lent_until = None;
            self.limit = self.own;
        }
        self.balance = (self.balance + earned).min(self.limit * burst_s);
    }

    /// Another limit from now on, for a while.
    pub(super) fn lend(&mut self, limit: f64, until: Timestamp, burst_s: f64) {
        self.limit = limit;
        self.lent_until = Some(until);
        self.balance = self.balance.min(limit * burst_s);
    }

    /// True if there is anything left beyond what is kept for higher levels.
    pub(super) fn has_for(&self, criticality: Criticality, reserve: f64, burst_s: f64) -> bool {
        let higher = Criticality::CriticalPlus.level() - criticality.level();
        self.balance > higher as f64 * reserve * self.limit * burst_s
    }

    /// Takes what a request is expected to cost.
    pub(super) fn charge(&mut self, expected: f64) {
        self.balance -= expected;
    }

    /// Puts right what was charged for a request, now that its cost is known. The account may be over-full until it is
    /// next filled.
    pub(super) fn settle(&mut self, charged: f64, cost: f64) {
        self.balance += charged - cost;
        self.used += cost;
        self.cost.add(cost);
        self.settled = true;
    }

    /// A request of this expected cost was refused.
    pub(super) fn turned_away(&mut self, expected: f64) {
        self.refused += expected;
    }

    /// What a request of this customer costs, once one has ended.
    pub(super) fn mean_cost(&self) -> Option<f64> {
        self.settled.then(|| self.cost.current())
    }

    /// Used and wanted CPU seconds since the last time; `None` if nothing, and that has been said.
    pub(super) fn take_usage(&mut self) -> Option<(f64, f64)> {
        let (used, refused) = (std::mem::take(&mut self.used), std::mem::take(&mut self.refused));
        let any = used + refused > 0.0;
        let said = std::mem::replace(&mut self.reported, any);
        (any || said).then_some((used, used + refused))
    }

    /// True if it is full, and nothing of it remains to be reported: a new one would let in the same. `reports`: whether
    /// usage is reported at all.
    pub(super) fn is_idle(&self, burst_s: f64, reports: bool) -> bool {
        let unsaid = reports && (self.reported || self.used + self.refused > 0.0);
        self.lent_until.is_none() && !unsaid && self.balance >= self.limit * burst_s
    }

    /// True while it has less than nothing.
    pub(super) fn in_debt(&self) -> bool {
        self.balance < 0.0
    }
}
