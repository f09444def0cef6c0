//! Failures of runs, as failures of commands.

use crate::{exit::Failure, run::RunFailure};

/// Bad names are bad usage; everything else could not be carried out.
pub(super) fn failed(failure: &RunFailure) -> Failure {
    match failure {
        RunFailure::FolderExists(_)
        | RunFailure::Hindsight { .. }
        | RunFailure::LiveOnly { .. }
        | RunFailure::VirtualBuild
        | RunFailure::CannotStart { .. } => Failure::usage(failure),
        other => Failure::because(other),
    }
}
