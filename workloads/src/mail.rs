//! Web-mail users: they walk a Markov model over the pages of a mail service, and follow the marks that its pages carry
//! (see [`crate::page`]). The model is that of Welsh's thesis, figure 46; see `models/arashi.yaml`.
//!
//! The walk over the pages:
//! - A user draws its next state when a page has arrived, takes the link or form for it from that page, thinks, and
//!   sends.
//! - Where the model has a row of second order (`second`) for a page and the one before it, the next state is drawn
//!   from that row. Both are pages that the user was shown: a state that the page did not offer, or whose request
//!   failed, does not count as the page before.
//! - The pause is that of the transition, where the model has one for it (`think_to`); else that of the page.
//! - States without a row (*delete*, *refile*) lead back to the page before: literally, even to a mail that is gone
//!   (its 404 then counts as served), or to the list that had it ([`PreviousPage`](crate::plan::PreviousPage)).
//! - A state that the page does not offer becomes *list messages*, and is counted ([`TransitionCount`]).
//! - The start state ends a session and begins the next. A user opens the first folder, its inbox: the paper's users
//!   have one.
//! - A sign-in page in place of the requested page means that the session is lost: that request has failed, and the
//!   user signs in again after its think time, whatever its behaviour on failures is.
//!
//! With a [`Script`](crate::replay::Script) the next state and its time are read instead of drawn:
//! - A user signs in first, whether or not its script begins with that. Steps that web-mail users do not know are
//!   skipped.
//! - A step names its folder by a number ([`Object`](crate::replay::Object)) and opens that folder's list. Before a
//!   step in another folder than the open one, the user opens that folder (through the page of folders, if they are not
//!   known yet). A step without a folder stays in the open one.
//! - The message or word is the step's number modulo what the page offers. The same number chooses the folder that a
//!   message is refiled to: recordings do not name it.
//! - After a delete or refile the user may request the message of the page before again, as without a script.
//! - A state that the page does not offer is looked for on a list (through the page of folders, if need be); if the
//!   list does not offer it either, the step is skipped.
//! - After trouble that ends the session the user signs in again and goes on with the next step; the failed step is
//!   lost.

mod ask;
mod course;
mod judge;
mod known_mailbox;
mod model;
mod transitions;
mod user;

use std::sync::Arc;

use controllers::Kind;
use measure::{Offered, Replayed, TransitionCount};

pub use user::MailUser;

use crate::{
    behaviour::Home,
    crowd_error::CrowdError,
    page::push_encoded,
    plan::{MailUsers, Marks},
    replay::Steps,
};
use model::{State, Walk};

pub use model::REQUEST_TYPES;
use transitions::Counts;

/// True if web-mail users make requests of this type.
#[must_use]
pub fn users_make(kind: Kind) -> bool {
    State::of(kind).is_some()
}

/// The state that all mail users share.
#[derive(Debug, Clone)]
pub struct MailCrowd(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    users: MailUsers,
    home: Home,
    walk: Walk,
    /// The body of the sign-in form, by account.
    logins: Vec<Arc<str>>,
    login_path: Arc<str>,
    nothing: Arc<str>,
    /// Header lines by class.
    marks: Vec<String>,
    counts: Counts,
    steps: Steps,
}

/// The model of the Arashi service, `models/arashi.yaml`: Welsh's thesis, figure 46.
pub const ARASHI: &str = include_str!("../models/arashi.yaml");

/// [`ARASHI`], parsed.
///
/// # Panics
/// Never: a test parses it.
#[must_use]
pub fn arashi() -> traces::UserModel {
    traces::UserModel::from_yaml(ARASHI).expect("the shipped model is sound")
}

/// Checks that web-mail users can walk this model.
///
/// # Errors
/// The states that they do not have, as the rest of a sentence that begins with the model's name.
pub fn check_model(model: &traces::UserModel) -> Result<(), String> {
    Walk::new(model).map(|_| ())
}

impl MailCrowd {
    /// Mail users of this model, of the service at `home`.
    ///
    /// # Errors
    /// If there are no accounts, or the model has states that web-mail users do not have.
    pub fn new(users: &MailUsers, marks: &Marks, home: Home) -> Result<Self, CrowdError> {
        if users.accounts.is_empty() {
            return Err(CrowdError::NoAccounts);
        }
        let walk =
            Walk::new(&users.model).map_err(|problem| CrowdError::Model { name: users.model.name.clone(), problem })?;
        let logins = users.accounts.iter().map(|account| {
            let mut form = String::new();
            push_encoded(&mut form, "user", &account.user);
            push_encoded(&mut form, "password", &account.password);
            Arc::from(form)
        });
        Ok(Self(Arc::new(Shared {
            logins: logins.collect(),
            home,
            walk,
            login_path: "/login".into(),
            nothing: "".into(),
            marks: marks.lines(),
            counts: Counts::default(),
            steps: Steps::default(),
            users: MailUsers { accounts: Vec::new(), ..users.clone() },
        })))
    }

    /// Transitions made so far by all users.
    #[must_use]
    pub fn transitions(&self) -> Vec<TransitionCount> {
        self.0.counts.seen()
    }

    /// How often pages offered the drawn state, by minutes of the run.
    #[must_use]
    pub fn offered(&self) -> Vec<Offered> {
        self.0.counts.offered()
    }

    /// Counts of recorded steps so far.
    #[must_use]
    pub fn replayed(&self) -> Replayed {
        self.0.steps.seen()
    }
}

#[cfg(test)]
mod tests;
