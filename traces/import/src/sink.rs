//! The destination of importers: it takes entries, and reports of what could not be read.

use std::{
    fmt::Display,
    io::{self, Read},
    ops::RangeInclusive,
};

use traces::{
    lines::{Line, LinePosition, Lines},
    names::count,
    tally::{FileTally, Tally},
};

use super::{
    clocks::StampZone,
    entries::Entries,
    entry::{EventKind, LogEntry},
    options::Options,
    timestamps::{Stamp, TIMES},
    web::ContainerLog,
};

/// The longest line of a log, bytes. A longer one is skipped and counted.
pub const LONGEST_LINE: usize = 1 << 20;

/// The longest name of a user or session in a source, bytes: a hostile log must not fill memory with names.
const LONGEST_NAME: usize = 512;

/// Takes the entries of one file, and keeps its account.
#[derive(Debug)]
pub struct Sink<'a> {
    /// The options of the import.
    pub options: &'a Options,
    /// The account of this file.
    pub file: FileTally,
    /// The number of this file in the import.
    pub number: u32,
    /// True if its times are dates, and not offsets from its own beginning.
    pub dated: bool,
    /// The earliest moment at which the previous line can have been written: of lines with a zone, and of lines
    /// without.
    before: [i64; 2],
    tally: &'a mut Tally,
    entries: &'a mut Entries,
}

/// The reason that a file is not read on.
#[derive(Debug)]
pub enum Stop {
    /// The source failed, at this position: entries before it are kept.
    Source(String, io::Error),
    /// Storage for entries failed.
    Spool(io::Error),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Spool(error)
    }
}

/// The result of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineResult {
    /// It was understood.
    Understood,
    /// It is of a kind that carries nothing about users' actions.
    Beside,
    /// It should have been understood, and has this problem.
    Not(&'static str),
}

impl<'a> Sink<'a> {
    /// A sink for one file.
    pub fn new(options: &'a Options, tally: &'a mut Tally, entries: &'a mut Entries) -> Self {
        let number = tally.count_files();
        Self { options, file: FileTally::default(), number, dated: true, before: [i64::MIN; 2], tally, entries }
    }

    /// Takes an entry.
    ///
    /// # Errors
    /// If a temporary file cannot be written.
    pub fn entry(&mut self, at: i64, session: &str, user: &str, what: EventKind) -> io::Result<()> {
        if self.dated {
            self.entries.clocks.file(StampZone::Zoned, &self.file.name);
        }
        self.entries.zoned.push(entry(at, session, user, what))
    }

    /// Takes an entry at the time of a stamp. If the stamp has no zone, the time is determined after all files are
    /// read.
    ///
    /// # Errors
    /// If a temporary file cannot be written.
    pub fn by_stamp(&mut self, stamp: &Stamp, at: i64, session: &str, user: &str, what: EventKind) -> io::Result<()> {
        // Sources that invent their session names share them with no other.
        let shared = matches!(what, EventKind::Login { .. }) && !session.contains('|');
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

    /// Notes a session's own name, and the start of one of its events by a clock with a zone.
    pub fn named(&mut self, session: &str, at: i64) {
        self.entries.clocks.zoned(session, at);
    }

    /// Notes a line that two clocks stamped at one moment: one without a zone, and one with.
    pub fn both_stamps(&mut self, local: i64, zoned: i64) {
        self.entries.clocks.line(local, zoned);
    }

    /// Notes the interval in which a line, packet or entry was written: a stamp in whole seconds leaves a second open,
    /// and a line about a long event is written when that is over. A line that must be older than the previous one is
    /// out of order.
    pub fn written(&mut self, at: RangeInclusive<i64>) {
        self.in_order(0, at);
    }

    /// Notes a line with such a stamp. Times of two clocks are not compared.
    pub fn stamped(&mut self, stamp: &Stamp) {
        self.in_order(usize::from(stamp.local), stamp.span());
    }

    fn in_order(&mut self, clock: usize, at: RangeInclusive<i64>) {
        self.tally.out_of_order += u64::from(*at.end() < self.before[clock]);
        self.before[clock] = *at.start();
    }

    /// Counts a connection without a login.
    pub fn nobody(&mut self) {
        self.tally.without_user += 1;
    }

    /// Counts a page that the rules drop.
    pub fn dropped(&mut self, name: &str) {
        count(&mut self.tally.dropped, name);
    }

    /// Counts a page that no rule matches.
    pub fn unknown(&mut self, name: &str) {
        count(&mut self.tally.unknown, name);
    }

    /// Counts a unit of the file: a line, a packet, an entry.
    pub fn heard(&mut self, heard: LineResult, place: impl Display) {
        self.file.units += 1;
        match heard {
            LineResult::Understood => self.file.understood += 1,
            LineResult::Beside => self.file.beside += 1,
            LineResult::Not(problem) => self.file.complain(&place, problem),
        }
    }

    /// Reads lines to the end, those that a container runtime keeps without what it adds. Empty ones are ignored; bytes
    /// that are not UTF-8 are replaced.
    ///
    /// # Errors
    /// If the source cannot be read on, or storage is full.
    pub fn lines<R: Read>(
        &mut self,
        from: R,
        mut hear: impl FnMut(&str, &mut Self) -> io::Result<LineResult>,
    ) -> Result<(), Stop> {
        let mut container = ContainerLog::default();
        let end = self.raw_lines(from, |line, sink| {
            let line = String::from_utf8_lossy(line);
            match container.line(&line).as_deref().map(str::trim_end) {
                None | Some("") => Ok(None),
                Some(text) => hear(text, sink).map(Some),
            }
        })?;
        while let Some(text) = container.rest() {
            let heard = hear(text.trim_end(), self)?;
            self.heard(heard, end);
        }
        Ok(())
    }

    /// Reads lines to the end, and returns that. Those of which nothing is heard are ignored.
    ///
    /// # Errors
    /// If the source cannot be read on, or storage is full.
    pub fn raw_lines<R: Read>(
        &mut self,
        from: R,
        mut hear: impl FnMut(&[u8], &mut Self) -> io::Result<Option<LineResult>>,
    ) -> Result<LinePosition, Stop> {
        let mut lines = Lines::new(from, LONGEST_LINE);
        loop {
            let place = lines.place();
            let heard = match lines.next().map_err(|error| Stop::Source(place.to_string(), error))? {
                None => return Ok(place),
                Some(Line::TooLong) => Some(LineResult::Not("the line is over 1 MiB")),
                Some(Line::Whole(line)) => hear(line, self)?,
            };
            if let Some(heard) = heard {
                self.heard(heard, place);
            }
        }
    }
}

fn entry(at: i64, session: &str, user: &str, what: EventKind) -> LogEntry {
    LogEntry { at: at.clamp(*TIMES.start(), *TIMES.end()), session: cut(session), user: cut(user), what }
}

/// Cuts a name to the longest length.
fn cut(name: &str) -> String {
    let mut end = name.len().min(LONGEST_NAME);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    name[..end].to_owned()
}
