//! Order of arms by their worst phase.

use serde::Serialize;

use crate::{
    summary::{Arm, Entitled, Measured, PhaseSummary, arm_names},
    text::{percent, scrubbed},
};

/// Scores that are one.
pub(super) const NEAR: f64 = 0.01;

/// Worth as a share of the best arm's in the same phase.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PhaseShare {
    /// The arm.
    pub arm: String,
    /// The phase.
    pub phase: String,
    /// The share, 0 to 1.
    pub share: f64,
    /// Class that gets this share of its due, where that is less than the share of the whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
}

impl PhaseShare {
    /// `90 % of the best in before`.
    pub(super) fn in_words(&self) -> String {
        let of = match &self.class {
            None => "the best".to_owned(),
            Some(class) => format!("what is due to class {}", scrubbed(class)),
        };
        format!("{} of {of} in {}", percent(self.share), scrubbed(&self.phase))
    }
}

/// Measure by which arms are ranked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Worth {
    /// Goodput.
    Goodput,
    /// Goodput, times the part of the promise that is kept: the share in time of what was not refused, over the share that the objective
    /// promises, 1 at most. A refusal is an answer; who gets a late answer, an error or none has waited for it. Where classes have claims,
    /// the share is that of the class which gets least of what it is due of the
    /// arm's goodput, if it is less.
    Kept,
}

/// Arms by what they are worth in these phases.
#[derive(Debug, Clone)]
pub(super) struct Ranking<'a> {
    pub(super) arms: Vec<&'a Arm>,
    pub(super) phases: &'a [&'a str],
    pub(super) worth: Worth,
    /// Share of what is not refused that the objective promises in time, 0 to 1.
    pub(super) promised: f64,
    pub(super) entitled: &'a Entitled,
}

impl Ranking<'_> {
    /// Every arm in its worst phase, the highest share first; of equal ones in the order of the arms. None of one arm alone.
    pub(super) fn ranked(&self) -> Vec<PhaseShare> {
        let all: Vec<PhaseShare> = self.phases.iter().flat_map(|phase| self.shares(phase)).collect();
        let worst = |name: &&str| {
            let own = all.iter().filter(|one| one.arm == **name);
            own.min_by(|a, b| a.share.total_cmp(&b.share)).cloned()
        };
        let mut ranked: Vec<PhaseShare> = self.names().iter().filter_map(worst).collect();
        ranked.sort_by(|a, b| b.share.total_cmp(&a.share));
        if ranked.len() > 1 { ranked } else { Vec::new() }
    }

    /// The same in one block.
    pub(super) fn of_block(&self, block: u32) -> Self {
        Self { arms: self.arms.iter().copied().filter(|arm| arm.block == block).collect(), ..self.clone() }
    }

    /// An arm's share in a phase.
    pub(super) fn of_phase(&self, phase: &str, arm: &str) -> Option<PhaseShare> {
        self.shares(phase).into_iter().find(|one| one.arm == arm)
    }

    /// The arm that is worth most in the phase of `own`, with the share of its worth that `own` has.
    pub(super) fn ahead(&self, own: &PhaseShare) -> PhaseShare {
        // Of equal ones the first.
        let best = self.shares(&own.phase).into_iter().rev().max_by(|a, b| a.share.total_cmp(&b.share));
        PhaseShare { share: own.share, class: own.class.clone(), ..best.unwrap_or_else(|| own.clone()) }
    }

    /// Share in time of what an arm did not refuse in a phase; `None`: it refused all.
    pub(super) fn in_time(&self, arm: &str, phase: &str) -> Option<f64> {
        self.median(arm, phase, |phase| in_time(&phase.measured))
    }

    /// Every arm's share in a phase. None where nobody is worth anything.
    fn shares(&self, phase: &str) -> Vec<PhaseShare> {
        let worth = |phase: &PhaseSummary| Some(self.worth(&phase.measured));
        let worths: Vec<(&str, f64)> =
            self.names().into_iter().filter_map(|name| Some((name, self.median(name, phase, worth)?))).collect();
        let most = worths.iter().map(|(_, worth)| *worth).fold(0.0, f64::max);
        let share = |(name, worth): (&str, f64)| {
            let least = self.least_of_classes(name, phase).filter(|(_, least)| *least < worth / most - NEAR);
            let (class, share) = least.map_or((None, worth / most), |(class, least)| (Some(class), least));
            PhaseShare { arm: name.to_owned(), phase: phase.to_owned(), share, class }
        };
        if most > 0.0 { worths.into_iter().map(share).collect() } else { Vec::new() }
    }

    /// The class that gets least of what it is due of the arm's goodput, with that share.
    fn least_of_classes(&self, name: &str, phase: &str) -> Option<(String, f64)> {
        let classes = self.entitled.groups.iter().flatten().filter(|_| self.worth == Worth::Kept);
        let given = classes.filter_map(|class| {
            let given =
                |phase: &PhaseSummary| self.entitled.given(phase, phase.measured.goodput_per_s).get(class).copied();
            let share = self.median(name, phase, given)?;
            Some((class.clone(), share))
        });
        given.reduce(|least, other| if other.1 < least.1 { other } else { least })
    }

    fn worth(&self, measured: &Measured) -> f64 {
        let kept = match (self.worth, in_time(measured)) {
            (Worth::Kept, Some(in_time)) if in_time < self.promised => in_time / self.promised,
            _ => 1.0,
        };
        measured.goodput_per_s * kept
    }

    /// Median over blocks of an arm's figure; of an even number the higher one in the middle, as in the answer.
    fn median(&self, name: &str, phase: &str, figure: impl Fn(&PhaseSummary) -> Option<f64>) -> Option<f64> {
        let own = self.arms.iter().filter(|arm| arm.shown_name() == name);
        let mut found: Vec<f64> = own.filter_map(|arm| figure(arm.whole_phase(phase)?)).collect();
        found.sort_by(f64::total_cmp);
        found.get(found.len() / 2).copied()
    }

    fn names(&self) -> Vec<&str> {
        arm_names(self.arms.iter().copied())
    }
}

/// Share in time of what was not refused.
fn in_time(measured: &Measured) -> Option<f64> {
    let Measured { served, served_late, timed_out, abandoned, connect_failed, failed, .. } = measured;
    let waited = served + served_late + timed_out + abandoned + connect_failed + failed;
    (waited > 0).then(|| *served as f64 / waited as f64)
}
