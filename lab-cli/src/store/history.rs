//! Past runs, found by experiment, policy and date.
//!
//! The folders are the truth. The rows beside them, appended as runs are found, spare each question a thousand summaries. They are
//! brought up to date from the folders at each question, and nothing else needs them.

use std::{
    collections::BTreeMap,
    fs::{self, OpenOptions},
    io::{self, Write as _},
    path::Path,
};

use serde::{Deserialize, Serialize};

use super::put_in_place;
use past_run::{Found, listed, read};

pub use past_run::{PastArm, PastRun};

mod past_run;

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
    let (mut found, kept) = all(runs, anew)?;
    found.retain(|run| question.fits(run));
    found.sort_by(|a, b| (&b.began, &b.name).cmp(&(&a.began, &a.name)));
    found.truncate(usize::try_from(question.limit).unwrap_or(usize::MAX));
    Ok((found, kept))
}

#[cfg(test)]
mod tests;

/// The file's name in the folder of the runs.
pub const FILE: &str = ".history.jsonl";

/// The number of lines about runs that have changed or gone, beyond twice those that count, from which the file is written anew.
const STALE: usize = 100;

#[derive(Debug, Serialize, Deserialize)]
struct Row {
    /// Length and time of the files that it was read from.
    mark: String,
    run: PastRun,
}

/// All runs in a folder, and whether the next question finds their rows. `anew`: reads every folder again.
///
/// # Errors
/// If the folder cannot be read.
fn all(runs: &Path, anew: bool) -> io::Result<(Vec<PastRun>, bool)> {
    let file = runs.join(FILE);
    // What is broken, or of another program, is read again from its folder.
    let text = if anew { String::new() } else { fs::read_to_string(&file).unwrap_or_default() };
    let known =
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).map(|row: Row| (row.run.name.clone(), row));
    let mut known: BTreeMap<String, Row> = known.collect();
    let (mut kept, mut new) = (Vec::new(), Vec::new());
    for Found { name, mark } in listed(runs)? {
        match known.remove(&name).filter(|row| row.mark == mark) {
            Some(row) => kept.push(row),
            None => new.extend(read(runs, &name).map(|run| Row { mark, run })),
        }
    }
    let lines = |rows: &[Row]| -> io::Result<String> {
        rows.iter().map(|row| Ok(serde_json::to_string(row)? + "\n")).collect()
    };
    let written = if anew || !text.is_empty() && !text.ends_with('\n') || text.lines().count() > 2 * kept.len() + STALE
    {
        put_in_place(&file, (lines(&kept)? + &lines(&new)?).as_bytes())
    } else if new.is_empty() {
        Ok(())
    } else {
        let mut options = OpenOptions::new();
        options.create(true).append(true).open(&file).and_then(|mut file| file.write_all(lines(&new)?.as_bytes()))
    };
    Ok((kept.into_iter().chain(new).map(|row| row.run).collect(), written.is_ok()))
}
