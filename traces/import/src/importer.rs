//! The declaration of an importer.

use std::io::Read;

use super::sink::{Sink, Stop};

/// An importer of a format: all that the rest of an import knows of it.
#[derive(Debug)]
pub struct Importer {
    /// The format's name for people.
    pub name: &'static str,
    /// The files of that format, as an error lists them.
    pub files: &'static str,
    /// The mark by which such a file is recognised.
    pub mark: Mark,
    /// The function that reads it.
    pub reads: Reads,
}

/// The mark of a format.
#[derive(Debug, Clone, Copy)]
pub enum Mark {
    /// The beginning of a file; it counts before all lines.
    Beginning(fn(&[u8]) -> bool),
    /// A line; `None`: it is of another format.
    Line(fn(&str) -> Option<Certainty>),
}

/// The certainty that a line is of a format: if several claim it, it is of the most certain one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Certainty {
    /// It begins with a number.
    Number,
    /// It contains words of a program.
    Words,
    /// It has a date or a speaker where the format has them.
    Form,
    /// It is an object with the format's keys.
    Object,
}

/// An unpacked file.
pub type Stream = Box<dyn Read + Send>;

type ReadFn<F> = fn(&str, F, &mut Sink<'_>) -> Result<(), Stop>;

/// The function that reads a file to its end, by what the file is; its name may contain a user's.
#[derive(Debug, Clone, Copy)]
pub enum Reads {
    /// A log of many users, or of one session.
    Log(ReadFn<Stream>),
    /// Two logs of one session, the client's and the server's; one of them may be missing.
    Sides(ReadFn<[Option<Stream>; 2]>),
}
