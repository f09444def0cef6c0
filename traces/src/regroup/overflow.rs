//! Parts of sessions in temporary files, each in the order of sessions' keys.

use std::{fmt, io};

use serde::{Deserialize, Serialize};

use super::session::{Key, Session};
use crate::spool::{Packed, next_of, opened, written};

/// Consecutive steps of a session.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Part {
    pub(super) key: Key,
    pub(super) session: Session,
}

/// Files in the order of writing: an earlier file has the earlier steps of a session.
#[derive(Default)]
pub(super) struct Overflow {
    files: Vec<Open>,
    line: String,
}

struct Open {
    file: Packed,
    /// The next part in the file.
    next: Part,
}

/// The largest number of open files: beyond it they are merged into one.
const FILES: usize = 32;

impl Overflow {
    /// Writes parts, which are in the order of their keys.
    pub(super) fn push(&mut self, parts: impl Iterator<Item = Part>) -> io::Result<()> {
        if self.files.len() >= FILES {
            let mut all = Self { files: std::mem::take(&mut self.files), line: String::new() };
            let merged = std::iter::from_fn(|| all.first().map(|key| all.take(key)));
            let merged = merged.filter_map(Result::transpose);
            self.open(merged)?;
        }
        self.open(parts.map(Ok))
    }

    fn open(&mut self, parts: impl Iterator<Item = io::Result<Part>>) -> io::Result<()> {
        let mut file = opened(written(parts)?)?;
        if let Some(next) = next_of(&mut file, &mut self.line)? {
            self.files.push(Open { file, next });
        }
        Ok(())
    }

    /// The key of the first session with a part in the files.
    pub(super) fn first(&self) -> Option<Key> {
        self.files.iter().map(|open| open.next.key).min()
    }

    /// All parts of this session, which must be the first.
    pub(super) fn take(&mut self, key: Key) -> io::Result<Option<Part>> {
        let mut whole: Option<Part> = None;
        let mut nth = 0;
        while let Some(open) = self.files.get_mut(nth) {
            if open.next.key != key {
                nth += 1;
                continue;
            }
            // A file has at most one part of a session.
            let part = match next_of(&mut open.file, &mut self.line)? {
                Some(next) => {
                    nth += 1;
                    std::mem::replace(&mut open.next, next)
                }
                None => self.files.remove(nth).next,
            };
            match &mut whole {
                None => whole = Some(part),
                Some(whole) => whole.session.steps.extend(part.session.steps),
            }
        }
        Ok(whole)
    }
}

impl fmt::Debug for Overflow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Overflow").field("files", &self.files.len()).finish_non_exhaustive()
    }
}
