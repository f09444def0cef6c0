//! The cursor in a list.

use std::cell::Cell;

use crate::keymap::Action;

/// The part of a list that is shown: it moves once the cursor would leave it. Drawing finds it, so that it follows the room.
#[derive(Debug, Clone, Default)]
pub(crate) struct ListWindow(Cell<usize>);

impl ListWindow {
    /// The first of `count` rows that is shown of so many that have room, with the one at `at` among them.
    pub fn first(&self, at: usize, count: usize, room: usize) -> usize {
        let least = (at + 1).saturating_sub(room);
        let first = self.0.get().clamp(least, at.max(least)).min(count.saturating_sub(room));
        self.0.set(first);
        first
    }
}

/// Rows of a page.
const PAGE: usize = 10;

/// The row to which this leads from row `at` of `count`; `None`: it does not move the cursor.
pub(super) fn moved(at: usize, count: usize, action: Action) -> Option<usize> {
    let last = count.saturating_sub(1);
    Some(match action {
        Action::Up => at.saturating_sub(1),
        Action::Down => (at + 1).min(last),
        Action::PageUp => at.saturating_sub(PAGE),
        Action::PageDown => (at + PAGE).min(last),
        Action::First => 0,
        Action::Last => last,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_moves_when_the_cursor_leaves_it() {
        let window = ListWindow::default();
        let firsts = [0, 9, 10, 24, 23, 15, 14, 0].map(|at| window.first(at, 25, 10));
        assert_eq!(firsts, [0, 0, 1, 15, 15, 15, 14, 0]);
        assert_eq!((window.first(3, 4, 10), window.first(3, 4, 0)), (0, 4), "all fit, and nothing does");
    }

    #[test]
    fn it_stays_within_the_list() {
        let to = |at, action| moved(at, 25, action);
        assert_eq!([to(0, Action::Up), to(24, Action::Down), to(3, Action::Down)], [Some(0), Some(24), Some(4)]);
        assert_eq!([to(12, Action::PageUp), to(12, Action::PageDown)], [Some(2), Some(22)]);
        assert_eq!([to(5, Action::PageUp), to(20, Action::PageDown)], [Some(0), Some(24)]);
        assert_eq!([to(7, Action::First), to(7, Action::Last), to(7, Action::Tick)], [Some(0), Some(24), None]);
        assert_eq!(moved(0, 0, Action::Last), Some(0), "nothing to move over");
    }
}
