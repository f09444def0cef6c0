//! One line of a trace.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The action that begins a session.
pub const LOGIN: &str = "login";

/// The action that ends a session. It is not a request.
pub const LEAVE: &str = "leave";

/// Actions of web-mail users, by the names that experiments use. A trace may have others.
pub const ACTIONS: [&str; 9] = [
    LOGIN,
    "list folders",
    "list messages",
    "show message",
    "delete",
    "refile",
    "search",
    "create folder",
    "delete folder",
];

/// An object's folder and messages: `INBOX/12:21` is `INBOX` and `12:21`. Without numbers after its last slash, the
/// object is a folder.
#[must_use]
pub fn split_object(object: &str) -> (&str, &str) {
    let numbers = |text: &str| !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit() || b":,*".contains(&c));
    object.rsplit_once('/').filter(|(_, messages)| numbers(messages)).unwrap_or((object, ""))
}

/// The longest name of a user, session, action or object, bytes.
pub const LONGEST_NAME: usize = 1024;

/// A request of a user.
///
/// Keys are short because traces are long. Readers ignore unknown keys, so that version 1 can grow.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Record<'a> {
    /// The time of the request, microseconds since the start of the trace; never less than in the previous line.
    #[serde(rename = "t")]
    pub offset: u64,
    /// The user: a pseudonym, or a name where the header says so.
    #[serde(rename = "u", borrow)]
    pub user: Cow<'a, str>,
    /// The session.
    #[serde(rename = "s", borrow)]
    pub session: Cow<'a, str>,
    /// The action: `login`, `list messages` …, or `leave` at the end of a session.
    #[serde(rename = "a", borrow)]
    pub action: Cow<'a, str>,
    /// The object: `folder`, or `folder/messages` with the message numbers of the source. Empty: unknown.
    #[serde(rename = "o", borrow, default, skip_serializing_if = "str::is_empty")]
    pub object: Cow<'a, str>,
    /// Bytes from the user to the service.
    #[serde(rename = "in", default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<u64>,
    /// Bytes from the service to the user.
    #[serde(rename = "out", default, skip_serializing_if = "Option::is_none")]
    pub received: Option<u64>,
    /// The time until the answer was complete, microseconds.
    #[serde(rename = "d", default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<u64>,
    /// The outcome.
    #[serde(rename = "r", default, skip_serializing_if = "RecordOutcome::is_ok")]
    pub outcome: RecordOutcome,
    /// Class of the user or request; 0 is the lowest and the usual one.
    #[serde(rename = "c", default, skip_serializing_if = "is_zero")]
    pub class: u8,
    /// True if the source lacks the request: it must have happened, but its time is a guess (the login of a session
    /// whose log begins after it).
    #[serde(rename = "i", default, skip_serializing_if = "is_false")]
    pub inferred: bool,
    /// At the end of a session: totals of the source, with or without the actions themselves.
    #[serde(rename = "n", default, skip_serializing_if = "Option::is_none")]
    pub totals: Option<Totals>,
}

/// The totals of a session, from a source that counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Totals {
    /// Messages shown (bodies fetched).
    #[serde(skip_serializing_if = "is_none")]
    pub shown: Option<u64>,
    /// Messages deleted.
    #[serde(skip_serializing_if = "is_none")]
    pub deleted: Option<u64>,
    /// Length: microseconds, where the source says it itself.
    #[serde(skip_serializing_if = "is_none")]
    pub lasted: Option<u64>,
}

/// The outcome of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "Outcome")]
pub enum RecordOutcome {
    /// Answered as requested.
    #[default]
    Ok,
    /// Answered with an error: IMAP's NO and BAD, HTTP's 4xx.
    Error,
    /// Rejected for overload: HTTP's 429 and 503.
    Rejected,
    /// The service failed: HTTP's other 5xx, IMAP's BYE in place of an answer.
    Failed,
    /// The source has no answer to it.
    Unanswered,
}

impl RecordOutcome {
    /// True if answered as requested. By reference, as serde requires.
    #[must_use]
    pub fn is_ok(&self) -> bool {
        *self == Self::Ok
    }

    /// As written in traces.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Error => "error",
            Self::Rejected => "rejected",
            Self::Failed => "failed",
            Self::Unanswered => "unanswered",
        }
    }
}

impl Record<'_> {
    /// The time of the complete answer, or of the request if that is unknown, microseconds since the start of the
    /// trace.
    #[must_use]
    pub fn done(&self) -> u64 {
        self.offset.saturating_add(self.duration.unwrap_or(0))
    }

    /// The same record, owning its texts.
    #[must_use]
    pub fn into_owned(self) -> Record<'static> {
        let own = |text: Cow<'_, str>| Cow::Owned(text.into_owned());
        Record {
            user: own(self.user),
            session: own(self.session),
            action: own(self.action),
            object: own(self.object),
            offset: self.offset,
            sent: self.sent,
            received: self.received,
            duration: self.duration,
            outcome: self.outcome,
            class: self.class,
            inferred: self.inferred,
            totals: self.totals,
        }
    }

    /// The error of this record alone, if it is invalid.
    pub(super) fn problem(&self) -> Option<&'static str> {
        let names = [&self.user, &self.session, &self.action];
        if names.into_iter().any(|name| name.is_empty()) {
            return Some("user, session and action (u, s, a) must not be empty");
        }
        if names.into_iter().chain([&self.object]).any(|name| name.len() > LONGEST_NAME) {
            return Some("a name (u, s, a or o) is longer than 1024 bytes");
        }
        (self.offset > LATEST).then_some("its offset (t) is over two hundred years")
    }
}

/// Two hundred years, in microseconds: more than the distance of any two times that importers accept.
const LATEST: u64 = 200 * 366 * 24 * 3600 * 1_000_000;

fn is_zero(class: &u8) -> bool {
    *class == 0
}

fn is_false(flag: &bool) -> bool {
    !flag
}

fn is_none(count: &Option<u64>) -> bool {
    count.is_none()
}
