//! A whole session.

use serde::{Deserialize, Serialize};

/// Start and number of a session.
pub(super) type Key = (u64, u64);

/// A session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// The user.
    pub user: String,
    /// The class of its first record.
    pub class: u8,
    /// The start, microseconds since the start of the trace.
    pub start: u64,
    /// The requests in order of time.
    pub steps: Vec<Step>,
}

/// One request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// As in the trace.
    pub action: String,
    /// As in the trace.
    pub object: String,
    /// The time since the session's start, microseconds.
    pub at: u64,
    /// The time since the previous answer, microseconds; 0 if that was still pending.
    pub pause: u64,
}
