//! Facts about a part of an arm's users, in its record.

use serde::{Deserialize, Serialize};

/// Facts about a part that its merging is judged by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartFacts {
    /// Version of the lab that ran it.
    pub lab: String,
    /// SHA-256 of the whole plan and its schedule.
    pub plan: String,
    /// Its beginning; `None` in virtual time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began: Option<PartStart>,
    /// The agent that sent it, where one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The reason why it ended before its plan did, and others may have gone on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<String>,
}

/// The beginning of a part, by the clock of its machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartStart {
    /// Microseconds since 1970.
    pub unix_us: u64,
    /// The most by which that is off, by the kernel's account; `None`: nothing keeps the clock set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_us: Option<u64>,
    /// Digest of what the kernel is called since it was started: what shares it has the same clock.
    pub kernel: String,
}
