//! Arms of different runs against each other: in pairs where both had the same plan, else all of one against all of the other.

use serde::Serialize;

use super::{
    Metric, Pair, PairedFigures, Value, difference, in_family, sequential::Look, survivors, unpaired::Unpaired,
};
use crate::summary::{Arm, Comparison, ComparisonVerdict};

/// One turn of an arm.
#[derive(Debug, Clone, Copy)]
pub struct ContestTurn<'a> {
    /// Record of the turn.
    pub arm: &'a Arm,
    /// Digest of the plan, which makes a pair of two turns.
    pub plan: Option<&'a str>,
}

/// An arm of a run, with all its turns.
#[derive(Debug, Clone)]
pub struct ContestSide<'a> {
    /// Name in tables.
    pub name: String,
    /// Turns that are not INVALID.
    pub turns: Vec<ContestTurn<'a>>,
    /// It knows what no policy can know.
    pub hindsight: bool,
}

/// Two sides of a comparison.
#[derive(Debug, Clone)]
pub struct Contest<'a> {
    /// Compared.
    pub ours: ContestSide<'a>,
    /// Compared with.
    pub theirs: ContestSide<'a>,
}

/// One metric of a contest.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Across {
    /// True if turns with the same plan were paired.
    pub paired: bool,
    /// Turns of each side.
    pub turns: [usize; 2],
    /// Finding of the test.
    #[serde(flatten)]
    pub comparison: Comparison,
}

impl Across {
    /// Basis of the finding, blocks or pairs of them: `7 pairs of blocks`.
    pub fn how(&self) -> String {
        let [ours, theirs] = self.turns;
        match (self.paired, self.comparison.blocks) {
            (_, 0) => "hidden by time-outs, or too few samples".to_owned(),
            (true, 1) => "1 block: no verdict".to_owned(),
            (true, blocks) => format!("{blocks} pairs of blocks"),
            (false, _) => format!("{ours} and {theirs} blocks, unpaired: their plans differ"),
        }
    }
}

/// Every contest in every metric, in this phase. `margin` is the primary metric's; `None`: its own. `looks`: as in
/// [`ComparisonFamily`](super::ComparisonFamily), where all arms are of one run.
pub fn across(
    contests: &[Contest<'_>],
    phase: &str,
    primary: Metric,
    margin: Option<f64>,
    looks: Option<&[Look]>,
) -> Vec<Across> {
    let turns = contests.iter().flat_map(|contest| &contest.ours.turns);
    let plans: Vec<&str> = turns.filter_map(|turn| turn.plan).collect();
    let mut found = Vec::new();
    for metric in Metric::ALL {
        let margin = metric.margin_in(primary, margin);
        let meet = |contest: &Contest<'_>| {
            let pairs = pairs(contest);
            let met = match &pairs {
                Some(pairs) => in_pairs(pairs, phase, metric, looks, &plans),
                None => all_against_all(contest, phase, metric),
            };
            let hindsight = contest.ours.hindsight;
            (pairs.is_some(), met.map(|met| PairedFigures { hindsight, ..met }))
        };
        let (paired, met): (Vec<bool>, Vec<Option<PairedFigures>>) = contests.iter().map(meet).unzip();
        for ((contest, paired), numbers) in contests.iter().zip(paired).zip(in_family(&met, metric, margin, looks)) {
            // Nobody knows which is larger.
            let numbers = numbers.unwrap_or_else(|| Comparison {
                metric: metric.name().to_owned(),
                verdict: ComparisonVerdict::Undecided,
                margin,
                ..Comparison::default()
            });
            let mut across = Across {
                paired,
                turns: [contest.ours.turns.len(), contest.theirs.turns.len()],
                comparison: Comparison {
                    phase: phase.to_owned(),
                    baseline: contest.theirs.name.clone(),
                    policy: contest.ours.name.clone(),
                    primary: metric == primary,
                    ..numbers
                },
            };
            let answered = [&contest.theirs, &contest.ours]
                .map(|side| survivors::answered(side.turns.iter().filter_map(|turn| turn.arm.whole_phase(phase))));
            survivors::hold_back(&mut across.comparison, metric, answered);
            found.push(across);
        }
    }
    found
}

/// Turns with the same plan; `None` unless every turn of one side at least has its like on the other.
fn pairs<'a>(contest: &Contest<'a>) -> Option<Vec<(ContestTurn<'a>, ContestTurn<'a>)>> {
    let (ours, theirs) = (&contest.ours.turns, &contest.theirs.turns);
    let like = |turn: &ContestTurn<'a>| {
        let plan = turn.plan?;
        let mut alike = theirs.iter().filter(|other| other.plan == Some(plan));
        let found = alike.next().copied();
        found.filter(|_| alike.next().is_none())
    };
    let pairs: Vec<_> = ours.iter().filter_map(|turn| Some((*turn, like(turn)?))).collect();
    (!pairs.is_empty() && pairs.len() == ours.len().min(theirs.len())).then_some(pairs)
}

fn in_pairs(
    pairs: &[(ContestTurn<'_>, ContestTurn<'_>)],
    phase: &str,
    metric: Metric,
    looks: Option<&[Look]>,
    plans: &[&str],
) -> Option<PairedFigures> {
    let pair = |(ours, theirs): &(ContestTurn<'_>, ContestTurn<'_>)| {
        // Runs of their own all begin with block 1: there the plan is what pairs of several contests have in common.
        let block = match looks {
            Some(_) => ours.arm.block,
            None => plans.iter().position(|plan| ours.plan == Some(plan)).and_then(|at| u32::try_from(at).ok())?,
        };
        Some(Pair { block, ours: value(ours, phase, metric)?, theirs: value(theirs, phase, metric)? })
    };
    PairedFigures::in_pairs(&pairs.iter().map(pair).collect::<Option<Vec<_>>>()?, metric, looks)
}

