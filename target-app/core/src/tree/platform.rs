//! A hosting platform: Cataclysm's control plane for the services of a tree (WWW'05, section 4), the same live and in
//! virtual time.
//!
//! Each application has a service of sentries, which users ask, and a service of servers, which the sentries call. All of
//! them share one pool of nodes: task `n` of each of these services is the role of node `n` in it, and a node has one role
//! at a time. The machine says which tasks are to be started and drained, and which tasks senders may choose; the host does
//! it, and tells when a task takes requests and when it has finished its own.

use std::collections::BTreeMap;

use controllers::{
    PeerReport, SiteId, Timestamp,
    cataclysm::{AppId, Invocation, NodeId, ProvisionAction, ProvisionFact, Provisioner, WorkloadReport},
    site::StageGauges,
};
use spec::{platform::PlatformSpec, services::TreeSpec};

use super::reports::{among_all, local};
use crate::policies::MachineError;

mod applications;
mod roles;
#[cfg(test)]
mod tests;

use applications::Hosted;
use roles::{Nodes, Role};

/// A task of a service: their indices in the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TaskId {
    /// The service.
    pub service: usize,
    /// The task.
    pub task: usize,
}

/// A change of a running tree, for its host. Changes are done in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TreeChange {
    /// Start this task. The host says when it takes requests ([`super::TreeMachines::started`]).
    Start(TaskId),
    /// Users' next requests to this service, or connections, go to one of these tasks.
    Users {
        /// The service.
        service: usize,
        /// Its tasks.
        tasks: Vec<usize>,
    },
    /// The next calls of a task go to one of these tasks of the service that it calls.
    Callees {
        /// The calling task.
        caller: TaskId,
        /// Which of its calls: its index.
        call: usize,
        /// The tasks of the service that is called.
        tasks: Vec<usize>,
    },
    /// Nothing new is sent to this task: let it finish what it has, then end it. The host says when it has ended
    /// ([`super::TreeMachines::drained`]).
    Drain(TaskId),
}

/// How often the platform has changed.
#[derive(Debug, Default)]
struct Counts {
    by_period: u64,
    by_drops: u64,
    added_servers: u64,
    removed_servers: u64,
    added_sentries: u64,
    removed_sentries: u64,
}

/// The control plane with the tasks of its tree.
#[derive(Debug)]
pub struct Platform {
    provisioner: Provisioner,
    applications: Vec<Hosted>,
    names: Vec<String>,
    /// The number of the first task of each service among all tasks of the tree.
    first: Vec<usize>,
    /// The site of a sentry in its task.
    site: SiteId,
    nodes: Nodes,
    /// By sentry: the servers that the control plane has assigned to it.
    split: BTreeMap<usize, Vec<usize>>,
    /// What senders were told last, by service for users, and by sentry.
    users: BTreeMap<usize, Vec<usize>>,
    callees: BTreeMap<usize, Vec<usize>>,
    /// Reports of servers for their sentries.
    passed_on: Vec<PeerReport>,
    /// The last CPU utilization of each sentry.
    cpu: BTreeMap<usize, f64>,
    counts: Counts,
}

impl Platform {
    /// The control plane of a tree, all of whose tasks are yet to be started.
    ///
    /// # Errors
    /// Settings out of range; services that do not exist, do not call each other, or have another number of tasks than
    /// there are nodes.
    pub(super) fn new(spec: &PlatformSpec, tree: &TreeSpec, site: SiteId) -> Result<Self, MachineError> {
        let nodes: Vec<NodeId> = (0..spec.nodes).map(NodeId).collect();
        let applications = Hosted::all(spec, tree).map_err(MachineError::Platform)?;
        let plan = spec.plan().map_err(|error| MachineError::Platform(error.to_string()))?;
        let provisioner = Provisioner::new(Timestamp::ZERO, plan, &nodes);
        let mut next = 0;
        let first = tree.services.iter().map(|service| {
            let first = next;
            next += service.tasks as usize;
            first
        });
        Ok(Self {
            provisioner: provisioner.map_err(|error| MachineError::Platform(error.to_string()))?,
            names: applications.iter().map(|hosted| tree.services[hosted.servers].name.clone()).collect(),
            applications,
            first: first.collect(),
            site,
            nodes: Nodes::new(nodes.len()),
            split: BTreeMap::new(),
            users: BTreeMap::new(),
            callees: BTreeMap::new(),
            passed_on: Vec::new(),
            cpu: BTreeMap::new(),
            counts: Counts::default(),
        })
    }

    /// The services whose tasks are started and drained.
    pub(super) fn services(&self) -> impl Iterator<Item = usize> {
        self.applications.iter().flat_map(|hosted| [hosted.sentries, hosted.servers])
    }

