//! Order of the arms in one line: those that can be chosen, by goodput in the phase that decides. It tells what was measured; verdicts
//! say which differences are more than chance.

use super::{columns::when, counted_runs::CountedRuns, table};
use crate::{
    summary::{ArmAnswer, RunAnswer, RunSummary},
    text::{rate, scrubbed},
};

/// Arms that are named; of more the others are counted.
const MOST: usize = 9;

/// The line; `None`: there is no choice, or it is not one by goodput.
pub(super) fn order(answer: &RunAnswer, summary: &RunSummary, runs: &CountedRuns<'_>) -> Option<String> {
    let by_goodput = summary.comparisons.iter().find(|comparison| comparison.primary);
    if by_goodput.is_some_and(|comparison| comparison.metric != "goodput_per_s") {
        return None;
    }
    let at = table::deciding(answer)?;
    let column = &answer.columns[at];
    let goodput = |arm: &ArmAnswer| Some(arm.columns[at].as_ref()?.goodput_per_s);
    let mut arms: Vec<_> = answer.arms.iter().filter(|arm| !arm.hindsight).collect();
    arms.retain(|arm| goodput(arm).is_some() && runs.of_arm(&arm.arm).any(|run| !run.bound));
    let median = |arm: &ArmAnswer| goodput(arm).map_or(0.0, |found| found.median);
    arms.sort_by(|a, b| median(b).total_cmp(&median(a)));
    let (first, others) = arms.split_first().filter(|(_, others)| !others.is_empty())?;
    let blocks = goodput(first)?.blocks;
    let mut near = false;
    let mut told = |arm: &ArmAnswer| {
        let is_near = arm.arm != first.arm && is_ahead_at_times(runs, &arm.arm, &first.arm, &column.phase);
        near |= is_near;
        let mark = if is_near { " (~)" } else { "" };
        format!("{} {}/s{mark}", scrubbed(&arm.arm), rate(median(arm)))
    };
    let mut named: Vec<String> = arms.iter().take(MOST).map(|arm| told(arm)).collect();
    if arms.len() > MOST {
        named.push(format!("{} more", arms.len() - MOST));
    }
    let when = when(column);
    let how = match (blocks, near) {
        (0 | 1, _) => "; one block: chance may have ordered them".to_owned(),
        (_, true) => format!("; ~: as much as {}, or more, in some blocks", scrubbed(&first.arm)),
        (_, false) if others.len() == 1 => "; in every block".to_owned(),
        (_, false) => format!("; {} has the most in every block", scrubbed(&first.arm)),
    };
    Some(format!("Goodput {when}, most first: {}{how}.", named.join(", ")))
}

/// True if this arm had as much as the other in some block, or more.
fn is_ahead_at_times(runs: &CountedRuns<'_>, arm: &str, other: &str, phase: &str) -> bool {
    let pairs = runs.goodput_in_blocks([arm, other], phase);
    pairs.len() > 1 && pairs.iter().any(|[own, other]| own >= other)
}
