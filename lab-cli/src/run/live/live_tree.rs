//! The services of a tree with their live tasks.

use std::{collections::BTreeSet, net::SocketAddr, sync::Arc};

use controllers::seed_for;
use service_core::tree::TaskId;
use spec::services::{CallSpec, CalleeSpec, HostedService, TaskSpec, TreeSpec};

use super::{
    controls::{LiveTask, RunningTask, Service},
    processes::Processes,
    target::TargetProcess,
};
use crate::run::RunFailure;

/// The services of a tree, and the tasks of each. Cloning gives another handle of the same tasks.
#[derive(Debug, Clone)]
pub struct LiveTree {
    spec: Arc<TreeSpec>,
    tasks: Vec<Vec<LiveTask>>,
    /// Services whose tasks come and go.
    on_demand: BTreeSet<usize>,
    processes: Processes,
}

impl LiveTree {
    /// The tree, of which nothing runs yet.
    pub fn new(spec: &TreeSpec, on_demand: impl Iterator<Item = usize>, processes: Processes) -> Self {
        let tasks = |service: &HostedService| (0..service.tasks).map(|_| LiveTask::default()).collect();
        Self {
            spec: Arc::new(spec.clone()),
            tasks: spec.services.iter().map(tasks).collect(),
            on_demand: on_demand.collect(),
            processes,
        }
    }

    /// The tasks that run from the start to the end, in the order in which they can be called: the last services first.
    pub fn always_there(&self) -> impl Iterator<Item = TaskId> {
        let services = (0..self.tasks.len()).rev().filter(|service| !self.on_demand.contains(service));
        services.flat_map(|service| (0..self.tasks[service].len()).map(move |task| TaskId { service, task }))
    }

    /// The process of a task: as in virtual time, with the same seed, and slow if it is one of the first.
    pub fn spec_of(&self, TaskId { service, task: number }: TaskId) -> TaskSpec {
        let service = &self.spec.services[service];
        let mut target = service.task.clone();
        target.seed = seed_for(seed_for(target.seed, "tree"), &format!("{} {number}", service.name));
        let slow = service.slow.filter(|slow| number < slow.tasks as usize);
        let callee = |call: &CallSpec| {
            let place = self.spec.services.iter().position(|to| to.name == call.to)?;
            let to = &self.spec.services[place];
            // Of tasks on demand a caller hears later.
            let tasks = match self.on_demand.contains(&place) {
                true => vec![None; self.tasks[place].len()],
                false => self.addresses(place),
            };
            let reach = to.reached_by(number);
            Some(CalleeSpec { call: call.clone(), tasks, balancer: to.balancer, per: to.per, cap: to.cap, reach })
        };
        TaskSpec {
            name: service.name.clone(),
            target,
            calls: service.calls.iter().filter_map(callee).collect(),
            fan_out: service.fan_out,
            speed: slow.map_or(1.0, |slow| slow.speed),
            reports: self.spec.reports(),
            reports_load: service.balancer.hears_reports(),
            wire: service.wire,
            cpu_allotment: service.cpu_allotment,
        }
    }

    /// Notes that a process is this task now.
    pub fn takes_requests(&self, id: TaskId, target: TargetProcess) -> Result<(), RunFailure> {
        let running = RunningTask::of(&target, self.spec.services[id.service].task.policy.clone())?;
        self.task(id).begins(running);
        self.processes.add(id, self.name(id), target);
        Ok(())
    }

    /// A task.
    pub fn task(&self, TaskId { service, task }: TaskId) -> &LiveTask {
        &self.tasks[service][task]
    }

    /// A task by its number among all tasks.
    pub fn by_number(&self, number: usize) -> Option<&LiveTask> {
        self.tasks.iter().flatten().nth(number)
    }

    /// The number of a task among all tasks.
    pub fn number(&self, TaskId { service, task }: TaskId) -> usize {
        self.tasks[..service].iter().map(Vec::len).sum::<usize>() + task
    }

    /// The name of a task: `service`, or `service.task` of several.
    pub fn name(&self, TaskId { service, task }: TaskId) -> String {
        let name = &self.spec.services[service].name;
        if self.tasks[service].len() > 1 { format!("{name}.{task}") } else { name.clone() }
    }

    /// The addresses of the tasks of a service that run.
    pub fn addresses(&self, service: usize) -> Vec<Option<SocketAddr>> {
        self.tasks[service].iter().map(|task| Some(task.running()?.address)).collect()
    }

    /// The addresses of the tasks of a service, but for those that are not among `members`.
    pub fn addresses_of(&self, service: usize, members: &[usize]) -> Vec<Option<SocketAddr>> {
        let all = self.addresses(service).into_iter().enumerate();
        all.map(|(task, address)| address.filter(|_| members.contains(&task))).collect()
    }

    /// The index of the service that a call goes to.
    pub fn called(&self, caller: usize, call: usize) -> Option<usize> {
        let to = &self.spec.services[caller].calls.get(call)?.to;
        self.spec.services.iter().position(|service| service.name == *to)
    }

    /// The tasks that call a service, each with the index of that call among its own.
    pub fn callers_of(&self, service: usize) -> impl Iterator<Item = (TaskId, usize)> {
        let name = &self.spec.services[service].name;
        let calls = self.spec.services.iter().enumerate().flat_map(move |(caller, of)| {
            let calls = of.calls.iter().enumerate().filter(move |(_, call)| call.to == *name);
            calls.map(move |(call, _)| (caller, call))
        });
        calls.flat_map(move |(caller, call)| {
            (0..self.tasks[caller].len()).map(move |task| (TaskId { service: caller, task }, call))
        })
    }

    pub fn processes(&self) -> &Processes {
        &self.processes
    }

    pub(super) fn services(&self) -> Vec<Service> {
        let service = |(spec, tasks): (&HostedService, &Vec<LiveTask>)| Service {
            name: spec.name.clone(),
            tasks: tasks.clone(),
            capped: spec.cap > 0,
        };
        self.spec.services.iter().zip(&self.tasks).map(service).collect()
    }
}

/// A failure to start, with the name of the service.
pub fn of_service(name: &str, failure: RunFailure) -> RunFailure {
    match failure {
        RunFailure::TargetStart { cause, last_words } => {
            RunFailure::TargetStart { cause: format!("service {name}: {cause}"), last_words }
        }
        other => other,
    }
}
