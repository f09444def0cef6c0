//! Writing a trace.

use std::io::{self, Write};

use super::{Footer, Header, LONGEST_LINE, Record, frame::LastLine};

/// Writes a trace, line by line. Without [`finish`](Self::finish) the last line is missing, and readers report a cut
/// trace.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    latest: u64,
    records: u64,
    line: Vec<u8>,
}

impl<W: Write> Writer<W> {
    /// Writes the first line. `out` should be buffered.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn new(mut out: W, header: &Header) -> io::Result<Self> {
        let mut line = Vec::new();
        write_line(&mut out, &mut line, header)?;
        Ok(Self { out, latest: 0, records: 0, line })
    }

    /// Writes one record.
    ///
    /// # Errors
    /// If it cannot be written, or readers would refuse it: its offset is before that of the last one, or a name is
    /// empty or too long.
    pub fn write(&mut self, record: &Record<'_>) -> io::Result<()> {
        if let Some(problem) = record.problem() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
        }
        if record.offset < self.latest {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "records must be written in the order of time"));
        }
        self.latest = record.offset;
        self.records += 1;
        write_line(&mut self.out, &mut self.line, record)
    }

    /// Records written so far.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Writes the last line, flushes, and returns the output.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn finish(mut self, footer: Footer) -> io::Result<W> {
        let last = LastLine { end: Footer { records: self.records, ..footer } };
        write_line(&mut self.out, &mut self.line, &last)?;
        self.out.flush()?;
        Ok(self.out)
    }
}

/// Writes a line, unless readers would refuse it. `line` is room for it.
fn write_line<T: serde::Serialize>(out: &mut impl Write, line: &mut Vec<u8>, of: &T) -> io::Result<()> {
    line.clear();
    serde_json::to_writer(&mut *line, of)?;
    if line.len() > LONGEST_LINE {
        let problem = format!("a line of {} bytes; {LONGEST_LINE} are the most that a trace may have", line.len());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
    }
    line.push(b'\n');
    out.write_all(line)
}
