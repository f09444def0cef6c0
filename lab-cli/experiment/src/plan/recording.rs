//! A recording that users replay.

mod names;
mod played;

use std::{
    ops::Range,
    path::{Path, PathBuf},
    time::Duration,
};

use controllers::Class;
use serde::{Deserialize, Serialize, Serializer};
use workloads::{
    plan::{Load, LoadPlan},
    replay::{Pace, ReplaySessions},
};

pub use played::{Cut, Played};

/// A recording, and how it is replayed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recording {
    /// The trace.
    #[serde(serialize_with = "file_name_only")]
    pub file: PathBuf,
    /// Digest of its bytes.
    pub sha256: String,
    /// Pace of the steps of a session.
    pub pace: Pace,
    /// Part that is played, with its speed and its repetitions.
    #[serde(flatten)]
    pub cut: Cut,
    /// Sessions that are replayed.
    pub sessions: u64,
    /// Requests in them.
    pub requests: u64,
    /// Requests among them such that web-mail users do not make: they pass over them.
    pub other: u64,
    /// Classes that occur.
    pub classes: Vec<u8>,
}

impl Recording {
    /// Duration of the replay.
    pub fn lasts(&self) -> Duration {
        self.cut.lasts.div_f64(self.cut.speed)
    }

    /// Requests of the sessions that start in these stretches of the recording. The trace is read for it only if they are not all
    /// of its.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn requests_in(&self, spans: &[Range<Duration>]) -> Result<u64, String> {
        if spans.first().is_some_and(|span| span.start.is_zero() && span.end >= self.lasts()) {
            return Ok(self.requests);
        }
        let mut requests = 0;
        for session in self.played().sessions()? {
            let session = session?;
            if spans.iter().any(|span| span.contains(&session.at)) {
                requests += session.steps.len() as u64;
            }
        }
        Ok(requests)
    }

    /// Sessions and requests that are replayed.
    pub fn played(&self) -> Played {
        Played::new(self.file.clone(), &self.sha256, self.cut)
    }

    /// Gives a plan that was read back the sessions that it names; others stay names.
    pub fn fill_in(&self, plan: &mut LoadPlan) {
        let ours = [self.played(), self.played().with_texts()].map(ReplaySessions::from);
        for load in plan.phases.iter_mut().flat_map(|phase| &mut phase.loads) {
            if let Load::Replay { sessions, .. } = load
                && let Some(found) = ours.iter().find(|ours| *ours == sessions)
            {
                *sessions = found.clone();
            }
        }
    }

    /// The same as a load.
    pub fn load(&self, played: Played) -> Load {
        Load::Replay {
            sessions: ReplaySessions::from(played),
            pace: self.pace,
            classes: self.classes.iter().copied().map(Class).collect(),
        }
    }
}

/// Serializes the last name of a path alone: no folders of this machine.
fn file_name_only<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_some(&path.file_name().map(|name| name.to_string_lossy()))
}