    /// Takes in the report of a sentry, whose site is numbered among those of all tasks.
    pub(super) fn hear(&mut self, now: Timestamp, report: PeerReport) {
        match report {
            PeerReport::Arrivals { from, rank, offered } => {
                let Some((app, _)) = self.sentry(from) else { return };
                let mut arrivals = vec![0; usize::from(rank) + 1];
                arrivals[usize::from(rank)] = offered;
                let report = WorkloadReport { arrivals, ..WorkloadReport::default() };
                self.provisioner.observe(now, ProvisionFact::Workload(app, &report));
            }
            PeerReport::Workload { from, refused, service, interarrival, cpu } => {
                let Some((app, node)) = self.sentry(from) else { return };
                let report = WorkloadReport { arrivals: Vec::new(), refused, service, interarrival };
                self.provisioner.observe(now, ProvisionFact::Workload(app, &report));
                self.provisioner.observe(now, ProvisionFact::SentryCpu(NodeId(node as u32), cpu));
                self.cpu.insert(node, cpu);
            }
            PeerReport::Nucleus { from, queueing, in_service } => {
                self.passed_on.extend(self.guard_of(from).map(|(to, server)| PeerReport::Server {
                    to,
                    server,
                    queueing,
                    in_service,
                }));
            }
            PeerReport::Pressure { .. }
            | PeerReport::Usage { .. }
            | PeerReport::Quota { .. }
            | PeerReport::Server { .. }
            | PeerReport::Target { .. }
            | PeerReport::Servers { .. } => {}
        }
    }

    /// A task takes requests.
    pub(super) fn started(&mut self, TaskId { task, .. }: TaskId) {
        self.nodes.started(task);
    }

    /// A task has finished what it had.
    pub(super) fn drained(&mut self, TaskId { task, .. }: TaskId) {
        self.nodes.drained(task);
        self.cpu.remove(&task);
    }

    /// Does what is due: changes for the host, reports to sentries, and the next wake-up.
    pub(super) fn turn(
        &mut self,
        now: Timestamp,
        changes: &mut Vec<TreeChange>,
        told: &mut Vec<PeerReport>,
    ) -> Timestamp {
        told.append(&mut self.passed_on);
        let wake = loop {
            match self.provisioner.poll(now) {
                ProvisionAction::WakeAt(at) => break at,
                action => self.carry_out(action, told),
            }
        };
        let due = self.nodes.due();
        changes.extend(due.start.into_iter().map(|(node, role)| TreeChange::Start(self.task(node, role))));
        self.route(changes, told);
        changes.extend(due.drain.into_iter().map(|(node, role)| TreeChange::Drain(self.task(node, role))));
        wake
    }

    /// The rows of the platform and of each of its applications.
    pub(super) fn gauges(&self, rows: &mut Vec<StageGauges>) {
        let row = |name: String, gauges: &[(&str, f64)]| {
            let policy = gauges.iter().map(|(gauge, value)| ((*gauge).to_owned(), *value)).collect();
            StageGauges { name, policy, ..StageGauges::default() }
        };
        let Counts { by_period, by_drops, added_servers, removed_servers, added_sentries, removed_sentries } =
            self.counts;
        rows.push(row(
            "platform".to_owned(),
            &[
                ("free", self.provisioner.free().into()),
                ("invoked_by_period", by_period as f64),
                ("invoked_by_drops", by_drops as f64),
                ("added_servers", added_servers as f64),
                ("removed_servers", removed_servers as f64),
                ("added_sentries", added_sentries as f64),
                ("removed_sentries", removed_sentries as f64),
            ],
        ));
        for (app, name) in self.names.iter().enumerate() {
            let target = self.provisioner.target(AppId(app)).unwrap_or_default();
            let sentries = self.nodes.running(Role::sentry(app));
            let of_first = sentries.first().and_then(|node| self.cpu.get(node));
            rows.push(row(
                format!("platform/{name}"),
                &[
                    ("servers", self.nodes.running(Role::server(app)).len() as f64),
                    ("sentries", sentries.len() as f64),
                    ("target_ms", target.as_secs_f64() * 1e3),
                    ("first_sentry_cpu", of_first.copied().unwrap_or(0.0)),
                ],
            ));
        }
    }

