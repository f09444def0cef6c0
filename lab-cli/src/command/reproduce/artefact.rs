//! One artefact of the atlas, and what its run found.

use std::{fmt::Write as _, path::PathBuf};

use analysis::{
    chart::Chart,
    figure::merit::Merit,
    judge::claims::{LetteredClaim, Paper, lettered_claims},
    summary::{GateFinding, Mode, RunSummary, ThresholdResult, Validity},
    text::counted,
};
use experiment::Experiment;
use serde::Serialize;

use crate::exit::End;

/// An experiment of the atlas, and what it found.
#[derive(Debug, Serialize)]
pub(super) struct Artefact {
    /// Ids in the atlas: more than one where several artefacts share a short form.
    pub ids: Vec<&'static str>,
    pub experiment: String,
    pub about: String,
    pub mode: Mode,
    pub verdict: Validity,
    /// Reasons for a verdict other than VALID, of every block.
    pub reasons: Vec<GateFinding>,
    pub claims: Vec<ThresholdResult>,
    /// The paper whose claims the letters are of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paper: Option<Paper>,
    /// The claims that the thresholds are parts of.
    pub lettered_claims: Vec<LetteredClaim>,
    /// The distance of its figure from the paper's numbers, where there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merit: Option<Merit>,
    pub results: PathBuf,
}

impl Artefact {
    pub fn of(
        experiment: &Experiment,
        ids: Vec<&'static str>,
        summary: &RunSummary,
        figure: &Chart,
        results: PathBuf,
    ) -> Self {
        let Experiment { name, about, paper, tried, rows, .. } = experiment;
        let claims = summary.thresholds.clone();
        Self {
            ids,
            experiment: name.clone(),
            about: about.clone(),
            mode: summary.mode,
            verdict: summary.verdict,
            reasons: summary.reasons.clone(),
            paper: *paper,
            lettered_claims: lettered_claims(rows, &claims, tried),
            merit: Merit::of(figure),
            claims,
            results,
        }
    }

    /// The exit status: a claim that does not hold by the rule of the atlas has failed; an INVALID run says nothing.
    pub fn end(&self) -> End {
        let failed = |claim: &ThresholdResult| !claim.holds_over_seeds();
        match self.verdict {
            Validity::Invalid => End::Invalid,
            _ if self.claims.iter().any(failed) => End::Failed,
            _ => End::Done,
        }
    }

    pub fn as_text(&self) -> String {
        let mode = match self.mode {
            Mode::Virtual => "virtual time",
            Mode::Live => "live",
        };
        let mut text = format!("{}: {} ({mode}, {})\n", self.ids.join(", "), self.about, self.verdict.word());
        for claim in &self.claims {
            let wanted: Vec<&str> = claim.text.split_whitespace().collect();
            // Writing to a string cannot fail.
            let _ = writeln!(text, "  {:6}  {}\n          {}", claim.word_over_seeds(), wanted.join(" "), claim.why);
        }
        for claim in &self.lettered_claims {
            let (word, held_by, seeds) = (claim.word(), claim.held_by, counted(claim.seeds, "seed"));
            let _ = writeln!(text, "  claim {}  {word}, with {held_by} of {seeds}: {}", claim.letter, claim.label);
            if let Some(remedy) = claim.remedy() {
                let _ = writeln!(text, "           {remedy}");
            }
        }
        if let Some(merit) = &self.merit {
            let _ = writeln!(text, "  {}", merit.in_words());
        }
        let _ = writeln!(text, "  results: {}", self.results.display());
        text
    }
}
