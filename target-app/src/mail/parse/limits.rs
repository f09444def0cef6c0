//! Bounds that are checked on the bytes, before anything is parsed.
//!
//! A message inside of a message is a value inside of a value in `mail-parser`, and dropping ten thousand of them
//! overflows the stack, which nothing can catch. So the depth is bounded from above beforehand: each level needs a
//! `Content-Type` of its own (or sits in a digest that has one).

use memchr::{memchr_iter, memchr2_iter};

use super::ParseError;

/// The longest message that is read, in bytes. Large mail services take 25 MB, encoded a third longer.
pub const MAX_BYTES: usize = 36 << 20;
/// The longest headers of a message, in bytes.
pub const MAX_HEADER_BYTES: usize = 1 << 20;
/// The most `Content-Type` headers in a message, its parts and theirs.
pub const MAX_MIME_HEADERS: usize = 250;
/// The most lines that could be headers: the parser keeps a hundred bytes or so for each.
pub const MAX_LINES_WITH_COLON: usize = 400_000;

pub(super) fn check(raw: &[u8]) -> Result<(), ParseError> {
    if raw.iter().all(u8::is_ascii_whitespace) {
        return Err(ParseError::Empty);
    }
    if raw.len() > MAX_BYTES {
        return Err(ParseError::TooLong { bytes: raw.len() });
    }
    if header_end(raw) > MAX_HEADER_BYTES {
        return Err(ParseError::HeadersTooLong);
    }
    let (mut mime_headers, mut lines, mut in_new_line) = (0, 0, true);
    for at in memchr2_iter(b':', b'\n', raw) {
        let ends_line = raw[at] == b'\n';
        lines += usize::from(in_new_line && !ends_line);
        mime_headers += usize::from(!ends_line && names_content_type(&raw[..at]));
        in_new_line = ends_line;
    }
    if mime_headers > MAX_MIME_HEADERS {
        return Err(ParseError::TooManyParts);
    }
    if lines > MAX_LINES_WITH_COLON {
        return Err(ParseError::TooManyHeaders);
    }
    Ok(())
}

/// Where the headers end: at the first empty line, or the end.
pub(super) fn header_end(raw: &[u8]) -> usize {
    let ends = memchr_iter(b'\n', raw);
    ends.map(|end| end + 1).find(|next| matches!(raw[*next..], [b'\n', ..] | [b'\r', b'\n', ..])).unwrap_or(raw.len())
}

/// Whether what stands before a colon ends in `Content-Type`, as the parser reads names: white space inside of them is
/// skipped, however much. What is walked over for one colon is not for the next, as no name holds one.
fn names_content_type(before: &[u8]) -> bool {
    let line = before.iter().rev().take_while(|b| **b != b'\n');
    let letters = line.filter(|b| !b.is_ascii_whitespace()).take(12);
    letters.map(u8::to_ascii_lowercase).eq(b"content-type".iter().rev().copied())
}
