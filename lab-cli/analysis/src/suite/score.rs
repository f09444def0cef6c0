//! Score of each arm of a run.

use std::collections::BTreeMap;

use super::matrix::{SuiteCell, rounded};
use crate::{
    oracle_share,
    series::value::Value,
    summary::{Arm, Entitled, PhaseRole, PhaseSummary, RunSummary, Validity, busiest},
};

/// Cells of a run, by arm. `scored`: the run's bound says what the best could do.
pub fn cells(summary: &RunSummary, scored: bool) -> BTreeMap<String, SuiteCell> {
    let bound = |block: u32| summary.arms.iter().find(|arm| arm.bound && arm.block == block);
    let of_arm = |name: &str| {
        let runs: Vec<&Arm> = summary.arms.iter().filter(|arm| arm.shown_name() == name).collect();
        Repetitions(&runs).cell(scored, |runs| fairness(runs, &summary.entitled, bound))
    };
    let names =
        summary.arm_names().into_iter().filter(|name| !summary.arms.iter().any(|arm| arm.bound && arm.name == *name));
    names.map(|name| (name.to_owned(), of_arm(name))).collect()
}

/// Cell of an arm's runs that are in no summary. `bounds`: those of their blocks; none where each run has its own.
pub fn cell_of(mut runs: Vec<Arm>, bounds: &[Arm]) -> SuiteCell {
    let names: Vec<String> = bounds.iter().map(|bound| bound.name.clone()).collect();
    runs.extend_from_slice(bounds);
    oracle_share::fill_in(&mut runs, &names);
    let runs: Vec<&Arm> = runs.iter().filter(|arm| !arm.bound).collect();
    // Such runs were not judged, and their phases have no roles.
    SuiteCell { verdict: None, calm: None, ..Repetitions(&runs).cell(true, |_| None) }
}

/// Cell of what was not run.
pub fn no_cell(reason: &str) -> SuiteCell {
    SuiteCell { reason: Some(reason.to_owned()), ..SuiteCell::default() }
}

/// Runs of an arm, one a block.
struct Repetitions<'a>(&'a [&'a Arm]);

impl Repetitions<'_> {
    fn cell(&self, scored: bool, fairness: impl Fn(&[&Arm]) -> Option<f64>) -> SuiteCell {
        let Self(runs) = self;
        let verdict = runs.iter().map(|arm| arm.verdict).max();
        if verdict == Some(Validity::Invalid) {
            let codes: Vec<&str> = runs.iter().flat_map(|arm| &arm.reasons).map(|of| of.code.as_str()).collect();
            let reason = format!("INVALID: {}", codes.first().unwrap_or(&"no reason is known"));
            return SuiteCell { verdict, reason: Some(reason), ..SuiteCell::default() };
        }
        let worst = if scored { self.worst() } else { None };
        let p99 = self.worst_value(|phase| {
            let (known, at_least) = phase.measured.response_time_ms.percentile("p99");
            Value::of(known, at_least)
        });
        let recovery = self.worst_value(|phase| {
            let found = phase.measures.recovery.as_ref()?;
            Value::of(found.after_s, found.after_s_at_least)
        });
        SuiteCell {
            score: worst.as_ref().map(|(median, ..)| *median),
            range: worst.as_ref().map(|(_, range, _)| *range),
            phase: worst.map(|(.., phase)| phase),
            p99_ms: p99.map(|found| found.at),
            p99_at_least: p99.is_some_and(|found| found.at_least),
            recovery_s: recovery.map(|found| found.at),
            recovery_at_least: recovery.is_some_and(|found| found.at_least),
            calm: self.calm(),
            fairness: fairness(runs),
            degraded: self.degraded(),
            verdict,
            reason: None,
        }
    }

    fn phases(&self) -> impl Iterator<Item = &PhaseSummary> {
        self.0.first().into_iter().flat_map(|arm| &arm.phases)
    }

    /// A figure of a phase in each run; `None`: one of them has none.
    fn each<T>(&self, name: &str, figure: impl Fn(&PhaseSummary) -> Option<T>) -> Option<Vec<T>> {
        self.0.iter().map(|arm| figure(arm.whole_phase(name)?)).collect()
    }

    /// Median and range over the runs in the phase where the median is lowest, with its name.
    fn worst(&self) -> Option<(f64, [f64; 2], String)> {
        let of_phase = |phase: &PhaseSummary| {
            let shares = self.each(&phase.name, |phase| phase.of_blind.map(|share| share.min(1.0)))?;
            let ends = [f64::min, f64::max].map(|end: fn(f64, f64) -> f64| shares.iter().copied().reduce(end));
            Some((rounded(median(&shares)?), [rounded(ends[0]?), rounded(ends[1]?)], phase.name.clone()))
        };
        let all = self.phases().filter_map(of_phase);
        all.reduce(|worst, other| if other.0 < worst.0 { other } else { worst })
    }

    /// The worst phase by the median of a figure that may be a bound.
    fn worst_value(&self, figure: impl Fn(&PhaseSummary) -> Option<Value>) -> Option<Value> {
        let medians = self.phases().filter_map(|phase| Value::median(&self.each(&phase.name, &figure)?));
        Value::worst(&medians.collect::<Vec<_>>())
    }

    /// Where nothing is asked for too much and nothing fails, phases have no roles, and the first is as calm as any.
    fn calm(&self) -> Option<f64> {
        let without_roles = self.phases().all(|phase| phase.measures.role.is_none());
        let calm = self.phases().find(|phase| without_roles || phase.measures.role == Some(PhaseRole::Calm))?;
        let share = |phase: &PhaseSummary| {
            let offered = phase.measured.offered_per_s;
            let of_offered = (offered > 0.0).then(|| phase.measured.goodput_per_s / offered);
            Some(phase.of_blind.or(of_offered)?.min(1.0))
        };
        median(&self.each(&calm.name, share)?).map(rounded)
    }

    fn degraded(&self) -> Option<f64> {
        let counts = self.0.iter().filter_map(|arm| arm.server.as_ref()).map(|server| (server.degraded, server.served));
        let (degraded, served) = counts.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        (degraded > 0).then(|| rounded(degraded as f64 / served.max(1) as f64))
    }
}

