//! Which node does what: the free pool, the servers and sentries of each application, and the servers of each sentry.

use std::collections::{BTreeMap, BTreeSet};

use crate::cataclysm::pool::NodeId;

/// The nodes of one application. Each server belongs to one sentry.
#[derive(Debug, Default)]
struct Assigned {
    /// In the order of their addition.
    sentries: Vec<NodeId>,
    servers: BTreeSet<NodeId>,
    /// The sentry of each server.
    guarded_by: BTreeMap<NodeId, NodeId>,
}

/// All nodes of the platform.
#[derive(Debug)]
pub(super) struct Nodes {
    free: BTreeSet<NodeId>,
    /// By application.
    assigned: Vec<Assigned>,
}

impl Nodes {
    pub(super) fn new(free: BTreeSet<NodeId>, applications: usize) -> Self {
        Self { free, assigned: std::iter::repeat_with(Assigned::default).take(applications).collect() }
    }

    pub(super) fn free(&self) -> u32 {
        count(self.free.len())
    }

    pub(super) fn servers(&self, application: usize) -> u32 {
        count(self.assigned[application].servers.len())
    }

    /// The servers of all applications, and free nodes.
    pub(super) fn servers_and_free(&self) -> u32 {
        self.free() + (0..self.assigned.len()).map(|application| self.servers(application)).sum::<u32>()
    }

    pub(super) fn sentries(&self, application: usize) -> u32 {
        count(self.assigned[application].sentries.len())
    }

    /// Makes the first free node a server.
    pub(super) fn add_server(&mut self, application: usize) -> Option<NodeId> {
        let node = self.free.pop_first()?;
        self.assigned[application].servers.insert(node);
        Some(node)
    }

    /// Returns the last server of an application to the free pool.
    pub(super) fn remove_server(&mut self, application: usize) -> Option<NodeId> {
        let node = self.assigned[application].servers.pop_last()?;
        self.assigned[application].guarded_by.remove(&node);
        self.free.insert(node);
        Some(node)
    }

    /// Makes the first free node a sentry.
    pub(super) fn add_sentry(&mut self, application: usize) -> Option<NodeId> {
        let node = self.free.pop_first()?;
        self.assigned[application].sentries.push(node);
        Some(node)
    }

    /// Returns a sentry to the free pool.
    pub(super) fn remove_sentry(&mut self, application: usize, sentry: NodeId) {
        let assigned = &mut self.assigned[application];
        assigned.sentries.retain(|node| *node != sentry);
        assigned.guarded_by.retain(|_, guard| *guard != sentry);
        self.free.insert(sentry);
    }

    /// The application of a sentry.
    pub(super) fn application_of(&self, sentry: NodeId) -> Option<usize> {
        self.assigned.iter().position(|assigned| assigned.sentries.contains(&sentry))
    }

    /// Splits the servers among the sentries as equally as possible, and moves as few of them as it takes: a sentry keeps
    /// its servers up to its share.
    pub(super) fn split(&mut self, application: usize) -> Vec<(NodeId, Vec<NodeId>)> {
        let Assigned { sentries, servers, guarded_by } = &mut self.assigned[application];
        let (share, more) = (servers.len() / sentries.len().max(1), servers.len() % sentries.len().max(1));
        let owned = |sentry: &NodeId| guarded_by.values().filter(|guard| *guard == sentry).count();
        // One server more goes to the sentries that have the most.
        let mut by_servers: Vec<(NodeId, usize)> = sentries.iter().map(|sentry| (*sentry, owned(sentry))).collect();
        by_servers.sort_by_key(|(_, owned)| std::cmp::Reverse(*owned));
        let order = by_servers.iter().enumerate();
        let quotas: BTreeMap<NodeId, usize> =
            order.map(|(place, (sentry, _))| (*sentry, share + usize::from(place < more))).collect();
        let mut shares: BTreeMap<NodeId, Vec<NodeId>> = sentries.iter().map(|sentry| (*sentry, Vec::new())).collect();
        let mut moved = Vec::new();
        for server in servers.iter() {
            let kept = guarded_by.get(server).and_then(|guard| {
                shares.get_mut(guard).filter(|share| share.len() < quotas.get(guard).copied().unwrap_or(0))
            });
            match kept {
                Some(share) => share.push(*server),
                None => moved.push(*server),
            }
        }
        for (sentry, quota) in &quotas {
            let share = shares.entry(*sentry).or_default();
            while share.len() < *quota {
                let Some(server) = moved.pop() else { break };
                share.push(server);
            }
            share.sort_unstable();
        }
        *guarded_by = shares.iter().flat_map(|(sentry, share)| share.iter().map(|server| (*server, *sentry))).collect();
        sentries.iter().map(|sentry| (*sentry, shares.remove(sentry).unwrap_or_default())).collect()
    }
}

fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(split: &[(NodeId, Vec<NodeId>)]) -> Vec<usize> {
        split.iter().map(|(_, servers)| servers.len()).collect()
    }

    fn guards(split: &[(NodeId, Vec<NodeId>)]) -> BTreeMap<NodeId, NodeId> {
        split.iter().flat_map(|(sentry, servers)| servers.iter().map(|server| (*server, *sentry))).collect()
    }

    #[test]
    fn servers_are_split_equally_and_few_move() {
        let mut nodes = Nodes::new((0..20).map(NodeId).collect(), 1);
        nodes.add_sentry(0);
        (0..7).for_each(|_| _ = nodes.add_server(0));
        let one = nodes.split(0);
        assert_eq!(sizes(&one), [7]);
        nodes.add_sentry(0);
        let two = nodes.split(0);
        assert_eq!(sizes(&two), [4, 3]);
        nodes.add_sentry(0);
        let three = nodes.split(0);
        assert_eq!(sizes(&three), [3, 2, 2]);
        // Two servers for the third, one from each of the others.
        let (before, after) = (guards(&two), guards(&three));
        assert_eq!(before.iter().filter(|(server, guard)| after[server] != **guard).count(), 2);
        // The second is released: its servers go to the others.
        nodes.remove_sentry(0, three[1].0);
        assert_eq!(sizes(&nodes.split(0)), [4, 3]);
        assert_eq!((nodes.sentries(0), nodes.servers(0), nodes.free()), (2, 7, 11));
    }
}
