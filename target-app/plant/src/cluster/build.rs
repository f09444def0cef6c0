//! Builds a cluster from its spec.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use controllers::{Class, seed_for};
use service_core::{
    calls::{CallMachine, Pool, Visits},
    policies::Unfit,
    tree::{MOST_TASKS, TreeMachines},
};
use spec::{
    fault::{Fault, FaultKind},
    services::{CallLink, HostedService, TreeSpec},
};
use workloads::balance::Per;

use super::{
    Cluster, Service, ServicePool,
    calls::{Caller, Calls},
    connections::InnerConnections,
    members::Beside,
    node::{Life, Node},
    ways::Way,
};
use crate::{PlantError, build::PlantPlan, world::Plant};

impl Cluster {
    /// A cluster of these services. `hop`: the delay of a message between two services; the plan's costs are ignored,
    /// since each service has its own.
    ///
    /// # Errors
    /// Unknown or duplicate names of services, a called service that does not come after its callers, too many tasks,
    /// faults of unknown services, and any invalid value of a service.
    pub fn new(spec: &TreeSpec, plan: &PlantPlan, hop: Duration, seed: u64) -> Result<Self, PlantError> {
        check(spec)?;
        check_faults(spec, &plan.faults)?;
        let mut made = Self {
            services: Vec::new(),
            nodes: Vec::new(),
            entries: entries(spec),
            pools: Vec::new(),
            ways: Vec::new(),
            inner: InnerConnections::default(),
            users: BTreeMap::new(),
            calls: Calls::new(),
            beside: Beside::new(TreeMachines::new(spec)?),
            absences: Vec::new(),
            renewals: plan.renewals.clone(),
            hop,
            deferred: std::collections::VecDeque::new(),
        };
        for (number, service) in spec.services.iter().enumerate() {
            let seed = seed_for(seed, &format!("users of {}", service.name));
            made.join(pool(number, service, &[], 0, seed), None, seed);
        }
        for service in &spec.services {
            made.add(spec, service, plan, seed)?;
        }
        Ok(made)
    }

    fn add(&mut self, tree: &TreeSpec, spec: &HostedService, plan: &PlantPlan, seed: u64) -> Result<(), PlantError> {
        let (number, first) = (self.services.len(), self.nodes.len());
        let tasks = usize::try_from(spec.tasks).unwrap_or(usize::MAX);
        for task in 0..tasks {
            let name = format!("{} {task}", spec.name);
            let slow = spec.slow.filter(|slow| task < usize::try_from(slow.tasks).unwrap_or(usize::MAX));
            let plan = PlantPlan {
                costs: spec.costs.clone(),
                wire: true,
                speed: slow.map(|slow| slow.speed),
                waits: !spec.calls.is_empty(),
                reports_load: spec.balancer.hears_reports(),
                faults: plan
                    .faults
                    .iter()
                    .filter(|fault| fault.hits_task(&spec.name, number_of(task)))
                    .cloned()
                    .collect(),
                ..plan.clone()
            };
            let mut target = spec.task.clone();
            target.seed = seed_for(seed, &name);
            let plant = Plant::in_cluster(&target, &plan)?;
            let callers = (spec.calls.iter().enumerate())
                .map(|(place, call)| {
                    let seed = seed_for(seed, &format!("{name} call {place}"));
                    let service = position(tree, &call.to).unwrap_or_default();
                    let to = &tree.services[service];
                    let pool = pool(service, to, &to.reached_by(task), call.connections, seed);
                    let made = CallMachine::new(call, &spec.task.class, spec.task.objective, seed);
                    let machine = made.map_err(|problems| {
                        let name = call.client.as_ref().map(|client| client.policy.clone()).unwrap_or_default();
                        PlantError::Unfit(Unfit { name, problems })
                    })?;
                    self.join(pool, call.link, seed);
                    self.calls.callers.push(Caller { machine, pool: self.pools.len() - 1, wakes_at: None });
                    Ok(self.calls.callers.len() - 1)
                })
                .collect::<Result<_, PlantError>>()?;
            self.nodes.push(Node { plant, service: number, task, callers, life: Life::Runs });
        }
        self.services.push(Service {
            name: spec.name.clone(),
            first,
            tasks,
            proxied: spec.per == Per::Request && (spec.tasks > 1 || spec.cap > 0),
            capped: spec.cap > 0,
            balancer: Arc::default(),
            calls: spec.calls.iter().map(Visits::of).collect(),
            fan_out: spec.fan_out,
        });
        Ok(())
    }
}

