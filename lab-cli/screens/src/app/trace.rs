//! The screen of a trace: the way from page to page that is looked at, and the panel that is alone.

use analysis::text::scrubbed;
use traces::{
    inspect::{Inspected, PausesOf},
    trace::ACTIONS,
};

use crate::{keymap::Action, messages::OpenTrace, panel::Part};

#[derive(Debug)]
pub(crate) struct Trace {
    pub seen: Inspected,
    /// Lines of the account, scrubbed.
    pub account: Vec<String>,
    /// Pages that the matrix has.
    pub states: Vec<&'static str>,
    /// The way that is looked at: row and column of the matrix.
    pub row: usize,
    pub column: usize,
    /// This panel has the screen for itself.
    pub alone: Option<Part>,
}

impl Trace {
    pub fn new(OpenTrace { seen, account }: OpenTrace) -> Self {
        let known = |state: &&str| seen.transitions.iter().any(|(from, to, _)| from == state || to == state);
        let states: Vec<&'static str> = ACTIONS.into_iter().filter(known).collect();
        let at = |state: &str| states.iter().position(|known| *known == state).unwrap_or(0);
        // The most frequent way first.
        let busiest = seen.transitions.iter().max_by_key(|(_, _, count)| *count);
        let (row, column) = busiest.map_or((0, 0), |(from, to, _)| (at(from), at(to)));
        let account = account.lines().map(scrubbed).collect();
        Self { seen, account, states, row, column, alone: None }
    }

    pub fn pressed(&mut self, action: Action) {
        let last = self.states.len().saturating_sub(1);
        match action {
            Action::Up => self.row = self.row.saturating_sub(1),
            Action::Down => self.row = (self.row + 1).min(last),
            Action::Left => self.column = self.column.saturating_sub(1),
            Action::Right => self.column = (self.column + 1).min(last),
            Action::Part(part) => self.alone = Some(part).filter(|_| self.alone != Some(part)),
            _ => {}
        }
    }

    /// All panels again; false if they are all there already.
    pub fn back(&mut self) -> bool {
        self.alone.take().is_some()
    }

    /// The way that is looked at.
    pub fn way(&self) -> Option<(&'static str, &'static str)> {
        Some((*self.states.get(self.row)?, *self.states.get(self.column)?))
    }

    /// The number of times that a way was gone.
    pub fn count(&self, from: &str, to: &str) -> u64 {
        self.seen.transitions.iter().find(|(f, t, _)| f == from && t == to).map_or(0, |(_, _, count)| *count)
    }

    /// The number of times that a page was left.
    pub fn left(&self, from: &str) -> u64 {
        self.seen.transitions.iter().filter(|(f, _, _)| f == from).map(|(_, _, count)| count).sum()
    }

    /// Pauses after a page, on all ways or on this one.
    pub fn pauses(&self, from: &str, to: Option<&str>) -> Option<&PausesOf> {
        self.seen.pauses_by.iter().find(|by| by.from == from && by.to.as_deref() == to)
    }
}
