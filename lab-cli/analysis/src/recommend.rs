//! Recommendation of a run: the arm to deploy, how, at what price in calm, how sure that is, and what would change it.
//!
//! Worth of an arm in a phase: its goodput, times the part of the promise that it keeps to those whom it does not refuse. Score: its
//! worth in its worst phase, as a share of the best arm's in that phase, or, if it is less, the share of its due that a class is given
//! there. Bounds, which nobody can choose, are no arms here. The highest score wins; of those within a percent point, one that deploys
//! nothing, else the lowest response time in the phase that decides.

use std::collections::BTreeSet;

use controllers::Place;
use serde::Serialize;

use crate::{
    answer::{CountedRuns, of_summary, table::deciding},
    summary::{Arm, Mode, PhaseRole, RunSummary, Validity},
    text::{percent, scrubbed},
};

mod deploy;
mod ranking;
#[cfg(test)]
mod tests;

pub use ranking::PhaseShare;
use ranking::{NEAR, Ranking, Worth};

/// Share under which an arm's worst phase is a failure.
const FAILURE: f64 = 0.5;
/// Beginning of a line with a way to deploy.
pub const HOW: &str = "How: ";
/// Stands in a way for a number that only its owner knows.
const WORKERS: &str = "WORKERS";

/// Phase in which an arm keeps least of the promise, where that is less than all of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BrokenPromise {
    /// The arm.
    pub arm: String,
    /// The phase.
    pub phase: String,
    /// Share in time, there, of what the arm did not refuse.
    pub in_time: f64,
    /// The share that the objective promises.
    pub promised: f64,
}

/// An arm that serves more than the one to deploy, and the reason against it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum PassedOver {
    /// It leaves people waiting in vain.
    Late(BrokenPromise),
    /// A class is given less than its due: its worst phase.
    Unfair(PhaseShare),
}

/// The arm to deploy.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Recommendation {
    /// The arm, in its worst phase.
    pub worst: PhaseShare,
    /// Its policy in the catalogue.
    pub policy: String,
    /// What the arm's name does not say of its policy.
    #[serde(skip)]
    pub other_policy: Option<String>,
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
    /// Phases in which another arm is worth more, by more than a percent point: how much of that one's worth is this arm's.
    pub behind: Vec<PhaseShare>,
    /// It breaks the promise too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub late: Option<BrokenPromise>,
    /// It ran in each stage of a service, and not before the whole.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub in_each_stage: bool,
    /// Codes of the gates that warn.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Some classes come before others: whoever deploys it says which.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub by_class: bool,
    /// The first by goodput alone, where that is another arm.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passed_over: Option<PassedOver>,
}

impl BrokenPromise {
    fn in_words(&self) -> String {
        let [in_time, promised] = [self.in_time, self.promised].map(percent);
        let phase = scrubbed(&self.phase);
        format!("in {phase} {in_time} of what it does not refuse is answered in time (the objective: {promised})")
    }
}

impl PassedOver {
    fn in_words(&self) -> String {
        let (arm, why) = match self {
            Self::Late(late) => (&late.arm, format!("{}, and the rest waits for that in vain", late.in_words())),
            Self::Unfair(worst) => (&worst.arm, format!("it has {}", worst.in_words())),
        };
        format!("Not {}, which serves more: {why}.", scrubbed(arm))
    }
}

