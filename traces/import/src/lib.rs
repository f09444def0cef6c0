//! Imports logs to a trace: the format of each file is detected.
//!
//! Files become entries, which are sorted by time (with temporary files if they are many); each session's commands
//! become actions by their grammar; actions become records under pseudonyms, are sorted again, and are written. No
//! content of a file makes this panic or fill memory: lines, names, literals, packets and the number of sessions and
//! connections followed at a time all have bounds.
#![warn(missing_docs)]

mod chunker;
mod clocks;
mod conversation;
mod copies;
mod duplicates;
mod emit;
mod entries;
mod entry;
mod error;
mod events;
mod flow;
mod grammar;
mod imap_commands;
mod importer;
mod importers;
mod open_session;
mod options;
mod page;
mod read;
mod rules;
mod sessions;
mod sink;
mod sniff;
mod timestamps;
pub mod web;

use std::{io::Write, time::Duration};

use traces::{
    spool::Spool,
    spread::UserRequests,
    tally::{FileTally, Tally, ZoneTally},
    trace::{Footer, Header, Record, Writer},
};

pub use error::ImportError;
pub use importers::Format;
pub use options::{Input, Open, Options};
pub use rules::Rules;
pub use timestamps::{Clock, zone_name, zone_seconds};

use clocks::Ahead;
use copies::Copies;
use duplicates::Duplicates;
use emit::{Emit, Emitted};
use entries::Entries;
use sessions::SessionAssembler;

/// Imports files into one trace. `out` should be buffered; returns it with the account of the import.
///
/// # Errors
/// If a file cannot be opened, the files have no actions of users, the difference of their clocks is ambiguous, or
/// storage is full. Not an error: a file that cannot be read to its end (the part before its break is imported, and the
/// account says so), and a file among others that is empty or of no known format (it is skipped).
pub fn import<W: Write>(
    inputs: Vec<Input<'_>>,
    options: &Options,
    header: Header,
    out: W,
) -> Result<(W, Tally), ImportError> {
    let micros = |time: Duration| i64::try_from(time.as_micros()).unwrap_or(i64::MAX);
    let mut tally = Tally { window_us: options.window.as_micros().try_into().unwrap_or(u64::MAX), ..Tally::default() };
    let mut entries = Entries::new(options.part);
    read::all(inputs, options, &mut tally, &mut entries)?;
    let ahead = zone(&entries, options, &mut tally)?;
    let mut records = Spool::new(options.part);
    let by_user = UserRequests::default();
    let emit = Emit { names: &options.pseudonyms, tally: &mut tally, out: &mut records, by_user };
    let mut sessions = SessionAssembler::new(micros(options.gap), micros(options.window), emit);
    let (mut doubles, mut copies) = (Duplicates::default(), Copies::default());
    for entry in entries.sorted(ahead).map_err(ImportError::Spool)? {
        let entry = entry.map_err(ImportError::Spool)?;
        if !copies.has(&entry) {
            doubles.take(entry, |entry| sessions.take(entry)).map_err(ImportError::Spool)?;
        }
    }
    doubles.finish(|entry| sessions.take(entry)).map_err(ImportError::Spool)?;
    sessions.finish().map_err(ImportError::Spool)?;
    (tally.doubled, tally.doubled_requests) = (doubles.found, copies.found);
    if tally.actions == 0 {
        return Err(ImportError::Nothing(why(&tally)));
    }
    write(records, header, options, tally, out)
}

/// The offset of stamps without a zone from UTC, beyond the zone in the options, microseconds.
fn zone(entries: &Entries, options: &Options, tally: &mut Tally) -> Result<i64, ImportError> {
    let found = match (entries.clocks.ahead(options.clock.zone.unwrap_or(0)), options.clock.zone) {
        (Ok(found), _) => found,
        // The zone in the options takes precedence.
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
    // A timing script has no date: its times count from 1970.
    let dated = i64::try_from(began).ok().filter(|at| *at > YEAR_1980);
    header.began = dated.and_then(timestamps::shown);
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

/// The largest number of files that an error names.
const SAID: usize = 8;

/// The formats of the files, for an import without records.
fn why(tally: &Tally) -> String {
    let of_file = |file: &FileTally| {
        if let Some(reason) = &file.skipped {
            return format!("; {}: {reason}", file.name);
        }
        let example = file.examples.first().or(file.cut.as_ref());
        let example = example.map_or_else(String::new, |example| format!(", first at {example}"));
        format!(
            "; {} ({}): records: {}, of them {} without user activity and {} not understood{example}",
            file.name, file.format, file.units, file.beside, file.not_understood
        )
    };
    let unknown: u64 = tally.unknown.values().sum();
    let rules = if unknown > 0 {
        format!("; {unknown} requests match no rule: name a table of rules for them with --rules")
    } else {
        String::new()
    };
    let more = tally.more.as_ref().map_or_else(String::new, |more| format!("; and {} more files", more.files));
    tally.files.iter().take(SAID).map(of_file).collect::<String>() + &more + &rules
}

#[cfg(test)]
mod tests;
