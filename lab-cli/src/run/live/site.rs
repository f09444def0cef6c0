//! What an arm runs against: one target, or every task of several services as a process of its own.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    path::Path,
    sync::{Arc, PoisonError},
};

use analysis::summary;
use controllers::{catalogue::PolicySpec, seed_for};
use experiment::plan::OwnService;
use target_app::{
    control::{
        client::{ControlClient, ControlError},
        wire::{Gauges, ReadRequests},
    },
    proxy::ProxySpec,
    spec::TargetSpec,
    tree::{CalleeSpec, ServiceSpec, TaskSpec, TreeSpec, balancer_of, books_of, gauges_of, requests_of},
};
use workloads::plan;

use super::{
    reports::{SharedGauges, carry},
    service::{self, RunningService, ServiceMeter},
    target::{TargetProcess, destination},
};
use crate::run::{RunFailure, assemble};

/// What to start.
#[derive(Debug)]
pub enum SiteSpec {
    /// One target.
    One(Box<TargetSpec>),
    /// Several services.
    Many(TreeSpec),
    /// A service that is not the lab's.
    Own(Box<OwnSite>),
}

/// A service that is not the lab's, and the proxy before it.
#[derive(Debug)]
pub struct OwnSite {
    /// The service.
    pub service: OwnService,
    /// The processor that it is kept to.
    pub cpu: Option<usize>,
    /// The proxy, but for the service's URL; `None`: users go to the service itself.
    pub proxy: Option<ProxySpec>,
}

/// What runs. Killed and reaped when dropped.
#[derive(Debug)]
pub struct LiveSite {
    /// Callers before those that they call, each with its name.
    targets: Vec<(String, TargetProcess)>,
    /// A service that is not the lab's. It is ended after the proxy.
    service: Option<RunningService>,
    controls: Controls,
    /// Where users go.
    pub users_go_to: plan::Target,
}

/// The control ports of a site.
#[derive(Debug, Clone, Default)]
pub struct Controls {
    services: Vec<Service>,
    /// What can be seen of machines beside all services.
    beside: SharedGauges,
    /// Sees the processes of a service that is not the lab's.
    meter: Option<Arc<ServiceMeter>>,
}

#[derive(Debug, Clone)]
struct Service {
    /// Empty: the one target.
    name: String,
    tasks: Vec<Task>,
    /// Its balancer refuses what is too much.
    capped: bool,
}

#[derive(Debug, Clone)]
struct Task {
    control: ControlClient,
    /// The policy that it started with.
    policy: PolicySpec,
}

/// One control port, and what to put before its stages' names.
#[derive(Debug)]
pub struct Port {
    /// `service/`, `service.task/`, or nothing.
    pub prefix: String,
    /// The port.
    pub control: ControlClient,
    /// The policy that its target started with.
    pub policy: PolicySpec,
}

impl LiveSite {
    /// Starts all of it, and waits until it takes requests. What it says goes to `log`.
    pub fn start(spec: &SiteSpec, log: &Path) -> Result<Self, RunFailure> {
        match spec {
            SiteSpec::One(spec) => {
                let target = TargetProcess::start(TaskSpec::alone((**spec).clone()), log)?;
                let task = Task { control: target.control.clone(), policy: spec.policy.clone() };
                let users_go_to = destination(&target.ready)?;
                let service = Service { name: String::new(), tasks: vec![task], capped: false };
                let targets = vec![("the target".to_owned(), target)];
                let controls = Controls { services: vec![service], ..Controls::default() };
                Ok(Self { targets, service: None, controls, users_go_to })
            }
            SiteSpec::Many(spec) => many(spec, log),
            SiteSpec::Own(spec) => own(spec, log),
        }
    }

    /// Its control ports.
    pub fn controls(&self) -> &Controls {
        &self.controls
    }

    /// Its processes.
    pub fn pids(&self) -> Vec<u32> {
        let of_service = self.service.iter().flat_map(RunningService::pids);
        self.targets.iter().map(|(_, target)| target.ready.pid).chain(of_service).collect()
    }

    /// The first of several processes that has ended by itself, in words. One target may die without this: it is seen
    /// by its ledger, which is missing.
    pub fn has_died(&mut self) -> Option<String> {
        if let Some(service) = &mut self.service {
            return service.has_ended();
        }
        if self.targets.len() == 1 {
            return None;
        }
        self.targets.iter_mut().find_map(|(name, target)| Some(format!("{name} {}", target.has_ended()?)))
    }

