//! What is sent: an experiment as a value, and what is to be computed of it.

use std::{borrow::Cow, ffi::OsStr, path::PathBuf};

use analysis::{
    sha256,
    summary::{Arm, Capacity},
};
use experiment::{Experiment, plan::Model};
use installed::catalogue;
use serde::{Deserialize, Serialize};

use crate::{args, exit::Failure, run::WORLD};

/// A piece of work for an agent. It names no path and no program: what it needs is in it, or a file by its digest.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct WorkItem<'a> {
    /// The name in messages.
    pub name: Cow<'a, str>,
    pub experiment: Cow<'a, Experiment>,
    /// The recording that it replays, by the digest of its bytes.
    pub recording: Option<String>,
    pub task: ItemTask,
}

/// What is computed of an experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ItemTask {
    /// One run of an arm.
    Arm {
        /// The number of the arm.
        arm: usize,
        /// The number of the block.
        block: u32,
        seed: u64,
        capacity: Option<Capacity>,
    },
    /// A whole run, with its folder.
    Folder,
}

/// What an agent makes of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ItemAnswer {
    /// The arm of a run.
    Arm(Box<Arm>),
    /// A folder; its files come behind, one after the other: name and length.
    Folder(Vec<(String, usize)>),
    /// It cannot be computed, anywhere.
    Failed(String),
}

/// The version of a program: agents compute for coordinators that have the same, with the same policies.
pub fn version() -> String {
    let of = format!("{} {WORLD} {}", args::VERSION, catalogue().names().join(" "));
    sha256::of(of.as_bytes())[..16].to_owned()
}

impl WorkItem<'_> {
    pub fn bytes(&self) -> Result<Vec<u8>, Failure> {
        serde_json::to_vec(self).map_err(Failure::because)
    }

    /// Digest of all that decides the result.
    pub fn key(bytes: &[u8]) -> String {
        sha256::of(&[version().as_bytes(), bytes].concat())
    }
}

/// Makes sure that an experiment is the same on the other side: some values never leave a machine.
///
/// # Errors
/// It is not.
pub fn check_sent(experiment: &Experiment) -> Result<(), Failure> {
    let sent = serde_json::to_vec(experiment).and_then(|sent| serde_json::from_slice::<Experiment>(&sent));
    if sent.is_ok_and(|sent| without_paths(sent) == without_paths(experiment.clone())) {
        return Ok(());
    }
    let why = "has values that do not leave this machine (header values, bodies): it is computed without --workers";
    Err(Failure::usage(format!("{} {why}", experiment.name)))
}

/// Without folders of files, and what nothing is computed of.
fn without_paths(mut experiment: Experiment) -> Experiment {
    let name = |path: &PathBuf| path.file_name().map(OsStr::to_owned).map(PathBuf::from);
    match &mut experiment.users.model {
        Model::Mail { file, .. } | Model::Script { file, .. } => *file = file.as_ref().and_then(name),
        Model::Url { left_out, .. } => *left_out = None,
    }
    if let Some(trace) = &mut experiment.users.trace {
        trace.file = name(&trace.file).unwrap_or_default();
    }
    experiment.rows.clear();
    experiment
}

#[cfg(test)]
mod tests {
    use experiment::{Changes, Library, read};

    use super::*;

    #[test]
    fn experiments_of_the_library_are_the_same_on_the_other_side() {
        let mut refused = Vec::new();
        for entry in Library::all().iter().chain(Library::suite()) {
            let experiment = read(entry.text, &Changes::default()).expect(entry.id);
            if check_sent(&experiment).is_err() {
                refused.push(entry.id);
            }
        }
        // Its forms have bodies.
        assert_eq!(refused, ["script-arashi"]);
    }
}
