//! Errors of thresholds as they are written, each with its place.

/// Fault of a threshold, and the way out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}; {hint} (at character {})", at + 1)]
pub struct ThresholdError {
    /// Index in the text, in characters from 0.
    pub at: usize,
    /// Description of the fault.
    pub message: String,
    /// Advice on what would be right.
    pub hint: String,
}

pub(super) fn error(at: usize, message: impl Into<String>, hint: impl Into<String>) -> ThresholdError {
    ThresholdError { at, message: message.into(), hint: hint.into() }
}
