//! Runs that are over.

use std::{collections::BTreeSet, path::PathBuf};

use super::{ListedRun, cursor::moved};
use crate::tui::keymap::Action;

/// The list.
#[derive(Debug, Default)]
pub(in crate::tui) struct Past {
    pub runs: Vec<ListedRun>,
    pub at: usize,
    pub ticked: BTreeSet<PathBuf>,
}

impl Past {
    pub fn set(&mut self, runs: Vec<ListedRun>) {
        self.at = self.at.min(runs.len().saturating_sub(1));
        self.ticked.retain(|folder| runs.iter().any(|run| run.folder == *folder));
        self.runs = runs;
    }

    pub fn pressed(&mut self, action: Action) {
        match action {
            Action::Tick => {
                let Some(run) = self.runs.get(self.at).filter(|run| run.summary.is_some()) else { return };
                if !self.ticked.remove(&run.folder) {
                    self.ticked.insert(run.folder.clone());
                }
            }
            _ => self.at = moved(self.at, self.runs.len(), action).unwrap_or(self.at),
        }
    }

    /// Those that are ticked, else the one under the cursor.
    pub fn chosen(&self) -> Vec<PathBuf> {
        if !self.ticked.is_empty() {
            return self.ticked.iter().cloned().collect();
        }
        self.runs.get(self.at).filter(|run| run.summary.is_some()).map(|run| run.folder.clone()).into_iter().collect()
    }
}
