//! Mail folders on disk, read message by message: mbox files, maildirs, and folders with a file per message.
//!
//! A message that cannot be read is an [`ImportProblem`] in its place in the stream, and the next one follows. Memory
//! is bounded by one message; a message over the limit is skipped, not held. Nothing is changed on disk, symbolic links
//! to folders are not followed, and names that start with a dot (or are not regular files) are not mail.

use std::{collections::BTreeMap, fmt, path::Path};

mod directory;
mod files;
mod listing;
mod maildir;
mod mbox;
mod message;
mod names;

pub use message::{ImportProblem, ImportReason, MailPlace, Messages, OpenError, RawMail};

/// Detects the kind of `path`, and starts to read it.
pub fn open(path: &Path) -> Result<Messages, OpenError> {
    let unreadable = |source| OpenError::Unreadable { path: path.to_owned(), source };
    let what = std::fs::metadata(path).map_err(unreadable)?;
    if what.is_file() {
        return files::open(path);
    }
    if !what.is_dir() {
        return Err(OpenError::Special { path: path.to_owned() });
    }
    // So that an unreadable folder is an error, not an empty import.
    std::fs::read_dir(path).map_err(unreadable)?;
    Ok(if maildir::is_maildir(path) { Box::new(maildir::read(path)) } else { directory::read(path) })
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
