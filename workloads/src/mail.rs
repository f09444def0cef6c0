//! Web-mail users.

mod transitions;

pub use transitions::TransitionCount;

use controllers::{Class, Timestamp};

use crate::{
    crowd::CrowdError,
    persona::{Draws, Persona, Reply, Stay, Turn},
    plan::MailUsers,
};

/// The request types of the mail service, in the order of their [`controllers::Kind`].
pub const REQUEST_TYPES: [&str; 10] = [
    "login",
    "list folders",
    "list messages",
    "show message",
    "delete",
    "refile",
    "search",
    "create folder",
    "delete folder",
    "other",
];

/// What all mail users share. There is none yet.
#[derive(Debug, Clone)]
pub struct MailCrowd(std::convert::Infallible);

/// A web-mail user. There is none yet.
#[derive(Debug)]
pub struct MailUser(MailCrowd);

impl MailCrowd {
    /// Users of this model.
    ///
    /// # Errors
    /// Always, for now.
    pub fn new(users: &MailUsers) -> Result<Self, CrowdError> {
        Err(CrowdError::Model { name: users.model.name.clone(), problem: "cannot be walked yet".into() })
    }

    /// Transitions made so far.
    #[must_use]
    pub fn transitions(&self) -> Vec<TransitionCount> {
        match self.0 {}
    }
}

impl MailUser {
    /// A user that has not arrived yet.
    #[must_use]
    pub fn new(shared: MailCrowd, _slot: u32, _class: Class, _stay: Stay) -> Self {
        Self(shared)
    }
}

impl Persona for MailUser {
    fn next(&mut self, _last: Reply<'_>, _now: Timestamp, _draws: &mut Draws) -> Turn {
        match self.0.0 {}
    }
}
