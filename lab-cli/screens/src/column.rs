//! Figures: columns of the table of a comparison, and curves over time.

use analysis::{
    live::TimelineSecond,
    series::value::Value,
    summary::{LatencyObjective, Measured},
    text,
};

/// A figure: a column of the table, and a curve over time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Column {
    Goodput,
    Offered,
    Rejected,
    P50,
    P90,
    P99,
    TimedOut,
    /// The 90th percentile of all requests, those without an answer being the longest.
    P90All,
    /// Jobs that wait at all stages.
    Queue,
    /// The limit in force that a policy shows, of the stage with the largest.
    Limit,
    /// The admission rate, of the stage with the lowest.
    Rate,
    /// The 90th percentile that a policy steers by, of the stage with the longest.
    BelievedP90,
}

impl Column {
    /// Columns of every run: figures of its users.
    pub const OF_USERS: [Self; 8] =
        [Self::Goodput, Self::Offered, Self::Rejected, Self::P50, Self::P90, Self::P99, Self::TimedOut, Self::P90All];
    /// Columns of stages and policies, where they showed something of themselves.
    pub const OF_POLICIES: [Self; 4] = [Self::Queue, Self::Limit, Self::Rate, Self::BelievedP90];

    /// The percentile of response times that an objective bounds, or the next higher one that is shown.
    pub fn bounded_by(objective: &LatencyObjective) -> Self {
        match objective.percentile {
            of if of <= 50.0 => Self::P50,
            of if of <= 90.0 => Self::P90,
            _ => Self::P99,
        }
    }

    /// After a percentile of response times, the next one; the lowest after the highest.
    pub fn next_percentile(self) -> Self {
        match self {
            Self::P50 => Self::P90,
            Self::P90 => Self::P99,
            _ => Self::P50,
        }
    }

    /// Name, name in `summary.json` for comparisons, unit behind a number of its axis, and a value in words.
    fn facts(self) -> (&'static str, &'static str, &'static str, fn(f64) -> String) {
        let whole = |value: f64| format!("{value:.0}");
        match self {
            Self::Goodput => ("goodput/s", "goodput_per_s", "/s", text::rate),
            Self::Offered => ("offered/s", "", "/s", text::rate),
            Self::Rejected => ("rejected", "reject_fraction", " %", text::percent),
            Self::P50 => ("p50", "", "", text::time),
            Self::P90 => ("p90", "response_time_ms.p90", "", text::time),
            Self::P99 => ("p99", "response_time_ms.p99", "", text::time),
            Self::TimedOut => ("timed out", "", "/s", whole),
            Self::P90All => ("p90 all", "response_time_all_ms.p90", "", text::time),
            Self::Queue => ("queue", "", "", whole),
            Self::Limit => ("limit", "", "", text::rate),
            Self::Rate => ("rate/s", "", "/s", text::rate),
            Self::BelievedP90 => ("own p90", "", "", text::time),
        }
    }

    pub fn name(self) -> &'static str {
        self.facts().0
    }

    /// The figure's name in `summary.json`, for comparisons.
    pub fn metric(self) -> &'static str {
        self.facts().1
    }

    /// The unit behind a number of its axis.
    pub fn unit(self) -> &'static str {
        self.facts().2
    }

    /// Drawn on a logarithmic axis.
    pub fn is_time(self) -> bool {
        matches!(self, Self::P50 | Self::P90 | Self::P99 | Self::P90All | Self::BelievedP90)
    }

    /// The value of a phase, and whether it is only a bound from below.
    pub fn of_phase(self, measured: &Measured) -> Option<Value> {
        let (times, all) = (&measured.response_time_ms, &measured.response_time_all_ms);
        match self {
            Self::Goodput => Some(Value::known(measured.goodput_per_s)),
            Self::Offered => Some(Value::known(measured.offered_per_s)),
            Self::Rejected => (measured.sent > 0).then_some(Value::known(measured.reject_fraction)),
            Self::P50 => Value::of(times.p50, times.p50_at_least),
            Self::P90 => Value::of(times.p90, times.p90_at_least),
            Self::P99 => Value::of(times.p99, times.p99_at_least),
            Self::TimedOut => Some(Value::known(measured.timed_out as f64)),
            Self::P90All => Value::of(all.p90, all.p90_at_least),
            Self::Queue | Self::Limit | Self::Rate | Self::BelievedP90 => None,
        }
    }

    /// A figure that is known of seconds alone.
    pub fn is_of_policies(self) -> bool {
        Self::OF_POLICIES.contains(&self)
    }

    /// The better of two values, as far as that can be said of this figure: the higher or the lower.
    pub fn better(self) -> Option<Better> {
        match self {
            Self::Goodput => Some(Better::Higher),
            Self::P50 | Self::P90 | Self::P99 | Self::P90All | Self::TimedOut => Some(Better::Lower),
            // More of what is refused may be right or wrong.
            _ => None,
        }
    }

    /// The value of a second.
    pub fn at(self, second: &TimelineSecond) -> Option<Value> {
        match self {
            Self::Goodput => Some(Value::known(second.served as f64)),
            Self::Offered => Some(Value::known(second.offered as f64)),
            Self::Rejected => {
                // Of what ended in it: after a peak more may be refused than begins.
                let answered = second.served + second.served_late + second.rejected;
                let ended = answered + second.timed_out + second.failed + second.abandoned;
                (ended > 0).then_some(Value::known(100.0 * second.rejected as f64 / ended as f64))
            }
            Self::P50 => Value::of(second.p50_ms, second.p50_at_least_ms),
            Self::P90 => Value::of(second.p90_ms, second.p90_at_least_ms),
            Self::P99 => Value::of(second.p99_ms, second.p99_at_least_ms),
            Self::TimedOut => Some(Value::known(second.timed_out as f64)),
            // What a second's requests come to is not known before their end.
            Self::P90All => None,
            Self::Queue => {
                let stages = &second.target.as_ref()?.stages;
                Some(Value::known(stages.iter().map(|stage| f64::from(stage.queue)).sum()))
            }
            Self::Limit => gauge(second, "limit", f64::max),
            Self::Rate => gauge(second, "admission_rate_per_s", f64::min),
            Self::BelievedP90 => gauge(second, "p90_ms", f64::max),
        }
    }

    /// The value as it stands in a table.
    pub fn shown(self, value: Option<Value>) -> String {
        value.map_or_else(|| "-".to_owned(), |value| value.shown(self.facts().3))
    }
}

/// The side of good values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Better {
    Higher,
    Lower,
}

impl Better {
    /// `one` is better than `other`.
    pub fn is(self, one: f64, other: f64) -> bool {
        if self == Self::Higher { one > other } else { one < other }
    }
}

/// A gauge of all stages and classes, by this choice between two.
fn gauge(second: &TimelineSecond, name: &str, choose: fn(f64, f64) -> f64) -> Option<Value> {
    let is_it = |key: &str| key.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('['));
    let stages = second.target.iter().flat_map(|target| &target.stages);
    let values = stages.flat_map(|stage| &stage.gauges).filter(|(key, _)| is_it(key)).map(|(_, value)| *value);
    values.reduce(choose).map(Value::known)
}
