//! Mail folders on disk, read message by message: mbox files, maildirs, and folders with a file per message.
//!
//! A message that cannot be read is an [`ImportProblem`] in its place in the stream, and the next one follows. Memory
//! is bounded by one message; a message over the limit is skipped, not held. Nothing is changed on disk, symbolic links
//! to folders are not followed, and names that start with a dot (or are not regular files) are not mail.

use std::{
    collections::BTreeMap,
    fmt, io,
    path::{Path, PathBuf},
};

use super::parse::{MAX_BYTES, ParseError};

mod directory;
mod files;
mod listing;
mod maildir;
mod mbox;
mod names;

pub use mbox::Quoting;

/// A message in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawMail {
    /// The folder of the message: `inbox` for the folder of a maildir or of a file with that name. One line, 1 to 100
    /// characters.
    pub folder: String,
    /// Its bytes, without an mbox file's separator and quoting.
    pub raw: Vec<u8>,
    /// Its position.
    pub place: MailPlace,
    /// The time of receipt, if the folder has it: separator line or file time, in seconds since 1970.
    pub received: Option<i64>,
    /// True if it was read before, if the folder has that (maildir flag S).
    pub seen: bool,
}

/// The position of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MailPlace {
    /// The file.
    pub path: PathBuf,
    /// The number of the message in the file, from 1, if the file can contain several.
    pub message: Option<u64>,
}

impl fmt::Display for MailPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        self.message.map_or(Ok(()), |number| write!(f, ", message {number}"))
    }
}

/// A message that was not imported.
#[derive(Debug, thiserror::Error)]
#[error("{place}: {reason}")]
pub struct ImportProblem {
    /// Its position.
    pub place: MailPlace,
    /// The reason.
    pub reason: ImportReason,
}

impl ImportProblem {
    /// The problem of a whole file or folder.
    fn of_file(path: &Path, reason: ImportReason) -> Self {
        Self { place: MailPlace { path: path.to_owned(), message: None }, reason }
    }
}

/// Why a message was not imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportReason {
    /// Longer than the limit.
    #[error("longer than {limit} bytes")]
    TooLong {
        /// The limit, in bytes.
        limit: usize,
    },
    /// The file or folder cannot be read (further).
    #[error("cannot be read: {0}")]
    Unreadable(#[from] io::Error),
    /// Bytes before the first separator of an mbox file.
    #[error("{bytes} bytes before the first line that starts with \"From \"")]
    BeforeFirst {
        /// Their number.
        bytes: u64,
    },
    /// Folders nested too deeply.
    #[error("folders nested deeper than {limit}")]
    TooDeep {
        /// The limit.
        limit: usize,
    },
    /// Its folder is one too many for the account.
    #[error("the account has {limit} folders already, and may have no more")]
    TooManyFolders {
        /// The limit.
        limit: i64,
    },
    /// It was read, and is not a message that can be stored.
    #[error("{0}")]
    NotParsed(#[from] ParseError),
}

impl ImportReason {
    /// The reason in one to three words, the same for all messages: for counting.
    #[must_use]
    pub fn label(&self) -> &'static str {
        match self {
            Self::TooLong { .. } => "too long",
            Self::Unreadable(_) => "cannot be read",
            Self::BeforeFirst { .. } => "before the first message",
            Self::TooDeep { .. } => "folders too deep",
            Self::TooManyFolders { .. } => "too many folders",
            Self::NotParsed(problem) => problem.label(),
        }
    }
}

/// Why there is no mail to import at all.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The path does not exist or may not be read.
    #[error("{path}: {source}", path = path.display())]
    Unreadable {
        /// The path.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A compressed file.
    #[error("{path}: packed with {program}; unpack it first", path = path.display())]
    Packed {
        /// The file.
        path: PathBuf,
        /// The program that decompresses it.
        program: &'static str,
    },
    /// A file that neither starts like an mbox nor like a message.
    #[error(
        "{path}: neither an mbox file (starts with \"From \"), a message (starts with headers), nor a folder of either",
        path = path.display()
    )]
    NotMail {
        /// The file.
        path: PathBuf,
    },
    /// Neither a file nor a folder.
    #[error("{path}: neither a file nor a folder", path = path.display())]
    Special {
        /// The path.
        path: PathBuf,
    },
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
    kind: SourceKind,
    messages: Messages,
}

type Messages = Box<dyn Iterator<Item = Result<RawMail, ImportProblem>> + Send>;

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

/// Detects the kind of `path`, and starts to read it.
pub fn open(path: &Path, options: ImportOptions) -> Result<MailSource, OpenError> {
    let unreadable = |source| OpenError::Unreadable { path: path.to_owned(), source };
    let what = std::fs::metadata(path).map_err(unreadable)?;
    if what.is_file() {
        return files::open(path, options);
    }
    if !what.is_dir() {
        return Err(OpenError::Special { path: path.to_owned() });
    }
    // So that an unreadable folder is an error, not an empty import.
    std::fs::read_dir(path).map_err(unreadable)?;
    if maildir::is_maildir(path) {
        return Ok(MailSource { kind: SourceKind::Maildir, messages: Box::new(maildir::read(path, options)) });
    }
    Ok(MailSource { kind: SourceKind::Directory, messages: directory::read(path, options) })
}

/// The result of an import.
#[derive(Debug, Default)]
pub struct Summary {
    /// Messages found.
    pub read: u64,
    /// Messages that are now stored.
    pub imported: u64,
    /// Messages that were stored before.
    pub known: u64,
    /// Messages that were not imported, by reason.
    pub skipped: BTreeMap<&'static str, u64>,
    /// The first [`Summary::KEPT`] problems in full.
    pub problems: Vec<ImportProblem>,
}

impl Summary {
    /// The number of problems kept in full; all are counted.
    pub const KEPT: usize = 20;

    /// Counts a message that was stored.
    pub fn count_imported(&mut self) {
        self.read += 1;
        self.imported += 1;
    }

    /// Counts a message that was stored before.
    pub fn count_known(&mut self) {
        self.read += 1;
        self.known += 1;
    }

    /// Counts a message that was not stored.
    pub fn count_skipped(&mut self, problem: ImportProblem) {
        self.read += 1;
        *self.skipped.entry(problem.reason.label()).or_default() += 1;
        if self.problems.len() < Self::KEPT {
            self.problems.push(problem);
        }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} messages read, {} imported", self.read, self.imported)?;
        if self.known > 0 {
            write!(f, ", {} known already", self.known)?;
        }
        let skipped: u64 = self.skipped.values().sum();
        if skipped > 0 {
            let reasons: Vec<String> =
                self.skipped.iter().map(|(reason, count)| format!("{reason}: {count}")).collect();
            write!(f, ", {skipped} skipped ({})", reasons.join(", "))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
