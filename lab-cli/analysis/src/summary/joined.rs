use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The requests of both sides, joined one by one by the number that each carries. Neither side alone can know which were
/// never read: a request without an answer may have been read all the same.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Joined {
    /// Written by the clients, redirects and refreshes included: `answered` and `unanswered` together.
    pub written: u64,
    /// Of these, those with a whole answer.
    pub answered: u64,
    /// Those without, by what became of them: `timed_out`, `abandoned`, `failed`, `in_flight`.
    pub unanswered: BTreeMap<String, u64>,
    /// Of the unanswered, those that the service never read.
    pub unread: BTreeMap<String, u64>,
    /// Answered, though the service never read them: refused before it did.
    pub turned_away: u64,
    /// Read more than once: written again on a new connection, after a kept one was closed.
    pub read_again: u64,
    /// Read by the service and written by none of the clients.
    pub strange: u64,
}

impl Joined {
    /// Requests without an answer that were never read.
    pub fn unread(&self) -> u64 {
        self.unread.values().sum()
    }

    /// Requests that the service has read if it read all of `written` requests but those that lay unread. `None`:
    /// more lay unread than were written.
    pub fn read_of(&self, written: u64) -> Option<u64> {
        (written + self.read_again + self.strange).checked_sub(self.unread() + self.turned_away)
    }
}
