//! All entries of an import, sorted by time once the clock of each is known.

use std::{io, iter::Peekable};

use traces::spool::{Merge, Sorted as _, Spool};

use super::{clocks::Clocks, entry::LogEntry, timestamps::TIMES};

/// The entries of all files.
#[derive(Debug)]
pub struct Entries {
    /// Entries at known times.
    pub zoned: Spool<LogEntry>,
    /// Entries at times by stamps without a zone, read as UTC.
    pub local: Spool<LogEntry>,
    /// The comparison of clocks, which determines the zone of the latter.
    pub clocks: Clocks,
}

impl Entries {
    /// Sorts `part` entries at a time in memory.
    pub fn new(part: usize) -> Self {
        // Lines without a zone are few compared with others: these have the actions of sessions.
        Self { zoned: Spool::new(part), local: Spool::new(part / 4), clocks: Clocks::default() }
    }

    /// All entries, sorted. `ahead`: the offset of stamps without a zone from UTC, microseconds.
    pub fn sorted(self, ahead: i64) -> io::Result<InOrder> {
        Ok(InOrder { zoned: self.zoned.sorted()?.peekable(), local: self.local.sorted()?.peekable(), ahead })
    }
}

/// Entries in the order of time.
pub struct InOrder {
    zoned: Peekable<Merge<LogEntry>>,
    local: Peekable<Merge<LogEntry>>,
    ahead: i64,
}

impl Iterator for InOrder {
    type Item = io::Result<LogEntry>;

    fn next(&mut self) -> Option<Self::Item> {
        let key =
            |entry: Option<&io::Result<LogEntry>>| entry.map(|entry| entry.as_ref().map_or(i64::MIN, LogEntry::key));
        let local_first = match (key(self.zoned.peek()), key(self.local.peek())) {
            // A login comes before other entries of the same moment.
            (Some(zoned), Some(local)) => local.saturating_sub(self.ahead) <= zoned,
            (None, _) => true,
            (_, None) => false,
        };
        if !local_first {
            return self.zoned.next();
        }
        let brought =
            |entry: LogEntry| LogEntry { at: (entry.at - self.ahead).clamp(*TIMES.start(), *TIMES.end()), ..entry };
        Some(self.local.next()?.map(brought))
    }
}
