//! Lines of a stream with their positions, in bounded memory.

use std::{
    fmt,
    io::{self, Read},
};

/// The start of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LinePosition {
    /// Number of the line, from 0; shown from 1, as editors do.
    pub line: u64,
    /// Bytes before it (of the unpacked text).
    pub byte: u64,
}

impl fmt::Display for LinePosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} (byte {})", self.line + 1, self.byte)
    }
}

/// A line, without its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line<'a> {
    /// The whole line.
    Whole(&'a [u8]),
    /// The line exceeds the limit and was skipped.
    TooLong,
}

/// Reads line by line. At most twice the longest line is held.
pub struct Lines<R> {
    from: R,
    buffer: Vec<u8>,
    /// The unread part of the buffer, from `start` to `end`.
    start: usize,
    end: usize,
    longest: usize,
    place: LinePosition,
}

impl<R> fmt::Debug for Lines<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lines").field("place", &self.place).finish_non_exhaustive()
    }
}

impl<R: Read> Lines<R> {
    /// Reads lines of up to `longest` bytes.
    pub fn new(from: R, longest: usize) -> Self {
        let room = longest.max(64 << 10) * 2;
        Self { from, buffer: vec![0; room], start: 0, end: 0, longest, place: LinePosition::default() }
    }

    /// The start of the next line.
    #[must_use]
    pub fn place(&self) -> LinePosition {
        self.place
    }

    /// The next line, without `\n` or `\r\n`; `None` at the end. The last line needs no end.
    ///
    /// # Errors
    /// If the stream cannot be read.
    #[expect(clippy::should_implement_trait, reason = "lines are lent, which iterators cannot do")]
    pub fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        let mut searched = 0;
        loop {
            let waiting = &self.buffer[self.start..self.end];
            if let Some(at) = memchr::memchr(b'\n', &waiting[searched..]) {
                let length = searched + at;
                return Ok(Some(self.give(length, length + 1)));
            }
            searched = waiting.len();
            if searched > self.longest + 1 {
                return self.pass_over().map(Some);
            }
            if self.fill()? == 0 {
                return Ok((searched > 0).then(|| self.give(searched, searched)));
            }
        }
    }

    /// Returns `length` bytes as a line and continues after `used`.
    fn give(&mut self, length: usize, used: usize) -> Line<'_> {
        let from = self.start;
        self.start += used;
        self.place.line += 1;
        self.place.byte += used as u64;
        let line = &self.buffer[from..from + length];
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.len() > self.longest { Line::TooLong } else { Line::Whole(line) }
    }

    /// Skips to the end of this line.
    fn pass_over(&mut self) -> io::Result<Line<'_>> {
        self.place.line += 1;
        loop {
            let waiting = &self.buffer[self.start..self.end];
            if let Some(at) = memchr::memchr(b'\n', waiting) {
                self.start += at + 1;
                self.place.byte += at as u64 + 1;
                return Ok(Line::TooLong);
            }
            self.place.byte += waiting.len() as u64;
            self.start = self.end;
            if self.fill()? == 0 {
                return Ok(Line::TooLong);
            }
        }
    }

    /// Reads more bytes, and returns their number.
    fn fill(&mut self) -> io::Result<usize> {
        if self.end == self.buffer.len() {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        loop {
            match self.from.read(&mut self.buffer[self.end..]) {
                Ok(read) => {
                    self.end += read;
                    return Ok(read);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines as text, `None` for those that are too long, with the byte that each begins at.
    fn all(text: &[u8], longest: usize) -> Vec<(u64, Option<String>)> {
        let mut lines = Lines::new(text, longest);
        let mut found = Vec::new();
        loop {
            let byte = lines.place().byte;
            match lines.next().expect("memory can be read") {
                None => break,
                Some(Line::TooLong) => found.push((byte, None)),
                Some(Line::Whole(line)) => found.push((byte, Some(String::from_utf8_lossy(line).into_owned()))),
            }
        }
        assert_eq!(lines.place(), LinePosition { line: found.len() as u64, byte: text.len() as u64 });
        found
    }

    #[test]
    fn lines_have_their_places_and_need_no_end() {
        let some = |byte, text: &str| (byte, Some(text.to_owned()));
        assert_eq!(all(b"a\r\n\nbc", 10), [some(0, "a"), some(3, ""), some(4, "bc")]);
        assert_eq!(all(b"", 10), []);
    }

    #[test]
    fn what_is_too_long_is_passed_over_however_long_it_is() {
        let long = [b"x".repeat(1_000_000), b"\nshort\n".to_vec(), b"y".repeat(11), b"\nend".to_vec()].concat();
        let found = all(&long, 10);
        assert_eq!(found.len(), 4);
        assert_eq!((&found[0].1, &found[2].1), (&None, &None));
        assert_eq!(found[1], (1_000_001, Some("short".into())));
        assert_eq!(found[3].1.as_deref(), Some("end"));
    }
}
