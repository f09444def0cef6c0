//! The control ports of what an arm runs against: of one target, or of every task of several services.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use analysis::summary;
use controllers::catalogue::PolicySpec;
use live_service::control::client::{ControlClient, ControlError};
use service_core::tree::{balancer_of, books_of, continued, crashed, ended, gauges_of, requests_of};
use spec::wire::{Gauges, Halted, ReadRequests, StageGauges};

use super::{
    service::ServiceMeter,
    target::{TargetProcess, destination},
};
use crate::run::RunFailure;

/// Gauges of machines beside all services.
pub type SharedGauges = Arc<Mutex<Vec<StageGauges>>>;

/// The control ports of a site.
#[derive(Debug, Clone, Default)]
pub struct Controls {
    pub(super) services: Vec<Service>,
    /// Gauges of machines beside all services.
    pub(super) machines: SharedGauges,
    /// Sees the processes of a service that is not the lab's.
    pub(super) meter: Option<Arc<ServiceMeter>>,
    /// The start of several services, whose clocks differ.
    pub(super) began: Option<Instant>,
}

/// A service, or the one target.
#[derive(Debug, Clone)]
pub(super) struct Service {
    /// Empty: the one target.
    pub(super) name: String,
    pub(super) tasks: Vec<LiveTask>,
    /// The balancer before it refuses what is too much.
    pub(super) capped: bool,
}

/// A task of a service: the process that it is now, if it runs, and what the processes that it was before have counted. Cloning
/// gives another handle of the same task.
#[derive(Debug, Clone, Default)]
pub struct LiveTask(Arc<Mutex<TaskState>>);

#[derive(Debug, Clone, Default)]
struct TaskState {
    running: Option<RunningTask>,
    before: Option<EndedTask>,
}

/// A task that runs.
#[derive(Debug, Clone)]
pub struct RunningTask {
    pub pid: u32,
    /// The address for requests.
    pub address: SocketAddr,
    pub control: ControlClient,
    /// The policy that it started with.
    pub policy: PolicySpec,
}

/// Counts of processes that have ended.
#[derive(Debug, Clone)]
struct EndedTask {
    gauges: Gauges,
    requests: ReadRequests,
}

/// One control port, and what to put before its stages' names.
#[derive(Debug)]
pub struct Port {
    /// `service/`, `service.task/`, or nothing.
    pub prefix: String,
    /// The service; empty: the one target.
    pub service: String,
    /// The process.
    pub pid: u32,
    /// The port.
    pub control: ControlClient,
    /// The policy that its target started with.
    pub policy: PolicySpec,
}

impl RunningTask {
    /// The task that this process is.
    pub fn of(target: &TargetProcess, policy: PolicySpec) -> Result<Self, RunFailure> {
        let address = destination(&target.ready)?.address;
        Ok(Self { pid: target.ready.pid, address, control: target.control.clone(), policy })
    }
}

impl LiveTask {
    /// Notes that it takes requests.
    pub fn begins(&self, running: RunningTask) {
        self.lock().running = Some(running);
    }

    /// The process that it is now.
    pub fn running(&self) -> Option<RunningTask> {
        self.lock().running.clone()
    }

    /// Takes over the counts of its process, which is to end: nothing is sent there any more, and nothing is open.
    pub fn ends(&self) -> Result<(), ControlError> {
        let Some(running) = self.running() else { return Ok(()) };
        self.take_over(running.control.gauges()?, running.control.requests()?);
        Ok(())
    }

    /// Lets its process stand still, which is to die with whatever is open there, and takes over its counts as of that moment.
    pub fn dies(&self) -> Result<(), ControlError> {
        let Some(running) = self.running() else { return Ok(()) };
        let Halted { gauges, requests } = crashed(running.control.halt()?);
        self.take_over(gauges, requests);
        Ok(())
    }

    fn take_over(&self, gauges: Gauges, requests: ReadRequests) {
        let mut state = self.lock();
        let all = match state.before.take() {
            None => EndedTask { gauges: ended(gauges), requests },
            Some(EndedTask { gauges: before, requests: earlier }) => {
                EndedTask { gauges: ended(continued(&before, gauges)), requests: requests_of([earlier, requests]) }
            }
        };
        *state = TaskState { running: None, before: Some(all) };
    }

    fn gauges(&self) -> Result<Gauges, ControlError> {
        let (now, before) = self.ask(ControlClient::gauges)?;
        Ok(match (now, before) {
            (None, before) => before.map(|before| before.gauges).unwrap_or_default(),
            (Some(now), None) => now,
            (Some(now), Some(before)) => continued(&before.gauges, now),
        })
    }

