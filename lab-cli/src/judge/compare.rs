//! Arms against the first one: how many times as much.
//!
//! A ratio from one block is a description, not a finding: requests within a run are correlated, so the run is the unit
//! of inference, and an exact two-sided test needs at least six blocks (sign flips: 2 / 2^6 = 0.03). Until blocks are
//! tested here every comparison says `inconclusive` and gives no interval.

use crate::summary::{Arm, Comparison, Measured};

/// A metric's name in the summary, and how it is read.
type Metric = (&'static str, fn(&Measured) -> Option<f64>);

const METRICS: [Metric; 3] = [
    ("goodput_per_s", |m| Some(m.goodput_per_s)),
    ("reject_fraction", |m| (m.sent > 0).then_some(m.reject_fraction)),
    // A bound is no value: its ratio would be none either.
    ("response_time_ms.p90", |m| m.response_time_ms.p90),
];

/// Every arm against the first one of the file, in the phase with the most requests. `order` names the arms in the order
/// of the file.
pub fn with_the_first(arms: &[Arm], order: &[String]) -> Vec<Comparison> {
    let Some((baseline, others)) = order.split_first() else { return Vec::new() };
    let Some(phase) = busiest(arms, baseline) else { return Vec::new() };
    let mut found = Vec::new();
    for policy in others {
        for (metric, read) in METRICS {
            let ours = median(arms, policy, &phase, read);
            let theirs = median(arms, baseline, &phase, read);
            let (Some(ours), Some(theirs)) = (ours, theirs) else { continue };
            found.push(Comparison {
                metric: metric.to_owned(),
                phase: phase.clone(),
                baseline: baseline.clone(),
                policy: policy.clone(),
                verdict: "inconclusive".to_owned(),
                ratio: (theirs > 0.0).then(|| ours / theirs),
                interval: None,
            });
        }
    }
    found
}

/// What the experiment is about: the baseline's phase with the most requests.
fn busiest(arms: &[Arm], baseline: &str) -> Option<String> {
    let arm = arms.iter().find(|arm| arm.shown_name() == baseline)?;
    arm.phases.iter().max_by_key(|phase| phase.measured.planned).map(|phase| phase.name.clone())
}

/// Over blocks; the lower one of the two in the middle.
fn median(arms: &[Arm], name: &str, phase: &str, read: fn(&Measured) -> Option<f64>) -> Option<f64> {
    let mut values: Vec<f64> = arms
        .iter()
        .filter(|arm| arm.shown_name() == name)
        .flat_map(|arm| &arm.phases)
        .filter(|p| p.name == phase)
        .filter_map(|p| read(&p.measured))
        .collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len().checked_sub(1)? / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::{Phase, Times};

    fn arm(policy: &str, block: u32, goodput: f64, p90: Option<f64>) -> Arm {
        let spike = Measured {
            planned: 100,
            sent: 100,
            goodput_per_s: goodput,
            response_time_ms: Times { p90, p90_at_least: p90.is_none().then_some(60_000.0), ..Times::default() },
            ..Measured::default()
        };
        let phase = |name: &str, measured| Phase { name: name.to_owned(), measured, ..Phase::default() };
        let phases = vec![phase("before", Measured::default()), phase("spike", spike)];
        Arm { policy: policy.to_owned(), block, phases, ..Arm::default() }
    }

    #[test]
    fn ratios_are_of_medians_over_blocks_in_the_busiest_phase() {
        let order = ["none".to_owned(), "seda".to_owned()];
        let arms = [
            arm("seda", 1, 60.0, Some(900.0)),
            arm("none", 1, 20.0, None),
            arm("none", 2, 40.0, None),
            arm("seda", 2, 50.0, Some(1000.0)),
            arm("seda", 3, 80.0, Some(1100.0)),
            arm("none", 3, 25.0, None),
        ];
        let found: Vec<_> = with_the_first(&arms, &order)
            .into_iter()
            .map(|c| (c.metric, c.phase, c.baseline, c.policy, c.ratio, c.verdict))
            .collect();
        let expect = |metric: &str, ratio| {
            let [phase, none, seda, verdict] = ["spike", "none", "seda", "inconclusive"].map(str::to_owned);
            (metric.to_owned(), phase, none, seda, ratio, verdict)
        };
        // 60 over 25; rejects are 0 over 0; p90 of none is only a bound.
        assert_eq!(found, [expect("goodput_per_s", Some(2.4)), expect("reject_fraction", None)]);
    }

    #[test]
    fn nothing_is_compared_without_a_baseline() {
        assert_eq!(with_the_first(&[arm("seda", 1, 1.0, None)], &["none".to_owned(), "seda".to_owned()]), []);
        assert_eq!(with_the_first(&[], &[]), []);
    }
}
