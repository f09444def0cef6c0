//! The site of an arm: one target, or every task of several services as a process of its own; what they use between two moments.

use std::{
    net::SocketAddr,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use analysis::{live::LiveEvent, summary::ServiceUse};
use controllers::Class;
use experiment::plan::{OwnProxy, OwnService};
use senders::RunOptions;
use service_core::tree::{TaskId, TreeMachines};
use spec::{
    TargetSpec,
    fault::Fault,
    proxy::ProxySpec,
    services::{TaskSpec, TreeSpec},
};
use workloads::plan;

use super::{
    controls::{Controls, RunningTask, Service},
    crashes,
    live_tree::{LiveTree, of_service},
    processes::{ALONE, Processes},
    service::{
        self, MetricsReader, RunningProxy, RunningService, ServiceMeter,
        process_tree::{self, TreeSample},
    },
    side_thread::SideThread,
    target::{Starter, TargetProcess, destination},
    tree_thread::TreeThread,
};
use crate::run::{Cpus, RunFailure, environment::neighbours::ServiceProcesses};

/// The parts of a site, to be started.
#[derive(Debug)]
pub enum SiteSpec {
    /// One target.
    One(Box<TargetSpec>),
    /// One target behind a proxy, which has the waiting room.
    Behind(Box<TargetSpec>, Box<ProxySpec>),
    /// Several services, and what goes wrong there.
    Many(Box<TreeSpec>, Vec<Fault>),
    /// A service that is not the lab's.
    Own(Box<OwnSite>),
}

impl SiteSpec {
    /// The same, where users reach it at this address: several services have a door each, and stay as they are.
    #[must_use]
    pub fn at(mut self, address: SocketAddr) -> Self {
        match &mut self {
            Self::One(target) => target.listen = address,
            Self::Behind(_, proxy) => proxy.listen = address,
            Self::Own(own) => {
                if let Front::Lab(proxy) = &mut own.front {
                    proxy.listen = address;
                }
            }
            Self::Many(..) => {}
        }
        self
    }
}

/// A service that is not the lab's, and the proxy before it.
#[derive(Debug)]
pub struct OwnSite {
    /// The service.
    pub service: OwnService,
    /// The processor that it is kept to.
    pub cpu: Option<usize>,
    /// What users meet.
    pub front: Front,
    /// It has worked for an arm before, and may still do so: nobody waits for its first answer here.
    pub runs_on: bool,
}

/// What stands before a service that is not the lab's.
#[derive(Debug)]
pub enum Front {
    /// Nothing: users go to the service itself.
    Open,
    /// The lab's proxy, but for the service's URL.
    Lab(Box<ProxySpec>),
    /// Somebody else's, by the name of its arm, and the processor that it is kept to.
    Foreign { name: String, proxy: Box<OwnProxy>, cpu: Option<usize> },
}

/// A running site. Killed and reaped when dropped.
#[derive(Debug)]
pub struct LiveSite {
    /// The machines of several services.
    /// Threads that a tree has, in the order of their beginning.
    beside: Vec<SideThread>,
    processes: Processes,
    /// Somebody else's proxy before the service.
    proxy: Option<RunningProxy>,
    /// A service that is not the lab's. It is ended after the proxy.
    service: Option<RunningService>,
    controls: Controls,
    /// The target of users.
    pub users_go_to: plan::Target,
    /// Options of the users' connections.
    pub users_go_by: RunOptions,
    /// Tasks that were started during the run end with its thread at the latest.
    _starter: Option<Starter>,
}

impl LiveSite {
    /// Processes of the lab that end with the site, reached over plain HTTP.
    fn of(processes: Processes, controls: Controls, users_go_to: plan::Target) -> Self {
        Self {
            beside: Vec::new(),
            processes,
            proxy: None,
            service: None,
            controls,
            users_go_to,
            users_go_by: RunOptions::default(),
            _starter: None,
        }
    }

    /// Starts all of it, and waits until it takes requests. What it says goes to `log`.
    pub fn start(spec: &SiteSpec, log: &Path) -> Result<Self, RunFailure> {
        match spec {
            SiteSpec::One(spec) => {
                let target = TargetProcess::start(TaskSpec::alone((**spec).clone()), log)?;
                let users_go_to = destination(&target.ready)?;
                let service = Service::one(RunningTask::of(&target, spec.policy.clone())?);
                let processes = Processes::default();
                processes.add(ALONE, "the target".to_owned(), target);
                let controls = Controls { services: vec![service], ..Controls::default() };
                Ok(Self::of(processes, controls, users_go_to))
            }
            SiteSpec::Behind(spec, proxy) => behind(spec, proxy, log),
            SiteSpec::Many(spec, faults) => many(spec, faults, log),
            SiteSpec::Own(spec) => own(spec, log),
        }
    }

    pub fn controls(&self) -> &Controls {
        &self.controls
    }

    pub fn pids(&self) -> Vec<u32> {
        let of_service = self.service.iter().flat_map(RunningService::pids);
        let of_proxy = self.proxy.iter().flat_map(RunningProxy::pids);
        self.processes.pids().into_iter().chain(of_proxy).chain(of_service).collect()
    }

    /// The lab's own ones: targets, and what stands before a service.
    pub fn pids_of_lab(&self) -> Vec<u32> {
        self.processes.pids()
    }

    /// The processes of the service, without a proxy before one that is not the lab's.
    pub fn service(&self) -> ServiceProcesses {
        let is_elsewhere = self.controls.meter.as_ref().is_some_and(|meter| meter.is_elsewhere);
        let (of_lab, own) = (self.processes.clone(), self.controls.meter.clone());
        ServiceProcesses::new(is_elsewhere, move || match &own {
            Some(meter) => meter.sample().map(|sample| sample.pids),
            None => Ok(of_lab.pids()),
        })
    }

    /// The load begins.
    pub fn load_begins(&self) {
        self.beside.iter().for_each(SideThread::load_begins);
    }

    /// Tasks that have come and gone since the last call, as events.
    pub fn happened(&self) -> Vec<LiveEvent> {
        self.beside.iter().flat_map(SideThread::take).collect()
    }

    /// A task that could not be started during the run.
    pub fn failed(&self) -> Option<RunFailure> {
        self.beside.iter().find_map(SideThread::failure)
    }

    /// The load is over: no task comes or goes any more.
    pub fn load_ends(&mut self) {
        self.beside.iter_mut().rev().for_each(SideThread::end);
    }

    /// The first of several processes that has ended by itself, in words.
    pub fn has_died(&mut self) -> Option<String> {
        if let Some(how) = self.proxy.as_mut().and_then(RunningProxy::has_ended) {
            return Some(how);
        }
        match &mut self.service {
            Some(service) => service.has_ended(),
            None => self.processes.has_died(),
        }
    }

    /// The failure that the end of a service is, with the last words of one that is not the lab's. `when`: the arm, and how far it was;
    /// `folder`: the run's.
    pub fn failure_of(&mut self, died: &str, when: &str, folder: &Path) -> RunFailure {
        let cause = format!("it ended during the run ({died}), {when}");
        let proxy_ended = self.proxy.as_mut().and_then(RunningProxy::has_ended).is_some();
        if let Some(proxy) = self.proxy.take_if(|_| proxy_ended) {
            return proxy.failed_in(cause, folder);
        }
        match &mut self.service {
            Some(service) => service.failed_in(cause, folder),
            None => RunFailure::Target(format!("{died} during the run, {when}")),
        }
    }

    /// The first process of the proxy before a service that is not the lab's.
    pub fn proxy_pid(&self) -> Option<u32> {
        self.service.as_ref()?;
        self.processes.pids().first().copied().or_else(|| self.proxy.as_ref()?.pid())
    }

    /// A service that is not the lab's.
    pub fn own_service(&self) -> Option<&RunningService> {
        self.service.as_ref()
    }

    /// True if the lab has started such a service itself, and keeps it to a processor.
    pub fn is_ours(&self) -> bool {
        self.service.as_ref().is_some_and(RunningService::is_ours)
    }

    /// The meter that sees the processes of such a service.
    pub fn meter(&self) -> Option<&ServiceMeter> {
        self.controls.meter.as_deref()
    }

    /// Reads the metrics of such a service that runs on, once it is as it was.
    pub fn read_metrics(&mut self, spec: &SiteSpec) -> Result<(), RunFailure> {
        match (&mut self.service, spec) {
            (Some(service), SiteSpec::Own(own)) if own.runs_on => service.read_metrics(&own.service),
            _ => Ok(()),
        }
    }

    /// The metrics that such a service exports.
    pub fn metrics(&self) -> Option<&MetricsReader> {
        self.meter()?.exported()
    }

    /// Drains all and reaps them, callers first. The first failure is told; whatever does not end is killed.
    pub fn stop(mut self) -> Result<(), RunFailure> {
        self.load_ends();
        drop(self.proxy.take());
        self.processes.stop()
    }
}

/// Starts a service that is not the lab's, and the proxy before it once it takes requests. What the proxy says goes to `log`, and
/// what the service says beside it.
fn own(spec: &OwnSite, log: &Path) -> Result<LiveSite, RunFailure> {
    let folder = log.parent().unwrap_or(Path::new("."));
    let mut service = RunningService::begin(&spec.service, spec.cpu, &service::log_in(folder))?;
    if spec.runs_on {
        service.wait_until_there(&spec.service)?;
    } else {
        service.wait_until_ready(&spec.service)?;
    }
    let meter = Some(Arc::clone(service.meter()));
    let (processes, mut services, mut proxy) = (Processes::default(), Vec::new(), None);
    let (mut users_go_to, mut users_go_by) = (service.door.target(), service.door.options());
    match &spec.front {
        Front::Open => {}
        Front::Lab(front) => {
            let front = ProxySpec {
                to: vec![service.door.backend()],
                backend_ca: spec.service.cacert.clone(),
                backend_insecure: spec.service.insecure,
                ..(**front).clone()
            };
            let policy = front.policy.clone();
            let process = TargetProcess::start_proxy(front, log)?;
            (users_go_to, users_go_by) = (destination(&process.ready)?, RunOptions::default());
            services.push(Service::one(RunningTask::of(&process, policy)?));
            processes.add(ALONE, "the proxy".to_owned(), process);
        }
        Front::Foreign { name, proxy: front, cpu } => {
            let front = RunningProxy::start(name, front, (&spec.service, &service.door), *cpu, folder)?;
            (users_go_to, users_go_by) = (front.door.target(), front.door.options());
            proxy = Some(front);
        }
    }
    let controls = Controls { services, meter, ..Controls::default() };
    Ok(LiveSite { proxy, service: Some(service), users_go_by, ..LiveSite::of(processes, controls, users_go_to) })
}

/// Starts a target, and the proxy before it once it takes requests. What is shown and counted is the proxy's: users' requests end
/// there, and most of them get no further.
fn behind(spec: &TargetSpec, proxy: &ProxySpec, log: &Path) -> Result<LiveSite, RunFailure> {
    let target = TargetProcess::start(TaskSpec::alone(spec.clone()), log)?;
    let proxy = ProxySpec { to: vec![target.ready.url.trim_end_matches('/').to_owned()], ..proxy.clone() };
    let policy = proxy.policy.clone();
    let process = TargetProcess::start_proxy(proxy, log)?;
    let users_go_to = destination(&process.ready)?;
    let services = vec![Service::one(RunningTask::of(&process, policy)?)];
    let processes = Processes::default();
    // It ends first.
    processes.add(ALONE, "the proxy".to_owned(), process);
    processes.add(TaskId { service: 1, ..ALONE }, "the target".to_owned(), target);
    let controls = Controls { services, ..Controls::default() };
    Ok(LiveSite::of(processes, controls, users_go_to))
}

/// Starts services in the order in which they can be called, the last ones first; those on demand as the machines of the tree want it.
fn many(spec: &TreeSpec, faults: &[Fault], log: &Path) -> Result<LiveSite, RunFailure> {
    let machines = TreeMachines::new(spec).map_err(|error| RunFailure::Target(error.to_string()))?;
    let processes = Processes::default();
    let tree = LiveTree::new(spec, machines.on_demand(), processes.clone());
    for id in tree.always_there() {
        let started = TargetProcess::start(tree.spec_of(id), log);
        let name = &spec.services[id.service].name;
        tree.takes_requests(id, started.map_err(|failure| of_service(name, failure))?)?;
    }
    let entries: Vec<(usize, plan::EntryPoint)> =
        spec.entries.iter().filter_map(|entry| entry_point(entry, spec, &tree)).collect();
    let lists = || -> Vec<(usize, plan::TaskList)> {
        entries.iter().map(|(service, entry)| (*service, entry.tasks.clone())).collect()
    };
    let (mut tree_thread, mut crashes) = (None, None);
    let starter = (spec.reports() || !faults.is_empty()).then(|| Starter::begin(log.to_owned())).transpose()?;
    if let Some(starter) = starter.clone().filter(|_| spec.reports()) {
        tree_thread = Some(TreeThread::begin(&tree, machines, lists(), starter)?);
    }
    if let Some(starter) = starter.clone().filter(|_| !faults.is_empty()) {
        let hears = tree_thread.as_ref().map(|thread| thread.hears_again(&tree));
        let hears = move |task| hears.as_ref().map_or(Ok(()), |hears| hears(task));
        crashes = Some(crashes::begin(spec, faults, (&tree, lists()), starter, hears)?);
    }
    let entries: Vec<plan::EntryPoint> = entries.into_iter().map(|(_, entry)| entry).collect();
    let first = entries.iter().find_map(|entry| entry.tasks.first());
    let first = first.ok_or_else(|| RunFailure::Target("no service takes requests of users".to_owned()))?;
    let controls = Controls {
        services: tree.services(),
        machines: tree_thread.as_ref().map(|thread| Arc::clone(&thread.shown)).unwrap_or_default(),
        meter: None,
        began: Some(Instant::now()),
    };
    let users_go_to = plan::Target { entries, ..plan::Target::at(first) };
    let beside = tree_thread.map(|thread| thread.side).into_iter().chain(crashes).collect();
    Ok(LiveSite { beside, _starter: starter, ..LiveSite::of(processes, controls, users_go_to) })
}

/// The entry point of a class of users, and the index of that service.
fn entry_point(
    (class, service): &(Option<Class>, String),
    spec: &TreeSpec,
    tree: &LiveTree,
) -> Option<(usize, plan::EntryPoint)> {
    let place = spec.services.iter().position(|to| to.name == *service)?;
    let to = &spec.services[place];
    let entry = plan::EntryPoint {
        service: to.name.clone(),
        class: *class,
        tasks: tree.addresses(place).into(),
        balancer: to.balancer,
        per: to.per,
        cap: to.cap,
    };
    Some((place, entry))
}

/// The use of service and proxy at one moment.
#[derive(Debug)]
pub struct Used {
    at: Instant,
    /// The use of the service, or the reason why it is unknown. `None`: the service is the lab's.
    service: Option<Result<TreeSample, String>>,
    proxy: Option<TreeSample>,
}

impl Used {
    /// The use up to now.
    pub fn now(site: &LiveSite) -> Self {
        let proxy = site.proxy_pid().and_then(process_tree::sample);
        Self { at: Instant::now(), service: site.meter().map(ServiceMeter::sample), proxy }
    }

    /// The use from then until now; `None`: the service is the lab's.
    pub fn until_now(&self, site: &LiveSite, cpus: &Cpus) -> Option<ServiceUse> {
        let now = Self::now(site);
        let seconds = now.at.duration_since(self.at).as_secs_f64().max(f64::MIN_POSITIVE);
        let share = |before: Duration, after: Duration| after.saturating_sub(before).as_secs_f64() / seconds;
        let meter = site.meter()?;
        let (cpu, unknown) = match (self.service.as_ref()?, now.service.as_ref()?) {
            (Ok(before), Ok(after)) => (Some(share(before.cpu, after.cpu)), None),
            (Err(why), _) | (_, Err(why)) => (None, Some(why.clone())),
        };
        let proxy = self.proxy.as_ref().zip(now.proxy.as_ref());
        let proxy_cpu = proxy.map(|(before, after)| share(before.cpu, after.cpu));
        Some(ServiceUse {
            memory_mb: cpu.map(|_| meter.resident_peak() as f64 / 1e6),
            cpu,
            core: if site.is_ours() { cpus.target } else { None },
            unknown,
            proxy_core: proxy_cpu.and(cpus.proxy),
            proxy_cpu,
            proxy_memory_mb: proxy.map(|(before, after)| before.resident_bytes.max(after.resident_bytes) as f64 / 1e6),
        })
    }
}