impl Cluster {
    /// Adds a pool with its way.
    fn join(&mut self, pool: ServicePool, link: Option<CallLink>, seed: u64) {
        let as_users = CallLink { delay: self.hop, jitter: Duration::ZERO };
        self.pools.push(pool);
        self.ways.push(Way::new(link.unwrap_or(as_users), seed_for(seed, "way")));
    }
}

/// A sender's connections to the tasks of a service that it `reaches`; none: to all. `most`: their limit, 0 for none.
fn pool(number: usize, to: &HostedService, reaches: &[usize], most: u32, seed: u64) -> ServicePool {
    let tasks = usize::try_from(to.tasks).unwrap_or(usize::MAX);
    let pool = Pool::new(tasks, to.balancer, to.per, most, seed).capped(to.cap).reaching(reaches);
    ServicePool { service: number, pool }
}

fn number_of(task: usize) -> u32 {
    u32::try_from(task).unwrap_or(u32::MAX)
}

fn position(spec: &TreeSpec, name: &str) -> Option<usize> {
    spec.services.iter().position(|service| service.name == name)
}

fn entries(spec: &TreeSpec) -> Vec<(Option<Class>, usize)> {
    spec.entries.iter().filter_map(|(class, service)| Some((*class, position(spec, service)?))).collect()
}

/// Rejects faults of what there is not, and crashes of tasks that are started and drained.
fn check_faults(spec: &TreeSpec, faults: &[Fault]) -> Result<(), PlantError> {
    let wrong = |message: String| Err(PlantError::Tree(message));
    for fault in faults {
        let Some(name) = &fault.service else { continue };
        match (position(spec, name), fault.task) {
            (None, _) => return wrong(format!("a fault is to hit {name}, which does not exist")),
            (Some(place), Some(task)) if task >= spec.services[place].tasks => {
                return wrong(format!("a fault is to hit task {task} of {name}, which does not exist"));
            }
            (Some(_), _) => {}
        }
    }
    if spec.adapts() && faults.iter().any(|fault| fault.kind == FaultKind::Crash) {
        return wrong("tasks that come and go do not crash: leave the fault out".to_owned());
    }
    Ok(())
}

fn check(spec: &TreeSpec) -> Result<(), PlantError> {
    let wrong = |message: String| Err(PlantError::Tree(message));
    for (number, service) in spec.services.iter().enumerate() {
        let name = &service.name;
        if position(spec, name) != Some(number) {
            return wrong(format!("there are two services called {name}"));
        }
        if service.tasks == 0 {
            return wrong(format!("{name} has no tasks"));
        }
        if let Some(slow) = service.slow
            && !(slow.speed > 0.0 && slow.speed.is_finite())
        {
            return wrong(format!("{name}: a speed is a number over 0"));
        }
        for call in &service.calls {
            match position(spec, &call.to) {
                None => return wrong(format!("{name} calls {}, which does not exist", call.to)),
                Some(called) if called <= number => {
                    return wrong(format!("{name} calls {}, which must come after it: calls go down", call.to));
                }
                Some(_) => {}
            }
        }
    }
    if spec.adapts() && spec.services.iter().any(|service| service.costs.restart_ms > 0.0) {
        return wrong("tasks that come and go do not crash: leave restart out".to_owned());
    }
    if let Some((_, service)) = spec.entries.iter().find(|(_, service)| position(spec, service).is_none()) {
        return wrong(format!("users ask {service}, which does not exist"));
    }
    let tasks: u64 = spec.services.iter().map(|service| u64::from(service.tasks)).sum();
    if tasks > MOST_TASKS as u64 {
        return wrong(format!("{tasks} tasks are too many: at most {MOST_TASKS}"));
    }
    Ok(())
}
