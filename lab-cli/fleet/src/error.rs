//! Errors, with the way out.

use std::fmt::Display;

/// The reason why something could not be done over NATS.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    /// Bad usage or a server that will not do: trying again does not help.
    #[error("{0}")]
    Unfit(String),
    /// The server did not answer, or not as it should.
    #[error("NATS: {0}")]
    Server(String),
    /// Two machines have different results of one piece of work.
    #[error("two machines compute differently: {first} and {second} have other results of {key}")]
    Differ {
        /// The key of the work.
        key: String,
        /// The agent whose result was stored.
        first: String,
        /// The agent that came to another one.
        second: String,
    },
    /// It was told to stop.
    #[error("stopped")]
    Stopped,
}

impl FleetError {
    /// For `map_err`: an action, and what the server or the network said.
    pub(crate) fn of<E: Display>(what: &'static str) -> impl Fn(E) -> Self {
        move |error| Self::Server(format!("{what}: {error}"))
    }
}
