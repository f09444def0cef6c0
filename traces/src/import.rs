//! From what servers write to a trace: one entry that finds out what each file is.
//!
//! Files become entries, which are sorted by time (out of memory if they are many); each session's commands
//! become actions by their grammar; actions become records under pseudonyms, are sorted again, and are written. Nothing
//! that a file holds makes this panic or fill memory: lines, names, literals, packets and the number of things that are
//! followed at a time all have bounds.

mod entry;
mod grammar;
mod rules;
mod sniff;
mod when;

mod capture;
mod chunker;
mod clocks;
mod conversation;
mod doubles;
mod emit;
mod entries;
mod events;
mod flow;
mod imap;
mod mail_log;
mod page;
mod rawlog;
mod roundcube;
mod sessions;
mod sink;
mod tally;
mod telemetry;
mod web;

use std::{
    collections::BTreeMap,
    fmt,
    io::{self, Read, Write},
    path::Path,
    time::Duration,
};

pub use rules::Rules;
pub use sniff::Format;
pub use tally::{FileTally, MoreFiles, Tally, ZoneTally};
pub use when::{Clock, zone_name, zone_seconds};

use crate::{
    pack,
    pseudonym::Pseudonyms,
    spool::{PART, Spool},
    trace::{Footer, Header, LONGEST_NAME, Record, Writer},
};
use clocks::Ahead;
use doubles::Doubles;
use emit::{Emit, Emitted};
use entries::Entries;
use sessions::Sessions;
use sink::{Sink, Stop};

/// How to import.
#[derive(Debug, Clone)]
pub struct Options {
    /// What the times of logs leave out.
    pub clock: Clock,
    /// What stands for users, sessions and folders.
    pub pseudonyms: Pseudonyms,
    /// From requests of web servers to actions.
    pub rules: Rules,
    /// A pause of a user that ends a session, in sources that have none. Thirty minutes is the custom of web statistics.
    pub gap: Duration,
    /// Longest pause after which a command still follows a SELECT directly, and is one page with it.
    pub window: Duration,
    /// The server's port, in packet captures.
    pub port: u16,
    /// How many entries are sorted in memory at a time.
    pub part: usize,
}

impl Options {
    /// As usual: the zone is found out, the pages of Arashi, half an hour, 20 ms, port 143.
    #[must_use]
    pub fn new(pseudonyms: Pseudonyms, year: i16) -> Self {
        Self {
            clock: Clock { zone: None, year },
            pseudonyms,
            rules: Rules::arashi(),
            gap: Duration::from_secs(30 * 60),
            window: Duration::from_millis(20),
            port: 143,
            part: PART,
        }
    }
}

/// Opens a file when its turn comes.
pub type Open<'o> = Box<dyn FnOnce() -> io::Result<Box<dyn Read + Send>> + 'o>;

/// A file to be imported.
pub struct Input<'o> {
    /// Its path: rawlogs are paired by it, and it may name a user.
    pub name: String,
    /// Opens it.
    pub open: Open<'o>,
}

impl fmt::Debug for Input<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Input").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Why nothing was imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// A file cannot be opened.
    #[error("{name}: {error}")]
    Open {
        /// Which.
        name: String,
        /// The cause.
        error: io::Error,
    },
    /// A file of a format that we do not know.
    #[error(
        "{0}: this is none of the formats that can be imported: Dovecot events (JSON), login and logout lines of Dovecot or \
         Courier, rawlogs, packet captures (pcap, pcapng), Cyrus telemetry, Roundcube's imap log, access logs (Common, \
         Combined), HAR, h2load timing scripts; each as it is, or packed with gzip or zstd"
    )]
    Unknown(String),
    /// A trace.
    #[error("{0}: this is a trace already: `lab trace inspect` and `lab trace fit` read it as it is")]
    Trace(String),
    /// A file that has nothing in it, and is the only one.
    #[error("{0}: it is empty")]
    Empty(String),
    /// How far stamps without a zone are from those with one.
    #[error("{0}; --zone says how far stamps without a zone are ahead of UTC: --zone +01:00")]
    Zone(String),
    /// Nothing in the files says what users did.
    #[error("nothing in these files says what users did{0}")]
    Nothing(String),
    /// There is no room for what is read.
    #[error("temporary files: {0}; TMPDIR names another folder for them")]
    Spool(io::Error),
    /// The trace cannot be written.
    #[error("the trace cannot be written: {0}")]
    Write(io::Error),
}

