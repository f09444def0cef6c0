//! Errors of parsing.

use super::bounds::{MAX_BYTES, MAX_HEADER_BYTES, MAX_LINES_WITH_COLON, MAX_MIME_HEADERS};

/// Bytes that are not a message that can be stored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// There are no bytes.
    #[error("empty")]
    Empty,
    /// There is none of the headers that mail has.
    #[error("not mail: no From, To, Subject, Date, Message-ID or Received header")]
    NotMail,
    /// Longer than [`MAX_BYTES`].
    #[error("{bytes} bytes long (at most {MAX_BYTES})")]
    TooLong {
        /// Its length.
        bytes: usize,
    },
    /// Its headers are longer than [`MAX_HEADER_BYTES`].
    #[error("headers longer than {MAX_HEADER_BYTES} bytes")]
    HeadersTooLong,
    /// More than [`MAX_MIME_HEADERS`] parts inside of parts.
    #[error("more than {MAX_MIME_HEADERS} MIME parts")]
    TooManyParts,
    /// More than [`MAX_LINES_WITH_COLON`] lines that could be headers.
    #[error("more than {MAX_LINES_WITH_COLON} lines that could be headers")]
    TooManyHeaders,
    /// The parser failed.
    #[error("the parser cannot read it")]
    Unreadable,
}

impl ParseError {
    /// The reason in one to three words, the same for all messages: for counting.
    #[must_use]
    pub fn label(&self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::NotMail => "not mail",
            Self::TooLong { .. } => "too long",
            Self::HeadersTooLong => "headers too long",
            Self::TooManyParts => "too many parts",
            Self::TooManyHeaders => "too many headers",
            Self::Unreadable => "unreadable",
        }
    }
}
