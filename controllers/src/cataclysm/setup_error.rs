//! A setting that no sentry or provisioner can work with.

/// The first setting of a plan that is out of its range, with the way out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {requirement}")]
pub struct SetupError {
    /// The field of the plan.
    pub place: &'static str,
    /// What the field needs.
    pub requirement: &'static str,
}

/// `Ok` if the requirement is met.
pub(super) fn require(met: bool, place: &'static str, requirement: &'static str) -> Result<(), SetupError> {
    if met { Ok(()) } else { Err(SetupError { place, requirement }) }
}
