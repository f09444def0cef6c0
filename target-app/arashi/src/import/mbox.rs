//! Files with consecutive messages, each after a line that starts with "From ".
//!
//! A message starts at such a line if it ends in a date, as separators do; some writers omit the empty line before it. Without
//! a date it is text, unless the file's first line has none either: then it follows an empty line. Within a message, writers
//! put a `>` before lines that start with "From ", and the better ones before those that start with `>From ` too.
//! Lengths that some writers state in headers instead are ignored: they are wrong as soon as the file is edited.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read},
    path::{Path, PathBuf},
};

use super::{
    message::{ImportProblem, ImportReason, MailPlace, RawMail},
    names,
};
use crate::parse::envelope_date;

/// Longer lines are read in pieces of this many bytes.
const PIECE: u64 = 8 << 10;

/// The messages of an mbox file, or of any stream in its format.
pub(super) struct Mbox<R> {
    reader: R,
    /// The longest message.
    max_bytes: usize,
    path: PathBuf,
    folder: String,
    /// Separators of this file have dates: its first one has.
    dated: bool,
    /// A separator that was read ahead: the message after it comes next.
    separator: Option<Vec<u8>>,
    number: u64,
    piece: Vec<u8>,
    state: State,
}

#[derive(PartialEq)]
enum State {
    Start,
    Reading,
    Ended,
}

pub(super) fn read(path: &Path, folder: String, max_bytes: usize) -> io::Result<Mbox<BufReader<File>>> {
    Ok(Mbox::new(BufReader::with_capacity(64 << 10, File::open(path)?), path, folder, max_bytes))
}

impl<R: BufRead> Mbox<R> {
    pub(super) fn new(reader: R, path: &Path, folder: String, max_bytes: usize) -> Self {
        Self {
            reader,
            max_bytes,
            path: path.to_owned(),
            folder,
            dated: false,
            separator: None,
            number: 0,
            piece: Vec::new(),
            state: State::Start,
        }
    }

    /// The next line, or a piece of a long one; false at the end.
    fn next_piece(&mut self) -> io::Result<bool> {
        self.piece.clear();
        Ok(self.reader.by_ref().take(PIECE).read_until(b'\n', &mut self.piece)? > 0)
    }

    /// Reads up to the next separator, or to the end. `each` gets every piece before it, and whether a line starts with
    /// the piece; `blank`: the line before is empty. Says whether the last line is.
    fn up_to_separator(&mut self, mut blank: bool, mut each: impl FnMut(&[u8], bool)) -> io::Result<bool> {
        let mut starts_line = true;
        while self.next_piece()? {
            if starts_line && is_separator(&self.piece, blank && !self.dated) {
                self.separator = Some(self.piece.clone());
                break;
            }
            each(&self.piece, starts_line);
            blank = starts_line && is_blank(&self.piece);
            starts_line = self.piece.ends_with(b"\n");
        }
        Ok(blank)
    }

    /// Reads up to the first separator.
    fn start(&mut self) -> Option<Result<RawMail, ImportProblem>> {
        self.state = State::Reading;
        let mut before = 0;
        let read = self.up_to_separator(true, |piece, _| {
            if !piece.iter().all(u8::is_ascii_whitespace) {
                before += piece.len() as u64;
            }
        });
        if let Err(error) = read {
            return self.fail(error);
        }
        self.dated = self.separator.as_deref().is_some_and(has_date);
        (before > 0).then(|| Err(self.problem(ImportReason::BeforeFirst { bytes: before })))
    }

    /// Reads from a separator, which was read already, to the next.
    fn message(&mut self, separator: &[u8]) -> Option<Result<RawMail, ImportProblem>> {
        self.number += 1;
        let (mut raw, mut too_long) = (Vec::new(), false);
        let max_bytes = self.max_bytes;
        let read = self.up_to_separator(false, |piece, starts_line| {
            let line = if starts_line { unquoted(piece) } else { piece };
            // One more for the empty line that follows each message and is not part of it.
            too_long |= raw.len() + line.len() > max_bytes.saturating_add(2);
            if !too_long {
                raw.extend_from_slice(line);
            }
        });
        let blank = match read {
            Ok(blank) => blank,
            Err(error) => return self.fail(error),
        };
        if blank {
            let end = raw.strip_suffix(b"\r\n").or(raw.strip_suffix(b"\n")).map_or(raw.len(), <[u8]>::len);
            raw.truncate(end);
        }
        if too_long || raw.len() > max_bytes {
            return Some(Err(self.problem(ImportReason::TooLong { limit: max_bytes })));
        }
        Some(Ok(RawMail {
            folder: self.folder.clone(),
            raw,
            place: self.place(),
            received: envelope_date(&String::from_utf8_lossy(separator)),
        }))
    }

    fn fail(&mut self, error: io::Error) -> Option<Result<RawMail, ImportProblem>> {
        self.state = State::Ended;
        self.separator = None;
        Some(Err(self.problem(error.into())))
    }

    fn problem(&self, reason: ImportReason) -> ImportProblem {
        ImportProblem { place: self.place(), reason }
    }

    fn place(&self) -> MailPlace {
        MailPlace { path: self.path.clone(), message: Some(self.number) }
    }
}

impl<R: BufRead> Iterator for Mbox<R> {
    type Item = Result<RawMail, ImportProblem>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.state == State::Start
            && let Some(problem) = self.start()
        {
            return Some(problem);
        }
        let separator = self.separator.take()?;
        self.message(&separator)
    }
}

/// True if a line starts a message. Such a line is never so long that it comes in pieces. `undated`: it may be one without a date.
fn is_separator(line: &[u8], undated: bool) -> bool {
    line.starts_with(b"From ") && (line.len() as u64) < PIECE && (undated || has_date(line))
}

fn has_date(line: &[u8]) -> bool {
    envelope_date(&String::from_utf8_lossy(line)).is_some()
}

fn is_blank(line: &[u8]) -> bool {
    matches!(line, b"\n" | b"\r\n")
}

/// Without one of the `>`s before "From ": writers put one more (mboxrd), so that nothing is ambiguous.
fn unquoted(line: &[u8]) -> &[u8] {
    let marks = line.iter().take_while(|b| **b == b'>').count();
    if marks > 0 && line[marks..].starts_with(b"From ") { &line[1..] } else { line }
}

/// The folder of an mbox file.
pub(super) fn folder_of(path: &Path) -> String {
    names::folder(&path.file_stem().unwrap_or_default().to_string_lossy())
}
