//! Errors of an import.

use std::io;

use super::importers::IMPORTERS;

/// The error of an import.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// A file cannot be opened.
    #[error("{name}: {error}")]
    Open {
        /// The file.
        name: String,
        /// The cause.
        error: io::Error,
    },
    /// A file of an unknown format.
    #[error(
        "{0}: this is none of the formats that can be imported: {files}; each as it is, or packed with gzip or zstd",
        files = files()
    )]
    Unknown(String),
    /// A trace.
    #[error("{0}: this is a trace already: `lab trace inspect` and `lab trace fit` read it as it is")]
    Trace(String),
    /// An empty file, the only one.
    #[error("{0}: it is empty")]
    Empty(String),
    /// The offset of stamps without a zone from those with one is ambiguous.
    #[error("{0}; --zone says how far stamps without a zone are ahead of UTC: --zone +01:00")]
    Zone(String),
    /// No file has actions of users.
    #[error("nothing in these files says what users did{0}")]
    Nothing(String),
    /// Temporary storage is full.
    #[error("temporary files: {0}; TMPDIR names another folder for them")]
    Spool(io::Error),
    /// The trace cannot be written.
    #[error("the trace cannot be written: {0}")]
    Write(io::Error),
}

/// The files that can be imported.
fn files() -> String {
    IMPORTERS.iter().map(|(_, importer)| importer.files).collect::<Vec<_>>().join(", ")
}
