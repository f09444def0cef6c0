//! Metrics of a phase: one table of names, from which parsing, suggestions and values all follow.

use super::unit::Unit;
use crate::summary::{MEASURES, Measure, Measured, Times};

/// `arm.phase[part].group.quantity.statistic`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Metric {
    pub arm: String,
    pub phase: String,
    pub part: Option<Part>,
    pub group: Group,
    pub quantity: Quantity,
    /// True if the arm answers fewer requests than another one of the claim: its times are lower bounds.
    pub of_fewer: bool,
}

/// A part of a phase, from and to; an end that is not written is the phase's own.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Part {
    pub at: usize,
    pub from: Option<Point>,
    pub to: Option<Point>,
}

/// A point in a phase.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Point {
    /// 0 to 1 of its length.
    Share(f64),
    /// Seconds from its beginning.
    Seconds(f64),
}

/// Group of requests.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Group {
    All,
    Type(String),
    Class(String),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Quantity {
    /// A count, rate or fraction.
    Number(&'static Number),
    /// A statistic of a set of times.
    Times(&'static TimesOf, &'static Statistic),
    /// A measure of a whole phase.
    Measure(&'static Measure),
    /// A gauge of a stage over time; its unit is that of its name.
    Gauge { stage: String, name: String, over: &'static TimeStatistic },
    /// A gauge in every second, for `share`.
    Series { stage: String, name: String },
}

/// Reader of a number from a group of requests.
#[derive(Debug, Clone, Copy)]
pub(super) struct Number {
    pub name: &'static str,
    /// Meaning, for the reference.
    pub about: &'static str,
    /// Unit, for the reference.
    pub unit: &'static str,
    pub read: fn(&Measured) -> Option<f64>,
}

/// Reader of a set of times.
#[derive(Debug, Clone, Copy)]
pub(super) struct TimesOf {
    pub name: &'static str,
    /// Interval that is timed, for the reference.
    pub about: &'static str,
    pub read: fn(&Measured) -> &Times,
    /// Requests that are timed, which decides what may be said between arms that answer unequal shares.
    pub of: Requests,
}

/// The requests that times are of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Requests {
    /// Answered requests: a different part of them in each arm.
    Answered,
    /// All that users wanted.
    All,
    /// Any, on purpose.
    Any,
}

/// A statistic of times.
#[derive(Debug, Clone, Copy)]
pub(super) struct Statistic {
    pub name: &'static str,
    pub unit: Unit,
    /// Fewest samples for which it is given (order statistics).
    pub needs: u64,
    pub value: fn(&Times) -> Option<f64>,
    pub bound: fn(&Times) -> Option<f64>,
}

/// A statistic over time.
#[derive(Debug, Clone, Copy)]
pub(super) struct TimeStatistic {
    pub name: &'static str,
    /// Meaning for a gauge's values in the seconds of a phase, for the reference.
    pub about: &'static str,
    /// Counts values; all others have the gauge's unit.
    counts: bool,
    of: fn(&[f64]) -> f64,
}

macro_rules! counts {
    ($($name:ident in $unit:literal: $about:literal,)*) => {
        &[$(Number { name: stringify!($name), about: $about, unit: $unit, read: |m| Some(m.$name as f64) }),*]
    };
}

/// Counts of requests, as in the summary.
static COUNTS: &[Number] = counts![
    planned in "requests": "Requests that were due in the phase, retries included.",
    unsent in "requests": "Planned requests that the generator did not send.",
    refused_locally in "requests": "Requests that the user's own policy refused; they were not sent.",
    connect_failed in "requests": "Requests that got no connection.",
    connect_timed_out in "requests": "Of these, the ones whose attempt to connect timed out.",
    sent in "requests": "Requests that were written to a connection.",
    served in "requests": "Requests answered within the objective's response time, from the start of the first attempt.",
    served_late in "requests": "Requests answered later than that.",
    rejected in "requests": "Requests that the service refused.",
    timed_out in "requests": "Requests without an answer within the users' time-out.",
    failed in "requests": "Requests with an error as the answer, or whose connection broke.",
    elsewhere in "requests": "Failed requests that were redirected to another host.",
    abandoned in "requests": "Requests whose user gave up.",
    in_flight in "requests": "Requests still without an answer when the run ended.",
    retries in "requests": "Requests that repeat one that was not served.",
    clients in "users": "Users that sent at least one request.",
    resent in "requests": "Requests whose kept connection was found closed before anything was written to it, and that went out on a new one.",
];

/// Ratios of counts.
static RATIOS: &[Number] = &[
    Number {
        name: "offered",
        about: "Offered load: planned requests per second.",
        unit: "1/s",
        read: |m| Some(m.offered_per_s),
    },
    Number {
        name: "goodput",
        about: "What users wanted and had within the objective's response time, per second. A retry counts from the start of the first attempt.",
        unit: "1/s",
        read: |m| Some(m.goodput_per_s),
    },
    Number {
        name: "reject_fraction",
        about: "Refused requests as a share of those sent.",
        unit: "share",
        read: |m| (m.sent > 0).then_some(m.reject_fraction),
    },
    Number {
        name: "served_fraction",
        about: "Requests answered, in time or late, as a share of the planned ones.",
        unit: "share",
        read: |m| ratio(m.served + m.served_late, m.planned),
    },
    Number {
        name: "amplification",
        about: "Retry amplification: attempts for each request that users wanted.",
        unit: "number",
        read: Measured::amplification,
    },
    Number {
        name: "errors",
        about: "Requests that the service was asked for and did not answer as asked: refused, failed, without a connection or without an answer, also those still open when the run ended. All that was planned but `unsent`, `served` and `served_late`.",
        unit: "requests",
        read: |m| Some(m.errors() as f64),
    },
    Number {
        name: "error_rate",
        about: "Errors as a share of the planned requests. The one metric that fails a threshold in an INVALID run too.",
        unit: "share",
        read: |m| ratio(m.errors(), m.planned),
    },
    Number {
        name: "clients_with_connect_timeout",
        about: "Share of the users that had a connect time-out.",
        unit: "share",
        read: |m| (m.clients > 0).then_some(m.clients_with_connect_timeout),
    },
];

static TIMES: &[TimesOf] = &[
    TimesOf {
        name: "response_time",
        about: "From the intended start of a request to its answer, of answered requests. Of two arms whose answered shares differ by over 10 points, that of the one that answers fewer is a lower bound.",
        read: |m| &m.response_time_ms,
        of: Requests::Answered,
    },
    TimesOf {
        name: "response_time_all",
        about: "From the start of a request's first attempt to its answer, of all requests that users wanted: one without an answer, whatever the reason, is longer than any.",
        read: |m| &m.response_time_all_ms,
        of: Requests::All,
    },
    TimesOf {
        name: "response_time_answered",
        about: "As `response_time`, held against another arm's whatever shares they answer.",
        read: |m| &m.response_time_ms,
        of: Requests::Any,
    },
    TimesOf {
        name: "service_time",
        about: "From the actual send to the answer, of answered requests; between arms as `response_time`.",
        read: |m| &m.service_time_ms,
        of: Requests::Answered,
    },
    TimesOf {
        name: "reject_time",
        about: "From the intended start to the refusal.",
        read: |m| &m.reject_time_ms,
        of: Requests::Any,
    },
    TimesOf {
        name: "connect_time",
        about: "Time to establish a connection.",
        read: |m| &m.connect_time_ms,
        of: Requests::Any,
    },
];

static STATISTICS: &[Statistic] = &[
    percentile("p50", 6, |t| t.p50, |t| t.p50_at_least),
    percentile("p90", 29, |t| t.p90, |t| t.p90_at_least),
    percentile("p95", 59, |t| t.p95, |t| t.p95_at_least),
    percentile("p99", 299, |t| t.p99, |t| t.p99_at_least),
    percentile("p999", 2995, |t| t.p999, |t| t.p999_at_least),
    // What was not answered is longer than anything that was: the greatest answer is then a bound, the mean none.
    percentile("max", 1, |t| t.max.filter(|_| t.censored == 0), |t| t.max),
    percentile("mean", 1, |t| t.mean.filter(|_| t.censored == 0), |_| None),
    Statistic { name: "count", unit: Unit::Plain, needs: 0, value: |t| Some(t.count as f64), bound: |_| None },
];

const fn percentile(
    name: &'static str,
    needs: u64,
    value: fn(&Times) -> Option<f64>,
    bound: fn(&Times) -> Option<f64>,
) -> Statistic {
    Statistic { name, unit: Unit::Time, needs, value, bound }
}

static OVER_TIME: &[TimeStatistic] = &[
    over_time("min", "The smallest.", |values| values.iter().copied().fold(f64::INFINITY, f64::min)),
    over_time("max", "The largest.", |values| values.iter().copied().fold(f64::NEG_INFINITY, f64::max)),
    over_time("mean", "The mean.", |values| values.iter().sum::<f64>() / values.len() as f64),
    over_time("first", "The first.", |values| values[0]),
    over_time("last", "The last.", |values| values[values.len() - 1]),
    TimeStatistic {
        counts: true,
        ..over_time(
            "falls",
            "The most steps down in a row; seconds without a change neither count nor interrupt.",
            |values| most_in_a_row(values, |before, now| now < before),
        )
    },
    TimeStatistic {
        counts: true,
        ..over_time("rises", "The most steps up in a row.", |values| most_in_a_row(values, |before, now| now > before))
    },
    over_time("sum", "The sum.", |values| values.iter().sum()),
];

const fn over_time(name: &'static str, about: &'static str, of: fn(&[f64]) -> f64) -> TimeStatistic {
    TimeStatistic { name, about, counts: false, of }
}

fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

macro_rules! tables {
    ($($of:ident: $rows:expr;)*) => {$(
        /// Rows are the same if they have the same name: each stands in its table once.
        impl PartialEq for $of {
            fn eq(&self, other: &Self) -> bool {
                self.name == other.name
            }
        }

        impl $of {
            pub fn all() -> impl Iterator<Item = &'static Self> {
                $rows
            }

            pub fn find(name: &str) -> Option<&'static Self> {
                Self::all().find(|row| row.name == name)
            }

            pub fn names() -> Vec<&'static str> {
                Self::all().map(|row| row.name).collect()
            }
        }
    )*};
}

