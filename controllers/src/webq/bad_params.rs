//! Settings that no machine can work with.

use super::replica_report::{MAX_SECONDS, ReplicaId};

/// The most replicas of one TokenGen.
pub(super) const MAX_REPLICAS: usize = 16;

/// The greatest skew that a turn may be widened by, seconds.
pub(super) const MAX_SKEW_S: u32 = 30;

/// Why a machine is not made: which setting is wrong, and what it may be.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum BadParams {
    /// No seconds, or too many.
    #[error("horizon_s is {0}: 1 to {MAX_SECONDS} seconds can be booked")]
    Horizon(u32),
    /// Too many replicas.
    #[error("{0} replicas: at most {MAX_REPLICAS}")]
    Replicas(usize),
    /// A replica that is its own peer, or is listed twice: the others would count another number of replicas.
    #[error("replica {} is listed twice: peers are all replicas but this one", .0.0)]
    Twice(ReplicaId),
    /// A reserve that is no part.
    #[error("reserve is {0}: a part of an equal share, 0 to 1")]
    Reserve(f64),
    /// Too wide a window.
    #[error("skew_s is {0}: at most {MAX_SKEW_S} seconds")]
    Skew(u32),
    /// A memory for no token: nobody would be let in.
    #[error("single_use is 0: room for at least one token, or no single use")]
    NoMemory,
    /// A part of the queue that is none.
    #[error("source_share is {0}: a part of the queue, over 0 and at most 1")]
    SourceShare(f64),
    /// No request types.
    #[error("hardness is empty: one number for each request type, 1 where it is not known")]
    NoTypes,
    /// No epochs, or of no length.
    #[error("epoch_s and training_epochs must be at least 1")]
    NoEpochs,
    /// A factor that would lower the capacity.
    #[error("probe is {0}: a finite factor of at least 1")]
    Probe(f64),
}
