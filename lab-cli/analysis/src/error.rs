//! Faults of a run's folder.

use std::{fmt, io, path::PathBuf};

use crate::text::{json_in_words, without_os_numbers};

/// Reason for which a run's files say nothing.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// A file could not be read or written.
    #[error("{path}: {}", without_os_numbers(&source.to_string()))]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Cause of the operating system.
        source: io::Error,
    },
    /// A file is nothing that a run writes, and was not read.
    #[error("{path}: {why}")]
    Refused {
        /// Path of the file.
        path: PathBuf,
        /// Reason in words.
        why: String,
    },
    /// A file is not what it should be.
    #[error("{path} makes no sense: {cause}")]
    Senseless {
        /// Path of the file.
        path: PathBuf,
        /// Cause in words.
        cause: String,
    },
    /// A run cannot be computed again, and its files are not as it wrote them.
    #[error("{cause}\nfiles that were changed after the run: {files}")]
    Altered {
        /// Files, each with its difference.
        files: String,
        /// Error that kept anything from being computed.
        cause: Box<FolderError>,
    },
    /// Nothing can be computed again.
    #[error(
        "{0} has no records of its arms: it was run by an older lab, or it failed or was killed in its first arm; what there is is its timeline"
    )]
    NoRecords(PathBuf),
    /// A value could not be written as JSON.
    #[error("it cannot be written as JSON: {}", json_in_words(.0, 1))]
    Json(#[from] serde_json::Error),
}

impl FolderError {
    /// For `map_err` on what a file says.
    pub fn senseless<E: fmt::Display>(path: impl Into<PathBuf>) -> impl Fn(E) -> Self {
        let path = path.into();
        move |cause| Self::Senseless { path: path.clone(), cause: cause.to_string() }
    }

    /// For `map_err` on a file of JSON.
    pub fn senseless_json(path: impl Into<PathBuf>) -> impl Fn(serde_json::Error) -> Self {
        let senseless = Self::senseless(path);
        move |error| senseless(json_in_words(&error, 1))
    }

    /// True if a file of the folder was not read because no run writes such a one.
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::Refused { .. } => true,
            Self::Altered { cause, .. } => cause.is_refusal(),
            _ => false,
        }
    }

    /// For `map_err` on files.
    pub fn at(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { path, source }
    }
}
