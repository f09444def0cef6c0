//! Traces that are read: a file, or standard input.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use traces::{
    inspect::Inspected,
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
