//! What each node does, and what it is to do.

/// A node's role: a sentry or a server of an application.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Role {
    /// The index of the application.
    pub(super) app: usize,
    pub(super) is_sentry: bool,
}

impl Role {
    pub(super) fn sentry(app: usize) -> Self {
        Self { app, is_sentry: true }
    }

    pub(super) fn server(app: usize) -> Self {
        Self { app, is_sentry: false }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Starting,
    Running,
    Draining,
}

#[derive(Debug, Clone, Copy, Default)]
struct Node {
    does: Option<(Role, Phase)>,
    wanted: Option<Role>,
}

/// Nodes with the role that they begin with, or finish.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Due {
    pub(super) start: Vec<(usize, Role)>,
    pub(super) drain: Vec<(usize, Role)>,
}

#[cfg(test)]
impl Due {
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// All nodes of the platform.
#[derive(Debug)]
pub(super) struct Nodes(Vec<Node>);

impl Nodes {
    /// So many nodes without a role.
    pub(super) fn new(nodes: usize) -> Self {
        Self(vec![Node::default(); nodes])
    }

    /// The role that a node is to have.
    pub(super) fn want(&mut self, node: usize, role: Option<Role>) {
        self.0[node].wanted = role;
    }

    /// The role that a node has, from its start until it has drained.
    pub(super) fn role(&self, node: usize) -> Option<Role> {
        self.0.get(node)?.does.map(|(role, _)| role)
    }

    pub(super) fn started(&mut self, node: usize) {
        if let Some((_, phase @ Phase::Starting)) = &mut self.0[node].does {
            *phase = Phase::Running;
        }
    }

    pub(super) fn drained(&mut self, node: usize) {
        if let Some((_, Phase::Draining)) = self.0[node].does {
            self.0[node].does = None;
        }
    }

    /// The nodes that take requests in a role, in order.
    pub(super) fn running(&self, role: Role) -> Vec<usize> {
        let runs = |node: &Node| node.does == Some((role, Phase::Running));
        self.0.iter().enumerate().filter(|(_, node)| runs(node)).map(|(number, _)| number).collect()
    }

    /// What is to be done now.
    pub(super) fn due(&mut self) -> Due {
        let mut due = Due::default();
        for (number, node) in self.0.iter_mut().enumerate() {
            match (node.does, node.wanted) {
                (None, Some(role)) => {
                    node.does = Some((role, Phase::Starting));
                    due.start.push((number, role));
                }
                // One that is starting is drained once it has started.
                (Some((role, Phase::Running)), wanted) if wanted != Some(role) => {
                    node.does = Some((role, Phase::Draining));
                    due.drain.push((number, role));
                }
                _ => {}
            }
        }
        due
    }
}
