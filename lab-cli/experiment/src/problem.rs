//! Problems of a file, each with its place and the way out: every problem at once.

use std::{
    cell::RefCell,
    fmt,
    path::{Path, PathBuf},
};

/// Place where a value was written.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    /// Place in the file, both numbers counted from 1.
    File {
        /// Line.
        line: u64,
        /// Column.
        column: u64,
    },
    /// Flag of the command line.
    Flag(String),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { line, column } => write!(f, "{line}:{column}"),
            Self::Flag(flag) => f.write_str(flag),
        }
    }
}

/// One problem.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileProblem {
    /// Place of the value.
    pub(crate) place: Place,
    /// The key, dotted: `users.phases.spike.for`; empty for the file as a whole.
    pub key: String,
    /// Problem in one sentence.
    pub message: String,
    /// Way out.
    pub hint: Option<String>,
}

impl fmt::Display for FileProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.place)?;
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        f.write_str(&self.message)?;
        match &self.hint {
            Some(hint) => write!(f, "\n    {hint}"),
            None => Ok(()),
        }
    }
}

/// Collects problems while a file is read, so that a person sees all of them at once.
#[derive(Debug, Default)]
pub(crate) struct Problems {
    found: RefCell<Vec<FileProblem>>,
    folder: PathBuf,
}

impl Problems {
    /// Problems of a file in this folder; empty: the working directory.
    pub fn in_folder(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), ..Self::default() }
    }

    /// Folder from which a path goes that was written here: the file's, or for a flag the working directory.
    pub fn from(&self, place: &Place) -> &Path {
        match place {
            Place::File { .. } => &self.folder,
            Place::Flag(_) => Path::new(""),
        }
    }

    /// Adds one with a way out.
    pub fn add(&self, place: &Place, key: &str, message: impl Into<String>, hint: impl Into<String>) {
        let hint = Some(hint.into()).filter(|hint| !hint.is_empty());
        let problem = FileProblem { place: place.clone(), key: key.to_owned(), message: message.into(), hint };
        self.found.borrow_mut().push(problem);
    }

    /// Adds one with a way out: there is no value then.
    pub fn wrong<T>(&self, place: &Place, key: &str, message: impl Into<String>, hint: impl Into<String>) -> Option<T> {
        self.add(place, key, message, hint);
        None
    }

    /// All of them, in the order of the file.
    pub fn into_sorted(self) -> Vec<FileProblem> {
        let mut all = self.found.into_inner();
        all.sort();
        all.dedup();
        all
    }
}
