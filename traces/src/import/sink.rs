//! Where importers put what they read, and how they tell of what they cannot read.

use std::{
    fmt::Display,
    io::{self, Read},
    ops::RangeInclusive,
};

use super::{
    Options,
    clocks::StampZone,
    entries::Entries,
    entry::{LogEntry, What},
    tally::{FileTally, Tally, count},
    timestamps::{Stamp, TIMES},
};
use crate::lines::{Line, Lines};

/// Longest line of a log, in bytes. A longer one is passed over and counted.
pub const LONGEST_LINE: usize = 1 << 20;

/// Longest name of a user or session that a source may have, in bytes: a hostile log must not fill memory with them.
const LONGEST_NAME: usize = 512;

/// Takes entries, and keeps the account of the file that they come from.
#[derive(Debug)]
pub struct Sink<'a> {
    /// What was asked for.
    pub options: &'a Options,
    /// The account of this file.
    pub file: FileTally,
    /// The number of this file in the import.
    pub number: u32,
    /// Its times are those of a calendar, and not counted from its own beginning.
    pub dated: bool,
    /// The earliest moment at which the line before can have been written: of lines that say their zone, and of those
    /// that do not.
    before: [i64; 2],
    tally: &'a mut Tally,
    entries: &'a mut Entries,
}

/// Why a file is not read on.
#[derive(Debug)]
pub enum Stop {
    /// It cannot be, and where: what was read stands.
    Source(String, io::Error),
    /// There is no room for what is read.
    Spool(io::Error),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Spool(error)
    }
}

/// What a line came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard {
    /// It said something.
    Understood,
    /// It is of a kind that says nothing of what users do.
    Beside,
    /// It should have said something, and this is wrong with it.
    Not(&'static str),
}

impl<'a> Sink<'a> {
    /// For one file.
    pub fn new(options: &'a Options, tally: &'a mut Tally, entries: &'a mut Entries) -> Self {
        let number = tally.count_files();
        Self { options, file: FileTally::default(), number, dated: true, before: [i64::MIN; 2], tally, entries }
    }

    /// One more entry.
    ///
    /// # Errors
    /// If a temporary file cannot be written.
    pub fn entry(&mut self, at: i64, session: &str, user: &str, what: What) -> io::Result<()> {
        if self.dated {
            self.entries.clocks.file(StampZone::Zoned, &self.file.name);
        }
        self.entries.zoned.push(entry(at, session, user, what))
    }

    /// One more entry, at a time that a stamp says. If that names no zone, the time is told once all files are read.
    ///
    /// # Errors
    /// If a temporary file cannot be written.
    pub fn by_stamp(&mut self, stamp: &Stamp, at: i64, session: &str, user: &str, what: What) -> io::Result<()> {
        // Sources that make up their names of sessions share them with no other.
        let shared = matches!(what, What::Login { .. }) && !session.contains('|');
        if !stamp.local {
            if shared {
                self.named(session, at);
            }
            return self.entry(at, session, user, what);
        }
        if shared {
            self.entries.clocks.local(session, at);
        }
        self.entries.clocks.file(StampZone::Local, &self.file.name);
        self.entries.local.push(entry(at, session, user, what))
    }

    /// A session's own name, and when something of it began, by a clock that says its zone.
    pub fn named(&mut self, session: &str, at: i64) {
        self.entries.clocks.zoned(session, at);
    }

    /// A line that was written at one moment by two clocks: one that says no zone, and one that does.
    pub fn both_stamps(&mut self, local: i64, zoned: i64) {
        self.entries.clocks.line(local, zoned);
    }

    /// A line, packet or entry was written at a moment in here: a stamp of whole seconds leaves a second open, and a
    /// line that tells of something long is written when that is over. One that must be older than the one before it
    /// stands out of order.
    pub fn written(&mut self, at: RangeInclusive<i64>) {
        self.in_order(0, at);
    }

    /// The same for a line with such a stamp. Two clocks are not compared.
    pub fn stamped(&mut self, stamp: &Stamp) {
        self.in_order(usize::from(stamp.local), stamp.span());
    }

    fn in_order(&mut self, clock: usize, at: RangeInclusive<i64>) {
        self.tally.out_of_order += u64::from(*at.end() < self.before[clock]);
        self.before[clock] = *at.start();
    }

    /// A connection on which nobody logged in.
    pub fn nobody(&mut self) {
        self.tally.without_user += 1;
    }

    /// A page that the rules leave out.
    pub fn dropped(&mut self, name: &str) {
        count(&mut self.tally.dropped, name);
    }

    /// A page that no rule knows.
    pub fn unknown(&mut self, name: &str) {
        count(&mut self.tally.unknown, name);
    }

    /// Counts a unit of the file: a line, a packet, an entry.
    pub fn heard(&mut self, heard: Heard, place: impl Display) {
        self.file.units += 1;
        match heard {
            Heard::Understood => self.file.understood += 1,
            Heard::Beside => self.file.beside += 1,
            Heard::Not(problem) => self.file.complain(&place, problem),
        }
    }

    /// Reads lines to the end. Empty ones say nothing; bytes that are no UTF-8 are replaced.
    ///
    /// # Errors
    /// If the source cannot be read on, or there is no room.
    pub fn lines<R: Read>(
        &mut self,
        from: R,
        mut hear: impl FnMut(&str, &mut Self) -> io::Result<Heard>,
    ) -> Result<(), Stop> {
        let mut lines = Lines::new(from, LONGEST_LINE);
        loop {
            let place = lines.place();
            let heard = match lines.next().map_err(|error| Stop::Source(place.to_string(), error))? {
                None => return Ok(()),
                Some(Line::TooLong) => Heard::Not("the line is over 1 MiB"),
                Some(Line::Whole(line)) => match String::from_utf8_lossy(line).trim_end() {
                    "" => continue,
                    text => hear(text, self)?,
                },
            };
            self.heard(heard, place);
        }
    }
}

fn entry(at: i64, session: &str, user: &str, what: What) -> LogEntry {
    LogEntry { at: at.clamp(*TIMES.start(), *TIMES.end()), session: cut(session), user: cut(user), what }
}

/// At most as long as a name may be.
fn cut(name: &str) -> String {
    let mut end = name.len().min(LONGEST_NAME);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    name[..end].to_owned()
}