    fn carry_out(&mut self, action: ProvisionAction, told: &mut Vec<PeerReport>) {
        let node = |NodeId(node): NodeId| node as usize;
        match action {
            ProvisionAction::Invoked(Invocation::Period) => self.counts.by_period += 1,
            ProvisionAction::Invoked(Invocation::Drops) => self.counts.by_drops += 1,
            ProvisionAction::Target(AppId(app), response) => {
                for sentry in self.nodes.running(Role::sentry(app)) {
                    told.push(PeerReport::Target { to: self.site_of(app, sentry), response });
                }
            }
            ProvisionAction::DrainServer(_, server) => {
                self.counts.removed_servers += 1;
                self.nodes.want(node(server), None);
            }
            ProvisionAction::AddServer(AppId(app), server) => {
                self.counts.added_servers += 1;
                self.nodes.want(node(server), Some(Role::server(app)));
            }
            ProvisionAction::RemoveSentry(_, sentry) => {
                self.counts.removed_sentries += 1;
                self.split.remove(&node(sentry));
                self.nodes.want(node(sentry), None);
            }
            ProvisionAction::AddSentry(AppId(app), sentry) => {
                self.counts.added_sentries += 1;
                self.nodes.want(node(sentry), Some(Role::sentry(app)));
            }
            ProvisionAction::Split(_, split) => {
                let servers = |servers: Vec<NodeId>| servers.into_iter().map(node).collect();
                self.split.extend(split.into_iter().map(|(sentry, of)| (node(sentry), servers(of))));
            }
            ProvisionAction::WakeAt(_) => {}
        }
    }

    /// Tells senders of other tasks than they know of. Who would have none keeps those that it has: they serve until the
    /// others are there.
    fn route(&mut self, changes: &mut Vec<TreeChange>, told: &mut Vec<PeerReport>) {
        for (app, hosted) in self.applications.iter().enumerate() {
            let servers = self.nodes.running(Role::server(app));
            let sentries = self.nodes.running(Role::sentry(app));
            self.callees
                .retain(|sentry, _| self.nodes.role(*sentry) != Some(Role::sentry(app)) || sentries.contains(sentry));
            for &sentry in &sentries {
                let assigned = self.split.get(&sentry).map_or(&[][..], Vec::as_slice);
                let tasks: Vec<usize> = assigned.iter().copied().filter(|server| servers.contains(server)).collect();
                if tasks.is_empty() || self.callees.get(&sentry) == Some(&tasks) {
                    continue;
                }
                let is_new = self.callees.insert(sentry, tasks.clone()).is_none();
                let to = self.site_of(app, sentry);
                told.push(PeerReport::Servers { to, servers: tasks.len() as u32 });
                if is_new && let Some(response) = self.provisioner.target(AppId(app)) {
                    told.push(PeerReport::Target { to, response });
                }
                let caller = TaskId { service: hosted.sentries, task: sentry };
                changes.push(TreeChange::Callees { caller, call: hosted.call, tasks });
            }
            let ready: Vec<usize> = sentries.into_iter().filter(|sentry| self.callees.contains_key(sentry)).collect();
            if !ready.is_empty() && self.users.get(&hosted.sentries) != Some(&ready) {
                self.users.insert(hosted.sentries, ready.clone());
                changes.push(TreeChange::Users { service: hosted.sentries, tasks: ready });
            }
        }
    }

    /// The application and the node of the sentry at a site.
    fn sentry(&self, site: SiteId) -> Option<(AppId, usize)> {
        let TaskId { service, task } = self.task_at(site)?;
        let app = self.applications.iter().position(|hosted| hosted.sentries == service)?;
        (self.nodes.role(task) == Some(Role::sentry(app))).then_some((AppId(app), task))
    }

    /// The site of the sentry of the server at a site, and which of its servers that is.
    fn guard_of(&self, site: SiteId) -> Option<(SiteId, u32)> {
        let TaskId { service, task } = self.task_at(site)?;
        let app = self.applications.iter().position(|hosted| hosted.servers == service)?;
        let sentries = self.callees.iter().filter(|(sentry, _)| self.nodes.role(**sentry) == Some(Role::sentry(app)));
        let mut places =
            sentries.filter_map(|(sentry, servers)| Some((sentry, servers.iter().position(|of| *of == task)?)));
        let (sentry, place) = places.next()?;
        Some((self.site_of(app, *sentry), u32::try_from(place).ok()?))
    }

    fn task_at(&self, site: SiteId) -> Option<TaskId> {
        let (number, _) = local(site);
        let service = self.first.iter().rposition(|first| *first <= number)?;
        Some(TaskId { service, task: number - self.first[service] })
    }

    fn site_of(&self, app: usize, sentry: usize) -> SiteId {
        let task = self.first[self.applications[app].sentries] + sentry;
        among_all(task, self.site)
    }

    fn task(&self, node: usize, role: Role) -> TaskId {
        let hosted = &self.applications[role.app];
        TaskId { service: if role.is_sentry { hosted.sentries } else { hosted.servers }, task: node }
    }
}
