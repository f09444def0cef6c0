//! Reactions of users to failed attempts, and redirects that they follow.
//!
//! All kinds of users share this: [`RequestAttempts`] is one request that a user wants answered, with its attempts and
//! its hops. Users differ in what they request and in how they judge the answer.

mod advice;
pub(crate) mod cookies;
mod home;
mod jitter;
mod redirect;
mod retry;

pub(crate) use advice::forbids_retry;
pub use home::Home;
pub(crate) use home::LinkPlace;
pub(crate) use jitter::full_jitter;
pub use redirect::{Onward, onward};
pub(crate) use retry::FirstLook;
pub use retry::{AttemptFailure, Reaction, RequestAttempts};

use crate::persona::{Connection, Draws, Purpose};
use crate::plan::ConnectionHabit;

impl ConnectionHabit {
    /// The connection for this user's request; `new_session` says that a session begins with it.
    #[must_use]
    pub fn connection(self, new_session: bool, draws: &Draws) -> Connection {
        match self {
            Self::PerUser | Self::Shared { .. } => Connection::Keep,
            Self::PerSession if new_session => Connection::Fresh,
            Self::PerSession => Connection::Keep,
            Self::PerRequest => Connection::Once,
            // A user's habit is part of its character: drawn once, at step 0, whatever the current step is.
            Self::Mixed { keep } if draws.character(Purpose::Character) < keep => Connection::Keep,
            Self::Mixed { .. } => Connection::Once,
        }
    }
}

#[cfg(test)]
mod tests;
