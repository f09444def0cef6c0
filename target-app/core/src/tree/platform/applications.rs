//! Applications of a platform among the services of a tree.

use spec::{
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

impl Hosted {
    /// The applications of a platform.
    pub(super) fn all(platform: &PlatformSpec, tree: &TreeSpec) -> Result<Vec<Self>, String> {
        let mut taken = Vec::new();
        let mut service = |name: &str| {
            let found = tree.services.iter().position(|service| service.name == name);
            let found = found.ok_or_else(|| format!("there is no service called {name}"))?;
            let tasks = tree.services[found].tasks;
            if tasks != platform.nodes {
                return Err(format!(
                    "{name} has {tasks} tasks: one for each of the {} nodes is needed",
                    platform.nodes
                ));
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
            Ok(Self { sentries: found.0, servers: found.1, call })
        };
        platform.applications.iter().map(hosted).collect()
    }
}
