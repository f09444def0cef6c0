//! Recorded sessions, and their replay.
//!
//! Users are the same machines as those of a Markov model ([`crate::mail`], [`crate::url`]); only the next step is read
//! from a [`Script`] instead of drawn.

mod course;
mod object;
mod steps;

use std::{fmt, sync::Arc, time::Duration};

use controllers::{Class, Kind};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub(crate) use course::Course;
pub use object::{Object, Texts};
pub(crate) use steps::Steps;

/// When the steps of a session are due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pace {
    /// At the recorded times. The load is open except that a user waits for its page before it requests the next. An
    /// overdue step is requested at once, and goodput still counts from its recorded time.
    Clock,
    /// After the recorded pauses: the times follow the service's answers, as users do (closed).
    Sessions,
}

/// One request of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayStep {
    /// The request type: an index into the crowd's.
    pub kind: Kind,
    /// Time since the session's start.
    pub at: Duration,
    /// Time since the end of the previous answer.
    pub pause: Duration,
    /// The object of the request.
    pub object: Object,
    /// The same step in the recording's words, where the target needs them.
    pub texts: Texts,
}

/// A complete session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplaySession {
    /// Its start, since the start of the run.
    pub at: Duration,
    /// The user: it signs in with this account, modulo the number of accounts. Users with different numbers have draws
    /// of their own.
    pub user: u32,
    /// The user's name in the recording, where the target needs it; else empty.
    pub name: Arc<str>,
    /// Class.
    pub class: Class,
    /// Its steps in order of time.
    pub steps: Arc<[ReplayStep]>,
}

/// The recorded requests of a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    /// [`ReplaySession::name`].
    pub name: Arc<str>,
    /// The steps in order of time.
    pub steps: Arc<[ReplayStep]>,
    /// When the steps are due.
    pub pace: Pace,
}

/// A stream of sessions, which ends with an error if the rest cannot be read.
pub type Coming = Box<dyn Iterator<Item = Result<ReplaySession, String>> + Send>;

/// The source of recorded sessions. Each run opens it once; two openings give the same sessions.
pub trait ReplaySource: Send + Sync {
    /// Identifies the sessions down to the last step (file digests and parameters): plans with the same name send the
    /// same.
    fn name(&self) -> &str;

    /// The sessions, in order of their start.
    ///
    /// # Errors
    /// If the source cannot be opened: what and why.
    fn open(&self) -> Result<Coming, String>;
}

/// Recorded sessions, shared. A written plan contains their name alone: what is read back of it cannot be opened.
#[derive(Clone)]
pub struct ReplaySessions(Arc<dyn ReplaySource>);

impl ReplaySessions {
    /// Sessions from this source.
    #[must_use]
    pub fn from(source: impl ReplaySource + 'static) -> Self {
        Self(Arc::new(source))
    }

    /// These sessions, in order of their start, held in memory: for small recordings.
    #[must_use]
    pub fn listed(name: &str, mut sessions: Vec<ReplaySession>) -> Self {
        sessions.sort_by_key(|session| session.at);
        Self::from(Listed { name: name.to_owned(), sessions: sessions.into() })
    }

    /// See [`ReplaySource::name`].
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.name()
    }

    /// See [`ReplaySource::open`].
    ///
    /// # Errors
    /// If the source cannot be opened.
    pub fn open(&self) -> Result<Coming, String> {
        self.0.open()
    }
}

struct Listed {
    name: String,
    sessions: Arc<[ReplaySession]>,
}

impl ReplaySource for Listed {
    fn name(&self) -> &str {
        &self.name
    }

    fn open(&self) -> Result<Coming, String> {
        let sessions = self.sessions.clone();
        Ok(Box::new((0..sessions.len()).map(move |at| Ok(sessions[at].clone()))))
    }
}

impl fmt::Debug for ReplaySessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Sessions").field(&self.name()).finish()
    }
}

impl PartialEq for ReplaySessions {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Serialize for ReplaySessions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for ReplaySessions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::from(Named(String::deserialize(deserializer)?)))
    }
}

/// A name whose sessions are elsewhere.
struct Named(String);

impl ReplaySource for Named {
    fn name(&self) -> &str {
        &self.0
    }

    fn open(&self) -> Result<Coming, String> {
        Err(format!("the sessions of {} are not in the plan: make it from the trace again", self.0))
    }
}

#[cfg(test)]
mod tests;
