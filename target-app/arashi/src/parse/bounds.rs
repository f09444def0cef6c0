//! Bounds of messages.

/// The longest message that is read, in bytes. Large mail services accept 25 MB, encoded a third longer.
pub const MAX_BYTES: usize = 36 << 20;
/// The longest headers of a message, in bytes.
pub const MAX_HEADER_BYTES: usize = 1 << 20;
/// The largest number of `Content-Type` headers in a message, its parts and theirs.
pub const MAX_MIME_HEADERS: usize = 250;
/// The largest number of lines that could be headers: the parser keeps a hundred bytes or so for each.
pub const MAX_LINES_WITH_COLON: usize = 400_000;
/// The longest text of a message that is kept, in bytes; the rest is cut, and a note says so.
pub const MAX_TEXT_BYTES: usize = 2 << 20;

/// The longest header text that is kept, in bytes: a few times the longest headers that a chain of servers writes.
pub const MAX_HEADER_TEXT: usize = 32 << 10;
