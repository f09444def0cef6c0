use std::collections::{BTreeSet, HashSet};

/// Closed users, which stay until the plan lets them leave.
#[derive(Debug, Default)]
pub(super) struct Population {
    /// A tree, since a hash table of a hundred thousand would stop the thread for some milliseconds whenever it grows.
    present: BTreeSet<u64>,
    /// Those among them that leave as soon as their request has ended.
    leaving: HashSet<u64>,
    /// The number of users that left on their own.
    left_early: u64,
}

impl Population {
    pub(super) fn arrives(&mut self, user: u64) {
        self.present.insert(user);
    }

    /// Lets this user leave, as planned. A user that has left on its own is not recorded: its number would never be
    /// removed again.
    pub(super) fn let_go(&mut self, user: u64) {
        if self.present.contains(&user) {
            self.leaving.insert(user);
        }
    }

    pub(super) fn is_leaving(&self, user: u64) -> bool {
        !self.leaving.is_empty() && self.leaving.contains(&user)
    }

    /// Removes a user that leaves now; `over`: with the end of the run.
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