/// Imports files into one trace. `out` should be buffered; gives it back with the account of the import.
///
/// # Errors
/// If a file cannot be opened, nothing in the files says what users did, it cannot be told how their clocks differ, or there is no
/// room. A file that cannot be read to its end is no error: what stands before its break is taken, and the account says so; nor
/// is one that is empty or of no known format among others, which is passed over.
pub fn import<W: Write>(
    inputs: Vec<Input<'_>>,
    options: &Options,
    header: Header,
    out: W,
) -> Result<(W, Tally), ImportError> {
    let micros = |time: Duration| i64::try_from(time.as_micros()).unwrap_or(i64::MAX);
    let mut tally = Tally { window_us: options.window.as_micros().try_into().unwrap_or(u64::MAX), ..Tally::default() };
    let mut entries = Entries::new(options.part);
    read_all(inputs, options, &mut tally, &mut entries)?;
    let ahead = zone(&entries, options, &mut tally)?;
    let mut records = Spool::new(options.part);
    let emit = Emit { names: &options.pseudonyms, tally: &mut tally, out: &mut records };
    let mut sessions = Sessions::new(micros(options.gap), micros(options.window), emit);
    let mut doubles = Doubles::default();
    for entry in entries.sorted(ahead).map_err(ImportError::Spool)? {
        let taken = entry.and_then(|entry| doubles.take(entry, |entry| sessions.take(entry)));
        taken.map_err(ImportError::Spool)?;
    }
    doubles.finish(|entry| sessions.take(entry)).map_err(ImportError::Spool)?;
    sessions.finish().map_err(ImportError::Spool)?;
    tally.doubled = doubles.found;
    if tally.actions == 0 {
        return Err(ImportError::Nothing(why(&tally)));
    }
    write(records, header, options, tally, out)
}

/// Microseconds by which stamps without a zone are ahead of UTC, beyond the zone that was asked for.
fn zone(entries: &Entries, options: &Options, tally: &mut Tally) -> Result<i64, ImportError> {
    let found = match (entries.clocks.ahead(), options.clock.zone) {
        (Ok(found), _) => found,
        // Who says it knows.
        (Err(_), Some(_)) => None,
        (Err(problem), None) => return Err(ImportError::Zone(problem)),
    };
    let Some(Ahead { seconds, agree, of }) = found.filter(|found| found.seconds != 0) else { return Ok(0) };
    let asked = options.clock.zone;
    let found = zone_name(seconds + asked.unwrap_or(0));
    tally.zone = Some(ZoneTally { found, asked: asked.map(zone_name), agree, of });
    Ok(if asked.is_some() { 0 } else { i64::from(seconds) * 1_000_000 })
}

/// Writes records with offsets from the first.
fn write<W: Write>(
    records: Spool<Emitted>,
    mut header: Header,
    options: &Options,
    tally: Tally,
    out: W,
) -> Result<(W, Tally), ImportError> {
    let mut records = records.sorted().map_err(ImportError::Spool)?.peekable();
    let began = records.peek().and_then(|first| first.as_ref().ok()).map_or(0, |first| first.0.offset);
    // A timing script has no date: its times begin with 1970.
    let dated = i64::try_from(began).ok().filter(|at| *at > YEAR_1980);
    header.began = dated.and_then(when::shown);
    header.names = options.pseudonyms.names();
    let mut writer = Writer::new(out, &header).map_err(ImportError::Write)?;
    for record in records {
        let Emitted(record) = record.map_err(ImportError::Spool)?;
        writer.write(&Record { offset: record.offset - began, ..record }).map_err(ImportError::Write)?;
    }
    let footer = Footer { import: Some(tally.clone()), ..Footer::default() };
    let out = writer.finish(footer).map_err(ImportError::Write)?;
    Ok((out, tally))
}

const YEAR_1980: i64 = 315_532_800_000_000;

/// Bytes of a file that are looked at to tell its format.
const FIRST: usize = 64 << 10;

type Stream = Box<dyn Read + Send>;

