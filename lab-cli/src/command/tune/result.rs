//! The result of a search of parameters: as text, as pictures, and as an arm to be run.

use std::fmt::Write as _;

use analysis::{
    chart::{Chart, ChartAxis, ChartLine, ChartPanel, Scale},
    goal::{Goal, GoalFound},
    judge::compare::{ComparisonFamily, Metric, in_metric, words},
    live::value_in_words,
    series::value::Value,
    summary::{Arm, Comparison},
    text::{percent, scrubbed, table::Table},
};
use controllers::catalogue::Setting;
use experiment::plan::ArmPlan;
use serde::Serialize;

use crate::sweep::Knob;

/// Version of the JSON.
pub const SCHEMA: u32 = 1;

/// The result.
#[derive(Debug, Serialize)]
pub struct Tuned {
    pub schema: u32,
    pub experiment: String,
    pub arm: String,
    pub policy: String,
    pub phase: String,
    pub goal: String,
    /// Settings that were tried.
    pub tried: usize,
    /// Others, whose values the policy does not allow together.
    pub refused: usize,
    /// Settings, of those tried, that are as good in practice as the best.
    pub near_best: usize,
    /// The difference that does not matter in practice, as a share of the best value.
    pub margin: f64,
    /// The winner meets the condition with every seed.
    pub holds: bool,
    /// The winner with the training seeds.
    pub training: GoalFound,
    pub knobs: Vec<TunedKnob>,
    pub held_out: HeldOut,
}

/// A parameter.
#[derive(Debug, Serialize)]
pub struct TunedKnob {
    pub name: String,
    /// The winner's.
    pub value: String,
    /// The arm's as it is.
    pub before: Option<String>,
    /// The range that was searched.
    pub range: [String; 2],
    /// The range in which it stays within the margin, the others as the winner has them.
    pub flat: [String; 2],
    /// The flat region is all of the range: it makes no difference here.
    pub idle: bool,
    pub slice: Slice,
}

/// A parameter turned alone.
#[derive(Debug, Serialize)]
pub struct Slice {
    pub log: bool,
    pub points: Vec<SlicePoint>,
}

/// One of its values.
#[derive(Debug, Serialize)]
pub struct SlicePoint {
    /// The position on its axis; of times, seconds.
    pub at: f64,
    pub value: String,
    pub mean: Option<f64>,
    /// `None`: it does not go with the others.
    #[serde(skip)]
    pub found: Option<GoalFound>,
}

/// Seeds that the search has not seen.
#[derive(Debug, Serialize)]
pub struct HeldOut {
    pub winner: GoalFound,
    /// The arm with its own settings.
    pub before: GoalFound,
    /// `None`: there is none for this service or these users.
    pub oracle: Option<GoalFound>,
    /// The winner's distance from the oracle, as a share of the oracle's value; of measures of which more is better.
    pub regret: Option<f64>,
    /// The same of the arm as it is.
    pub regret_before: Option<f64>,
    /// The winner against the arm as it is, in pairs of seeds; `None` if the measure is none that is compared.
    pub comparison: Option<Comparison>,
}

impl TunedKnob {
    pub fn of(knob: &Knob, value: &str, slice: Slice, best: &GoalFound, goal: &Goal, margin: f64) -> Self {
        let spread = &knob.spread;
        let own = slice.points.iter().position(|point| point.value == value).unwrap_or(0);
        let near = |point: &SlicePoint| point.found.as_ref().is_some_and(|found| goal.is_near(found, best, margin));
        // From the winner to both sides, as far as nothing is lost.
        let below = slice.points[..own].iter().rev().take_while(|point| near(point)).count();
        let above = slice.points[own + 1..].iter().take_while(|point| near(point)).count();
        let [first, last] = [own - below, own + above];
        Self {
            name: knob.name.clone(),
            value: value.to_owned(),
            before: knob.value.map(|value| spread.written(value)),
            range: [spread.from, spread.to].map(|end| spread.written(end)),
            flat: [first, last].map(|place| slice.points[place].value.clone()),
            idle: first == 0 && last + 1 == slice.points.len(),
            slice,
        }
    }
}

