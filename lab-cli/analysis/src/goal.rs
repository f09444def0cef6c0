//! Goal of a choice of settings: a measure of a phase that is to be as good as possible, under a condition.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::{
    judge::threshold::{Evidence, OfPhase, PhaseMeasure, Threshold, ThresholdError, of_response_times},
    series::value::Value,
    summary::Arm,
    text::{rate, time},
};

/// Measure and condition by which settings are chosen.
#[derive(Debug, Clone, PartialEq)]
pub struct Goal {
    measure: PhaseMeasure,
    /// More of it is better.
    most: bool,
    condition: Option<Condition>,
}

/// `response_time.p99 < 1s`, and its left side, where that is a measure by itself.
#[derive(Debug, Clone, PartialEq)]
struct Condition {
    text: String,
    left: Option<PhaseMeasure>,
}

/// A goal on some seeds.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct GoalFound {
    /// Values, one for each seed, in the unit of the measure (times: milliseconds); `None` where there is none.
    pub values: Vec<Option<f64>>,
    /// True if time-outs hide it in some seed: it is at least that.
    pub bound: bool,
    /// Seeds with which the condition holds; all of them if there is none.
    pub held: usize,
}

/// Measures of which more is better; of all others, less.
const MORE_IS_BETTER: [&str; 4] = ["goodput", "served", "served_fraction", "offered"];
/// Measures that are so many a second.
const RATES: [&str; 2] = ["goodput", "offered"];

impl Goal {
    /// Reads both sides, in the language of thresholds without arm and phase: `goodput`, `response_time.p99`; the condition as `p99 < 1s`,
    /// for `response_time.p99`. A percentile that is to be small is for short that of all requests, since among settings the one that
    /// refuses the most answers the rest soonest.
    ///
    /// # Errors
    /// The first place where one makes no sense, and what would.
    pub fn parse(measure: &str, condition: Option<&str>) -> Result<Self, ThresholdError> {
        let measure = of_requests(PhaseMeasure::parse(&in_full(&of_all(measure)))?)?;
        let condition = condition.map(Condition::parse).transpose()?;
        let name = measure.text().rsplit('.').next().unwrap_or_default();
        let most = MORE_IS_BETTER.contains(&name);
        Ok(Self { measure, most, condition })
    }

    /// Goal in words: `most goodput`, `least response_time.p99 with reject_fraction < 10%`.
    pub fn in_words(&self) -> String {
        let how = if self.most { "most" } else { "least" };
        let under = self.condition.as_ref().map_or_else(String::new, |condition| format!(" with {}", condition.text));
        format!("{how} {}{under}", self.measure.text())
    }

    /// The measure, as thresholds name it.
    pub fn measure(&self) -> &PhaseMeasure {
        &self.measure
    }

    /// Measure of the condition, where it compares one with something.
    pub fn limited(&self) -> Option<&PhaseMeasure> {
        self.condition.as_ref()?.left.as_ref()
    }

    /// More of the measure is better.
    pub fn is_most(&self) -> bool {
        self.most
    }

    /// A value of the measure, with its unit.
    pub fn shown(&self, value: f64) -> String {
        shown(&self.measure, value)
    }

    /// Values of this arm in this phase. `arms`: one for each seed, which is its block, beside others.
    pub fn found(&self, arms: &[Arm], label: &str, phase: &str) -> GoalFound {
        let values = values(&self.measure, arms, label, phase);
        let blocks: Vec<u32> = blocks(arms, label);
        let held = self.condition.as_ref().map_or(blocks.len(), |condition| condition.held(arms, label, phase));
        let bound = values.iter().flatten().any(|value| value.at_least);
        GoalFound { values: values.into_iter().map(|value| value.map(|value| value.at)).collect(), bound, held }
    }

    /// True if the first is better than the second: one that meets the condition goes before one that does not.
    pub fn is_better(&self, a: &GoalFound, b: &GoalFound) -> bool {
        self.cost(a) < self.cost(b)
    }

    /// Cost that a search makes small: the measure itself or its negative, and far above that what fails the
    /// condition, by how many seeds.
    pub fn cost(&self, found: &GoalFound) -> f64 {
        /// No rate and no time in milliseconds comes near.
        const FAILED: f64 = 1e12;
        let seeds = found.values.len().max(1) as f64;
        let Some(mean) = found.mean() else { return FAILED * 10.0 };
        let own = if self.most { -mean } else { mean };
        if found.held < found.values.len() { FAILED * (1.0 + (seeds - found.held as f64) / seeds) } else { own }
    }

