//! Writing a trace.

use std::io::{self, Write};

use super::{Footer, Header, Record, frame::LastLine};

/// Writes a trace, line by line. What is not [finished](Self::finish) has no last line, and readers will say that it was cut.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    latest: u64,
    records: u64,
}

impl<W: Write> Writer<W> {
    /// Writes the first line. `out` should be buffered.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn new(mut out: W, header: &Header) -> io::Result<Self> {
        line(&mut out, header)?;
        Ok(Self { out, latest: 0, records: 0 })
    }

    /// Writes one record.
    ///
    /// # Errors
    /// If it cannot be written, or readers would refuse it: its offset is before that of the last one, or a name is empty or
    /// too long.
    pub fn write(&mut self, record: &Record<'_>) -> io::Result<()> {
        if let Some(problem) = record.problem() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
        }
        if record.offset < self.latest {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "records must be written in the order of time"));
        }
        self.latest = record.offset;
        self.records += 1;
        line(&mut self.out, record)
    }

    /// Records written so far.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Writes the last line, flushes, and gives back what was written to.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn finish(mut self, footer: Footer) -> io::Result<W> {
        line(&mut self.out, &LastLine { end: Footer { records: self.records, ..footer } })?;
        self.out.flush()?;
        Ok(self.out)
    }
}

fn line<T: serde::Serialize>(out: &mut impl Write, of: &T) -> io::Result<()> {
    serde_json::to_writer(&mut *out, of)?;
    out.write_all(b"\n")
}
