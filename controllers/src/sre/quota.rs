//! Per-customer limits in CPU seconds per second ("Per-Customer Limits").

mod account;
mod params;

use std::{
    collections::{BTreeMap, btree_map::Entry},
    time::Duration,
};

use crate::{
    Ctx, Effect, Gauge, Grant, Machine, Offer, PeerReport, Place, Reason, Refusal, Seen, Timestamp,
    entry::{CompositionRole, EntryKind},
    estimate::Ewma,
};

use super::{
    chapter::section,
    guard::{Guard, Guarded},
};
use account::{Account, Charge, Limits, OLD_COST};

pub(super) use params::{LIMITS, MOST_CPUS, QuotaParams, UNIT};

/// Refuses a customer's requests while their CPU time exceeds the customer's limit.
#[derive(Debug)]
pub(super) struct Quota {
    limits: Limits,
    accounts: BTreeMap<u32, Account>,
    /// The shared account of customers beyond the largest number of accounts.
    rest: Account,
    /// The mean cost of a request, CPU seconds, for customers without a finished request.
    mean_cost: Ewma,
    /// The last search for idle accounts.
    swept: Timestamp,
    report: Option<Report>,
}

/// Usage reports to the machine that divides quotas.
#[derive(Debug)]
struct Report {
    every: Duration,
    /// The last report; `None` before the first request.
    last: Option<Timestamp>,
}

/// The largest number of accounts: customer numbers come from clients, and memory is bounded.
const MOST_ACCOUNTS: usize = 1024;
/// The smallest time between searches for idle accounts, since a search visits all accounts.
const BETWEEN_SWEEPS: Duration = Duration::from_secs(1);

impl Quota {
    pub(super) fn new(params: &QuotaParams) -> Self {
        let limits = Limits {
            of: params.limits.clone(),
            others: params.default_limit,
            burst_s: params.burst.as_secs_f64(),
            levels: params.levels(),
            lease: params.lease,
        };
        Self {
            accounts: BTreeMap::new(),
            rest: limits.account_of_others(),
            limits,
            mean_cost: Ewma::from_first(OLD_COST),
            swept: Timestamp::ZERO,
            report: params.report_usage.then_some(Report { every: params.report_every, last: None }),
        }
    }

    /// A customer's account, filled up to `now`.
    fn account(&mut self, customer: u32, now: Timestamp) -> &mut Account {
        if self.accounts.len() >= MOST_ACCOUNTS && !self.accounts.contains_key(&customer) {
            self.sweep(now);
        }
        let has_room = self.accounts.len() < MOST_ACCOUNTS;
        let account = match self.accounts.entry(customer) {
            Entry::Occupied(account) => account.into_mut(),
            Entry::Vacant(place) if has_room => place.insert(self.limits.account(customer)),
            Entry::Vacant(_) => &mut self.rest,
        };
        account.fill(now, self.limits.burst_s);
        account
    }

    /// Drops idle accounts, unless the last search was recent.
    fn sweep(&mut self, now: Timestamp) {
        if now.since(self.swept) < BETWEEN_SWEEPS {
            return;
        }
        self.swept = now;
        let (burst_s, reports) = (self.limits.burst_s, self.report.is_some());
        self.accounts.retain(|_, account| {
            account.fill(now, burst_s);
            !account.is_idle(burst_s, reports)
        });
    }

    fn obey(&mut self, customer: u32, limit: f64, now: Timestamp) {
        if !limit.is_finite() || limit < 0.0 {
            return; // an invalid limit leaves the previous one in force
        }
        let until = now + self.limits.lease;
        self.account(customer, now);
        // The shared account keeps its own limit.
        if let Some(account) = self.accounts.get_mut(&customer) {
            account.lend(limit.min(MOST_CPUS), until, self.limits.burst_s);
        }
    }
}

impl Machine for Quota {
    fn observe(&mut self, seen: &Seen, cx: &mut Ctx<'_>) {
        match *seen {
            Seen::Ended { tags, grant, outcome, timing, cost, .. } => {
                let cost_s = timing.cost_s(cost, outcome);
                if let Some(cost_s) = cost_s {
                    self.mean_cost.add(cost_s);
                }
                self.account(tags.customer, cx.now).settle(Charge::of_cookie(grant.cookie), cost_s);
            }
            Seen::Peer(PeerReport::Quota { to, customer, limit }) if to == cx.site => {
                self.obey(customer, limit, cx.now);
            }
            _ => {}
        }
    }

