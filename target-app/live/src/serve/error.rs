//! The errors that keep a target from serving.

use std::{io, net::SocketAddr};

use controllers::catalogue::Problem;
use service_core::{
    policies::{MachineError, Unfit, listed},
    synthetic::LawError,
};

/// The reason that a target cannot serve.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// A policy or machine that does not exist, or with wrong settings.
    #[error(transparent)]
    Policy(#[from] Unfit),
    /// A machine named as the policy.
    #[error("{0} decides about no requests: name it under machines")]
    NotAPolicy(String),
    /// A name that is no machine, or a machine that does not fit.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// An invalid rule for classes.
    #[error("class: {}", listed(.0))]
    Class(Vec<Problem>),
    /// An invalid policy for the service's own calls.
    #[error("calls: {}", listed(.0))]
    Calls(Vec<Problem>),
    /// An invalid law of service times.
    #[error(transparent)]
    Law(#[from] LawError),
    /// A stage that the service does not have.
    #[error("stages: there is no stage {name:?}; there are: {known}")]
    Stage {
        /// The name given.
        name: String,
        /// The valid names.
        known: String,
    },
    /// A node for refused clients whose name is no URL.
    #[error("on_refuse: {0:?} is not a node to redirect to; http://127.0.0.1:8081 is one")]
    Node(String),
    /// A limit that the parser cannot keep.
    #[error("edge: head_bytes is {0}, and must be at least 8192")]
    Head(u32),
    /// The service could not be opened.
    #[error("cannot open the service: {0}")]
    Service(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// An address that cannot be bound.
    #[error("cannot listen on {address}: {source}; a port of 0 takes a free one")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The cause.
        source: io::Error,
    },
    /// A processor that this process may not use.
    #[error("cannot run on processors {cpus:?}: {source}")]
    Cpus {
        /// The processors.
        cpus: Vec<usize>,
        /// The cause.
        source: nix::Error,
    },
    /// The parent ended before this process could be tied to it.
    #[error("the process that started this one has ended")]
    Orphaned,
    /// The system refused a basic request.
    #[error("{what}: {source}")]
    System {
        /// The request.
        what: &'static str,
        /// The cause.
        source: io::Error,
    },
}

/// The error of a basic request to the system.
pub fn system(what: &'static str) -> impl Fn(io::Error) -> ServeError {
    move |source| ServeError::System { what, source }
}