    /// True if a value is within a share of the best one.
    pub fn is_near(&self, found: &GoalFound, best: &GoalFound, share: f64) -> bool {
        let (Some(own), Some(best_of)) = (found.mean(), best.mean()) else { return false };
        let near = if self.most { own >= best_of * (1.0 - share) } else { own <= best_of * (1.0 + share) };
        near && found.holds() >= best.holds()
    }
}

impl GoalFound {
    /// True if the condition holds with every seed.
    pub fn holds(&self) -> bool {
        self.held == self.values.len()
    }

    /// The mean over seeds; `None` if one has no value.
    pub fn mean(&self) -> Option<f64> {
        let values: Option<Vec<f64>> = self.values.iter().copied().collect();
        let values = values.filter(|values| !values.is_empty())?;
        Some(values.iter().sum::<f64>() / values.len() as f64)
    }

    /// The least and the greatest value.
    pub fn ends(&self) -> Option<[f64; 2]> {
        let known = || self.values.iter().flatten().copied();
        Some([known().reduce(f64::min)?, known().reduce(f64::max)?])
    }
}

impl Condition {
    fn parse(text: &str) -> Result<Self, ThresholdError> {
        const PLACE: &str = "arm.phase.";
        let text = in_full(text);
        let shifted = |error: ThresholdError| ThresholdError { at: error.at.saturating_sub(PLACE.len()), ..error };
        Threshold::parse(&format!("{PLACE}{text}")).map_err(shifted)?;
        let left = text.split(['<', '>', '=']).next().and_then(|left| PhaseMeasure::parse(left.trim()).ok());
        if let Some(left) = &left {
            of_requests(left.clone())?;
        }
        Ok(Self { text, left })
    }

    fn held(&self, arms: &[Arm], label: &str, phase: &str) -> usize {
        let Ok(threshold) = Threshold::parse(&format!("{label}.{phase}.{}", self.text)) else { return 0 };
        let left_out = BTreeSet::new();
        let of_blocks = blocks(arms, label);
        let found = threshold.judge(&evidence(arms, &left_out));
        found.blocks.iter().filter(|block| block.held && of_blocks.contains(&block.block)).count()
    }
}

/// A measure with each seed.
pub fn values(measure: &PhaseMeasure, arms: &[Arm], label: &str, phase: &str) -> Vec<Option<Value>> {
    let left_out = BTreeSet::new();
    let evidence = evidence(arms, &left_out);
    let value = |block| measure.value(&OfPhase { arm: label, phase, part: None, block }, &evidence);
    blocks(arms, label).into_iter().map(value).collect()
}

/// A value with its unit.
pub fn shown(measure: &PhaseMeasure, value: f64) -> String {
    if measure.is_time() {
        time(value)
    } else if RATES.iter().any(|name| measure.text().ends_with(name)) {
        format!("{}/s", rate(value))
    } else if value.abs() < 1.0 {
        format!("{value:.3}")
    } else {
        rate(value)
    }
}

fn evidence<'a>(arms: &'a [Arm], left_out: &'a BTreeSet<u32>) -> Evidence<'a> {
    Evidence { arms, left_out, timeline: &[], parts: &|_, _, _| None }
}

fn blocks(arms: &[Arm], label: &str) -> Vec<u32> {
    arms.iter().filter(|arm| arm.shown_name() == label).map(|arm| arm.block).collect()
}

/// `response_time.p99` for `p99`, at the beginning.
fn in_full(text: &str) -> String {
    let text = text.trim();
    let word = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '.' && c != '_').next().unwrap_or_default();
    match of_response_times(word) {
        Some(full) => full + &text[word.len()..],
        None => text.to_owned(),
    }
}

/// `p99_all` for `p99`, if that is all.
fn of_all(measure: &str) -> String {
    let measure = measure.trim();
    let is_percentile = measure.strip_prefix('p').is_some_and(|p| p.bytes().all(|digit| digit.is_ascii_digit()));
    if is_percentile { format!("{measure}_all") } else { measure.to_owned() }
}

