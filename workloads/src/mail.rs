//! Web-mail users: they walk a Markov model over the pages of a mail service, and follow the marks that its pages carry
//! (see [`crate::page`]). The model is that of Welsh's thesis, figure 46; see `models/arashi.yaml`.
//!
//! How the walk meets the pages:
//! - A user draws its next state when a page has arrived, takes the link or form it needs from that page, thinks, and sends.
//! - Where the model has a row of second order (`second`) for a page and the one before it, the next state is drawn from that. Both
//!   are pages that the user was shown: what was drawn and not offered, and what had failed, is no page before.
//! - The pause is that of the way that is taken, where the model has one for it (`think_to`); else that of the page.
//! - States without a row (*delete*, *refile*) lead back to the page before: to that very page, though it may show a mail
//!   that is gone (its 404 then counts as served), or to the list it was in ([`PreviousPage`](crate::plan::PreviousPage)).
//! - A state that the page does not offer becomes *list messages*, and is counted ([`TransitionCount`]).
//! - Going to the start state ends a session and begins the next. A user opens the first folder, its inbox: the paper's
//!   users have one.
//! - A sign-in page in place of what was asked for means that the session is lost: that request has failed, and the user
//!   signs in again after its think time, whatever its behaviour on failures is.
//!
//! With a [`Script`](crate::replay::Script) the next state is read in place of being drawn, and so is its time:
//! - A user signs in first, whether or not its script begins with that. What web-mail users do not know is passed over.
//! - A step names its folder by a number ([`Object`](crate::replay::Object)): that folder's list is opened, and before a step in
//!   another folder than the user is in it is opened first (from the folders, if they are not known yet). A step without a
//!   folder stays in the one that is open.
//! - Which message or word is the step's number modulo what the page offers. Where a message is refiled to is chosen by that
//!   number as well: recordings do not say it.
//! - After a delete or refile the message of the page before may be asked for again, as without a script.
//! - A state that the page does not offer is looked for on a list (from the folders, if need be); if it is not there either,
//!   it is passed over.
//! - After a failure that ends the session the user signs in again and goes on with the step after; the one that failed is lost.

mod ask;
mod course;
mod judge;
mod model;
mod session;
mod shelf;
mod transitions;
mod user;

use std::sync::Arc;

use controllers::Kind;
use measure::{Offered, Replayed, TransitionCount};

pub use user::MailUser;

use crate::{
    behaviour::Home,
    crowd::CrowdError,
    page::push_encoded,
    plan::{MailUsers, Marks},
    replay::Steps,
};
use model::{State, Walk};
use transitions::Counts;

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

/// Whether web-mail users make requests of this type.
#[must_use]
pub fn users_make(kind: Kind) -> bool {
    State::of(kind).is_some()
}

/// Shared by all mail users.
#[derive(Debug, Clone)]
pub struct MailCrowd(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    users: MailUsers,
    home: Home,
    walk: Walk,
    /// The form that signs in, by account.
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

/// [`ARASHI`], read.
///
/// # Panics
/// Never: a test reads it.
#[must_use]
pub fn arashi() -> traces::UserModel {
    traces::UserModel::from_yaml(ARASHI).expect("the shipped model is sound")
}

/// Whether web-mail users can walk this model.
///
/// # Errors
/// What they do not have, in words that go on from the model's name.
pub fn check_model(model: &traces::UserModel) -> Result<(), String> {
    Walk::new(model).map(|_| ())
}

impl MailCrowd {
    /// Users of this model, of the service at `home`.
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

    /// How often pages offered what was drawn, by minutes of the run.
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