    /// The failure that the end of a service is, with the last words of one that is not the lab's.
    pub fn failure_of(&mut self, died: &str) -> RunFailure {
        match &mut self.service {
            Some(service) => service.failed(format!("it ended during the run ({died})")),
            None => RunFailure::Target(format!("{died} during the run")),
        }
    }

    /// The proxy before a service that is not the lab's.
    pub fn proxy_pid(&self) -> Option<u32> {
        self.service.as_ref()?;
        self.targets.first().map(|(_, proxy)| proxy.ready.pid)
    }

    /// Whether the lab has started such a service itself, and keeps it to a processor.
    pub fn is_ours(&self) -> bool {
        self.service.as_ref().is_some_and(RunningService::is_ours)
    }

    /// What sees the processes of such a service.
    pub fn meter(&self) -> Option<&ServiceMeter> {
        self.controls.meter.as_deref()
    }

    /// Drains all and reaps them, callers first. The first failure is told; whatever does not end is killed.
    pub fn stop(self) -> Result<(), RunFailure> {
        let ended: Vec<_> = self.targets.into_iter().map(|(_, target)| target.stop()).collect();
        ended.into_iter().collect()
    }
}

/// Starts a service that is not the lab's, and the proxy before it once it takes requests. What the proxy says goes to `log`, and
/// what the service says beside it.
fn own(spec: &OwnSite, log: &Path) -> Result<LiveSite, RunFailure> {
    let folder = log.parent().unwrap_or(Path::new("."));
    let service = RunningService::start(&spec.service, spec.cpu, &service::log_in(folder))?;
    let meter = Some(Arc::clone(service.meter()));
    let host = service.url.trim_start_matches("http://").to_owned();
    let (mut targets, mut services) = (Vec::new(), Vec::new());
    let mut users_go_to = plan::Target { host, ..plan::Target::at(service.address) };
    if let Some(proxy) = &spec.proxy {
        let proxy = ProxySpec { to: vec![service.url.clone()], ..proxy.clone() };
        let policy = proxy.policy.clone();
        let process = TargetProcess::start_proxy(proxy, log)?;
        let task = Task { control: process.control.clone(), policy };
        users_go_to = destination(&process.ready)?;
        services.push(Service { name: String::new(), tasks: vec![task], capped: false });
        targets.push(("the proxy".to_owned(), process));
    }
    let controls = Controls { services, meter, ..Controls::default() };
    Ok(LiveSite { targets, service: Some(service), controls, users_go_to })
}

/// Starts services in the order in which they can be called: the last ones first.
fn many(spec: &TreeSpec, log: &Path) -> Result<LiveSite, RunFailure> {
    let mut addresses: BTreeMap<&str, Vec<SocketAddr>> = BTreeMap::new();
    let (mut targets, mut services) = (Vec::new(), Vec::new());
    for service in spec.services.iter().rev() {
        let calls: Vec<CalleeSpec> = service
            .calls
            .iter()
            .filter_map(|call| {
                let to = spec.services.iter().find(|to| to.name == call.to)?;
                let tasks = addresses.get(&*call.to)?.clone();
                Some(CalleeSpec { call: call.clone(), tasks, balancer: to.balancer, per: to.per, cap: to.cap })
            })
            .collect();
        let mut started = Vec::new();
        for number in 0..service.tasks {
            let task = task_of(service, number, calls.clone(), !spec.machines.is_empty());
            let policy = task.target.policy.clone();
            let target = TargetProcess::start(task, log).map_err(|failure| of_service(&service.name, failure))?;
            addresses.entry(&service.name).or_default().push(destination(&target.ready)?.address);
            started.push(Task { control: target.control.clone(), policy });
            let name = if service.tasks > 1 { format!("{}.{number}", service.name) } else { service.name.clone() };
            targets.insert(0, (name, target));
        }
        services.insert(0, Service { name: service.name.clone(), tasks: started, capped: service.cap > 0 });
    }
    let entries: Vec<plan::EntryPoint> = spec
        .entries
        .iter()
        .filter_map(|entry| {
            let to = spec.services.iter().find(|to| to.name == entry.service)?;
            let tasks = addresses.get(&*entry.service)?.clone();
            let service = to.name.clone();
            Some(plan::EntryPoint {
                service,
                class: entry.class,
                tasks,
                balancer: to.balancer,
                per: to.per,
                cap: to.cap,
            })
        })
        .collect();
    let first = entries.first().and_then(|entry| entry.tasks.first());
    let first = *first.ok_or_else(|| RunFailure::Target("no service takes requests of users".to_owned()))?;
    let users_go_to = plan::Target { entries, ..plan::Target::at(first) };
    let ports = services.iter().flat_map(|service: &Service| &service.tasks).map(|task| task.control.clone());
    let beside = if spec.machines.is_empty() { SharedGauges::default() } else { carry(spec, ports.collect())? };
    let controls = Controls { services, beside, meter: None };
    Ok(LiveSite { targets, service: None, controls, users_go_to })
}

