//! Columns of an answer: the phases that it is about.

use super::counted_runs::CountedRuns;
use crate::{
    summary::{AnswerColumn, PhaseRole, PhaseSummary, busiest},
    text::scrubbed,
};

/// Phases of a run without overload that have a column each; with more it is the phase of the comparisons.
const MOST_COLUMNS: usize = 4;

/// `under overload`, `during the fault`, `in PHASE`.
pub(super) fn when(column: &AnswerColumn) -> String {
    match column.role {
        Some(PhaseRole::Fault) => "during the fault".to_owned(),
        Some(role) if role.is_stress() => "under overload".to_owned(),
        _ => format!("in {}", scrubbed(&column.phase)),
    }
}

/// Phases that the answer is about, and of these the one that a run without overload is about: the one that is named, else the busiest.
pub(super) fn columns(runs: &CountedRuns<'_>, named: Option<&str>) -> (Vec<AnswerColumn>, Option<String>) {
    let run = || runs.arms.iter().filter(|arm| !arm.bound);
    let Some(arm) = run().max_by_key(|arm| arm.phases.len()) else { return (Vec::new(), None) };
    let phases = &arm.phases[..];
    let about = named.and_then(|name| place(phases, name));
    let about = about.or_else(|| place(phases, &busiest(phases)?.name));
    let chosen = match stressed(phases, named) {
        Some(chosen) => chosen,
        None if phases.len() <= MOST_COLUMNS => (0..phases.len()).collect(),
        None => about.into_iter().collect(),
    };
    let column = |at: usize| AnswerColumn {
        phase: phases[at].name.clone(),
        role: phases[at].measures.role,
        load: phases[at].measures.load,
    };
    (chosen.into_iter().map(column).collect(), about.map(|at| phases[at].name.clone()))
}

/// Calm, overload and after, as far as there are; `None` without overload and fault.
fn stressed(phases: &[PhaseSummary], compared: Option<&str>) -> Option<Vec<usize>> {
    let role = |at: usize| phases[at].measures.role;
    let is = |at: &usize, wanted: PhaseRole| role(*at) == Some(wanted);
    let stress: Vec<usize> = (0..phases.len()).filter(|at| role(*at).is_some_and(PhaseRole::is_stress)).collect();
    let first = *stress.first()?;
    let named = stress.iter().copied().find(|at| Some(phases[*at].name.as_str()) == compared);
    let busiest = || place(phases, &busiest(phases)?.name).filter(|at| stress.contains(at));
    let over = named.or_else(busiest).unwrap_or(first);
    let calm = (0..first).rev().find(|at| is(at, PhaseRole::Calm));
    let after = (over + 1..phases.len()).find(|at| is(at, PhaseRole::After));
    Some(calm.into_iter().chain([over]).chain(after).collect())
}

fn place(phases: &[PhaseSummary], name: &str) -> Option<usize> {
    phases.iter().position(|phase| phase.name == name)
}