fn all_against_all(contest: &Contest<'_>, phase: &str, metric: Metric) -> Option<PairedFigures> {
    let values = |side: &ContestSide<'_>| -> Option<Vec<Value>> {
        side.turns.iter().map(|turn| value(turn, phase, metric)).collect()
    };
    let (ours, theirs) = (values(&contest.ours)?, values(&contest.theirs)?);
    let mut bound = false;
    for ours in &ours {
        for theirs in &theirs {
            // Of any two it must be known which is larger.
            bound |= difference(*ours, *theirs, metric)?.bound;
        }
    }
    let scaled = |values: &[Value]| values.iter().map(|value| metric.scaled(value.number())).collect();
    PairedFigures::new(Box::new(Unpaired::new(scaled(&ours), scaled(&theirs))?), bound, [&ours, &theirs])
}

fn value(turn: &ContestTurn<'_>, phase: &str, metric: Metric) -> Option<Value> {
    metric.read(turn.arm.whole_phase(phase)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::{Measured, PhaseSummary, Times};

    fn arm(block: u32, goodput: f64, p90: Option<f64>) -> Arm {
        let response_time_ms = Times { p90, p90_at_least: p90.is_none().then_some(60_000.0), ..Times::default() };
        let measured =
            Measured { planned: 10, sent: 10, goodput_per_s: goodput, response_time_ms, ..Measured::default() };
        let phases =
            vec![PhaseSummary { name: "spike".to_owned(), seconds: 30.0, measured, ..PhaseSummary::default() }];
        Arm { policy: "x".to_owned(), block, phases, ..Arm::default() }
    }

    fn contest<'a>(ours: &'a [Arm], theirs: &'a [Arm], plans: &'a [String], same: bool) -> Contest<'a> {
        let turns = |arms: &'a [Arm], plans: &'a [String]| {
            arms.iter().zip(plans).map(|(arm, plan)| ContestTurn { arm, plan: Some(plan) }).collect()
        };
        let their_plans = if same { plans } else { &plans[10..] };
        Contest {
            ours: ContestSide { name: "new".to_owned(), turns: turns(ours, plans), hindsight: false },
            theirs: ContestSide { name: "old".to_owned(), turns: turns(theirs, their_plans), hindsight: false },
        }
    }

    /// Old runs serve 20, 21, …; new ones so many times as much, and a little.
    fn runs(n: u32, times: f64) -> (Vec<Arm>, Vec<Arm>) {
        let served = |block: u32| 20.0 + f64::from(block);
        let new = (0..n).map(|b| arm(b, served(b) * (times + 0.001 * f64::from(b)), Some(900.0))).collect();
        (new, (0..n).map(|b| arm(b, served(b), None)).collect())
    }

    fn goodput(contest: Contest<'_>) -> Across {
        across(&[contest], "spike", Metric::Goodput, None, None).swap_remove(0)
    }

    #[test]
    fn the_same_plans_make_pairs_and_others_do_not() {
        let plans: Vec<String> = (0..20).map(|n| format!("plan {n}")).collect();
        let (new, old) = runs(7, 1.1);
        let paired = goodput(contest(&new, &old, &plans, true));
        assert_eq!((paired.paired, paired.comparison.verdict, paired.turns), (true, ComparisonVerdict::Better, [7, 7]));
        // A tenth more, against a spread of a quarter between blocks: without pairs nobody can say.
        let unpaired = goodput(contest(&new, &old, &plans, false));
        assert_eq!((unpaired.paired, unpaired.comparison.verdict), (false, ComparisonVerdict::Undecided));
        assert!(unpaired.comparison.more_blocks.is_some_and(|more| more > 3), "{unpaired:?}");
        let (new, old) = runs(7, 3.0);
        let large = goodput(contest(&new, &old, &plans, false));
        assert_eq!((large.comparison.verdict, large.comparison.blocks), (ComparisonVerdict::Better, 7));
        assert!(large.comparison.interval.is_some_and(|[low, high]| low > 2.0 && high < 4.5), "{large:?}");
    }

    #[test]
    fn one_run_each_decides_nothing() {
        let plans: Vec<String> = (0..20).map(|n| format!("plan {n}")).collect();
        let (new, old) = runs(1, 3.0);
        for same in [true, false] {
            let found = goodput(contest(&new, &old, &plans, same)).comparison;
            assert_eq!((found.verdict, found.interval), (ComparisonVerdict::Undecided, None), "{same}");
            assert!(found.ratio.is_some());
        }
    }

    #[test]
    fn bounds_show_a_difference_and_are_marked() {
        let plans: Vec<String> = (0..20).map(|n| format!("plan {n}")).collect();
        let (new, old) = runs(7, 3.0);
        for same in [true, false] {
            let found = across(&[contest(&new, &old, &plans, same)], "spike", Metric::Goodput, None, None);
            let p90 = found.iter().find(|found| found.comparison.metric == Metric::P90.name()).expect("compared");
            assert_eq!((p90.comparison.verdict, p90.comparison.bound), (ComparisonVerdict::Better, true), "{same}");
            // Hidden on both sides: not a number is told.
            let hidden = across(&[contest(&old, &old, &plans, same)], "spike", Metric::P90, None, None);
            let p90 = &hidden.iter().find(|found| found.comparison.primary).expect("compared").comparison;
            assert_eq!((p90.verdict, p90.ratio, p90.blocks), (ComparisonVerdict::Undecided, None, 0));
        }
    }
}
