//! A Markov model of what users do.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Think;

/// States, transitions and think times, with their source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UserModel {
    /// Name.
    pub name: String,
    /// Where the numbers come from.
    pub source: String,
    /// Where a session starts; going there again ends it and starts the next.
    pub start: String,
    /// From state, to state, probability. A state without a row goes back to the page before.
    pub transitions: BTreeMap<String, BTreeMap<String, f64>>,
    /// Pause after a page of this state.
    #[serde(default)]
    pub think: BTreeMap<String, Think>,
}
