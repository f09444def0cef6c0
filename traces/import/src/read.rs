//! Reads the files of an import, each by its format.

use std::{
    collections::{BTreeMap, VecDeque},
    io::{self, Read},
    path::Path,
};

use traces::{
    pack,
    tally::{FileTally, Tally},
    trace::LONGEST_NAME,
};

use super::{
    entries::Entries,
    error::ImportError,
    importer::{Importer, Reads, Stream},
    importers::{Format, IMPORTERS, rawlog},
    options::{Input, Open, Options},
    sink::{Sink, Stop},
    web::BYTE_ORDER_MARK,
};

/// The number of bytes of a file from which its format is detected.
const FIRST: usize = 64 << 10;

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
        let (mut sides, mut pair) = ([None, None], None);
        for Input { name, open } in [Some(first), second].into_iter().flatten() {
            let Some((importer, stream)) = opened(&name, open, alone, tally)? else { continue };
            match (importer.reads, rawlog::side(&name)) {
                (Reads::Sides(read), Some((stem, client))) => {
                    sides[usize::from(!client)] = Some(stream);
                    pair = Some((importer, read, stem));
                }
                (Reads::Sides(_), None) => {
                    let problem = "a rawlog's name ends with .in or .out, which says whose words it has: rename it";
                    let error = io::Error::new(io::ErrorKind::InvalidInput, problem);
                    return Err(ImportError::Open { name, error });
                }
                (Reads::Log(read), _) => {
                    one(&name, importer, options, tally, entries, |sink| read(&name, stream, sink))?;
                }
            }
        }
        if let Some((importer, read, stem)) = pair {
            one(&stem, importer, options, tally, entries, |sink| read(&stem, sides, sink))?;
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
        if let Some((stem, client)) = rawlog::side(&input.name) {
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
fn opened(
    name: &str,
    open: Open<'_>,
    alone: bool,
    tally: &mut Tally,
) -> Result<Option<(&'static Importer, Stream)>, ImportError> {
    let (first, rest) = begun(open().map_err(|error| ImportError::Open { name: name.to_owned(), error })?);
    let named = name.to_owned();
    let is_blank = first.iter().all(u8::is_ascii_whitespace);
    let (reason, problem) = match (Format::of(&first), rest) {
        _ if first.starts_with(b"{\"trace\":") => ("it is a trace already".to_owned(), ImportError::Trace(named)),
        (Some(format), rest) if !is_blank => {
            let rest = rest.unwrap_or_else(|error| Box::new(Broken(Some(error))));
            return Ok(Some((IMPORTERS[format as usize].1, Box::new(io::Cursor::new(first).chain(rest)))));
        }
        (_, Err(error)) => {
            let reason = format!("it breaks off before anything of it can be read: {error}");
            (reason, ImportError::Open { name: named, error })
        }
        _ if first.is_empty() => ("it is empty".to_owned(), ImportError::Empty(named)),
        _ if is_blank => ("it is empty".to_owned(), ImportError::Unknown(named)),
        _ => ("it is none of the formats that can be imported".to_owned(), ImportError::Unknown(named)),
    };
    if alone {
        return Err(problem);
    }
    tally.add(FileTally { skipped: Some(reason), ..file(name, "") });
    Ok(None)
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

/// Reads one file, and keeps its account.
fn one(
    name: &str,
    importer: &Importer,
    options: &Options,
    tally: &mut Tally,
    entries: &mut Entries,
    read: impl FnOnce(&mut Sink<'_>) -> Result<(), Stop>,
) -> Result<(), ImportError> {
    let mut sink = Sink::new(options, tally, entries);
    sink.file = file(name, importer.name);
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
