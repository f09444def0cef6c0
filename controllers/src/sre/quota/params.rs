//! The parameters of quotas.

use std::{collections::BTreeMap, time::Duration};

use super::account::Levels;
use crate::entry::{
    Number, ParamDeclaration, ParamTable, Problem, customer_numbers, flag, ms, number, params, s, time,
};

/// The largest limit, CPU seconds per second: more than a datacenter has.
pub(crate) const MOST_CPUS: f64 = 1e6;
/// The unit of limits: CPU seconds per second.
pub(crate) const UNIT: &str = "CPU s/s";

/// Limits by customer.
pub(crate) const LIMITS: ParamDeclaration<ParamTable<u32, Number>> = ParamDeclaration {
    kind: customer_numbers(0.0..=MOST_CPUS, UNIT),
    about: "limits by customer number, CPU seconds a second; they may add up to more than there is",
    source: "chapter 21, Per-Customer Limits: negotiated usage",
};

const fn share(about: &'static str) -> ParamDeclaration<Number> {
    ParamDeclaration { kind: number(0.0..=1.0, 0.25), about, source: "the lab's choice: an equal share each" }
}

params! {
    pub(crate) struct QuotaParams {
        limits: BTreeMap<u32, f64> = LIMITS;
        default_limit: f64 = number(0.0..=MOST_CPUS, 1.0).in_unit(UNIT), "limit of each customer that is not named",
            "chapter 21: every other user has one; the lab's choice: a whole processor";
        burst: Duration = time(ms(10)..=s(3600), s(5)),
            "how many seconds of its limit a customer may use at once after a quiet time: the averaging window",
            "the lab's choice: a customer with some requests a second, at half its limit, is not refused";
        reserve: f64 = number(0.0..=0.33, 0.1),
            "part of a full account that is kept for each higher level of criticality",
            "the lab's choice; chapter 21, Criticality: a level is rejected only if all lower ones are";
        per_criticality: bool = flag(false),
            "whether each level of criticality has a limit of its own, a share of the customer's, in place of a reserve",
            "chapter 21, Criticality: per-customer limits can be set per criticality";
        share_sheddable: f64 = share("share of the limit for SHEDDABLE");
        share_sheddable_plus: f64 = share("share for SHEDDABLE_PLUS, which also uses what lower levels leave");
        share_critical: f64 = share("share for CRITICAL, which also uses what lower levels leave");
        share_critical_plus: f64 = share("share for CRITICAL_PLUS, which also uses what lower levels leave");
        report_usage: bool = flag(false), "whether usage is reported to a quota-server, whose limits then hold",
            "chapter 21: aggregate global usage information in real time from all backend tasks";
        report_every: Duration = time(ms(10)..=s(600), s(1)), "time between usage reports",
            "the lab's choice: in real time";
        lease: Duration = time(ms(10)..=s(3600), s(30)),
            "how long a limit from a quota-server holds; after that the limit set here",
            "the lab's choice: a server that is gone for a moment changes nothing";
    }
}

impl QuotaParams {
    /// The shares of the levels, lowest criticality first.
    fn shares(&self) -> [f64; 4] {
        [self.share_sheddable, self.share_sheddable_plus, self.share_critical, self.share_critical_plus]
    }

    pub(super) fn levels(&self) -> Levels {
        if self.per_criticality { Levels::Shares(self.shares()) } else { Levels::Reserve(self.reserve) }
    }

    /// Finds shares that add up to more than the limit.
    pub(in crate::sre) fn clashes(&self) -> Vec<Problem> {
        let all: f64 = self.shares().iter().sum();
        if !self.per_criticality || all <= 1.0 + 1e-9 {
            return Vec::new();
        }
        let message = format!("the four shares add up to {all}: at most 1, the customer's whole limit");
        vec![Problem::new("share_critical_plus", message)]
    }
}