impl HeldOut {
    pub fn of(
        winner: GoalFound,
        before: GoalFound,
        oracle: Option<GoalFound>,
        goal: &Goal,
        comparison: Option<Comparison>,
    ) -> Self {
        let best = oracle.as_ref().and_then(GoalFound::mean).filter(|best| goal.is_most() && *best > 0.0);
        let regret = |found: &GoalFound| Some(1.0 - found.mean()? / best?);
        let (of_winner, of_before) = (regret(&winner), regret(&before));
        Self { winner, before, oracle, regret: of_winner, regret_before: of_before, comparison }
    }
}

/// Both in pairs of seeds; `None` if the lab does not compare by this measure.
pub fn compared(winner: &[Arm], before: &[Arm], phase: &str, goal: &Goal, margin: Option<f64>) -> Option<Comparison> {
    let metric = Metric::of_threshold(goal.measure().text())?;
    let named = |arms: &[Arm], name: &str| -> Vec<Arm> {
        arms.iter().map(|arm| Arm { name: name.to_owned(), ..arm.clone() }).collect()
    };
    let order = ["before", "tuned"].map(str::to_owned);
    let arms = [named(before, &order[0]), named(winner, &order[1])].concat();
    let family = ComparisonFamily {
        order: &order,
        hindsight: &[],
        baseline: None,
        phase: Some(phase),
        primary: metric,
        margin,
        looks: None,
    };
    in_metric(&arms, family, metric).pop()
}

impl Tuned {
    /// The result for people.
    pub fn text(&self, goal: &Goal) -> String {
        let refused = match self.refused {
            0 => String::new(),
            refused => format!(" ({refused} others are not allowed: their values do not go together)"),
        };
        let mut text = format!(
            "{} in {}: {} of {} settings tried are within {:.0} % of the best{refused}\n\n",
            self.goal,
            scrubbed(&self.phase),
            self.near_best,
            self.tried,
            self.margin * 100.0
        );
        let mut table = Table::new(&["parameter", "best", "before", "as good from", "to", "searched"], 1..5);
        for knob in &self.knobs {
            let [from, to] = &knob.flat;
            let idle = if knob.idle { " (makes no difference)" } else { "" };
            table.row([
                knob.name.clone(),
                knob.value.clone(),
                knob.before.clone().unwrap_or_else(|| "-".to_owned()),
                from.clone(),
                to.clone(),
                format!("{} to {}{idle}", knob.range[0], knob.range[1]),
            ]);
        }
        text += &table.to_text();
        text.push('\n');
        text += &self.held_out_table(goal).to_text();
        if let Some(comparison) = &self.held_out.comparison {
            let _ = writeln!(
                text,
                "tuned against before, held-out seeds: {}, {}",
                words::in_words(comparison),
                words::chance(comparison)
            );
        }
        if self.held_out.oracle.is_none() {
            text += "there is no oracle for this service and these users: no regret is known\n";
        }
        if !self.holds {
            let _ = writeln!(text, "no setting was found that meets the condition with every seed: {}", self.goal);
        }
        text
    }

    fn held_out_table(&self, goal: &Goal) -> Table {
        let mut table = Table::new(&["seeds", "arm", "mean", "least", "greatest", "regret"], 2..6);
        let mut row = |seeds: &str, arm: &str, found: &GoalFound, regret: Option<f64>| {
            let shown = |value: Option<f64>| value.map_or("-".to_owned(), |value| goal.shown(value));
            let ends = found.ends();
            let regret = regret.map_or("-".to_owned(), percent);
            let cells = [shown(found.mean()), shown(ends.map(|ends| ends[0])), shown(ends.map(|ends| ends[1])), regret];
            table.row([vec![seeds.to_owned(), arm.to_owned()], cells.to_vec()].concat());
        };
        let HeldOut { winner, before, oracle, regret, regret_before, .. } = &self.held_out;
        row("training", "tuned", &self.training, None);
        row("held-out", "tuned", winner, *regret);
        row("held-out", "before", before, *regret_before);
        if let Some(oracle) = oracle {
            row("held-out", "oracle", oracle, None);
        }
        table
    }