tables! {
    Number: RATIOS.iter().chain(COUNTS);
    TimesOf: TIMES.iter();
    Statistic: STATISTICS.iter();
    TimeStatistic: OVER_TIME.iter();
    Measure: MEASURES.iter();
}

/// A count or ratio of a group of requests by its name.
pub(crate) fn number(name: &str, of: &Measured) -> Option<f64> {
    (Number::find(name)?.read)(of)
}

impl Number {
    /// Counted of requests that were lost, whatever the times of the others are worth.
    pub fn is_error_rate(&self) -> bool {
        self.name == "error_rate"
    }
}

/// A statistic of response times by its short name, in full: `response_time.p99` for `p99`, `response_time_all.p99` for `p99_all`.
pub fn of_response_times(short: &str) -> Option<String> {
    let (statistic, of) =
        short.split_once('_').map_or((short, ""), |(statistic, _)| (statistic, &short[statistic.len()..]));
    let times = TimesOf::find(&format!("response_time{of}"))?;
    Some(format!("{}.{}", times.name, Statistic::find(statistic)?.name))
}

impl Statistic {
    /// A time; else a count of them.
    pub fn is_time(&self) -> bool {
        self.unit == Unit::Time
    }
}

impl TimeStatistic {
    /// `None` of no values.
    pub fn of(self, values: &[f64]) -> Option<f64> {
        (!values.is_empty()).then(|| (self.of)(values))
    }
}

