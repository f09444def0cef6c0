//! Reading a trace.

use std::io::{self, Read};

use super::{Footer, Header, LONGEST_LINE, Record, VERSION, frame::LastLine};
use crate::{
    lines::{Line, LinePosition, Lines},
    pack,
};

/// Reads a trace, line by line, packed or not.
#[derive(Debug)]
pub struct Reader<R> {
    lines: Lines<R>,
    header: Header,
    latest: u64,
    records: u64,
    footer: Option<Footer>,
}

/// The error of a trace that cannot be read, with its position.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The file or its compression fails.
    #[error("{place}: {error}")]
    Io {
        /// The position.
        place: LinePosition,
        /// The cause.
        error: io::Error,
    },
    /// A temporary file for data beyond memory fails.
    #[error("a temporary file (in TMPDIR): {0}")]
    Spool(io::Error),
    /// The file is not a trace.
    #[error("this is no trace: its first line must be {{\"trace\":1,…}}; `lab trace import` makes a trace from a log")]
    NoTrace,
    /// The trace has another version.
    #[error("this trace is of version {0}, and this program reads version 1: import it again, or use a newer lab")]
    Version(u32),
    /// A line is invalid.
    #[error("{place}: {problem}")]
    Line {
        /// The line.
        place: LinePosition,
        /// The error.
        problem: String,
    },
    /// The last line is missing.
    #[error("{place}: the trace ends here without its last line: it was cut short, after {records} records")]
    Cut {
        /// The end.
        place: LinePosition,
        /// Complete records before it.
        records: u64,
    },
}

impl<'r> Reader<Box<dyn Read + Send + 'r>> {
    /// Opens a trace that may be packed (zstd, gzip).
    ///
    /// # Errors
    /// If it is no trace of version 1, or cannot be unpacked.
    pub fn open(from: impl Read + Send + 'r) -> Result<Self, TraceError> {
        let unpacked = pack::unpack(from).map_err(|error| TraceError::Io { place: LinePosition::default(), error })?;
        Self::new(unpacked.0)
    }
}

impl<R: Read> Reader<R> {
    /// Reads the first line of a trace that is not packed.
    ///
    /// # Errors
    /// If it is no trace of version 1.
    pub fn new(from: R) -> Result<Self, TraceError> {
        let mut lines = Lines::new(from, LONGEST_LINE);
        let place = lines.place();
        let first = match lines.next() {
            Ok(Some(Line::Whole(first))) => first,
            Ok(_) => return Err(TraceError::NoTrace),
            Err(error) => return Err(TraceError::Io { place, error }),
        };
        let version = version(first).ok_or(TraceError::NoTrace)?;
        if version != VERSION {
            return Err(TraceError::Version(version));
        }
        let header = serde_json::from_slice(first).map_err(|error| unreadable(place, &error))?;
        Ok(Self { lines, header, latest: 0, records: 0, footer: None })
    }

    /// The first line.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The last line, once the trace was read to its end.
    #[must_use]
    pub fn footer(&self) -> Option<&Footer> {
        self.footer.as_ref()
    }

    /// Records read so far.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.records
    }

    /// The next record; `None` at the end of a whole trace.
    ///
    /// # Errors
    /// If a line is no record, goes back in time, or the last line is missing or has another count of records.
    pub fn next_record(&mut self) -> Result<Option<Record<'_>>, TraceError> {
        if self.footer.is_some() {
            return Ok(None);
        }
        let place = self.lines.place();
        let line = match self.lines.next() {
            Ok(Some(Line::Whole(line))) => line,
            Ok(Some(Line::TooLong)) => return Err(wrong(place, format!("over {LONGEST_LINE} bytes"))),
            Ok(None) => return Err(TraceError::Cut { place, records: self.records }),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                return Err(TraceError::Cut { place, records: self.records });
            }
            Err(error) => return Err(TraceError::Io { place, error }),
        };
        if line.starts_with(b"{\"end\"") {
            let last: LastLine = serde_json::from_slice(line).map_err(|error| unreadable(place, &error))?;
            if last.end.records != self.records {
                let counts = format!("{} records are counted here, but {} were read", last.end.records, self.records);
                return Err(wrong(place, counts));
            }
            self.footer = Some(last.end);
            return Ok(None);
        }
        let record: Record<'_> = serde_json::from_slice(line).map_err(|error| unreadable(place, &error))?;
        if let Some(problem) = record.problem() {
            return Err(wrong(place, problem.into()));
        }
        if record.offset < self.latest {
            return Err(wrong(
                place,
                format!("its offset {} is before {}: sort the trace", record.offset, self.latest),
            ));
        }
        self.latest = record.offset;
        self.records += 1;
        Ok(Some(record))
    }
}

/// The version in a first line; `None`: the line is not a header.
fn version(first: &[u8]) -> Option<u32> {
    #[derive(serde::Deserialize)]
    struct Version {
        trace: u32,
    }
    serde_json::from_slice::<Version>(first).ok().map(|version| version.trace)
}

fn unreadable(place: LinePosition, error: &serde_json::Error) -> TraceError {
    wrong(place, format!("this is no line of a trace: {error}"))
}

fn wrong(place: LinePosition, problem: String) -> TraceError {
    TraceError::Line { place, problem }
}