fn read_all(
    inputs: Vec<Input<'_>>,
    options: &Options,
    tally: &mut Tally,
    entries: &mut Entries,
) -> Result<(), ImportError> {
    // Rawlogs whose other side has not come yet.
    let mut waiting: BTreeMap<String, (Option<Stream>, Option<Stream>)> = BTreeMap::new();
    let alone = inputs.len() == 1;
    for Input { name, open } in inputs {
        let failed = |error| ImportError::Open { name: name.clone(), error };
        let (mut stream, _) = pack::unpack(open().map_err(failed)?).map_err(failed)?;
        let first = pack::peek(&mut stream, FIRST).map_err(failed)?;
        let format = Format::of(&first);
        if let Some(reason) = nothing_in(&first, format) {
            match (alone, format) {
                (false, _) => tally.add(FileTally { skipped: Some(reason.to_owned()), ..file(&name, "") }),
                (true, Some(_)) => return Err(ImportError::Trace(name)),
                (true, None) if first.is_empty() => return Err(ImportError::Empty(name)),
                (true, None) => return Err(ImportError::Unknown(name)),
            }
            continue;
        }
        let stream: Stream = Box::new(io::Cursor::new(first).chain(stream));
        match (format, rawlog::Side::of(&name)) {
            (Some(Format::Rawlog), Some(side)) => {
                let pair = waiting.entry(side.stem.clone()).or_default();
                *(if side.client { &mut pair.0 } else { &mut pair.1 }) = Some(stream);
                if let (Some(_), Some(_)) = pair
                    && let Some((client, server)) = waiting.remove(&side.stem)
                {
                    one(&side.stem, Format::Rawlog, options, tally, entries, |sink| {
                        rawlog::read(&side.stem, client, server, sink)
                    })?;
                }
            }
            (Some(Format::Rawlog), None) => {
                let problem = "a rawlog's name ends with .in or .out, which says whose words it has: rename it";
                return Err(ImportError::Open { name, error: io::Error::new(io::ErrorKind::InvalidInput, problem) });
            }
            (format, _) => {
                let format = format.unwrap_or(Format::MailLog);
                one(&name, format, options, tally, entries, |sink| read(format, &name, stream, sink))?;
            }
        }
    }
    for (stem, (client, server)) in waiting {
        one(&stem, Format::Rawlog, options, tally, entries, |sink| rawlog::read(&stem, client, server, sink))?;
    }
    Ok(())
}

fn read(format: Format, name: &str, from: Stream, sink: &mut Sink<'_>) -> Result<(), Stop> {
    match format {
        Format::Capture => capture::read(from, sink),
        Format::Telemetry => telemetry::read(name, from, sink),
        Format::Roundcube => roundcube::read(from, sink),
        Format::AccessLog => web::access_log(from, sink),
        Format::Har => web::har(name, from, sink),
        Format::Script => web::script(from, sink),
        Format::MailLog | Format::Rawlog | Format::Trace => mail_log::read(from, sink),
    }
}

/// Reads one file, and keeps its account.
fn one(
    name: &str,
    format: Format,
    options: &Options,
    tally: &mut Tally,
    entries: &mut Entries,
    read: impl FnOnce(&mut Sink<'_>) -> Result<(), Stop>,
) -> Result<(), ImportError> {
    let mut sink = Sink::new(options, tally, entries);
    sink.file = file(name, format.name());
    match read(&mut sink) {
        Ok(()) => {}
        Err(Stop::Source(place, error)) => sink.file.cut = Some(format!("{place}: {error}")),
        Err(Stop::Spool(error)) => return Err(ImportError::Spool(error)),
    }
    let file = sink.file;
    tally.add(file);
    Ok(())
}

/// The account of a file of which nothing was read yet.
fn file(name: &str, format: &str) -> FileTally {
    let plain = Path::new(name).file_name().map_or(name.into(), |name| name.to_string_lossy());
    let name = plain.chars().filter(|c| !c.is_control()).take(LONGEST_NAME / 4).collect();
    FileTally { name, format: format.to_owned(), ..FileTally::default() }
}

/// Why a file is passed over, if it is: a log that was just rotated, a note, the trace of an earlier import.
fn nothing_in(first: &[u8], format: Option<Format>) -> Option<&'static str> {
    match format {
        _ if first.iter().all(u8::is_ascii_whitespace) => Some("it is empty"),
        Some(Format::Trace) => Some("it is a trace already"),
        Some(_) => None,
        None => Some("it is none of the formats that can be imported"),
    }
}

/// Files that an error names.
const SAID: usize = 8;

/// What the files were, if nothing came of them.
fn why(tally: &Tally) -> String {
    let of_file = |file: &FileTally| {
        if let Some(reason) = &file.skipped {
            return format!("; {}: {reason}", file.name);
        }
        let example = file.examples.first().or(file.cut.as_ref());
        let example = example.map_or_else(String::new, |example| format!(", first at {example}"));
        format!(
            "; {} ({}): {} units, of which {} say nothing of users and {} were not understood{example}",
            file.name, file.format, file.units, file.beside, file.not_understood
        )
    };
    let unknown: u64 = tally.unknown.values().sum();
    let rules = if unknown > 0 {
        format!("; no rule knows {unknown} requests: --rules names a table that does")
    } else {
        String::new()
    };
    let more = tally.more.as_ref().map_or_else(String::new, |more| format!("; and {} more files", more.files));
    tally.files.iter().take(SAID).map(of_file).collect::<String>() + &more + &rules
}

#[cfg(test)]
mod tests;
