//! Recommendation of a run: the arm to deploy, how, at what price in calm, how sure that is, and what would change it.
//!
//! Score of an arm: its goodput in its worst phase, as a share of the best arm's in that phase. Bounds, which nobody can choose, are no arms
//! here. The highest score wins; of those within a percent point, the lowest response time in the phase that decides.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::{
    answer::{CountedRuns, of_summary, table::deciding},
    summary::{Arm, Mode, PhaseRole, RunSummary, arm_names},
    text::{percent, scrubbed},
};

mod deploy;
#[cfg(test)]
mod tests;

/// Scores that are one.
const NEAR: f64 = 0.01;

/// Share under which an arm's worst phase is a failure.
const FAILURE: f64 = 0.5;

/// Goodput as a share of the best arm's in the same phase.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PhaseShare {
    /// The arm.
    pub arm: String,
    /// The phase.
    pub phase: String,
    /// The share, 0 to 1.
    pub share: f64,
}

/// The arm to deploy.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Recommendation {
    /// The arm, in its worst phase.
    pub worst: PhaseShare,
    /// Its policy in the catalogue.
    pub policy: String,
    /// Commands or code, one for each way; empty where nothing is to be deployed.
    pub deploy: Vec<String>,
    /// Goodput that it costs in calm, as a share of the best arm's; `None`: there is no calm phase.
    pub price_in_calm: Option<f64>,
    /// Blocks.
    pub blocks: usize,
    /// Blocks in which it has the highest score.
    pub first_in: usize,
    /// Computed, not measured.
    pub virtual_time: bool,
    /// The next by its score.
    pub next: PhaseShare,
    /// Phases in which another arm serves more, by more than a percent point: how much of that one's goodput is this arm's.
    pub behind: Vec<PhaseShare>,
}

impl Recommendation {
    /// Sentences for people; the first says what to deploy.
    pub fn lines(&self) -> Vec<String> {
        let Self { worst, next, .. } = self;
        let what = match self.deploy.as_slice() {
            [] => format!("Deploy nothing ({})", scrubbed(&worst.arm)),
            _ => format!("Deploy {}", scrubbed(&worst.arm)),
        };
        let how_much = match worst.share > 1.0 - NEAR {
            true => "no arm serves more in any phase".to_owned(),
            false => format!(
                "in its worst phase ({}) it serves {} of what the best arm does",
                scrubbed(&worst.phase),
                percent(worst.share)
            ),
        };
        let mut lines = vec![format!(
            "{what}: {how_much}; {} comes next, with {} of the best in {}.",
            scrubbed(&next.arm),
            percent(next.share),
            scrubbed(&next.phase)
        )];
        if worst.share < FAILURE {
            lines.push(
                "No arm serves half of the best arm's goodput in every phase: try others (lab policies).".to_owned(),
            );
        }
        lines.extend(self.deploy.iter().map(|way| format!("How: {way}")));
        lines.extend(self.price_in_calm.map(|price| match price < NEAR {
            true => "Price in calm: none that was seen.".to_owned(),
            false => format!("Price in calm: {} of goodput.", percent(price)),
        }));
        let live = if self.virtual_time { "; computed in virtual time: confirm it by a live run" } else { "" };
        lines.push(match self.blocks {
            0 | 1 => format!("How sure: one block, which chance may have decided (--repeat 6){live}."),
            blocks => format!("How sure: it comes first in {} of {blocks} blocks{live}.", self.first_in),
        });
        let ahead = |one: &PhaseShare| {
            format!(
                "{}: {} is ahead, {} has {} of it",
                scrubbed(&one.phase),
                scrubbed(&one.arm),
                scrubbed(&worst.arm),
                percent(one.share)
            )
        };
        if !self.behind.is_empty() {
            let all: Vec<String> = self.behind.iter().map(ahead).collect();
            lines.push(format!("What would change it: if one phase alone counted ({}).", all.join("; ")));
        }
        lines
    }
}

