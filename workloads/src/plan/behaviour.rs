//! Conduct of users, whatever service they use: accounts, reactions, patience, connections.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::persona::Answer;

/// A name and a password.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// Sign-in name.
    pub user: String,
    /// Password.
    pub password: String,
}

/// Reactions of a user to failed attempts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Behaviour {
    /// After a reject.
    pub on_reject: FailureRule,
    /// After a time-out, a failed connection or a failure.
    pub on_failure: FailureRule,
    /// How long users wait before they give up; `None`: they do not.
    pub patience: Option<Patience>,
    /// The largest number of redirects in a row that are followed.
    pub redirects: u32,
    /// Follow `Refresh` headers and meta refresh after their wait.
    pub refresh: bool,
    /// Wait as long as `Retry-After` says, up to this time; `None`: the header is ignored.
    #[serde(with = "controllers::millis::option")]
    pub retry_after_at_most: Option<Duration>,
    /// After an answer with `X-Retry: never` users do not retry the request ("overloaded; don't retry", Google SRE,
    /// chapter 21).
    pub heed_dont_retry: bool,
    /// A user may retry while retries are under this share of its requests; `None`: no budget.
    pub retry_budget: Option<f64>,
    /// The marks of a reject.
    #[serde(default, skip_serializing_if = "RefusalMarks::are_usual")]
    pub refused: RefusalMarks,
}

/// Marks by which an answer is known as a refusal because of load; each alone is one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusalMarks {
    /// Statuses.
    pub status: Vec<u16>,
    /// The name of a header, whatever its value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
}

/// 429 (RFC 6585, section 4) and 503 (RFC 9110, section 15.6.4).
impl Default for RefusalMarks {
    fn default() -> Self {
        Self { status: vec![429, 503], header: None }
    }
}

impl RefusalMarks {
    fn are_usual(&self) -> bool {
        *self == Self::default()
    }

    /// True if the answer has one of them.
    #[must_use]
    pub fn mark(&self, answer: &Answer<'_>) -> bool {
        self.status.contains(&answer.status)
            || self.header.as_ref().is_some_and(|name| answer.headers.iter().any(|(n, _)| n.eq_ignore_ascii_case(name)))
    }
}

/// The papers' users: wait 5 s and log in again after any failed attempt (Welsh, USITS'03, section 4.1), follow up to 10
/// redirects in a row and every `Refresh`, ignore `Retry-After`, heed `X-Retry: never`, and have all the patience in the world.
impl Default for Behaviour {
    fn default() -> Self {
        let login = FailureRule::Login { wait: Duration::from_secs(5) };
        Self {
            on_reject: login.clone(),
            on_failure: login,
            patience: None,
            redirects: 10,
            refresh: true,
            retry_after_at_most: None,
            heed_dont_retry: true,
            retry_budget: None,
            refused: RefusalMarks::default(),
        }
    }
}

impl Behaviour {
    /// True if a request may have more than one attempt.
    #[must_use]
    pub fn tries_again(&self) -> bool {
        let again = |rule: &FailureRule| matches!(rule, FailureRule::RetryNow { .. } | FailureRule::Backoff { .. });
        again(&self.on_reject) || again(&self.on_failure)
    }

    /// The same reaction after a reject and after a failure; the other settings are the defaults.
    #[must_use]
    pub fn on_any_failure(reaction: FailureRule) -> Self {
        Self { on_reject: reaction.clone(), on_failure: reaction, ..Self::default() }
    }
}

/// A reaction to a failed attempt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureRule {
    /// Waits, then starts a new session with a login (the papers' users: 5 s).
    Login {
        /// The wait.
        #[serde(with = "controllers::millis")]
        wait: Duration,
    },
    /// Retries the request at once, up to this many attempts in all; then as `Login` with a wait of 5 s.
    RetryNow {
        /// Attempts in all.
        attempts: u8,
    },
    /// Retries after a pause drawn uniformly from 0 to min(cap, base·2^n) ("full jitter"); then as `Login`.
    Backoff {
        /// Base.
        #[serde(with = "controllers::millis")]
        base: Duration,
        /// Cap.
        #[serde(with = "controllers::millis")]
        cap: Duration,
        /// Attempts in all.
        attempts: u8,
    },
    /// Leaves for good.
    Leave,
}

/// Impatience while a request is open.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Patience {
    /// The time until the user gives up.
    pub lasts: traces::Think,
    /// True if the user then reloads the page (a new attempt on a new connection) instead of leaving.
    pub reload: bool,
}

/// The connections that users use.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConnectionHabit {
    /// A connection for each user, kept as long as the user is there (Arashi's own client).
    PerUser,
    /// A connection for each session.
    PerSession,
    /// A connection for each request.
    PerRequest,
    /// A seeded share of the users keep their connections, the rest open a new one for each request: many thinking
    /// users on few descriptors.
    Mixed {
        /// The share of users that keep their connection, 0 to 1.
        keep: f64,
    },
    /// Kept connections that users take turns on, the one that was used last first; with HTTP/2 each carries as many requests
    /// at once as the service allows. Where all are in use, a request waits for one; the wait is part of its response time.
    Shared {
        /// The largest number; `None`: as many as are needed at once.
        most: Option<u32>,
    },
}
