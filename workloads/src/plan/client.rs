pub use controllers::site::ClientScope;
use controllers::{
    Entry, Objective, Place, Settings,
    catalogue::{Factory, Problem},
};
use installed::catalogue;
use serde::{Deserialize, Serialize};

/// A client-side policy, and who shares it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClientPolicy {
    /// The policy's name in the catalogue.
    pub policy: String,
    /// Parameters that differ from their defaults.
    pub settings: Settings,
    /// The senders that share one policy.
    pub scope: ClientScope,
}

impl ClientPolicy {
    /// Spec for senders; a client that may do as it likes is none.
    pub fn spec(&self, objective: Objective, renewed_in: Vec<usize>) -> Option<ClientSpec> {
        let Self { policy, settings, scope } = self.clone();
        (policy != "none").then_some(ClientSpec { policy, settings, scope, objective, renewed_in })
    }
}

/// A client-side policy, which decides before anything is sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClientSpec {
    /// The policy's name in the catalogue.
    pub policy: String,
    /// The policy's settings.
    pub settings: Settings,
    /// The senders that share one policy.
    pub scope: ClientScope,
    /// The objective of the service.
    pub objective: Objective,
    /// Phases, by their index in the plan, at whose start policies are replaced by new ones, which have learnt nothing.
    pub renewed_in: Vec<usize>,
}

impl ClientSpec {
    /// The policy's entry and its checked settings.
    ///
    /// # Errors
    /// All problems at once: an unknown name, invalid settings, a policy that has no place on the client's side, a
    /// group without members.
    pub fn resolve(&self) -> Result<(&'static Entry, Factory), Vec<Problem>> {
        let (entry, settings) = catalogue().resolve(&self.policy, &self.settings).map_err(|problem| vec![problem])?;
        let mut problems = Vec::new();
        let problem = |key: &str, message: String| Problem { key: key.to_owned(), message };
        if !entry.is_policy() || !entry.places.contains(&Place::Client) {
            problems.push(problem(&self.policy, "does not sit on the client's side".to_owned()));
        }
        if self.scope == ClientScope::Group(0) {
            problems.push(problem("scope", "a group has at least one user".to_owned()));
        }
        // A composition checks its parts for the place.
        let at_client = Some(Place::Client).filter(|place| entry.places.contains(place));
        match catalogue().check(entry, at_client, &settings) {
            Ok(factory) if problems.is_empty() => Ok((entry, factory)),
            Ok(_) => Err(problems),
            Err(more) => {
                problems.extend(more);
                Err(problems)
            }
        }
    }
}
