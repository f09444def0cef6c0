//! `--fail-if` and the objective of `--find-rate`.

use std::time::Duration;

use analysis::judge::threshold::{Threshold, of_response_times};
use controllers::catalogue::parse_time;

use crate::exit::Failure;

/// The one arm of a load.
pub(super) const ARM: &str = "load";

/// Operators of `--fail-if`, each with its opposite, which must hold for a load to pass.
const OPERATORS: [(&str, &str); 4] = [(">=", "<"), ("<=", ">"), (">", "<="), ("<", ">=")];
const EXAMPLES: &str = "for example 'p99 > 200ms', 'error_rate > 1%', 'goodput < 500'";

/// The thresholds that hold as long as a condition does not: one for each phase.
pub(super) fn thresholds(condition: &str, phases: &[&str]) -> Result<Vec<String>, Failure> {
    let bad = |why: String| Failure::usage(format!("--fail-if {condition:?}: {why}; {EXAMPLES}"));
    let found = OPERATORS.iter().find_map(|(sign, instead)| {
        let (metric, limit) = condition.split_once(sign)?;
        Some((metric.trim(), *instead, limit.trim()))
    });
    let (metric, instead, limit) = found.ok_or_else(|| bad("there is no comparison".to_owned()))?;
    let one = |phase: &&str| {
        let of = |name: &str| format!("{ARM}.{phase}.{name}");
        let metric = metric.replace("p99.9", "p999");
        let left = of(&of_response_times(&metric).unwrap_or(metric));
        let text = format!("{left} {instead} {limit}");
        match Threshold::parse(&text) {
            Ok(_) => Ok(text),
            Err(problem) => Err(bad(format!("{}; {}", problem.message, problem.hint))),
        }
    };
    phases.iter().map(one).collect()
}

/// A share of the requests that is to be served within a time.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RateObjective {
    /// The condition as typed.
    pub(super) text: String,
    /// The share of the requests that may miss it.
    pub(super) may_miss: f64,
    /// Within which the others are served.
    pub(super) within: Duration,
}

impl RateObjective {
    /// Reads `p99 < 200ms`.
    pub(super) fn parse(text: &str) -> Result<Self, Failure> {
        let bad = || {
            let message = format!("--find-rate {text:?}: write a percentile and a time: 'p99 < 200ms', 'p99.9 < 1s'");
            Failure::usage(message)
        };
        let (percentile, time) = text.split_once('<').ok_or_else(bad)?;
        let percentile = percentile.trim().strip_prefix('p').and_then(|digits| digits.parse::<f64>().ok());
        let percentile = percentile.filter(|percentile| (50.0..=99.99).contains(percentile)).ok_or_else(bad)?;
        let time = time.trim().trim_start_matches('=').trim();
        let within = parse_time(time).filter(|time| *time >= Duration::from_millis(1)).ok_or_else(bad)?;
        Ok(Self { text: text.trim().to_owned(), may_miss: 1.0 - percentile / 100.0, within })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_becomes_what_must_hold() {
        let of = |condition: &str| thresholds(condition, &["load"]).expect(condition).concat();
        assert_eq!(of("p99 > 200ms"), "load.load.response_time.p99 <= 200ms");
        assert_eq!(of("p99.9>=1s"), "load.load.response_time.p999 < 1s");
        assert_eq!(of("p99_all > 200ms"), "load.load.response_time_all.p99 <= 200ms");
        assert_eq!(of("goodput < 500"), "load.load.goodput >= 500");
        assert_eq!(of("service_time.p50 > 1s"), "load.load.service_time.p50 <= 1s");
        assert_eq!(of("error_rate > 1%"), "load.load.error_rate <= 1%");
        assert_eq!(thresholds("failed > 0", &["step-1", "step-2"]).map(|all| all.len()).ok(), Some(2));
        for bad in ["", "p99", "p98 > 1s", "p99 > 200", "goodput < 5s", "p99 == 1s", "> 1s", "p99 >"] {
            let Err(Failure::Usage(told)) = thresholds(bad, &["load"]) else { panic!("{bad}") };
            assert!(told.contains("for example"), "{told}");
        }
    }

    #[test]
    fn an_objective_is_a_percentile_and_a_time() {
        let found = RateObjective::parse("p99 < 200ms").expect("good");
        assert!((found.may_miss - 0.01).abs() < 1e-12 && found.within == Duration::from_millis(200));
        for bad in ["", "p99", "p99 > 1s", "p10 < 1s", "p99 < 200", "mean < 1s", "p99 < 0s"] {
            assert!(matches!(RateObjective::parse(bad), Err(Failure::Usage(_))), "{bad}");
        }
    }
}
