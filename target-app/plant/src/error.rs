//! Errors of plants.

use spec::plant::PlantNumberError;

/// A plant that cannot be made.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PlantError {
    /// An invalid number.
    #[error(transparent)]
    Number(#[from] PlantNumberError),
    /// Services that do not fit together.
    #[error("services: {0}")]
    Tree(String),
    /// A policy or machine that does not fit.
    #[error(transparent)]
    Unfit(#[from] service_core::policies::Unfit),
    /// Not a policy.
    #[error("{0} decides about no requests: it is no policy but a machine")]
    NotAPolicy(String),
    /// A name that is no machine, or a machine that does not fit.
    #[error(transparent)]
    Machine(#[from] service_core::policies::MachineError),
    /// An invalid law of emulated service times.
    #[error(transparent)]
    Law(#[from] service_core::synthetic::LawError),
    /// An invalid rule for classes.
    #[error("class: {0}")]
    Class(String),
    /// A waiting room with settings out of range.
    #[error("waiting_room: {0}")]
    WaitingRoom(controllers::webq::BadParams),
    /// An invalid setting of the work knob.
    #[error(transparent)]
    Work(#[from] service_core::route::WorkError),
}
