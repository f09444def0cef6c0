//! Policies on the sender's side.

use serde::{Deserialize, Serialize};
use workloads::plan::ClientScope;

/// A policy on the users' own side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClientPolicy {
    /// Its name in the catalogue.
    pub policy: String,
    /// Its settings.
    pub settings: controllers::Settings,
    /// Who shares one.
    pub scope: ClientScope,
}