    /// The winner as an arm of an experiment file.
    pub fn yaml(&self, arm: &ArmPlan) -> String {
        let mut settings = arm.policy.settings.clone();
        for knob in &self.knobs {
            let value = match knob.value.parse::<f64>() {
                Ok(number) => Setting::Number(number),
                Err(_) => Setting::Text(knob.value.clone()),
            };
            settings.insert(knob.name.clone(), value);
        }
        let place = arm.policy.place.map(|place| format!("place: {}, ", place.scope())).unwrap_or_default();
        let settings: Vec<String> =
            settings.iter().map(|(name, value)| format!("{name}: {}", value_in_words(value))).collect();
        format!(
            "# {} in {} of {}, by lab tune: {} settings tried.\narms:\n  - {}: {{as: {}-tuned, {place}{}}}\n",
            self.goal,
            self.phase,
            self.experiment,
            self.tried,
            self.policy,
            self.arm,
            settings.join(", ")
        )
    }

    /// A parameter turned alone: the measure over its range.
    pub fn slice_figure(&self, number: usize) -> Chart {
        let TunedKnob { name, slice, value, before, .. } = &self.knobs[number];
        let at: Vec<f64> = slice.points.iter().map(|point| point.at).collect();
        let scale = match (slice.log, &at[..]) {
            (false, [first, .., last]) => Scale::Linear([*first, *last]),
            _ => Scale::Log(at),
        };
        let points = slice.points.iter().map(|point| (point.at, point.mean.map(Value::known))).collect();
        let line = ChartLine {
            name: format!("{}, all else as the best has it", self.arm),
            colour: Some(0),
            points,
            ..ChartLine::default()
        };
        let times = slice.points.iter().all(|point| point.value.ends_with('s'));
        let unit = if times { " (s)" } else { "" };
        let before = before.as_ref().map_or_else(String::new, |before| format!("; before {before}"));
        Chart {
            title: format!("{}: {} in {}, training seeds", self.experiment, self.goal, self.phase),
            across: ChartAxis { title: format!("{name}{unit}"), scale, ..ChartAxis::default() },
            panels: vec![ChartPanel { title: self.goal.clone(), lines: vec![line], ..ChartPanel::default() }],
            notes: vec![format!("Best: {value}{before}.")],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::Spread;

    fn found(mean: f64) -> GoalFound {
        GoalFound { values: vec![Some(mean)], bound: false, held: 1 }
    }

    fn point(at: f64, mean: Option<f64>) -> SlicePoint {
        SlicePoint { at, value: at.to_string(), mean, found: mean.map(found) }
    }

    #[test]
    fn the_flat_region_is_what_is_connected_to_the_best() {
        let goal = Goal::parse("goodput", None).expect("a goal");
        let knob = Knob { name: "x".to_owned(), spread: Spread::of_numbers(1.0, 6.0, true), value: Some(1.0) };
        let means = [98.0, 90.0, 96.0, 100.0, 99.0, 80.0];
        let slice = || Slice {
            log: false,
            points: (1..).zip(means).map(|(at, mean)| point(f64::from(at), Some(mean))).collect(),
        };
        let of = TunedKnob::of(&knob, "4", slice(), &found(100.0), &goal, 0.05);
        assert_eq!((of.flat, of.idle, of.before), (["3".to_owned(), "5".to_owned()], false, Some("1".to_owned())));
        let wide = TunedKnob::of(&knob, "4", slice(), &found(100.0), &goal, 0.3);
        assert_eq!((wide.flat, wide.idle), (["1".to_owned(), "6".to_owned()], true));
        // What does not go with the others is no place to be.
        let gap = Slice { log: false, points: vec![point(1.0, None), point(2.0, Some(100.0))] };
        assert_eq!(TunedKnob::of(&knob, "2", gap, &found(100.0), &goal, 0.3).flat, ["2", "2"].map(str::to_owned));
    }

    #[test]
    fn regret_is_what_the_oracle_has_more() {
        let goal = Goal::parse("goodput", None).expect("a goal");
        let held = HeldOut::of(found(90.0), found(60.0), Some(found(100.0)), &goal, None);
        assert!(held.regret.is_some_and(|regret| (regret - 0.1).abs() < 1e-12));
        assert!(held.regret_before.is_some_and(|regret| (regret - 0.4).abs() < 1e-12));
        let times = Goal::parse("p99", None).expect("a goal");
        assert_eq!(HeldOut::of(found(9.0), found(6.0), Some(found(1.0)), &times, None).regret, None);
        assert_eq!(HeldOut::of(found(9.0), found(6.0), None, &goal, None).regret, None);
    }
}
