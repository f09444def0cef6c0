//! Applications of a platform among the services of a tree.

use crate::spec::{
    platform::{ApplicationSpec, PlatformSpec},
    services::TreeSpec,
};

/// An application: the indices of its services, and of the sentries' call to the servers.
#[derive(Debug)]
pub(super) struct Hosted {
    pub(super) sentries: usize,
    pub(super) servers: usize,
    pub(super) call: usize,
}

impl PlatformSpec {
    /// The services of each application.
    pub(super) fn hosted(&self, tree: &TreeSpec) -> Result<Vec<Hosted>, String> {
        let mut taken = Vec::new();
        let mut service = |name: &str| {
            let found = tree.services.iter().position(|service| service.name == name);
            let found = found.ok_or_else(|| format!("there is no service called {name}"))?;
            let tasks = tree.services[found].tasks;
            if tasks != self.nodes {
                return Err(format!("{name} has {tasks} tasks: one for each of the {} nodes is needed", self.nodes));
            }
            if taken.contains(&found) {
                return Err(format!("{name} has two parts in the platform"));
            }
            taken.push(found);
            Ok(found)
        };
        let hosted = |application: &ApplicationSpec| {
            let ApplicationSpec { sentries, servers, .. } = application;
            let found = (service(sentries)?, service(servers)?);
            let call = tree.services[found.0].calls.iter().position(|call| call.to == *servers);
            let call = call.ok_or_else(|| format!("the sentries {sentries} do not call the servers {servers}"))?;
            Ok(Hosted { sentries: found.0, servers: found.1, call })
        };
        self.applications.iter().map(hosted).collect()
    }
}
