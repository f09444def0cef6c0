//! A side of a threshold without names of arms and phases: what figures draw of every arm and phase.

use std::ops::Range;

use super::{
    check::KnownNames,
    claim::{Expr, Node},
    error::{ThresholdError, error},
    evaluate::{evaluate, pieces},
    evidence::Evidence,
    metric::{Group, Metric, Part, Point, Quantity},
    parse,
    range::Range as ValueRange,
    unit::Unit,
};
use crate::{series::value::Value, text::suggestion};

/// `response_time.p90`, `class-1.reject_fraction`, `goodput / offered`, `gauge.login.quality.mean`; or `gauge.login.quality`: a gauge
/// in every second.
#[derive(Debug, Clone, PartialEq)]
pub struct PhaseMeasure {
    text: String,
    expr: Expr,
}

/// Arm, phase and block, and the part of the phase, as shares of its length.
#[derive(Debug, Clone)]
pub struct OfPhase<'a> {
    /// Name of the arm in the summary.
    pub arm: &'a str,
    /// Name of the phase.
    pub phase: &'a str,
    /// `None`: the whole phase.
    pub part: Option<Range<f64>>,
    /// The repetition, from 1.
    pub block: u32,
}

impl PhaseMeasure {
    /// Reads one.
    ///
    /// # Errors
    /// The first place where it makes no sense, and what would.
    pub fn parse(text: &str) -> Result<Self, ThresholdError> {
        let expr = parse::of_any_phase(text)?;
        let measure = Self { text: text.to_owned(), expr };
        let metrics = measure.metrics();
        if metrics.is_empty() {
            return Err(error(0, "nothing is measured here", "for example response_time.p90"));
        }
        let in_every_second = metrics.iter().find(|(_, metric)| matches!(metric.quantity, Quantity::Series { .. }));
        match (in_every_second, &measure.expr.node) {
            (Some((at, _)), node) if !matches!(node, Node::Metric(_)) => {
                Err(error(*at, "a gauge in every second cannot be computed with", "add a statistic, for example .mean"))
            }
            _ => Ok(measure),
        }
    }

    /// Text as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Milliseconds; else a plain number.
    pub fn is_time(&self) -> bool {
        self.expr.unit() == Unit::Time
    }

    /// A gauge in every second: it has no single value in a phase.
    pub fn is_of_seconds(&self) -> bool {
        matches!(&self.expr.node, Node::Metric(Metric { quantity: Quantity::Series { .. }, .. }))
    }

    /// Measures that are known of whole phases alone, such as `wasted`.
    pub fn is_of_whole_phases(&self) -> bool {
        self.metrics().iter().any(|(_, metric)| matches!(metric.quantity, Quantity::Measure(_)))
    }

    /// Stages and gauges that it names.
    pub fn gauges(&self) -> Vec<(&str, &str)> {
        let named = self.metrics().into_iter().filter_map(|(_, metric)| match &metric.quantity {
            Quantity::Gauge { stage, name, .. } | Quantity::Series { stage, name } => {
                Some((stage.as_str(), name.as_str()))
            }
            _ => None,
        });
        named.collect()
    }

    /// Checks that every request type that it names exists.
    ///
    /// # Errors
    /// Every one that does not, with a suggestion.
    pub fn check(&self, names: &KnownNames<'_>) -> Result<(), Vec<ThresholdError>> {
        let unknown = |(at, metric): (usize, &Metric)| match &metric.group {
            Group::Type(kind) if !names.types.contains(&kind.as_str()) => {
                Some(error(at, format!("there is no request type or metric {kind}"), suggestion(kind, &names.types)))
            }
            _ => None,
        };
        let problems: Vec<_> = self.metrics().into_iter().filter_map(unknown).collect();
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }

    /// The same of one request type, where it is of all.
    #[must_use]
    pub fn of_type(&self, kind: &str) -> Self {
        let mut of_type = self.clone();
        of_type.expr.each_metric(&mut |metric| {
            if metric.group == Group::All {
                metric.group = Group::Type(kind.to_owned());
            }
        });
        of_type
    }

    /// Value of the measure; `None` if there is none: too few samples, no such gauge. Times are milliseconds.
    pub fn value(&self, of: &OfPhase<'_>, evidence: &Evidence<'_>) -> Option<Value> {
        evaluate(&self.named(of), of.block, evidence).ok()?.shown()
    }

    /// Values of a gauge in the seconds of a phase.
    pub fn seconds(&self, of: &OfPhase<'_>, evidence: &Evidence<'_>) -> Vec<Option<Value>> {
        let Node::Metric(metric) = &self.named(of).node else { return Vec::new() };
        let found = pieces(metric, of.block, evidence).unwrap_or_default();
        found.into_iter().map(|range| range.and_then(ValueRange::shown)).collect()
    }

    fn named(&self, of: &OfPhase<'_>) -> Expr {
        let mut named = self.expr.clone();
        named.each_metric(&mut |metric| {
            metric.arm = of.arm.to_owned();
            metric.phase = of.phase.to_owned();
            let point = |share| Some(Point::Share(share));
            let part = of.part.as_ref().map(|part| Part { at: 0, from: point(part.start), to: point(part.end) });
            metric.part = part.filter(|_| !matches!(metric.quantity, Quantity::Measure(_)));
        });
        named
    }

