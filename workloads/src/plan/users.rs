//! The users of a plan, by kind.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use traces::PreviousPage;

use super::{Account, AnswerCheck, Behaviour, ConnectionHabit, ScriptUsers};

/// The users of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Users {
    /// Web-mail users that walk a Markov model.
    Mail(MailUsers),
    /// Users that ask for one URL again and again (`lab load`, synthetic services).
    Url(UrlUsers),
    /// Users that walk a test plan.
    Script(ScriptUsers),
}

impl Users {
    /// The reactions of these users to failed attempts.
    #[must_use]
    pub fn behaviour(&self) -> &Behaviour {
        match self {
            Self::Mail(users) => &users.behaviour,
            Self::Url(users) => &users.behaviour,
            Self::Script(users) => &users.behaviour,
        }
    }

    /// The same, to be changed.
    pub fn behaviour_mut(&mut self) -> &mut Behaviour {
        match self {
            Self::Mail(users) => &mut users.behaviour,
            Self::Url(users) => &mut users.behaviour,
            Self::Script(users) => &mut users.behaviour,
        }
    }

    /// The connections that these users use.
    #[must_use]
    pub fn connections(&self) -> ConnectionHabit {
        match self {
            Self::Mail(users) => users.connections,
            Self::Url(users) => users.connections,
            Self::Script(users) => users.connections,
        }
    }

    /// True if a request of these users has a `Host` line of its own.
    #[must_use]
    pub fn give_host(&self) -> bool {
        let is_host = |(name, _): &(String, String)| name.eq_ignore_ascii_case("host");
        match self {
            Self::Mail(_) => false,
            Self::Url(users) => users.headers.iter().any(is_host),
            Self::Script(users) => users.plan.steps().any(|step| step.headers.iter().any(is_host)),
        }
    }
}

/// Web-mail users.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MailUsers {
    /// Transitions and think times.
    pub model: traces::UserModel,
    /// The meaning of "the previous page" after a delete or refile.
    pub previous_page: PreviousPage,
    /// Accounts: user n signs in as account n modulo their number.
    pub accounts: Vec<Account>,
    /// Reactions of a user to failed attempts.
    pub behaviour: Behaviour,
    /// The connections that users use.
    pub connections: ConnectionHabit,
}

impl MailUsers {
    /// Users that walk this model with the default behaviour, each on a connection that it keeps; the previous page is
    /// the literal one (see [`PreviousPage`]).
    #[must_use]
    pub fn new(model: traces::UserModel, accounts: Vec<Account>) -> Self {
        Self {
            model,
            previous_page: PreviousPage::default(),
            accounts,
            behaviour: Behaviour::default(),
            connections: ConnectionHabit::PerUser,
        }
    }
}

/// Users of one service, which ask for one URL or draw each request from a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UrlUsers {
    /// Path and query.
    pub path: String,
    /// `GET` or `POST`.
    pub method: String,
    /// Extra header lines.
    pub headers: Vec<(String, String)>,
    /// Body of a POST.
    pub body: Option<String>,
    /// The requests to draw from, at most [`MOST_REQUESTS`](crate::url::MOST_REQUESTS); empty: `path`, `method` and
    /// `body` are the only one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<UrlRequest>,
    /// What counts as served, of any of the requests.
    #[serde(default, skip_serializing_if = "AnswerCheck::is_none")]
    pub check: AnswerCheck,
    /// Pause between an answer and the next request.
    pub think: traces::Think,
    /// Reactions of a user to failed attempts.
    pub behaviour: Behaviour,
    /// The connections that users use.
    pub connections: ConnectionHabit,
}

impl UrlUsers {
    /// Users that get this path, again at once after each answer, each on a connection that it keeps.
    #[must_use]
    pub fn new(path: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            method: "GET".to_owned(),
            headers: Vec::new(),
            body: None,
            requests: Vec::new(),
            check: AnswerCheck::default(),
            think: traces::Think::Constant(Duration::ZERO),
            behaviour: Behaviour::default(),
            connections: ConnectionHabit::PerUser,
        }
    }
}

/// One of the requests that users draw from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UrlRequest {
    /// The request type in tables; several requests may have the same.
    pub name: String,
    /// How often it is drawn, in proportion to the weights of the others; over 0.
    pub weight: f64,
    /// The method: one of [`Method::ALL`](crate::persona::Method::ALL).
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Header lines in addition to those of all requests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<(String, String)>,
    /// The body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
}
