//! The parameters of quotas.

use std::{collections::BTreeMap, time::Duration};

use crate::entry::{Number, ParamDeclaration, ParamTable, customer_numbers, flag, ms, number, params, s, time};

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
        report_usage: bool = flag(false), "whether usage is reported to a quota-server, whose limits then hold",
            "chapter 21: aggregate global usage information in real time from all backend tasks";
        report_every: Duration = time(ms(10)..=s(600), s(1)), "time between usage reports",
            "the lab's choice: in real time";
        lease: Duration = time(ms(10)..=s(3600), s(30)),
            "how long a limit from a quota-server holds; after that the limit set here",
            "the lab's choice: a server that is gone for a moment changes nothing";
    }
}
