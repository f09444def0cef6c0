//! Horizontal autoscalers: tasks of a service are started and drained by the CPU use of those that run.

mod law;

use std::time::Duration;

use controllers::{
    Timestamp,
    site::{LoadReading, StageGauges},
};
use spec::{autoscale::AutoscaleSpec, services::TreeSpec};

use super::platform::{TaskId, TreeChange};
use law::{TaskLoads, Wanted};

/// The autoscaler of a service.
#[derive(Debug)]
pub(super) struct Autoscaler {
    spec: AutoscaleSpec,
    name: String,
    service: usize,
    /// The calls to the service: of which tasks, and which of theirs.
    callers: Vec<(TaskId, usize)>,
    wanted: Wanted,
    tasks: Vec<ScaledTask>,
    looked_at: Timestamp,
    look_at: Timestamp,
    /// The tasks that senders know of.
    told: Vec<usize>,
    added: u64,
    removed: u64,
}

#[derive(Debug, Clone, Default)]
struct ScaledTask {
    life: Life,
    /// CPU time used by the last look.
    used: Option<Duration>,
    reading: Option<LoadReading>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Life {
    #[default]
    Off,
    /// It is to be started then.
    Starts(Timestamp),
    /// The host has been told to start it.
    Begun,
    Runs,
    Drains,
}

impl Autoscaler {
    /// The autoscalers of a tree, none of whose tasks has been started.
    pub(super) fn all(tree: &TreeSpec) -> Vec<Self> {
        let services = tree.services.iter().enumerate();
        services.filter_map(|(number, service)| Some(Self::new(service.autoscale?, number, tree))).collect()
    }

    fn new(spec: AutoscaleSpec, service: usize, tree: &TreeSpec) -> Self {
        let of = &tree.services[service];
        let mut callers = Vec::new();
        for (number, caller) in tree.services.iter().enumerate() {
            for (call, _) in caller.calls.iter().enumerate().filter(|(_, call)| call.to == of.name) {
                callers.extend((0..caller.tasks as usize).map(|task| (TaskId { service: number, task }, call)));
            }
        }
        let mut tasks = vec![ScaledTask::default(); of.tasks as usize];
        tasks.iter_mut().take(spec.first as usize).for_each(|task| task.life = Life::Starts(Timestamp::ZERO));
        Self {
            wanted: Wanted::new(&spec, of.tasks),
            name: of.name.clone(),
            service,
            callers,
            tasks,
            looked_at: Timestamp::ZERO,
            look_at: Timestamp::ZERO + spec.period,
            told: Vec::new(),
            added: 0,
            removed: 0,
            spec,
        }
    }

    pub(super) fn service(&self) -> usize {
        self.service
    }

    pub(super) fn started(&mut self, TaskId { service, task }: TaskId) {
        if service == self.service && self.tasks[task].life == Life::Begun {
            self.tasks[task].life = Life::Runs;
        }
    }

    pub(super) fn drained(&mut self, TaskId { service, task }: TaskId) {
        if service == self.service {
            self.tasks[task] = ScaledTask::default();
        }
    }

    /// The tasks whose load is to be told before the turn at this time.
    pub(super) fn samples(&self, now: Timestamp) -> Vec<TaskId> {
        let running = if now < self.look_at { Vec::new() } else { self.with(Life::Runs) };
        running.into_iter().map(|task| TaskId { service: self.service, task }).collect()
    }

    pub(super) fn load(&mut self, TaskId { service, task }: TaskId, reading: LoadReading) {
        if service == self.service {
            self.tasks[task].reading = Some(reading);
        }
    }

    /// Does what is due: changes for the host, and the next wake-up.
    pub(super) fn turn(&mut self, now: Timestamp, changes: &mut Vec<TreeChange>) -> Timestamp {
        let service = self.service;
        let given_up = if now >= self.look_at { self.look(now) } else { Vec::new() };
        for (task, of) in self.tasks.iter_mut().enumerate() {
            if matches!(of.life, Life::Starts(at) if at <= now) {
                of.life = Life::Begun;
                changes.push(TreeChange::Start(TaskId { service, task }));
            }
        }
        let tasks = self.with(Life::Runs);
        if tasks != self.told && !tasks.is_empty() {
            self.told.clone_from(&tasks);
            changes.push(TreeChange::Users { service, tasks: tasks.clone() });
            let calls = self.callers.iter();
            changes.extend(calls.map(|&(caller, call)| TreeChange::Callees { caller, call, tasks: tasks.clone() }));
        }
        changes.extend(given_up.into_iter().map(|task| TreeChange::Drain(TaskId { service, task })));
        let starts =
            self.tasks.iter().filter_map(|task| if let Life::Starts(at) = task.life { Some(at) } else { None });
        starts.fold(self.look_at, Timestamp::min)
    }

    /// Adds tasks, or gives some up: those that have run and are to be drained.
    fn look(&mut self, now: Timestamp) -> Vec<usize> {
        let seconds = now.since(self.looked_at).as_secs_f64();
        (self.looked_at, self.look_at) = (now, now + self.spec.period);
        let mut loads = TaskLoads { starting: self.starting(), ..TaskLoads::default() };
        for task in self.tasks.iter_mut().filter(|task| task.life == Life::Runs) {
            let LoadReading { used, cpus, .. } = task.reading.take().unwrap_or_default();
            match task.used.replace(used) {
                Some(before) => loads.measured.push(used.saturating_sub(before).as_secs_f64() / (cpus * seconds)),
                None => loads.unmeasured += 1,
            }
        }
        let there = loads.tasks();
        let wanted = self.wanted.at(now, &loads);
        (there..wanted).for_each(|_| self.add(now));
        (wanted..there).filter_map(|_| self.give_up()).collect()
    }

    fn add(&mut self, now: Timestamp) {
        // One that drains is not there yet.
        if let Some(task) = self.tasks.iter_mut().find(|task| task.life == Life::Off) {
            task.life = Life::Starts(now + self.spec.start);
            self.added += 1;
        }
    }

    /// Gives up a task that is to start, else the last one that runs: that is drained.
    fn give_up(&mut self) -> Option<usize> {
        self.removed += 1;
        if let Some(task) = self.tasks.iter_mut().rfind(|task| matches!(task.life, Life::Starts(_))) {
            task.life = Life::Off;
            return None;
        }
        let last = self.tasks.iter().rposition(|task| task.life == Life::Runs)?;
        self.tasks[last].life = Life::Drains;
        Some(last)
    }

    fn with(&self, life: Life) -> Vec<usize> {
        (0..self.tasks.len()).filter(|task| self.tasks[*task].life == life).collect()
    }

    fn starting(&self) -> u32 {
        self.tasks.iter().filter(|task| matches!(task.life, Life::Starts(_) | Life::Begun)).count() as u32
    }

    pub(super) fn gauges(&self) -> StageGauges {
        let rows = [
            ("tasks", self.told.len() as f64),
            ("starting", self.starting().into()),
            ("utilization", self.wanted.utilization),
            ("added", self.added as f64),
            ("removed", self.removed as f64),
        ];
        let policy = rows.map(|(gauge, value)| (gauge.to_owned(), value)).into();
        StageGauges { name: format!("autoscaler/{}", self.name), policy, ..StageGauges::default() }
    }
}

#[cfg(test)]
mod tests;
