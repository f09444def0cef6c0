//! Takes lines of access logs that two files have, a log and its copy, once.
//!
//! Requests have no tags, and a user may send the same request twice within the second of a stamp. So equal lines are
//! counted in each file: the largest count of a file is the number of requests. Entries come in the order of time, and
//! at equal times file by file, so only the lines of one moment are kept.

use std::collections::HashMap;

use super::entry::{EventKind, LogEntry, LogLine};

/// The largest number of different lines of one moment that are kept. Duplicates of further lines are not detected.
const LINES: usize = 250_000;

/// The capacity of the table that is kept from one moment to the next.
const ROOM: usize = 4096;

/// Detects copies among entries, which come in the order of time.
#[derive(Debug, Default)]
pub struct Copies {
    at: i64,
    /// The lines of this moment.
    seen: HashMap<u64, Seen>,
    /// The number of copies.
    pub found: u64,
}

/// Counts of a line.
#[derive(Debug)]
struct Seen {
    /// The largest count in a file so far.
    most: u32,
    /// The last file that had it.
    file: u32,
    /// The count in that file.
    here: u32,
}

impl Copies {
    /// True if another file has this line at least as often as this file so far.
    pub fn has(&mut self, entry: &LogEntry) -> bool {
        let EventKind::Page(page) = &entry.what else { return false };
        let Some(LogLine { file, id }) = page.line else { return false };
        if self.at != entry.at {
            self.at = entry.at;
            self.seen.clear();
            self.seen.shrink_to(ROOM);
        }
        if self.seen.len() >= LINES && !self.seen.contains_key(&id) {
            return false;
        }
        let seen = self.seen.entry(id).or_insert(Seen { most: 0, file, here: 0 });
        if seen.file != file {
            (seen.file, seen.here) = (file, 0);
        }
        seen.here = seen.here.saturating_add(1);
        let copy = seen.here <= seen.most;
        seen.most = seen.most.max(seen.here);
        self.found += u64::from(copy);
        copy
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::{Cost, Page};

    fn line(at: i64, file: u32, id: u64) -> LogEntry {
        let page =
            Page { action: "a".into(), object: String::new(), line: Some(LogLine { file, id }), cost: Cost::default() };
        LogEntry { at, session: String::new(), user: "joe".into(), what: EventKind::Page(page) }
    }

    /// The lines that are taken.
    fn taken(lines: &[(i64, u32, u64)]) -> Vec<usize> {
        let mut copies = Copies::default();
        let taken = lines.iter().enumerate().filter(|(_, (at, file, id))| !copies.has(&line(*at, *file, *id)));
        let taken = taken.map(|(number, _)| number).collect::<Vec<_>>();
        assert_eq!(copies.found as usize, lines.len() - taken.len());
        taken
    }

    #[test]
    fn a_line_counts_as_often_as_the_file_has_it_that_has_it_most_often() {
        assert_eq!(taken(&[(1, 0, 7), (1, 0, 7), (1, 0, 8)]), [0, 1, 2], "one file");
        assert_eq!(taken(&[(1, 0, 7), (1, 0, 7), (1, 1, 7), (1, 1, 7), (1, 2, 7)]), [0, 1], "twice in each of two");
        assert_eq!(taken(&[(1, 0, 7), (1, 1, 7), (1, 1, 7), (1, 2, 7), (1, 2, 7)]), [0, 2], "the second has one more");
        assert_eq!(taken(&[(1, 0, 7), (2, 1, 7), (2, 2, 7), (3, 2, 7)]), [0, 1, 3], "at other times");
    }

    #[test]
    fn memory_is_bounded_in_a_moment_and_given_back_after_it() {
        let mut copies = Copies::default();
        let all = LINES as u64 + 1000;
        assert_eq!((0..all).filter(|id| copies.has(&line(1, 0, *id))).count(), 0);
        assert_eq!(copies.seen.len(), LINES);
        // Stored lines are still recognised, and the others count as new.
        assert_eq!((0..all).filter(|id| copies.has(&line(1, 1, *id))).count(), LINES);
        copies.has(&line(2, 1, 1));
        assert!(copies.seen.capacity() < 4 * ROOM, "{}", copies.seen.capacity());
    }
}
