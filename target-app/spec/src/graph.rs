//! The stage graph as one value: names, order and links. Both the live service and the plant are built from it.

use controllers::{Kind, Place, SiteId};
use serde::{Deserialize, Serialize};

/// A service's request types and stages (USITS'03, figure 1), in the order in which a request meets them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Graph {
    kinds: Vec<String>,
    stages: Vec<Node>,
}

/// One stage of the graph.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// Its name in files, gauges and settings.
    pub name: String,
    /// Its role.
    pub role: Role,
    /// The stages that its jobs go to next: positions in [`Graph::stages`].
    pub next: Vec<usize>,
}

/// The role of a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Reads bytes and parses them into requests.
    Read,
    /// Classifies requests and chooses the stage.
    Dispatch,
    /// Decides before a service that is not the lab's.
    Proxy,
    /// Answers from memory.
    Static,
    /// Works on requests: the stages that overload control protects.
    Dynamic,
    /// Works on requests, but is no stage of the paper's graph: no policy is installed there unless the settings name
    /// it.
    Aside,
    /// Writes answers.
    Send,
}

/// The number of a stage of the service itself, between dispatch and send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Branch(pub usize);

/// The number of stages of the edge, before the service's own.
const BEFORE: usize = 2;

impl Graph {
    /// A graph of `read → dispatch → (the service's own stages, side by side) → send`.
    ///
    /// `kinds` are the names of the request types in the order of [`Kind`]; `branches` the service's stages in the order
    /// of [`Branch`].
    #[must_use]
    pub fn new(kinds: &[&str], branches: &[(&str, Role)]) -> Self {
        let send = BEFORE + branches.len();
        let node = |name: &str, role, next| Node { name: name.to_owned(), role, next };
        let mut stages =
            vec![node("read", Role::Read, vec![1]), node("dispatch", Role::Dispatch, (BEFORE..send).collect())];
        stages.extend(branches.iter().map(|&(name, role)| node(name, role, vec![send])));
        stages.push(node("send", Role::Send, Vec::new()));
        Self { kinds: kinds.iter().map(|&kind| kind.to_owned()).collect(), stages }
    }

    /// A proxy: `read → proxy → send`, with the one site of its policy.
    #[must_use]
    pub fn proxy(kinds: &[&str]) -> Self {
        let mut graph = Self::new(kinds, &[]);
        (graph.stages[1].name, graph.stages[1].role) = ("proxy".to_owned(), Role::Proxy);
        graph
    }

    /// All stages in order.
    #[must_use]
    pub fn stages(&self) -> &[Node] {
        &self.stages
    }

    /// The service's own stages in the order of [`Branch`], each with its site.
    pub fn branches(&self) -> impl Iterator<Item = (SiteId, &Node)> {
        let last = self.stages.len() - 1;
        self.stages[BEFORE..last].iter().enumerate().map(|(at, node)| (site(BEFORE + at), node))
    }

    /// Names of the stages with a queue and workers of their own: all but reading and sending.
    pub fn sized(&self) -> impl Iterator<Item = &str> {
        let sized = self.stages.iter().filter(|node| !matches!(node.role, Role::Read | Role::Send));
        sized.map(|node| node.name.as_str())
    }

    /// The sites where a policy of this place is installed by default.
    pub fn seats(&self, place: Place) -> impl Iterator<Item = SiteId> {
        let dynamic = self.branches().filter(move |(_, node)| place == Place::Stage && node.role == Role::Dynamic);
        let single = match place {
            Place::Accept => Some(self.accept()),
            Place::Single => Some(self.dispatch()),
            Place::Proxy => (self.stages[1].role == Role::Proxy).then(|| self.dispatch()),
            Place::Stage | Place::Client => None,
        };
        dynamic.map(|(site, _)| site).chain(single)
    }

    /// Names of the request types in the order of [`Kind`].
    #[must_use]
    pub fn kinds(&self) -> &[String] {
        &self.kinds
    }

    /// The name of a request type.
    #[must_use]
    pub fn kind_name(&self, kind: Kind) -> &str {
        self.kinds.get(usize::from(kind.0)).map_or("unknown", String::as_str)
    }

    /// The site of the stage with this name.
    #[must_use]
    pub fn site(&self, name: &str) -> Option<SiteId> {
        self.stages.iter().position(|node| node.name == name).map(site)
    }

    /// The name of a site. Sites past the stages are the listener (`accept`) and the whole process (`system`).
    #[must_use]
    pub fn site_name(&self, id: SiteId) -> &str {
        match self.stages.get(usize::from(id.0)) {
            Some(node) => &node.name,
            None if id == self.accept() => "accept",
            None => "system",
        }
    }

    /// The site of the dispatch stage.
    #[must_use]
    pub fn dispatch(&self) -> SiteId {
        site(1)
    }

    /// The site of the listener.
    #[must_use]
    pub fn accept(&self) -> SiteId {
        site(self.stages.len())
    }

    /// The site of monitors of the whole process.
    #[must_use]
    pub fn system(&self) -> SiteId {
        site(self.stages.len() + 1)
    }
}

fn site(at: usize) -> SiteId {
    SiteId(u16::try_from(at).unwrap_or(u16::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_hang_between_dispatch_and_send() {
        let graph = Graph::new(&["page"], &[("cache", Role::Static), ("work", Role::Dynamic)]);
        let names: Vec<_> = graph.stages().iter().map(|node| node.name.as_str()).collect();
        assert_eq!(names, ["read", "dispatch", "cache", "work", "send"]);
        assert_eq!(graph.stages()[1].next, [2, 3]);
        assert_eq!(graph.stages()[3].next, [4]);
        let branches: Vec<_> = graph.branches().map(|(id, node)| (id.0, node.name.as_str())).collect();
        assert_eq!(branches, [(2, "cache"), (3, "work")]);
        assert_eq!(graph.site_name(graph.accept()), "accept");
        assert_eq!(graph.site_name(graph.system()), "system");
    }
}
