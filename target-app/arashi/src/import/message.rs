//! Messages of a folder, and those that were not imported.

use std::{
    fmt, io,
    path::{Path, PathBuf},
};

use crate::parse::ParseError;

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
}

/// A stream of messages.
pub type Messages = Box<dyn Iterator<Item = Result<RawMail, ImportProblem>> + Send>;

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
    pub(super) fn of_file(path: &Path, reason: ImportReason) -> Self {
        Self { place: MailPlace { path: path.to_owned(), message: None }, reason }
    }
}

/// The cause of an [`ImportProblem`].
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

/// A path without any mail to import.
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
