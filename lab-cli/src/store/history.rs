//! Past runs, found by experiment, policy and date.
//!
//! The folders are the truth. The rows beside them (`rows`) are brought up to date from the folders at each question, and
//! nothing else needs them.

use std::{io, path::Path};

mod past_run;
mod rows;

pub use past_run::{PastArm, PastRun};

/// A question to the history.
#[derive(Debug, Clone, Default)]
pub struct Question<'a> {
    /// Words that must be in a run's name, experiment, arms or verdict.
    pub words: &'a [String],
    /// This experiment alone.
    pub experiment: Option<&'a str>,
    /// Runs with an arm of this name or policy.
    pub policy: Option<&'a str>,
    /// Runs from this day on: `20261122`.
    pub since: Option<&'a str>,
    /// Up to the end of this day.
    pub until: Option<&'a str>,
    /// Rows at most.
    pub limit: u32,
}

impl Question<'_> {
    fn fits(&self, run: &PastRun) -> bool {
        let has = |text: &str, word: &str| text.to_lowercase().contains(&word.to_lowercase());
        let has_word = |word: &String| {
            has(&format!("{} {} {} {}", run.name, run.experiment, run.verdict, run.mode), word)
                || run.arms.iter().any(|arm| has(&format!("{} {}", arm.name, arm.policy), word))
        };
        let day = run.began.get(..8).unwrap_or_default();
        self.experiment.is_none_or(|name| name == run.experiment)
            && self.policy.is_none_or(|name| run.arms.iter().any(|arm| arm.name == name || arm.policy == name))
            && self.since.is_none_or(|since| day >= since)
            && self.until.is_none_or(|until| day <= until)
            && self.words.iter().all(has_word)
    }
}

/// The runs in a folder that fit, the newest first, and whether what was read of them could be kept. `anew`: reads every folder again.
///
/// # Errors
/// If the folder cannot be read.
pub fn ask(runs: &Path, anew: bool, question: &Question<'_>) -> io::Result<(Vec<PastRun>, bool)> {
    let (mut found, kept) = rows::all(runs, anew)?;
    found.retain(|run| question.fits(run));
    found.sort_by(|a, b| (&b.began, &b.name).cmp(&(&a.began, &a.name)));
    found.truncate(usize::try_from(question.limit).unwrap_or(usize::MAX));
    Ok((found, kept))
}

#[cfg(test)]
mod tests;
