//! The page that users return to from states without a row.

use serde::{Deserialize, Serialize};

/// The two readings of "always transitions to the previous page visited" after *delete* and *refile* (Welsh's thesis,
/// figure 46).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PreviousPage {
    /// The exact previous page, even a message that was just deleted (its 404 counts as served).
    #[default]
    Literal,
    /// The list that the message was in: from *show message* to *list messages*; from a list or search it is that page.
    List,
}

impl PreviousPage {
    /// The state that follows a state without a row which was reached from `from`.
    #[must_use]
    pub fn after(self, from: &str) -> &str {
        if self == Self::List && from == "show message" { "list messages" } else { from }
    }
}
