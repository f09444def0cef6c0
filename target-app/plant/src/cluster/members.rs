//! Which tasks run, and who may choose which of them: what the machines of the tree want, and drains.

use controllers::Timestamp;
use service_core::tree::{TaskId, TreeChange, TreeMachines, TreeTurn};
use spec::fault::{Fault, FaultKind};
use workloads::sim::Cx;

use super::{
    Cluster,
    event::ClusterEvent,
    node::{Life, Node},
};

/// The machines beside all services, and what is under way for them.
#[derive(Debug)]
pub(super) struct Beside {
    pub(super) machines: TreeMachines,
    /// The time of their next turn, once it is planned.
    pub(super) wake: Option<Timestamp>,
    /// Tasks that finish what they have.
    pub(super) draining: Vec<TaskId>,
}

impl Beside {
    pub(super) fn new(machines: TreeMachines) -> Self {
        Self { machines, wake: None, draining: Vec::new() }
    }
}

impl Cluster {
    /// Tasks on demand are not there at the start.
    pub(super) fn leave_out_tasks_on_demand(&mut self) {
        let services: Vec<usize> = self.beside.machines.on_demand().collect();
        for service in services {
            let (first, tasks) = (self.services[service].first, self.services[service].tasks);
            self.nodes[first..first + tasks].iter_mut().for_each(|node| node.life = Life::Unborn);
            for of in self.pools.iter_mut().filter(|of| of.service == service) {
                // Nothing is connected yet.
                (0..tasks).for_each(|task| drop(of.pool.set_member(task, false)));
            }
        }
    }

    /// Lets the machines of the whole tree do what is due.
    pub(super) fn turn_machines(&mut self, cx: &mut Cx<'_, ClusterEvent>) {
        let now = cx.now();
        for task in self.beside.machines.samples(now) {
            let reading = self.nodes[self.node_of(task)].plant.meter();
            self.beside.machines.load(task, reading);
        }
        loop {
            let TreeTurn { told, changes, wake } = self.beside.machines.turn(now);
            let has_changed = !changes.is_empty();
            changes.into_iter().for_each(|change| self.change(change, cx));
            for report in told {
                cx.plan(now + self.hop, ClusterEvent::Report(report));
            }
            if !has_changed {
                return self.wake_machines(wake, cx);
            }
            self.end_drained(cx);
        }
    }

    fn wake_machines(&mut self, wake: Option<Timestamp>, cx: &mut Cx<'_, ClusterEvent>) {
        if let Some(at) = wake.filter(|at| self.beside.wake.is_none_or(|planned| *at < planned)) {
            self.beside.wake = Some(at);
            cx.plan(at, ClusterEvent::MachinesWake);
        }
    }

    fn change(&mut self, change: TreeChange, cx: &mut Cx<'_, ClusterEvent>) {
        match change {
            TreeChange::Start(task) => {
                let node = self.node_of(task);
                self.absences.extend(self.absence(node, cx.now()));
                if matches!(self.nodes[node].life, Life::Ended(_)) {
                    // A new process knows nothing of the one before.
                    self.at(node, cx, |plant, context| plant.renew(context));
                }
                self.nodes[node].life = Life::Runs;
                self.beside.machines.started(task);
            }
            // The first pools are those of the services' users.
            TreeChange::Users { service, tasks } => self.set_members(service, &tasks, cx),
            TreeChange::Callees { caller, call, tasks } => {
                let caller = self.nodes[self.node_of(caller)].callers[call];
                self.set_members(self.calls.callers[caller].pool, &tasks, cx);
            }
            TreeChange::Drain(task) => self.beside.draining.push(task),
        }
    }

    /// Times until this one in which a task that is started on demand was not there, each as a crash of that task.
    #[must_use]
    pub fn absences(&self, until: Timestamp) -> Vec<Fault> {
        let open = (0..self.nodes.len()).filter_map(|node| self.absence(node, until));
        self.absences.iter().cloned().chain(open).collect()
    }

    /// Time for which a task has not been there.
    fn absence(&self, node: usize, until: Timestamp) -> Option<Fault> {
        let Node { service, task, life, .. } = self.nodes[node];
        let since = match life {
            Life::Runs => return None,
            Life::Unborn => Timestamp::ZERO,
            Life::Ended(since) => since,
        };
        Some(Fault {
            at: since.since(Timestamp::ZERO),
            lasts: until.since(since),
            kind: FaultKind::Crash,
            service: Some(self.services[service].name.clone()),
            task: Some(task as u32),
        })
    }

    /// Lets senders leave out a task that has crashed, whose port refuses connections, or take it in again.
    pub(super) fn leave_out(&mut self, node: usize, is_out: bool, cx: &mut Cx<'_, ClusterEvent>) {
        let Node { service, task, .. } = self.nodes[node];
        for pool in (0..self.pools.len()).filter(|pool| self.pools[*pool].service == service).collect::<Vec<_>>() {
            for idle in self.pools[pool].pool.set_member(task, !is_out) {
                self.close_idle(idle, cx);
            }
        }
    }

    fn set_members(&mut self, pool: usize, members: &[usize], cx: &mut Cx<'_, ClusterEvent>) {
        for task in 0..self.services[self.pools[pool].service].tasks {
            for idle in self.pools[pool].pool.set_member(task, members.contains(&task)) {
                self.close_idle(idle, cx);
            }
        }
    }

    /// Ends the draining tasks that have nothing left. True: there were some.
    pub(super) fn end_drained(&mut self, cx: &Cx<'_, ClusterEvent>) -> bool {
        if self.beside.draining.is_empty() {
            return false;
        }
        let (ended, left) =
            std::mem::take(&mut self.beside.draining).into_iter().partition(|task| self.is_idle(*task, cx.now()));
        self.beside.draining = left;
        for &task in &ended {
            let node = self.node_of(task);
            self.nodes[node].life = Life::Ended(cx.now());
            self.beside.machines.drained(task);
        }
        !Vec::is_empty(&ended)
    }

    /// True if a task has no request, and none is on its way there.
    fn is_idle(&self, task: TaskId, now: Timestamp) -> bool {
        let senders = self.pools.iter().filter(|of| of.service == task.service);
        let under_way: u32 = senders.map(|of| of.pool.under_way(task.task)).sum();
        under_way == 0 && self.nodes[self.node_of(task)].plant.gauges(now).ledger.in_flight == 0
    }

    fn node_of(&self, TaskId { service, task }: TaskId) -> usize {
        self.services[service].first + task
    }
}