    fn metrics(&self) -> Vec<(usize, &Metric)> {
        self.expr.metrics()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::{
        live::{StageSecond, TargetSecond, TimelineSecond},
        summary::{Arm, Measured, PhaseSummary, Times},
    };

    fn arms() -> Vec<Arm> {
        let times = Times { p90: Some(1500.0), mean: Some(500.0), ..Times::default() };
        let hidden = Times { p90_at_least: Some(60_000.0), ..Times::default() };
        let all = Measured {
            sent: 100,
            rejected: 25,
            reject_fraction: 0.25,
            goodput_per_s: 40.0,
            response_time_ms: times,
            ..Measured::default()
        };
        let search = Measured { sent: 2, response_time_ms: hidden, ..Measured::default() };
        let phase = PhaseSummary {
            name: "spike".to_owned(),
            seconds: 10.0,
            measured: all,
            by_type: [("search".to_owned(), search)].into(),
            ..PhaseSummary::default()
        };
        vec![Arm { policy: "seda".to_owned(), block: 1, phases: vec![phase], ..Arm::default() }]
    }

    fn timeline() -> Vec<TimelineSecond> {
        let second = |n: u32| {
            let gauges = [("p90_ms".to_owned(), f64::from(n) * 100.0)].into();
            let stage = StageSecond { name: "list folders".to_owned(), gauges, ..StageSecond::default() };
            let target = Some(TargetSecond { stages: vec![stage], ..TargetSecond::default() });
            TimelineSecond {
                arm: "seda".to_owned(),
                block: 1,
                second: n,
                phase: "spike".to_owned(),
                target,
                ..TimelineSecond::default()
            }
        };
        (0..10).map(second).collect()
    }

    fn asked<T>(text: &str, ask: impl Fn(&PhaseMeasure, &OfPhase<'_>, &Evidence<'_>) -> T) -> T {
        let (arms, timeline, left_out) = (arms(), timeline(), BTreeSet::new());
        let evidence = Evidence { arms: &arms, left_out: &left_out, timeline: &timeline, parts: &|_, _, _| None };
        let measure = PhaseMeasure::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        ask(&measure, &OfPhase { arm: "seda", phase: "spike", part: None, block: 1 }, &evidence)
    }

    #[test]
    fn a_measure_has_a_value_in_every_phase_or_none() {
        let value = |text: &str| asked(text, PhaseMeasure::value);
        assert_eq!(value("response_time.p90"), Some(Value::known(1500.0)));
        assert_eq!(value("100 * rejected / sent"), Some(Value::known(25.0)));
        // Goodput by response time, the power of WebQ: 40 / 0.5.
        assert_eq!(value("goodput * (1s / response_time.mean)"), Some(Value::known(80.0)));
        assert_eq!(value("search.response_time.p90"), Some(Value { at: 60_000.0, at_least: true }));
        assert_eq!(value("response_time.p99"), None, "too few samples");
        assert_eq!(value("gauge.\"list folders\".p90_ms.max"), Some(Value::known(900.0)));
        let of_search = |measure: &PhaseMeasure, of: &OfPhase<'_>, evidence: &Evidence<'_>| {
            measure.of_type("search").value(of, evidence)
        };
        assert_eq!(asked("response_time.p90", of_search), Some(Value { at: 60_000.0, at_least: true }));
    }

    #[test]
    fn a_gauge_without_a_statistic_is_read_second_by_second() {
        let found = asked("gauge.\"list folders\".p90_ms", |measure, of, evidence| {
            assert!(measure.is_of_seconds() && measure.is_time());
            assert_eq!(measure.gauges(), [("list folders", "p90_ms")]);
            measure.seconds(of, evidence)
        });
        assert_eq!((found.len(), found[9]), (10, Some(Value::known(900.0))));
        assert!(asked("gauge.checksum.quality", PhaseMeasure::seconds).is_empty());
    }

    #[test]
    fn what_makes_no_sense_is_told_with_a_way_out() {
        for (text, message) in [
            ("seda.spike.response_time.p90", "there is no metric spike"),
            ("response_time", "a statistic is missing"),
            ("3 + 4", "nothing is measured here"),
            ("gauge.a.b + gauge.a.c", "a gauge in every second cannot be computed with"),
            ("share(goodput > 3)", "a share cannot be drawn"),
            ("goodput < 3", "the measure should end here"),
            ("login.wasted", "wasted is known of whole phases and all requests alone"),
        ] {
            let error = PhaseMeasure::parse(text).expect_err(text);
            assert_eq!(error.message, message, "{text}");
            assert!(!error.hint.is_empty(), "{text}");
        }
        let names = KnownNames { types: vec!["search", "login"], ..KnownNames::default() };
        let unknown = PhaseMeasure::parse("serach.response_time.p90").expect("well-formed").check(&names);
        assert!(unknown.expect_err("unknown")[0].hint.contains("search"));
    }
}