fn most_in_a_row(values: &[f64], is_one: fn(f64, f64) -> bool) -> f64 {
    let (mut most, mut now) = (0_u32, 0_u32);
    for pair in values.windows(2).filter(|pair| pair[0] != pair[1]) {
        now = if is_one(pair[0], pair[1]) { now + 1 } else { 0 };
        most = most.max(now);
    }
    f64::from(most)
}

impl Quantity {
    /// True of a stage over time.
    pub fn is_gauge(&self) -> bool {
        matches!(self, Self::Gauge { .. } | Self::Series { .. })
    }

    pub fn unit(&self) -> Unit {
        match self {
            Self::Number(_) => Unit::Plain,
            Self::Times(_, statistic) => statistic.unit,
            Self::Measure(measure) if measure.unit == "time" => Unit::Time,
            Self::Measure(_) => Unit::Plain,
            Self::Gauge { over, .. } if over.counts => Unit::Plain,
            Self::Gauge { name, .. } | Self::Series { name, .. } if name.ends_with("_ms") => Unit::Time,
            Self::Gauge { .. } | Self::Series { .. } => Unit::Plain,
        }
    }
}

/// All names that may follow a phase or group.
pub(super) fn names() -> Vec<&'static str> {
    [TimesOf::names(), Number::names(), Measure::names()].concat()
}