/// Counts and times of requests, which are all that is kept of a run among hundreds.
fn of_requests(measure: PhaseMeasure) -> Result<PhaseMeasure, ThresholdError> {
    if measure.gauges().is_empty() && !measure.is_of_whole_phases() {
        return Ok(measure);
    }
    Err(ThresholdError {
        at: 0,
        message: format!("{} is not kept of so many runs", measure.text()),
        hint: "counts and times of requests are: goodput, response_time.p99, reject_fraction".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::{Measured, PhaseSummary, Times};

    fn arm(name: &str, block: u32, goodput: f64, p99: Option<f64>) -> Arm {
        let times = Times { p99, p99_at_least: p99.is_none().then_some(60_000.0), count: 1000, ..Times::default() };
        let measured = Measured { sent: 1000, goodput_per_s: goodput, response_time_ms: times, ..Measured::default() };
        let phase = PhaseSummary { name: "spike".to_owned(), seconds: 30.0, measured, ..PhaseSummary::default() };
        Arm { name: name.to_owned(), block, phases: vec![phase], ..Arm::default() }
    }

    #[test]
    fn what_meets_the_condition_goes_before_what_is_more() {
        let goal = Goal::parse("goodput", Some("p99 < 1s")).expect("a goal");
        assert_eq!(goal.in_words(), "most goodput with response_time.p99 < 1s");
        let found = |label: &str, arms: &[Arm]| goal.found(arms, label, "spike");
        let arms = [
            arm("good", 1, 90.0, Some(500.0)),
            arm("more", 1, 99.0, Some(1500.0)),
            arm("good", 2, 110.0, Some(600.0)),
            arm("more", 2, 120.0, Some(700.0)),
        ];
        let (good, more) = (found("good", &arms), found("more", &arms));
        assert_eq!((good.mean(), good.held, good.holds(), good.ends()), (Some(100.0), 2, true, Some([90.0, 110.0])));
        assert_eq!((more.held, more.holds()), (1, false));
        assert!(goal.is_better(&good, &more) && !goal.is_better(&more, &good));
        assert!(!goal.is_near(&more, &good, 0.05) && goal.is_near(&good, &good, 0.05));
        // By how many seeds it fails counts, whatever it serves.
        let none = found("none", &[arm("none", 1, 200.0, None), arm("none", 2, 200.0, None)]);
        assert!(goal.is_better(&more, &none) && goal.cost(&none).is_finite());
    }

    #[test]
    fn times_are_the_better_the_less_they_are_and_may_be_bounds() {
        let goal = Goal::parse("response_time.p99", None).expect("a goal");
        assert_eq!((goal.in_words(), goal.is_most()), ("least response_time.p99".to_owned(), false));
        for (short, full) in
            [("p99", "_all.p99"), ("p99_answered", "_answered.p99"), ("max", ".max"), ("p999 / 2", ".p999 / 2")]
        {
            let goal = Goal::parse(short, None).expect(short);
            assert_eq!(goal.in_words(), format!("least response_time{full}"));
        }
        let arms = [arm("a", 1, 1.0, Some(200.0)), arm("b", 1, 1.0, None)];
        let [a, b] = ["a", "b"].map(|label| goal.found(&arms, label, "spike"));
        assert!(goal.is_better(&a, &b) && b.bound && !a.bound);
        assert_eq!(goal.shown(200.0), "200 ms");
        assert_eq!(Goal::parse("class-1.goodput", None).expect("a goal").shown(200.0), "200/s");
        assert_eq!(Goal::parse("reject_fraction", None).expect("a goal").shown(0.25), "0.250");
        assert_eq!(goal.found(&arms, "a", "calm").mean(), None, "no such phase");
    }

    /// Of ten requests each: one setting answers all, the other one a third of them, sooner.
    #[test]
    fn the_setting_that_refuses_the_most_is_not_the_one_with_the_least_percentile() {
        let refuses = |mut arm: Arm, p90: Option<f64>| {
            let all = Times { p90, p90_at_least: p90.is_none().then_some(10_000.0), ..Times::default() };
            arm.phases[0].measured.response_time_all_ms = all;
            arm.phases[0].measured.response_time_ms.p90 = Some(if p90.is_none() { 20.0 } else { 400.0 });
            arm
        };
        let arms = [refuses(arm("all", 1, 9.0, None), Some(400.0)), refuses(arm("third", 1, 3.0, None), None)];
        let is_better = |measure: &str| {
            let goal = Goal::parse(measure, None).expect("a goal");
            goal.is_better(&goal.found(&arms, "all", "spike"), &goal.found(&arms, "third", "spike"))
        };
        assert_eq!(["p90", "response_time.p90"].map(is_better), [true, false]);
    }

    #[test]
    fn what_is_not_kept_or_makes_no_sense_is_refused() {
        for (measure, condition) in [("goodputt", None), ("recovery", None), ("goodput", Some("p99 <"))] {
            assert!(Goal::parse(measure, condition).is_err(), "{measure} {condition:?}");
        }
        let error = Goal::parse("gauge.login.rate.mean", None).expect_err("a gauge");
        assert!(error.to_string().contains("not kept"), "{error}");
    }
}
