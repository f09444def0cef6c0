//! Before a run: can each of its arms start?

use experiment::Experiment;

use super::{RunFailure, simulated::setup::VirtualSetup};

/// Builds every arm and its users, as a run in virtual time does, and runs none of them: what a reader of the file cannot see
/// (a policy that does not fit its place, users that the service has no pages for) is found before anything is measured.
///
/// # Errors
/// The first arm that cannot start, and why.
pub fn rehearse(experiment: &Experiment) -> Result<(), RunFailure> {
    let setup = VirtualSetup::of(experiment);
    for arm in &experiment.arms {
        setup
            .can_start(experiment, arm)
            .map_err(|cause| RunFailure::CannotStart { arm: arm.label.clone(), cause: cause.to_string() })?;
    }
    Ok(())
}
