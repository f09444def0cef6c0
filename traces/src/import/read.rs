//! Reads the files of an import, each by its format.

use std::{
    collections::{BTreeMap, VecDeque},
    io::{self, Read},
    path::Path,
};

use super::{
    capture,
    entries::Entries,
    error::ImportError,
    mail_log,
    options::{Input, Open, Options},
    rawlog, roundcube,
    sink::{Sink, Stop},
    telemetry, web,
};
use crate::{
    format::Format,
    pack,
    tally::{FileTally, Tally},
    trace::LONGEST_NAME,
    web::BYTE_ORDER_MARK,
};

/// The number of bytes of a file from which its format is detected.
const FIRST: usize = 64 << 10;

type Stream = Box<dyn Read + Send>;

/// Reads all files into `entries`, and keeps their accounts.
///
/// # Errors
/// If a file cannot be opened, a single file has no content, or storage is full.
pub fn all(
    inputs: Vec<Input<'_>>,
    options: &Options,
    tally: &mut Tally,
    entries: &mut Entries,
) -> Result<(), ImportError> {
    let alone = inputs.len() == 1;
    for (first, second) in together(inputs) {
        let (mut sides, mut stem) = ([None, None], String::new());
        for Input { name, open } in [Some(first), second].into_iter().flatten() {
            let Some((format, stream)) = opened(&name, open, alone, tally)? else { continue };
            match (format, rawlog::Side::of(&name)) {
                (Format::Rawlog, Some(side)) => {
                    sides[usize::from(!side.client)] = Some(stream);
                    stem = side.stem;
                }
                (Format::Rawlog, None) => {
                    let problem = "a rawlog's name ends with .in or .out, which says whose words it has: rename it";
                    return Err(ImportError::Open {
                        name,
                        error: io::Error::new(io::ErrorKind::InvalidInput, problem),
                    });
                }
                (format, _) => one(&name, format, options, tally, entries, |sink| read(format, &name, stream, sink))?,
            }
        }
        let [client, server] = sides;
        if client.is_some() || server.is_some() {
            one(&stem, Format::Rawlog, options, tally, entries, |sink| rawlog::read(&stem, client, server, sink))?;
        }
    }
    Ok(())
}

/// Groups files that are read together: the two sides of a rawlog, by their names. All others are read alone. A file is
/// opened only when it is read, so that thousands of sessions need no more descriptors than one.
fn together(inputs: Vec<Input<'_>>) -> Vec<(Input<'_>, Option<Input<'_>>)> {
    let mut together: Vec<(Input<'_>, Option<Input<'_>>)> = Vec::with_capacity(inputs.len());
    // Files whose other side has not come yet, by stem and side. A side may occur twice, compressed and not.
    let mut waiting: BTreeMap<(String, bool), VecDeque<usize>> = BTreeMap::new();
    for input in inputs {
        if let Some(rawlog::Side { stem, client }) = rawlog::Side::of(&input.name) {
            let other = waiting.get_mut(&(stem.clone(), client)).and_then(VecDeque::pop_front);
            if let Some((_, second)) = other.and_then(|at| together.get_mut(at)) {
                *second = Some(input);
                continue;
            }
            waiting.entry((stem, !client)).or_default().push_back(together.len());
        }
        together.push((input, None));
    }
    together
}

/// Opens a file and detects its format; `None`: the file is skipped, and the account says why.
fn opened(name: &str, open: Open<'_>, alone: bool, tally: &mut Tally) -> Result<Option<(Format, Stream)>, ImportError> {
    let failed = |error| ImportError::Open { name: name.to_owned(), error };
    let (first, rest) = begun(open().map_err(failed)?);
    let format = Format::of(&first);
    if let Some(reason) = nothing_in(&first, format) {
        let name = name.to_owned();
        match (alone, format, rest) {
            (true, Some(_), _) => return Err(ImportError::Trace(name)),
            (true, None, Err(error)) => return Err(ImportError::Open { name, error }),
            (true, None, _) if first.is_empty() => return Err(ImportError::Empty(name)),
            (true, None, _) => return Err(ImportError::Unknown(name)),
            (false, None, Err(error)) => tally.add(skipped(&name, format!("{BROKEN}: {error}"))),
            (false, ..) => tally.add(skipped(&name, reason.to_owned())),
        }
        return Ok(None);
    }
    let rest = rest.unwrap_or_else(|error| Box::new(Broken(Some(error))));
    Ok(Some((format.unwrap_or(Format::MailLog), Box::new(io::Cursor::new(first).chain(rest)))))
}

/// The first bytes of a file, unpacked, and the rest of the stream or the reason that there is none.
fn begun(file: Box<dyn Read + Send>) -> (Vec<u8>, io::Result<Stream>) {
    let mut stream = match pack::unpack(file) {
        Ok((stream, _)) => stream,
        Err(error) => return (Vec::new(), Err(error)),
    };
    let (mut first, error) = pack::beginning(&mut stream, FIRST);
    if first.starts_with(BYTE_ORDER_MARK) {
        first.drain(..BYTE_ORDER_MARK.len());
    }
    (first, error.map_or(Ok(stream), Err))
}

/// A stream that is cut: it returns the error.
pub(super) struct Broken(pub(super) Option<io::Error>);

impl Read for Broken {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(self.0.take().unwrap_or_else(|| io::ErrorKind::UnexpectedEof.into()))
    }
}

/// The reason for skipping a file whose first bytes cannot be unpacked.
const BROKEN: &str = "it breaks off before anything of it can be read";

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

/// The account of a file before it is read.
fn file(name: &str, format: &str) -> FileTally {
    let plain = Path::new(name).file_name().map_or(name.into(), |name| name.to_string_lossy());
    let name = plain.chars().filter(|c| !c.is_control()).take(LONGEST_NAME / 4).collect();
    FileTally { name, format: format.to_owned(), ..FileTally::default() }
}

/// The account of a skipped file.
fn skipped(name: &str, reason: String) -> FileTally {
    FileTally { skipped: Some(reason), ..file(name, "") }
}

/// The reason for skipping a file, if there is one: a log that was just rotated, a note, the trace of an earlier
/// import.
fn nothing_in(first: &[u8], format: Option<Format>) -> Option<&'static str> {
    match format {
        _ if first.iter().all(u8::is_ascii_whitespace) => Some("it is empty"),
        Some(Format::Trace) => Some("it is a trace already"),
        Some(_) => None,
        None => Some("it is none of the formats that can be imported"),
    }
}
