//! Policies on the sender's side.

use controllers::Objective;
use serde::{Deserialize, Serialize};
use workloads::plan::{ClientScope, ClientSpec};

/// A policy on the users' own side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClientPolicy {
    /// Name in the catalogue.
    pub policy: String,
    /// Parameters that differ from their defaults.
    pub settings: controllers::Settings,
    /// Users that share one policy.
    pub scope: ClientScope,
}

impl ClientPolicy {
    /// Spec for senders; a client that may do as it likes is none.
    pub fn spec(&self, objective: Objective, renewed_in: Vec<usize>) -> Option<ClientSpec> {
        let Self { policy, settings, scope } = self.clone();
        (policy != "none").then_some(ClientSpec { policy, settings, scope, objective, renewed_in })
    }
}
