//! The processes of a site, which may come and go while it runs.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use service_core::tree::TaskId;

use super::target::TargetProcess;
use crate::run::RunFailure;

/// The processes of a site. Cloning gives another handle; they are killed and reaped with the last one.
#[derive(Debug, Clone, Default)]
pub struct Processes(Arc<Mutex<Vec<Process>>>);

#[derive(Debug)]
struct Process {
    task: TaskId,
    /// The task's name in messages.
    name: String,
    target: TargetProcess,
}

/// The one target, or what stands before a service that is not the lab's.
pub const ALONE: TaskId = TaskId { service: 0, task: 0 };

impl Processes {
    /// Adds the process of a task.
    pub fn add(&self, task: TaskId, name: String, target: TargetProcess) {
        let mut all = self.lock();
        let place = all.partition_point(|process| process.task <= task);
        all.insert(place, Process { task, name, target });
    }

    /// Takes out the process of a task, which is then the caller's to end.
    pub fn take(&self, task: TaskId) -> Option<TargetProcess> {
        let mut all = self.lock();
        let place = all.iter().position(|process| process.task == task)?;
        Some(all.remove(place).target)
    }

    /// Process ids, callers first.
    pub fn pids(&self) -> Vec<u32> {
        self.lock().iter().map(|process| process.target.ready.pid).collect()
    }

    /// The first of several processes that has ended by itself, in words. One target may die without this: it is seen
    /// by its ledger, which is missing.
    pub fn has_died(&self) -> Option<String> {
        let mut all = self.lock();
        if all.len() == 1 {
            return None;
        }
        all.iter_mut().find_map(|Process { name, target, .. }| Some(format!("{name} {}", target.has_ended()?)))
    }

    /// Drains all and reaps them, callers first. The first failure is told; whatever does not end is killed.
    pub fn stop(&self) -> Result<(), RunFailure> {
        let all = std::mem::take(&mut *self.lock());
        let ended: Vec<_> = all.into_iter().map(|process| process.target.stop()).collect();
        ended.into_iter().collect()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Process>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
