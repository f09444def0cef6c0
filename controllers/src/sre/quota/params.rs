//! The parameters of quotas.

use std::time::Duration;

use crate::catalogue::{Param, ParamKind};

/// Most CPU seconds a second: of a whole datacenter, and more.
pub(crate) const MOST_CPUS: f64 = 1e6;
/// Of limits.
pub(crate) const UNIT: &str = "CPU s/s";

/// Limits by customer.
pub(crate) const LIMITS: Param = Param {
    name: "limits",
    about: "limits by customer number, CPU seconds a second; they may add up to more than there is",
    kind: ParamKind::Customers { min: 0.0, max: MOST_CPUS, unit: UNIT },
    source: "chapter 21, Per-Customer Limits: negotiated usage",
};

pub(crate) const PARAMS: [Param; 7] = [
    LIMITS,
    Param {
        name: "default_limit",
        about: "limit of each customer that is not named",
        kind: ParamKind::Number { min: 0.0, max: MOST_CPUS, default: 1.0, unit: UNIT },
        source: "chapter 21: every other user has one; the lab's choice: a whole processor",
    },
    Param {
        name: "burst",
        about: "how many seconds of its limit a customer may use at once after a quiet time: the averaging window",
        kind: ParamKind::Time {
            min: Duration::from_millis(10),
            max: Duration::from_secs(3600),
            default: Some(Duration::from_secs(5)),
        },
        source: "the lab's choice: a customer with some requests a second, at half its limit, is not refused",
    },
    Param {
        name: "reserve",
        about: "part of a full account that is kept for each higher level of criticality",
        kind: ParamKind::Number { min: 0.0, max: 0.33, default: 0.1, unit: "" },
        source: "the lab's choice; chapter 21, Criticality: a level is rejected only if all lower ones are",
    },
    Param {
        name: "report_usage",
        about: "whether usage is reported to a quota-server, whose limits then hold",
        kind: ParamKind::Flag { default: false },
        source: "chapter 21: aggregate global usage information in real time from all backend tasks",
    },
    Param {
        name: "report_every",
        about: "time between usage reports",
        kind: ParamKind::Time {
            min: Duration::from_millis(10),
            max: Duration::from_secs(600),
            default: Some(Duration::from_secs(1)),
        },
        source: "the lab's choice: in real time",
    },
    Param {
        name: "lease",
        about: "how long a limit from a quota-server holds; after that the limit set here",
        kind: ParamKind::Time {
            min: Duration::from_millis(10),
            max: Duration::from_secs(3600),
            default: Some(Duration::from_secs(30)),
        },
        source: "the lab's choice: a server that is gone for a moment changes nothing",
    },
];
