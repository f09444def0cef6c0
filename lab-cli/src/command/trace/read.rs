//! Traces that are read, a file or standard input, and small files beside them, which people write: keys, rules, models.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use traces::{
    inspect::Inspected,
    pseudonym::{Key, Pseudonyms},
    trace::{Header, Reader, TraceError},
};

use crate::exit::Failure;

pub(super) type Source = Box<dyn Read + Send>;

/// A file, or standard input.
pub(super) fn source(name: &str) -> io::Result<Source> {
    if name == "-" { Ok(Box::new(io::stdin())) } else { Ok(Box::new(File::open(name)?)) }
}

/// Opens a trace.
pub(super) fn open(name: &str) -> Result<Reader<Source>, Failure> {
    let source = source(name).map_err(|error| Failure::usage(format!("{name}: {error}")))?;
    Reader::open(source).map_err(|error| unreadable(name, &error))
}

pub(super) fn unreadable(name: &str, error: &TraceError) -> Failure {
    Failure::usage(format!("{name}: {error}"))
}

/// Reads the head of a trace.
pub(in crate::command) fn header(path: &Path) -> Result<Header, String> {
    let trace = open(&path.display().to_string()).map_err(Failure::in_words)?;
    Ok(trace.header().clone())
}

/// The contents of a trace.
pub(super) fn inspected(name: &str) -> Result<Inspected, Failure> {
    traces::inspect::inspect(&mut open(name)?).map_err(|error| unreadable(name, &error))
}

/// Pseudonyms under the key of a file, or under a new one that nobody will know.
pub(super) fn pseudonyms(key: Option<&Path>) -> Result<Pseudonyms, Failure> {
    let Some(path) = key else {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(|error| Failure::because(format!("no random key: {error}")))?;
        return Ok(Pseudonyms::keyed(Key::new(bytes)));
    };
    let text = small_file(path)?;
    let key = Key::from_hex(&text).map_err(|problem| Failure::usage(format!("{}: {problem}", path.display())))?;
    Ok(Pseudonyms::keyed(key))
}

/// The text of a file that people write.
pub(super) fn small_file(path: &Path) -> Result<String, Failure> {
    let mut text = String::new();
    let limit = experiment::raw::MAX_BYTES;
    let file = File::open(path).and_then(|file| file.take(limit + 1).read_to_string(&mut text));
    match file {
        Err(error) => Err(Failure::usage(format!("{}: {error}", path.display()))),
        Ok(_) if text.len() as u64 > limit => {
            Err(Failure::usage(format!("{}: over {limit} bytes; is the path right?", path.display())))
        }
        Ok(_) => Ok(text),
    }
}
