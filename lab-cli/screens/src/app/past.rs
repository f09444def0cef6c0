//! Runs that are over.

use std::{collections::BTreeSet, path::PathBuf};

use super::cursor::{ListWindow, moved};
use crate::{
    keymap::Action,
    messages::{ListedRun, PastSummary},
    text_input::{Ended, TextInput},
};

/// The list.
#[derive(Debug, Default)]
pub(crate) struct Past {
    runs: Vec<ListedRun>,
    /// The index among those shown.
    pub at: usize,
    pub window: ListWindow,
    pub ticked: BTreeSet<PathBuf>,
    /// The words to look for.
    pub finding: Option<TextInput>,
    pub filter: String,
}

impl Past {
    pub fn set(&mut self, runs: Vec<ListedRun>) {
        self.ticked.retain(|folder| runs.iter().any(|run| run.folder == *folder));
        self.runs = runs;
        self.at = self.at.min(self.shown().len().saturating_sub(1));
    }

    /// There are none in this folder.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Runs that match the search, newest first.
    pub fn shown(&self) -> Vec<&ListedRun> {
        let wanted = self.finding.as_ref().map_or(&self.filter, |line| &line.text).to_lowercase();
        self.runs.iter().filter(|run| run.has(&wanted)).collect()
    }

    pub fn pressed(&mut self, action: Action) {
        match action {
            Action::Find => (self.finding, self.at) = (Some(TextInput::proposing(&*self.filter)), 0),
            Action::Tick => {
                let shown = self.shown();
                let run = shown.get(self.at).filter(|run| run.summary.is_some());
                let Some(folder) = run.map(|run| run.folder.clone()) else { return };
                if !self.ticked.remove(&folder) {
                    self.ticked.insert(folder);
                }
            }
            _ => self.at = moved(self.at, self.shown().len(), action).unwrap_or(self.at),
        }
    }

    pub fn found(&mut self, written: Ended) {
        self.filter = match written {
            Ended::Taken(text) => text,
            Ended::GivenUp => String::new(),
        };
        (self.finding, self.at) = (None, 0);
    }

    /// Ends the search, back to all: `false` if all are there.
    pub fn back(&mut self) -> bool {
        !std::mem::take(&mut self.filter).is_empty()
    }

    /// Runs that are ticked, else the one under the cursor; or the reason why that cannot be opened.
    pub fn chosen(&self) -> Result<Vec<PathBuf>, String> {
        if !self.ticked.is_empty() {
            return Ok(self.ticked.iter().cloned().collect());
        }
        match self.shown().get(self.at) {
            None => Ok(Vec::new()),
            Some(run) if run.summary.is_some() => Ok(vec![run.folder.clone()]),
            Some(run) => Err(format!(
                "{} has no summary: it was killed, it failed, or it still runs. What there is of it is its timeline.jsonl",
                run.folder.display()
            )),
        }
    }
}

impl ListedRun {
    /// Searches its name, its verdict, its world and its arms.
    fn has(&self, wanted: &str) -> bool {
        let mut searched = self.folder.to_string_lossy().into_owned();
        if let Some(PastSummary { verdict, winner, arms, virtual_time, .. }) = &self.summary {
            let world = if *virtual_time { "virtual" } else { "live" };
            searched += &format!("\n{verdict}\n{winner}\n{world}\n{}", arms.join("\n"));
        }
        searched.to_lowercase().contains(wanted)
    }
}
