//! Limits that are checked on the bytes, before parsing.
//!
//! In `mail-parser`, a message inside a message is a value inside a value, and dropping ten thousand of them overflows
//! the stack, which cannot be caught. So an upper bound of the depth is checked beforehand: each level needs a
//! `Content-Type` of its own (or is in a digest that has one).

use memchr::{memchr_iter, memchr2_iter};

use super::{
    bounds::{MAX_BYTES, MAX_HEADER_BYTES, MAX_LINES_WITH_COLON, MAX_MIME_HEADERS},
    error::ParseError,
};

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

/// The end of the headers: the first empty line, or the end of the message.
pub(super) fn header_end(raw: &[u8]) -> usize {
    let ends = memchr_iter(b'\n', raw);
    ends.map(|end| end + 1).find(|next| matches!(raw[*next..], [b'\n', ..] | [b'\r', b'\n', ..])).unwrap_or(raw.len())
}

/// True if the text before a colon ends in `Content-Type`, as the parser reads names: it skips any amount of white
/// space inside of them. A part scanned for one colon is not scanned for the next, as no name contains a colon.
fn names_content_type(before: &[u8]) -> bool {
    let line = before.iter().rev().take_while(|b| **b != b'\n');
    let letters = line.filter(|b| !b.is_ascii_whitespace()).take(12);
    letters.map(u8::to_ascii_lowercase).eq(b"content-type".iter().rev().copied())
}
