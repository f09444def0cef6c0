//! The metrics of thresholds with their meaning, for `docs/reference/metrics.md`.

use super::{
    measure::MeasureOf,
    metric::{Number, Statistic, TimeStatistic, TimesOf},
    unit::Unit,
};

/// A name that thresholds know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownMetric {
    pub name: &'static str,
    pub kind: MetricKind,
    /// True of a time; else it is a plain number.
    pub is_time: bool,
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
    let of = |name, kind, is_time, about, needs| KnownMetric { name, kind, is_time, about, needs };
    let numbers = Number::all().map(|number| of(number.name, MetricKind::Number, false, number.about, 0));
    let times = TimesOf::all().map(|times| of(times.name, MetricKind::Times, true, times.about, 0));
    let statistics = Statistic::all().map(|statistic| {
        let Statistic { name, unit, needs, .. } = *statistic;
        of(name, MetricKind::Statistic, unit == Unit::Time, "", needs)
    });
    let measures = MeasureOf::all()
        .map(|measure| of(measure.name, MetricKind::Measure, measure.unit == Unit::Time, measure.about, 0));
    let of_gauges =
        TimeStatistic::ALL.iter().map(|(name, over)| of(*name, MetricKind::OfGauge, false, over.about(), 0));
    numbers.chain(times).chain(statistics).chain(measures).chain(of_gauges).collect()
}
