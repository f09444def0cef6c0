//! Everything that keeps a target from serving.

use std::{io, net::SocketAddr};

use controllers::catalogue::Problem;

use crate::{
    policies::{MachineError, Unfit, listed},
    synthetic::{ChecksumError, LawError},
};

/// Why a target could not serve.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// A policy or machine that does not exist, or with wrong settings.
    #[error(transparent)]
    Policy(#[from] Unfit),
    /// A machine named as the policy.
    #[error("{0} decides about no requests: name it under machines")]
    NotAPolicy(String),
    /// A machine that is none, or does not fit.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// A rule for classes that makes no sense.
    #[error("class: {}", listed(.0))]
    Class(Vec<Problem>),
    /// A policy before the service's own calls that cannot be.
    #[error("calls: {}", listed(.0))]
    Calls(Vec<Problem>),
    /// A law of service times that makes no sense.
    #[error(transparent)]
    Law(#[from] LawError),
    /// A stage that the service does not have.
    #[error("stages: there is no stage {name:?}; there are: {known}")]
    Stage {
        /// What was named.
        name: String,
        /// What would be right.
        known: String,
    },
    /// A node to send refused clients to that is no URL.
    #[error("on_refuse: {0:?} is not a node to redirect to; http://127.0.0.1:8081 is one")]
    Node(String),
    /// A limit that the parser cannot keep.
    #[error("edge: head_bytes is {0}, and must be at least 8192")]
    Head(u32),
    /// The service could not be opened.
    #[error("cannot open the service: {0}")]
    Service(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// An address that cannot be had.
    #[error("cannot listen on {address}: {source}; a port of 0 takes a free one")]
    Listen {
        /// Which.
        address: SocketAddr,
        /// Why not.
        source: io::Error,
    },
    /// A processor that this process may not use.
    #[error("cannot run on processors {cpus:?}: {source}")]
    Cpus {
        /// Which.
        cpus: Vec<usize>,
        /// Why not.
        source: nix::Error,
    },
    /// The parent ended before this process could be tied to it.
    #[error("the process that started this one has ended")]
    Orphaned,
    /// The system refused something basic.
    #[error("{what}: {source}")]
    System {
        /// What was wanted.
        what: &'static str,
        /// Why not.
        source: io::Error,
    },
}

impl From<ChecksumError> for ServeError {
    fn from(error: ChecksumError) -> Self {
        Self::Service(Box::new(error))
    }
}
