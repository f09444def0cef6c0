//! Which transitions users made.

use serde::{Deserialize, Serialize};

/// How often users went from one state to another by the model's rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransitionCount {
    /// State they were in.
    pub from: String,
    /// State they drew.
    pub to: String,
    /// Times it was drawn on a page that offered every state of the row, and therefore made.
    pub made: u64,
    /// Times it was drawn on a page that did not offer every state of the row, but did offer this one.
    pub made_elsewhere: u64,
    /// Times it was drawn where the page did not offer it: the user listed messages instead.
    pub substituted: u64,
}
