//! Errors of a run, with the way out.

use std::{
    io,
    path::{Path, PathBuf},
};

use analysis::FolderError;
use workloads::crowd::CrowdError;

use crate::exit::Failure;
#[cfg(feature = "live")]
use {arashi::corpus::CorpusError, live_service::control::client::ControlError};

/// The reason why a run could not be carried out.
#[derive(Debug, thiserror::Error)]
pub enum RunFailure {
    /// The results folder is there already.
    #[error("{0} is there already: name another with --out")]
    FolderExists(PathBuf),
    /// Mail could not be made.
    #[cfg(feature = "live")]
    #[error(transparent)]
    Corpus(#[from] CorpusError),
    /// The target did not start.
    #[error("the target did not start: {cause}\n{last_words}")]
    TargetStart {
        /// The reason.
        cause: String,
        /// The last lines of its standard error.
        last_words: String,
    },
    /// A service that is not the lab's does not do what it is to do.
    #[error("{name}: {cause}{way_out}")]
    Service {
        /// The service's name in messages.
        name: String,
        /// The defect.
        cause: String,
        /// Remedies, on lines of their own, after the last lines of its output; empty: the cause says it.
        way_out: String,
    },
    /// An arm knows beforehand what only virtual time can tell.
    #[error("{arm} knows beforehand what only virtual time can tell: {remedy}")]
    Hindsight {
        /// The arm.
        arm: String,
        /// The way out.
        remedy: String,
    },
    /// Virtual time has not what its users need.
    #[error("{name} cannot be run in virtual time: {why}")]
    LiveOnly {
        /// The experiment.
        name: String,
        /// The reason, and the way out.
        why: String,
    },
    /// The target's control port did not answer.
    #[cfg(feature = "live")]
    #[error(transparent)]
    Control(#[from] ControlError),
    /// A live run, with a program that was built without them.
    #[error(
        "this program was built for virtual time alone: add --virtual, or build it with its default features (cargo build --release)"
    )]
    VirtualBuild,
    /// The recording could not be read once more.
    #[error("the recording {0}")]
    Recording(String),
    /// The target did something else than it should.
    #[error("the target: {0}")]
    Target(String),
    /// Users of the load cannot be made.
    #[error(transparent)]
    Crowd(#[from] CrowdError),
    /// The load could not be produced.
    #[cfg(feature = "live")]
    #[error(transparent)]
    Load(#[from] senders::RunError),
    /// The machine is slower than the capacity that was asked for.
    #[error(
        "the target serves {measured:.0} requests a second without extra work, and a capacity of {wanted:.0}/s was asked for: \
         lower target.capacity (--set target.capacity={suggested:.0}/s)"
    )]
    TooSlow {
        /// Asked for.
        wanted: f64,
        /// Found.
        measured: f64,
        /// Would do.
        suggested: f64,
    },
    /// The search for the work knob found nothing.
    #[error("{0}")]
    Capacity(String),
    /// Agents cannot send the load, and none has begun.
    #[error("{0}")]
    Agents(String),
    /// Agents have sent something, and no record of it came.
    #[error("{0}")]
    AgentsFailed(String),
    /// It was told to stop before there was a result.
    #[error("interrupted: nothing was written")]
    Interrupted,
    /// Something else of this machine.
    #[error("{what}: {source}")]
    Machine {
        /// The action that failed.
        what: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// An arm cannot even be built.
    #[error("{arm} cannot start: {cause}")]
    CannotStart {
        /// The arm.
        arm: String,
        /// The reason.
        cause: String,
    },
    /// The results folder cannot be read or written.
    #[error(transparent)]
    Folder(#[from] FolderError),
}

/// The last lines of the output of a service that does not start, and what to do.
pub(super) fn of_its_output(last_words: &str) -> String {
    let way_out = "start it by hand with the command of the experiment, and see that target.ready answers";
    quoting(last_words, way_out)
}

/// The last lines of the output of a service that ended in mid-run, and where everything is: its `log`, and the `folder` of the run.
pub(super) fn of_its_end(last_words: &str, log: &Path, folder: &Path) -> String {
    let (log, run) = (log.display(), folder.display());
    // Each arm that ends leaves a summary of all until then.
    let kept = if folder.join("summary.json").exists() {
        format!("the arms before it are kept: lab report {run}")
    } else {
        format!("no arm had ended; what was seen of this one is in {run}/timeline.jsonl")
    };
    quoting(last_words, &format!("all that it said is in {log}; {kept}"))
}

fn quoting(last_words: &str, way_out: &str) -> String {
    match last_words.trim() {
        "" => format!("\n  it has said nothing; {way_out}"),
        said => format!("\n  the last lines of its output:\n{said}\n  {way_out}"),
    }
}

/// Bad input, where another file or flag is the way out; else a failure.
impl From<RunFailure> for Failure {
    fn from(failure: RunFailure) -> Self {
        match failure {
            RunFailure::FolderExists(_)
            | RunFailure::Agents(_)
            | RunFailure::Hindsight { .. }
            | RunFailure::LiveOnly { .. }
            | RunFailure::VirtualBuild
            | RunFailure::CannotStart { .. } => Self::usage(failure),
            other => Self::because(other),
        }
    }
}

impl From<serde_json::Error> for RunFailure {
    fn from(error: serde_json::Error) -> Self {
        Self::Folder(error.into())
    }
}

impl RunFailure {
    /// The error alone: without its quotations and without the way out.
    pub fn in_a_line(&self) -> String {
        match self {
            Self::Service { name, cause, .. } => format!("{name}: {cause}"),
            Self::Interrupted => "it was interrupted".to_owned(),
            other => other.to_string().lines().next().unwrap_or_default().to_owned(),
        }
    }

    /// The error of a folder for results that was not made.
    pub fn of_new_folder(error: FolderError) -> Self {
        match error {
            FolderError::File { path, source } if source.kind() == io::ErrorKind::AlreadyExists => {
                Self::FolderExists(path)
            }
            error => Self::Folder(error),
        }
    }

    /// For `map_err` on files.
    pub fn at(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Folder(FolderError::File { path, source })
    }

    /// For `map_err` on what names no file.
    pub fn machine(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Machine { what, source }
    }
}
