//! Closed users of a group, the last one to come on top.

/// Users and their accounts in order of arrival. Who came in a row, with accounts in a row, is one run: each of many processes walks
/// the users of all.
#[derive(Debug, Clone, Default)]
pub(super) struct Present {
    runs: Vec<Run>,
    len: u64,
    /// The number of users that ever came.
    pub(super) ever: u64,
}

#[derive(Debug, Clone, Copy)]
struct Run {
    user: u64,
    slot: u32,
    count: u32,
}

impl Present {
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    pub(super) fn push(&mut self, user: u64, slot: u32) {
        self.len += 1;
        self.ever += 1;
        match self.runs.last_mut() {
            Some(run) if run.goes_on_with(user, slot) => run.count += 1,
            _ => self.runs.push(Run { user, slot, count: 1 }),
        }
    }

    /// The last user, who leaves, and its account.
    pub(super) fn pop(&mut self) -> Option<(u64, u32)> {
        let run = self.runs.last_mut()?;
        self.len -= 1;
        run.count -= 1;
        let left = (run.user + u64::from(run.count), run.slot.wrapping_add(run.count));
        if run.count == 0 {
            self.runs.pop();
        }
        Some(left)
    }
}

impl Run {
    fn goes_on_with(self, user: u64, slot: u32) -> bool {
        self.count < u32::MAX && (self.user + u64::from(self.count), self.slot.wrapping_add(self.count)) == (user, slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_to_come_is_the_first_to_leave_in_runs_or_not() {
        let came = [(0, 0), (1, 1), (2, 2), (5, 3), (6, 9), (7, 10), (9, 11)];
        let mut present = Present::default();
        came.iter().for_each(|&(user, slot)| present.push(user, slot));
        assert_eq!((present.runs.len(), present.len(), present.ever), (4, 7, 7));
        let mut gone: Vec<_> = std::iter::from_fn(|| present.pop()).collect();
        gone.reverse();
        assert_eq!(gone, came);
        assert_eq!((present.pop(), present.len(), present.ever), (None, 0, 7));
    }
}
