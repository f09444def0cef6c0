use std::collections::{BTreeSet, HashSet};

/// Closed users: those who stay until the plan lets them go.
#[derive(Debug, Default)]
pub(super) struct Population {
    /// A tree, since a table of a hundred thousand would stop everything for some milliseconds whenever it grows.
    present: BTreeSet<u64>,
    /// Of these, the ones that are to leave as soon as their request has ended.
    leaving: HashSet<u64>,
    /// How many have left by themselves.
    left_early: u64,
}

impl Population {
    pub(super) fn arrives(&mut self, user: u64) {
        self.present.insert(user);
    }

    /// The plan lets this user go. One that has left by itself is not waited for: its number would never be taken out again.
    pub(super) fn let_go(&mut self, user: u64) {
        if self.present.contains(&user) {
            self.leaving.insert(user);
        }
    }

    pub(super) fn is_leaving(&self, user: u64) -> bool {
        !self.leaving.is_empty() && self.leaving.contains(&user)
    }

    /// The user leaves now; `over`: with the end of the run.
    pub(super) fn leaves(&mut self, user: u64, over: bool) {
        let was_to_stay = self.present.remove(&user);
        let was_let_go = self.leaving.remove(&user);
        self.left_early += u64::from(was_to_stay && !was_let_go && !over);
    }

    pub(super) fn left_early(&self) -> u64 {
        self.left_early
    }

    #[cfg(test)]
    pub(super) fn counts(&self) -> (usize, usize) {
        (self.present.len(), self.leaving.len())
    }
}
