//! What an arm knows that no policy can know.

use serde::{Deserialize, Serialize};

/// The parameter that is a limit.
pub const LIMIT: &str = "max";

/// What an arm knows beforehand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Hindsight {
    /// Which fixed limit has the highest goodput on the seeds of this run: looked for before it, up to this limit.
    BestStatic {
        /// Highest limit that is tried.
        most: u32,
        /// The only service of a tree that has the limit; else all of them have it.
        #[serde(skip_serializing_if = "Option::is_none")]
        service: Option<String>,
    },
    /// What each request will cost, as it is offered; in an open loop every arrival as well, beforehand.
    Oracle,
}