/// The recommendation; `None`: no conclusion may be drawn, nothing can be chosen, or the run is not decided by goodput.
pub fn recommendation(summary: &RunSummary) -> Option<Recommendation> {
    let by_goodput = summary.comparisons.iter().find(|comparison| comparison.primary);
    if !summary.valid || by_goodput.is_some_and(|comparison| comparison.metric != "goodput_per_s") {
        return None;
    }
    let answer = of_summary(summary);
    let hindsight: Vec<&str> = answer.arms.iter().filter(|arm| arm.hindsight).map(|arm| arm.arm.as_str()).collect();
    let runs = CountedRuns::of(&summary.arms);
    let choosable = |arm: &&Arm| !arm.bound && !hindsight.contains(&arm.shown_name());
    let arms: Vec<&Arm> = runs.arms.iter().copied().filter(choosable).collect();
    let phases: Vec<&str> = answer.columns.iter().map(|column| column.phase.as_str()).collect();
    let ranked = ranked(&arms, &phases);
    let [first, ..] = ranked.as_slice() else { return None };
    let response = |name: &str| {
        let arm = answer.arms.iter().find(|arm| arm.arm == name)?;
        Some(arm.columns[deciding(&answer)?].as_ref()?.objective_ms?.median)
    };
    let near = ranked.iter().filter(|one| one.share > first.share - NEAR);
    let quicker = |a: &&PhaseShare, b: &&PhaseShare| {
        let [a, b] = [a, b].map(|one| response(&one.arm).unwrap_or(f64::INFINITY));
        a.total_cmp(&b)
    };
    let worst = near.min_by(quicker)?.clone();
    let own = *arms.iter().find(|arm| arm.shown_name() == worst.arm)?;
    let next = ranked.iter().find(|one| one.arm != worst.arm)?.clone();
    let blocks: BTreeSet<u32> = arms.iter().map(|arm| arm.block).collect();
    let is_first = |block: &&u32| {
        let of_block: Vec<&Arm> = arms.iter().copied().filter(|arm| arm.block == **block).collect();
        let ranked = self::ranked(&of_block, &phases);
        let best = ranked.first().map_or(0.0, |best| best.share);
        ranked.iter().any(|one| one.arm == worst.arm && one.share > best - NEAR)
    };
    let of_phase = |phase: &&str| shares(&arms, phase).into_iter().find(|one| one.arm == worst.arm);
    let calm = answer.columns.iter().find(|column| column.role == Some(PhaseRole::Calm));
    Some(Recommendation {
        policy: own.policy.clone(),
        deploy: deploy::ways(own, &summary.objective),
        price_in_calm: calm.and_then(|calm| Some(1.0 - of_phase(&calm.phase.as_str())?.share)),
        blocks: blocks.len(),
        first_in: blocks.iter().filter(is_first).count(),
        virtual_time: summary.mode == Mode::Virtual,
        next,
        behind: phases
            .iter()
            .filter_map(of_phase)
            .filter(|one| one.share < 1.0 - NEAR)
            .map(|one| ahead(&arms, &one))
            .collect(),
        worst,
    })
}

/// The arm that serves the most in the phase of `own`, with the share of its goodput that `own` has.
fn ahead(arms: &[&Arm], own: &PhaseShare) -> PhaseShare {
    // Of equal ones the first.
    let best = shares(arms, &own.phase).into_iter().rev().max_by(|a, b| a.share.total_cmp(&b.share));
    PhaseShare { share: own.share, ..best.unwrap_or_else(|| own.clone()) }
}

/// Every arm in its worst phase, the highest share first; of equal ones in the order of the arms.
fn ranked(arms: &[&Arm], phases: &[&str]) -> Vec<PhaseShare> {
    let all: Vec<PhaseShare> = phases.iter().flat_map(|phase| shares(arms, phase)).collect();
    let worst = |name: &&str| {
        let own = all.iter().filter(|one| one.arm == **name);
        own.min_by(|a, b| a.share.total_cmp(&b.share)).cloned()
    };
    let mut ranked: Vec<PhaseShare> = arm_names(arms.iter().copied()).iter().filter_map(worst).collect();
    ranked.sort_by(|a, b| b.share.total_cmp(&a.share));
    if ranked.len() > 1 { ranked } else { Vec::new() }
}

/// Every arm's share in a phase. None where nobody served anything.
fn shares(arms: &[&Arm], phase: &str) -> Vec<PhaseShare> {
    let goodput: Vec<(&str, f64)> = arm_names(arms.iter().copied())
        .into_iter()
        .filter_map(|name| Some((name, median(arms, name, phase)?)))
        .collect();
    let most = goodput.iter().map(|(_, goodput)| *goodput).fold(0.0, f64::max);
    let share = |(name, goodput): (&str, f64)| PhaseShare {
        arm: name.to_owned(),
        phase: phase.to_owned(),
        share: goodput / most,
    };
    if most > 0.0 { goodput.into_iter().map(share).collect() } else { Vec::new() }
}

/// Median over blocks of an arm's goodput; of an even number the higher one in the middle, as in the answer.
fn median(arms: &[&Arm], name: &str, phase: &str) -> Option<f64> {
    let own = arms.iter().filter(|arm| arm.shown_name() == name);
    let mut found: Vec<f64> = own.filter_map(|arm| Some(arm.whole_phase(phase)?.measured.goodput_per_s)).collect();
    found.sort_by(f64::total_cmp);
    found.get(found.len() / 2).copied()
}