/// Median over blocks of the least share of its due that a class has in the busiest phase. `bound`: that of a block.
fn fairness<'a>(runs: &[&Arm], entitled: &Entitled, bound: impl Fn(u32) -> Option<&'a Arm>) -> Option<f64> {
    let least = |arm: &Arm| {
        let phase = busiest(&arm.phases)?;
        let capacity = bound(arm.block)?.whole_phase(&phase.name)?.measured.goodput_per_s;
        entitled.given(phase, capacity).into_values().reduce(f64::min)
    };
    median(&runs.iter().map(|arm| least(arm)).collect::<Option<Vec<_>>>()?).map(rounded)
}

/// The one in the middle, of two the higher one.
fn median(values: &[f64]) -> Option<f64> {
    let values: Vec<Value> = values.iter().copied().map(Value::known).collect();
    Value::median(&values).map(|found| found.at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::{Measured, Measures, Recovery};

    fn phase(name: &str, role: PhaseRole, of_blind: f64) -> PhaseSummary {
        PhaseSummary {
            name: name.to_owned(),
            seconds: 10.0,
            of_blind: Some(of_blind),
            measures: Measures { role: Some(role), ..Measures::default() },
            ..PhaseSummary::default()
        }
    }

    fn arm(name: &str, block: u32, phases: Vec<PhaseSummary>) -> Arm {
        Arm { name: name.to_owned(), block, phases, ..Arm::default() }
    }

    fn summary(arms: Vec<Arm>) -> RunSummary {
        RunSummary { arms, ..RunSummary::default() }
    }

    #[test]
    fn the_worst_phase_is_the_one_with_the_lowest_median() {
        let shares = [[1.0, 0.95, 0.2], [0.99, 0.93, 1.0], [1.02, 0.97, 1.0]];
        let runs = shares.iter().zip(1..).map(|([calm, over, after], block)| {
            let phases = vec![
                phase("calm", PhaseRole::Calm, *calm),
                phase("over", PhaseRole::Overload, *over),
                phase("after", PhaseRole::After, *after),
            ];
            arm("codel", block, phases)
        });
        let found = cells(&summary(runs.collect()), true);
        let cell = &found["codel"];
        // Once it had not recovered, and that is no median.
        assert_eq!((cell.score, cell.range, cell.phase.as_deref()), (Some(0.95), Some([0.93, 0.97]), Some("over")));
        assert_eq!((cell.calm, cell.verdict), (Some(1.0), Some(Validity::Valid)));
    }

    #[test]
    fn runs_without_a_summary_are_held_against_the_bounds_of_their_blocks() {
        let of = |name: &str, block: u32, goodput_per_s: f64| {
            let measured = Measured { goodput_per_s, ..Measured::default() };
            let by_chance_per_s = (name == "blind").then_some(0.0);
            let over = PhaseSummary { measured, by_chance_per_s, ..phase("over", PhaseRole::Overload, 9.0) };
            Arm { bound: name == "blind", ..arm(name, block, vec![over]) }
        };
        let bounds = [of("blind", 1, 200.0), of("blind", 2, 100.0), of("blind", 3, 100.0)];
        let found = cell_of(vec![of("codel", 1, 120.0), of("codel", 2, 90.0), of("codel", 3, 80.0)], &bounds);
        assert_eq!((found.score, found.range), (Some(0.8), Some([0.6, 0.9])));
    }

    #[test]
    fn what_is_no_score_has_a_reason_and_times_may_be_bounds() {
        let mut after = phase("after", PhaseRole::After, 0.9);
        after.measures.recovery = Some(Recovery { after_s_at_least: Some(30.0), ..Recovery::default() });
        let invalid = Arm { verdict: Validity::Invalid, ..arm("dagor", 1, vec![after.clone()]) };
        let found = cells(&summary(vec![arm("codel", 1, vec![after]), invalid]), false);
        let codel = &found["codel"];
        assert_eq!((codel.score, codel.recovery_s, codel.recovery_at_least), (None, Some(30.0), true));
        assert_eq!(found["dagor"].reason.as_deref(), Some("INVALID: no reason is known"));
    }

    #[test]
    fn fairness_is_the_least_share_of_what_is_due() {
        let rates =
            |offered_per_s: f64, goodput_per_s: f64| Measured { offered_per_s, goodput_per_s, ..Measured::default() };
        let mut over = phase("over", PhaseRole::Overload, 1.0);
        over.measured = rates(520.0, 200.0);
        over.by_class = [("1".to_owned(), rates(40.0, 38.0)), ("4".to_owned(), rates(480.0, 162.0))].into();
        let mut due = over.clone();
        due.measured = rates(520.0, 200.0);
        let bound = Arm { bound: true, ..arm("blind", 1, vec![due]) };
        let entitled = Entitled { groups: vec![vec!["1".to_owned(), "4".to_owned()]] };
        let of = RunSummary { entitled, ..summary(vec![arm("codel", 1, vec![over]), bound]) };
        let found = cells(&of, true);
        // 38 of 40, and 162 of the 160 that are left.
        assert_eq!((found.len(), found["codel"].fairness), (1, Some(0.95)));
    }
}
