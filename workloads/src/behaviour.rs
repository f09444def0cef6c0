//! Reactions of users to trouble, and how they follow redirects.
//!
//! Every kind of user shares this: [`RequestAttempts`] is one request that a user wants answered, with the attempts it takes
//! and the hops it is sent along. Users differ in what they ask for and in how they judge the answer.

mod attempts;
mod follow;
mod home;
mod jitter;

pub(crate) use attempts::FirstLook;
pub use attempts::{Reaction, RequestAttempts, Trouble};
pub(crate) use follow::forbids_retry;
pub use follow::{Onward, onward};
pub use home::Home;
pub(crate) use jitter::full_jitter;

use crate::persona::{Connection, Draws, Purpose};
use crate::plan::ConnectionHabit;

impl ConnectionHabit {
    /// Which connection this user's requests go on; `new_session` says that a session begins with this one.
    #[must_use]
    pub fn connection(self, new_session: bool, draws: &Draws) -> Connection {
        match self {
            Self::PerUser => Connection::Keep,
            Self::PerSession if new_session => Connection::Fresh,
            Self::PerSession => Connection::Keep,
            Self::PerRequest => Connection::Once,
            // A user's habit is part of its character: drawn once, at step 0, whatever step it is at now.
            Self::Mixed { keep } if draws.character(Purpose::Character) < keep => Connection::Keep,
            Self::Mixed { .. } => Connection::Once,
        }
    }
}

#[cfg(test)]
mod tests;
