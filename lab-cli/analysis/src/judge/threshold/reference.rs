//! The metrics of thresholds with their meaning, for `docs/reference/metrics.md`.

use super::{
    metric::{Number, Statistic, TimeStatistic, TimesOf},
    unit::Unit,
};
use crate::summary::Measure;

/// A name that thresholds know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownMetric {
    pub name: &'static str,
    pub kind: MetricKind,
    /// `time`, or that of a plain number.
    pub unit: &'static str,
    pub about: &'static str,
    /// Fewest samples for which there is a value.
    pub needs: u64,
}

/// The place of a name in a threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricKind {
    /// A count, rate or fraction of requests.
    Number,
    /// Times, which need a statistic.
    Times,
    /// A statistic of times.
    Statistic,
    /// A measure of whole phases.
    Measure,
    /// A statistic of a gauge over time.
    OfGauge,
}

/// Every name.
pub fn known() -> Vec<KnownMetric> {
    let of = |name, kind, unit, about, needs| KnownMetric { name, kind, unit, about, needs };
    let numbers = Number::all().map(|number| of(number.name, MetricKind::Number, number.unit, number.about, 0));
    let times = TimesOf::all().map(|times| of(times.name, MetricKind::Times, "time", times.about, 0));
    let statistics = Statistic::all().map(|Statistic { name, unit, needs, .. }| {
        of(name, MetricKind::Statistic, if *unit == Unit::Time { "time" } else { "times" }, "", *needs)
    });
    let measures = Measure::all().map(|measure| of(measure.name, MetricKind::Measure, measure.unit, measure.about, 0));
    let of_gauges = TimeStatistic::all().map(|over| of(over.name, MetricKind::OfGauge, "the gauge's", over.about, 0));
    numbers.chain(times).chain(statistics).chain(measures).chain(of_gauges).collect()
}
