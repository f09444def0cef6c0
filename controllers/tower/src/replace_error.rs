//! Why a policy cannot take the place of the one that runs.

use controllers::Place;

use crate::BuildError;

/// The reason why a policy cannot take the place of the one that runs, which stays.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReplaceError {
    /// The policy cannot run in this layer: what [`crate::AdmissionLayer::build`] would say of it.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// A client's policy and a server's cannot take each other's place, since they are told different things about a
    /// request. Build another layer.
    #[error(
        "{policy}: it would run as a policy of scope {new}, and the one that runs is of scope {running}: build another \
         layer for it"
    )]
    OtherSide {
        /// The policy that was asked for.
        policy: &'static str,
        /// Its scope here: `client`, or `single` or `proxy` at servers.
        new: &'static str,
        /// The scope of the policy that runs.
        running: &'static str,
    },
}

impl ReplaceError {
    pub(crate) fn other_side(policy: &'static str, new: Place, running: Place) -> Self {
        Self::OtherSide { policy, new: new.scope(), running: running.scope() }
    }
}
