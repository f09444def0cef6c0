//! Errors of cleaning.

use super::bounds::{MAX_ATTRIBUTES, MAX_BYTES, MAX_DEPTH};

/// HTML that was not cleaned. The message is then shown as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HtmlError {
    /// Too long to clean.
    #[error("HTML of {bytes} bytes (at most {MAX_BYTES} are shown as HTML)")]
    TooLong {
        /// Its length, bytes.
        bytes: usize,
    },
    /// Nested so deeply that cleaning it would take too long.
    #[error("HTML nested deeper than {MAX_DEPTH} elements")]
    TooDeep,
    /// It takes more than [`MAX_WORK`](super::MAX_WORK) steps.
    #[error("HTML that would take too long to be made harmless")]
    TooCostly,
    /// A tag with so many attributes that reading it would take too long.
    #[error("HTML with more than {MAX_ATTRIBUTES} attributes in a tag")]
    TooManyAttributes,
}