    fn next_wake(&self) -> Option<Timestamp> {
        let report = self.report.as_ref()?;
        Some(report.last? + report.every)
    }

    fn wake(&mut self, cx: &mut Ctx<'_>) {
        let Some(Report { every, last: Some(last) }) = &mut self.report else { return };
        let since = cx.now.since(*last);
        if since < *every {
            return;
        }
        *last = cx.now;
        for (customer, account) in &mut self.accounts {
            if let Some((used, wanted)) = account.take_usage() {
                let per_s = 1.0 / since.as_secs_f64();
                let (used, wanted) = (used * per_s, wanted * per_s);
                cx.effects.push(Effect::Tell(PeerReport::Usage { from: cx.site, customer: *customer, used, wanted }));
            }
        }
    }

    fn gauges(&self, visit: &mut dyn FnMut(Gauge, f64)) {
        let in_debt = self.accounts.values().filter(|account| account.in_debt()).count();
        visit(Gauge::of("customers"), self.accounts.len() as f64);
        visit(Gauge::of("customers_over_quota"), in_debt as f64);
        visit(Gauge::of("mean_cost_ms"), self.mean_cost.current() * 1e3);
    }
}

impl Guard for Quota {
    fn refusal(&mut self, job: &Offer, cx: &mut Ctx<'_>) -> Option<Refusal> {
        if let Some(report) = &mut self.report {
            report.last.get_or_insert(cx.now);
        }
        let (burst_s, of_all) = (self.limits.burst_s, self.mean_cost.current());
        let account = self.account(job.tags.customer, cx.now);
        if account.payer(job.tags.criticality, burst_s).is_some() {
            return None;
        }
        account.turned_away(account.mean_cost().unwrap_or(of_all));
        Some(Refusal::new(Reason::Quota))
    }

    fn admitted(&mut self, job: &Offer, grant: &mut Grant, cx: &mut Ctx<'_>) {
        // Charged at the admission and settled at the end: else jobs in a queue would be free of charge.
        let (burst_s, of_all) = (self.limits.burst_s, self.mean_cost.current());
        let account = self.account(job.tags.customer, cx.now);
        let level = account.payer(job.tags.criticality, burst_s).unwrap_or_default();
        grant.cookie = Charge { level, cost: account.mean_cost().unwrap_or(of_all) }.cookie();
        account.charge(Charge::of_cookie(grant.cookie));
    }
}

pub(crate) const QUOTA: crate::Entry = crate::Entry {
    name: "quota",
    about: "limits each customer's use in CPU seconds a second, by what its requests were measured to cost",
    caution: "limits nothing but customers: with limits that add up to more than there is, all of them together can overload it",
    source: section("Per-Customer Limits; Criticality"),
    deviations: &[
        "The cost of a request is the CPU time that its host measured; where a host measures none, the time that work on it took, waiting included.",
        "A limit is an account that fills at that rate and holds so many seconds of it (`burst`); a request is charged the mean cost when it comes in, and the difference when it ends. The book does not say how.",
        "A lower limit from a quota-server takes nothing of what was saved under a higher one of its limits: a customer that moves from task to task can spend what it saved at each.",
        "The book says of limits for each criticality that they can be set, and not how: with `per_criticality` a level has a share of the customer's limit, and uses what lower levels have left; without it a part of the account is kept for each higher level (`reserve`). In both a level is refused only if all lower ones are.",
        "Customers beyond 1024 who used anything lately share one account.",
    ],
    places: &[Place::Single, Place::Stage, Place::Proxy],
    presets: &[],
    samples: &[],
    roles: &[CompositionRole::Select],
    kind: EntryKind::Policy(|reader| {
        reader.make_unless(QuotaParams::clashes, |params: &QuotaParams, _| {
            Box::new(Guarded::new(vec![Box::new(Quota::new(params))]))
        })
    }),
};
