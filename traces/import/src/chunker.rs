//! Lines of IMAP with their literals: `A1 LOGIN {3}`, then three bytes, then the rest of the line.

/// The longest stored text of a line, bytes; the rest is only counted. Relevant commands are far shorter.
const KEPT: usize = 8 << 10;

/// The longest literal stored as text, as a quoted string: the name of a user or folder may come as one.
const KEPT_LITERAL: u64 = 512;

/// A line with its literals.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Piece {
    /// The line as text, without long literals.
    pub text: String,
    /// The number of its bytes.
    pub bytes: u64,
}

/// Splits a stream of bytes into lines, however it is cut into packets.
#[derive(Debug, Default)]
pub struct Chunker {
    line: Vec<u8>,
    /// The start of the text after the last literal.
    tail: usize,
    bytes: u64,
    /// The remaining bytes of a literal, and whether it is stored.
    literal: u64,
    kept: bool,
}

impl Chunker {
    /// True if no line has begun.
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// The number of stored bytes of an incomplete line.
    pub fn held(&self) -> usize {
        self.line.len()
    }

    /// Takes the next bytes; emits the complete lines.
    pub fn take(&mut self, mut bytes: &[u8], give: &mut impl FnMut(Piece)) {
        while !bytes.is_empty() {
            if self.literal > 0 {
                let part = bytes.len().min(usize::try_from(self.literal).unwrap_or(usize::MAX));
                let (inside, after) = bytes.split_at(part);
                self.inside_literal(inside);
                bytes = after;
                continue;
            }
            let end = memchr::memchr(b'\n', bytes).map_or(bytes.len(), |at| at + 1);
            let (part, after) = bytes.split_at(end);
            self.bytes += part.len() as u64;
            let room = KEPT.saturating_sub(self.line.len());
            self.line.extend_from_slice(&part[..part.len().min(room)]);
            bytes = after;
            if part.ends_with(b"\n") {
                self.end_of_line(give);
            }
        }
    }

    fn end_of_line(&mut self, give: &mut impl FnMut(Piece)) {
        while self.line.last().is_some_and(|c| matches!(c, b'\r' | b'\n')) {
            self.line.pop();
        }
        let tail = &self.line[self.tail.min(self.line.len())..];
        if let Some((length, size)) = literal(tail) {
            self.line.truncate(self.line.len() - length);
            self.literal = size;
            self.kept = size <= KEPT_LITERAL && self.line.len() < KEPT;
            if self.kept {
                self.line.push(b'"');
                if size == 0 {
                    self.line.push(b'"');
                }
            }
            self.tail = self.line.len();
            return;
        }
        let text = String::from_utf8_lossy(&self.line).into_owned();
        give(Piece { text, bytes: self.bytes });
        *self = Self::default();
    }

    fn inside_literal(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        self.literal -= bytes.len() as u64;
        if self.kept {
            for &byte in bytes {
                if matches!(byte, b'"' | b'\\') {
                    self.line.push(b'\\');
                }
                self.line.push(if byte == b'\r' || byte == b'\n' { b' ' } else { byte });
            }
        }
        if self.literal == 0 {
            if self.kept {
                self.line.push(b'"');
            }
            self.tail = self.line.len();
        }
    }
}

/// The mark of a literal at the end of a line: its length in the text, and the size of the literal. `{12}`, `{12+}`,
/// `~{12}`.
fn literal(line: &[u8]) -> Option<(usize, u64)> {
    let inside = line.strip_suffix(b"}")?;
    let open = inside.iter().rposition(|&c| c == b'{')?;
    let digits = std::str::from_utf8(&inside[open + 1..]).ok()?;
    let digits = digits.strip_suffix(['+', '-']).unwrap_or(digits);
    let sound = !digits.is_empty() && digits.len() <= 12 && digits.bytes().all(|c| c.is_ascii_digit());
    let size = digits.parse().ok().filter(|_| sound)?;
    Some((line.len() - open, size))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lines(parts: &[&[u8]]) -> Vec<(String, u64)> {
        let mut chunker = Chunker::default();
        let mut found = Vec::new();
        for part in parts {
            chunker.take(part, &mut |piece| found.push((piece.text, piece.bytes)));
        }
        found
    }

    #[test]
    fn literals_are_part_of_their_line() {
        let found = lines(&[b"A1 LOGIN {3}\r\njoe {4+}\r\na\"\\b x\r\nA2 NOOP\r\n"]);
        assert_eq!(found, [(r#"A1 LOGIN "joe" "a\"\\b" x"#.to_owned(), 32), ("A2 NOOP".to_owned(), 9)]);
        let long = [b"A3 APPEND x {2000}\r\n".to_vec(), b"y\r\n".repeat(666), b"zz\r\nA4 NOOP\r\n".to_vec()].concat();
        assert_eq!(lines(&[&long]), [("A3 APPEND x ".to_owned(), 2022), ("A4 NOOP".to_owned(), 9)]);
        assert_eq!(lines(&[b"A5 X {0}\r\n y\r\n"]), [("A5 X \"\" y".to_owned(), 14)]);
    }

    #[test]
    fn a_line_without_an_end_is_bounded() {
        let mut chunker = Chunker::default();
        for _ in 0..1000 {
            chunker.take(&[b'x'; 1000], &mut |_| panic!("no line"));
        }
        assert!(chunker.line.capacity() <= 2 * KEPT);
        chunker.take(b"\n", &mut |piece| assert_eq!((piece.text.len(), piece.bytes), (KEPT, 1_000_001)));
    }

    proptest! {
        #[test]
        fn how_it_is_cut_into_packets_does_not_matter(
            text in "([a-z{}0-9+~ \"]|\r\n){0,120}", cuts in prop::collection::vec(1_usize..9, 1..60)
        ) {
            let whole = lines(&[text.as_bytes()]);
            let mut rest = text.as_bytes();
            let mut parts = Vec::new();
            for &cut in cuts.iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (part, after) = rest.split_at(cut.min(rest.len()));
                parts.push(part);
                rest = after;
            }
            prop_assert_eq!(lines(&parts), whole);
        }
    }
}
