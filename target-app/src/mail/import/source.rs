//! Sources of mail, and options.

use std::fmt;

use super::message::{ImportProblem, RawMail};
use crate::mail::parse::MAX_BYTES;

/// The quoting of lines within a message that would look like a separator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Quoting {
    /// One `>` before `>`s and "From " (mboxrd), so that reading removes exactly one and nothing is ambiguous.
    #[default]
    Reversible,
    /// A `>` before "From " only (mboxo): reading removes it from `>From ` and leaves `>>From ` unchanged.
    Simple,
    /// No quoting, as with "Content-Length" headers: nothing is removed.
    None,
}

/// The options of an import.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImportOptions {
    /// The longest message, in bytes.
    pub max_bytes: usize,
    /// The quoting of lines that start with "From " in mbox files.
    pub quoting: Quoting,
}

impl Default for ImportOptions {
    fn default() -> Self {
        Self { max_bytes: MAX_BYTES, quoting: Quoting::Reversible }
    }
}

/// The kind of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceKind {
    /// A file with consecutive messages.
    Mbox,
    /// A file that is a message.
    Message,
    /// A folder with `cur` and `new` (and its subfolders `.Name`).
    Maildir,
    /// A folder of messages, mbox files, maildirs and such folders.
    Directory,
}

/// A stream of messages.
pub struct MailSource {
    pub(super) kind: SourceKind,
    pub(super) messages: Messages,
}

pub(super) type Messages = Box<dyn Iterator<Item = Result<RawMail, ImportProblem>> + Send>;

impl MailSource {
    /// The kind of its source.
    #[must_use]
    pub fn kind(&self) -> SourceKind {
        self.kind
    }
}

impl Iterator for MailSource {
    type Item = Result<RawMail, ImportProblem>;

    fn next(&mut self) -> Option<Self::Item> {
        self.messages.next()
    }
}

impl fmt::Debug for MailSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MailSource").field("kind", &self.kind).finish_non_exhaustive()
    }
}
