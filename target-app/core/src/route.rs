//! The route of a request through a service, and errors of its work knob.

use controllers::Kind;
use spec::graph::Branch;

/// The route of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route {
    /// Request type: an index into [`Graph::kinds`](spec::graph::Graph::kinds).
    pub kind: Kind,
    /// Stage: an index into the branches that the service gave to [`Graph::new`](spec::graph::Graph::new).
    pub branch: Branch,
}

impl Route {
    /// The route of every request to a service of one type and one stage.
    pub const ONLY: Self = Self { kind: Kind(0), branch: Branch(0) };
}

/// An invalid setting of the work knob.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum WorkError {
    /// The service has no work knob.
    #[error("this service has no work knob: only mail does extra database operations")]
    NoKnob,
    /// An invalid number.
    #[error("{name}: {value} is not a number of operations: zero or more is")]
    Value {
        /// `operations`, or a request type.
        name: String,
        /// The value given.
        value: f64,
    },
    /// An unknown request type.
    #[error("{name}: no such request type; there are {known}")]
    Kind {
        /// The name given.
        name: String,
        /// The valid names.
        known: String,
    },
}