    fn requests(&self) -> Result<Vec<ReadRequests>, ControlError> {
        let (now, before) = self.ask(ControlClient::requests)?;
        Ok(before.map(|before| before.requests).into_iter().chain(now).collect())
    }

    /// Asks its process, if it has one. Returns what the processes before it have counted too.
    fn ask<T>(
        &self,
        what: impl Fn(&ControlClient) -> Result<T, ControlError>,
    ) -> Result<(Option<T>, Option<EndedTask>), ControlError> {
        loop {
            let TaskState { running, before } = self.state();
            let Some(RunningTask { pid, control, .. }) = running else { return Ok((None, before)) };
            match what(&control) {
                Ok(now) => return Ok((Some(now), before)),
                Err(error) if self.running().is_some_and(|running| running.pid == pid) => return Err(error),
                // It has been ended meanwhile.
                Err(_) => {}
            }
        }
    }

    fn state(&self) -> TaskState {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, TaskState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Service {
    /// The one target.
    pub(super) fn one(running: RunningTask) -> Self {
        let task = LiveTask::default();
        task.begins(running);
        Self { name: String::new(), tasks: vec![task], capped: false }
    }
}

impl Controls {
    /// Everything that can be read now, under the names that several services have in virtual time too.
    pub fn gauges(&self) -> Result<Gauges, ControlError> {
        match &self.services[..] {
            [Service { name, tasks, .. }] if name.is_empty() => {
                let gauges = tasks[0].gauges()?;
                Ok(self.meter.as_ref().map_or_else(|| gauges.clone(), |meter| meter.over(gauges.clone())))
            }
            [] if self.meter.is_some() => Ok(self.meter.as_ref().map(|meter| meter.alone()).unwrap_or_default()),
            _ => {
                let shown = self.shown()?;
                let services: Vec<_> = shown.iter().map(|(name, tasks)| (*name, tasks.clone())).collect();
                let mut all = gauges_of(&services);
                // The first task may have ended, or be another process now.
                all.at_ms = self.began.map_or(all.at_ms, |began| began.elapsed().as_secs_f64() * 1e3);
                // What was refused of users' requests is known to their host alone.
                let capped = self.services.iter().filter(|service| service.capped);
                all.stages.extend(capped.map(|service| balancer_of(&service.name, 0, &services)));
                all.stages.extend(self.machines.lock().unwrap_or_else(PoisonError::into_inner).clone());
                Ok(all)
            }
        }
    }

    /// Collects the numbers of the users' requests that were read.
    pub fn requests(&self) -> Result<ReadRequests, ControlError> {
        let tasks = self.services.iter().flat_map(|service| &service.tasks);
        let read: Vec<Vec<ReadRequests>> = tasks.map(LiveTask::requests).collect::<Result<_, _>>()?;
        let mut read: Vec<ReadRequests> = read.into_iter().flatten().collect();
        Ok(if read.len() == 1 { read.remove(0) } else { requests_of(read) })
    }

    /// The books of each of several services.
    pub fn services(&self) -> Result<Vec<summary::ServiceTotals>, ControlError> {
        if self.is_one() {
            return Ok(Vec::new());
        }
        Ok(self.shown()?.iter().map(|(name, tasks)| books_of(name, tasks)).collect())
    }

    /// The port of each task that runs now.
    pub fn ports(&self) -> Vec<Port> {
        let port = |(service, number): (&Service, usize)| {
            let prefix = match (&*service.name, service.tasks.len()) {
                ("", _) => String::new(),
                (name, 1) => format!("{name}/"),
                (name, _) => format!("{name}.{number}/"),
            };
            let RunningTask { pid, control, policy, .. } = service.tasks[number].running()?;
            Some(Port { prefix, service: service.name.clone(), pid, control, policy })
        };
        let tasks = |service: &'_ Service| 0..service.tasks.len();
        let all = self.services.iter().flat_map(|service| tasks(service).map(move |n| (service, n)));
        all.filter_map(port).collect()
    }

    fn is_one(&self) -> bool {
        self.services.iter().all(|service| service.name.is_empty())
    }

    /// All tasks, callees before their callers, so that a request that a callee has read is counted as written by its caller.
    fn shown(&self) -> Result<Vec<(&str, Vec<Gauges>)>, ControlError> {
        let mut all = Vec::new();
        for service in self.services.iter().rev() {
            let tasks = service.tasks.iter().map(LiveTask::gauges).collect::<Result<_, _>>()?;
            all.push((&*service.name, tasks));
        }
        all.reverse();
        Ok(all)
    }
}