/// A task as in virtual time: the same seed, and slow if it is one of the first.
fn task_of(service: &ServiceSpec, number: u32, calls: Vec<CalleeSpec>, reports: bool) -> TaskSpec {
    let mut target = service.task.clone();
    target.seed = seed_for(seed_for(target.seed, "tree"), &format!("{} {number}", service.name));
    let slow = service.slow.filter(|slow| number < slow.tasks);
    TaskSpec {
        name: service.name.clone(),
        target,
        calls,
        fan_out: service.fan_out,
        speed: slow.map_or(1.0, |slow| slow.speed),
        reports,
        wire: service.wire,
    }
}

fn of_service(name: &str, failure: RunFailure) -> RunFailure {
    match failure {
        RunFailure::TargetStart { cause, last_words } => {
            RunFailure::TargetStart { cause: format!("service {name}: {cause}"), last_words }
        }
        other => other,
    }
}

impl Controls {
    /// Everything that can be read now, under the names that several services have in virtual time too.
    pub fn gauges(&self) -> Result<Gauges, ControlError> {
        match &self.services[..] {
            [Service { name, tasks, .. }] if name.is_empty() => {
                let gauges = tasks[0].control.gauges()?;
                Ok(self.meter.as_ref().map_or_else(|| gauges.clone(), |meter| meter.over(gauges.clone())))
            }
            [] if self.meter.is_some() => Ok(self.meter.as_ref().map(|meter| meter.alone()).unwrap_or_default()),
            _ => {
                let shown = self.shown()?;
                let services: Vec<_> = shown.iter().map(|(name, tasks)| (*name, tasks.clone())).collect();
                let mut all = gauges_of(&services);
                // What was refused of users' requests is known to their host alone.
                let capped = self.services.iter().filter(|service| service.capped);
                all.stages.extend(capped.map(|service| balancer_of(&service.name, 0, &services)));
                all.stages.extend(self.beside.lock().unwrap_or_else(PoisonError::into_inner).clone());
                Ok(all)
            }
        }
    }

    /// Which of the users' requests were read.
    pub fn requests(&self) -> Result<ReadRequests, ControlError> {
        let tasks = self.services.iter().flat_map(|service| &service.tasks);
        let read: Vec<ReadRequests> = tasks.map(|task| task.control.requests()).collect::<Result<_, _>>()?;
        Ok(if read.len() == 1 { read.into_iter().next().unwrap_or_default() } else { requests_of(read) })
    }

    /// The books of each of several services.
    pub fn services(&self) -> Result<Vec<summary::ServiceTotals>, ControlError> {
        if self.is_one() {
            return Ok(Vec::new());
        }
        Ok(self.shown()?.iter().map(|(name, tasks)| assemble::service(books_of(name, tasks))).collect())
    }

    /// Each port.
    pub fn ports(&self) -> Vec<Port> {
        let port = |(service, number): (&Service, usize)| {
            let prefix = match (&*service.name, service.tasks.len()) {
                ("", _) => String::new(),
                (name, 1) => format!("{name}/"),
                (name, _) => format!("{name}.{number}/"),
            };
            let Task { control, policy } = service.tasks[number].clone();
            Port { prefix, control, policy }
        };
        self.services.iter().flat_map(|service| (0..service.tasks.len()).map(move |n| (service, n))).map(port).collect()
    }

    fn is_one(&self) -> bool {
        self.services.iter().all(|service| service.name.is_empty())
    }

    /// All tasks, callees before their callers, so that a request that a callee has read is counted as written by its caller.
    fn shown(&self) -> Result<Vec<(&str, Vec<Gauges>)>, ControlError> {
        let mut all = Vec::new();
        for service in self.services.iter().rev() {
            let tasks = service.tasks.iter().map(|task| task.control.gauges()).collect::<Result<_, _>>()?;
            all.push((&*service.name, tasks));
        }
        all.reverse();
        Ok(all)
    }
}