impl Recommendation {
    /// Sentences for people, in the order in which they need them: what to deploy, how, at what price, within which limits, how sure
    /// that is, and what else there is.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = vec![self.what()];
        lines.extend(self.deploy.iter().map(|way| format!("{HOW}{way}")));
        if self.deploy.iter().any(|way| way.contains(WORKERS)) {
            lines.push(format!("{WORKERS}: the number of requests that the service works on at once."));
        }
        if self.by_class && !self.deploy.is_empty() {
            lines.push(
                "FILE, or the layer's requests, say who comes first: class and criticality, the lines of the experiment's target, or \
                 headers.trust_criticality where callers state it (docs/policies.md: paying customers first)."
                    .to_owned(),
            );
        }
        lines.extend(self.price_in_calm.map(|price| match price < NEAR {
            true => "Price in calm: none that was seen.".to_owned(),
            false => format!("Price in calm: {} of goodput.", percent(price)),
        }));
        lines.extend(self.limits());
        lines.push(self.how_sure());
        lines.extend(self.passed_over.iter().map(PassedOver::in_words));
        lines.push(format!("Next best: {}, with {}.", scrubbed(&self.next.arm), self.next.in_words()));
        let ahead = |one: &PhaseShare| {
            let [phase, first, own] = [&one.phase, &one.arm, &self.worst.arm].map(|name| scrubbed(name));
            format!("{phase}: {first} is ahead, {own} has {} of it", percent(one.share))
        };
        if !self.behind.is_empty() {
            let all: Vec<String> = self.behind.iter().map(ahead).collect();
            lines.push(format!("What would change it: if one phase alone counted ({}).", all.join("; ")));
        }
        lines
    }

    fn what(&self) -> String {
        let Self { worst, .. } = self;
        let arm = scrubbed(&worst.arm);
        let what = match (self.deploy.is_empty(), &self.other_policy) {
            (true, _) => format!("nothing ({arm})"),
            (false, None) => arm,
            (false, Some(policy)) => format!("{arm} (policy {})", scrubbed(policy)),
        };
        match worst.share > 1.0 - NEAR {
            true => format!("Deploy {what}: no arm serves more in any phase."),
            false => format!("Deploy {what}: {}, its worst phase.", worst.in_words()),
        }
    }

    fn limits(&self) -> Vec<String> {
        let late = self.late.iter().map(|late| format!("Of its own promise it keeps a part: {}.", late.in_words()));
        let failure = (self.worst.share < FAILURE).then(|| {
            "No arm serves half of the best arm's goodput in every phase: try others (lab policies).".to_owned()
        });
        let in_each_stage = (self.in_each_stage && !self.deploy.is_empty()).then(|| {
            "It ran in each stage of this service, and was not measured before the whole of it, where a proxy or a layer sits: run it with \
             scope: single, if the policy can sit there."
                .to_owned()
        });
        late.chain(failure).chain(in_each_stage).collect()
    }

    fn how_sure(&self) -> String {
        let live = if self.virtual_time { "; computed in virtual time: confirm it by a live run" } else { "" };
        let warned = match self.warnings.as_slice() {
            [] => String::new(),
            gates => format!("; the run has warnings ({})", gates.join(", ")),
        };
        match self.blocks {
            0 | 1 => format!("How sure: one block, which chance may have decided (--repeat 6){live}{warned}."),
            blocks => format!("How sure: it comes first in {} of {blocks} blocks{live}{warned}.", self.first_in),
        }
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
    let promised = summary.objective.percentile / 100.0;
    let by =
        |worth: Worth| Ranking { arms: arms.clone(), phases: &phases, worth, promised, entitled: &summary.entitled };
    let (by_worth, by_goodput) = (by(Worth::Kept), by(Worth::Goodput));
    let ranked = by_worth.ranked();
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
    let by_class = summary.entitled.groups.len() > 1;
    let ways = |arm: &Arm| deploy::ways(arm, &summary.objective, by_class);
    let is_nothing = |one: &&PhaseShare| arms.iter().any(|arm| arm.shown_name() == one.arm && ways(arm).is_empty());
    let worst = near.clone().find(is_nothing).or_else(|| near.min_by(quicker))?.clone();
    let own = *arms.iter().find(|arm| arm.shown_name() == worst.arm)?;
    let next = ranked.iter().find(|one| one.arm != worst.arm)?.clone();
    let blocks: BTreeSet<u32> = arms.iter().map(|arm| arm.block).collect();
    let is_first = |block: &&u32| {
        let ranked = by_worth.of_block(**block).ranked();
        let best = ranked.first().map_or(0.0, |best| best.share);
        ranked.iter().any(|one| one.arm == worst.arm && one.share > best - NEAR)
    };
    let of_phase = |ranking: &Ranking<'_>, phase: &str| ranking.of_phase(phase, &worst.arm);
    let calm = answer.columns.iter().find(|column| column.role == Some(PhaseRole::Calm));
    Some(Recommendation {
        policy: own.policy.clone(),
        other_policy: own.other_policy(),
        by_class,
        late: broken_promise(&by_goodput, &worst.arm),
        in_each_stage: summary.several_stages
            && own.parameters.get("scope").is_some_and(|scope| scope == Place::Stage.scope()),
        warnings: warnings(summary),
        deploy: ways(own),
        price_in_calm: calm.and_then(|calm| Some(1.0 - of_phase(&by_goodput, &calm.phase)?.share)),
        blocks: blocks.len(),
        first_in: blocks.iter().filter(is_first).count(),
        virtual_time: summary.mode == Mode::Virtual,
        next,
        behind: phases
            .iter()
            .filter_map(|phase| of_phase(&by_worth, phase))
            .filter(|one| one.share < 1.0 - NEAR)
            .map(|one| by_worth.ahead(&one))
            .filter(|one| one.arm != worst.arm)
            .collect(),
        passed_over: passed_over(&by_goodput, &by_worth, &worst.arm),
        worst,
    })
}

/// The arm that is first by goodput alone, if it is another one, and keeps less than the promise or gives a class less than its due.
fn passed_over(by_goodput: &Ranking<'_>, by_worth: &Ranking<'_>, deployed: &str) -> Option<PassedOver> {
    let ranked = by_goodput.ranked();
    let own = ranked.iter().find(|one| one.arm == deployed)?;
    let first = ranked.first().filter(|first| first.share > own.share + NEAR)?;
    let at_worst = by_worth.ranked().into_iter().find(|one| one.arm == first.arm);
    if let Some(worst) = at_worst.filter(|worst| worst.class.is_some()) {
        return Some(PassedOver::Unfair(worst));
    }
    broken_promise(by_goodput, &first.arm).map(PassedOver::Late)
}

fn broken_promise(by_goodput: &Ranking<'_>, arm: &str) -> Option<BrokenPromise> {
    let promised = by_goodput.promised;
    let in_time = |phase: &&str| Some((by_goodput.in_time(arm, phase)?, (*phase).to_owned()));
    let least = by_goodput.phases.iter().filter_map(in_time).reduce(|a, b| if b.0 < a.0 { b } else { a });
    let (in_time, phase) = least.filter(|(in_time, _)| *in_time < promised)?;
    Some(BrokenPromise { arm: arm.to_owned(), phase, in_time, promised })
}

/// Codes of the gates that warn, each once.
fn warnings(summary: &RunSummary) -> Vec<String> {
    let warns = summary.reasons.iter().filter(|finding| finding.verdict == Validity::Warn);
    warns.map(|finding| finding.code.clone()).collect::<BTreeSet<_>>().into_iter().collect()
}
