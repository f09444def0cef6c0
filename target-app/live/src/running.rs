//! A running service, as the control port reads and changes it.

use std::{
    sync::{Arc, MutexGuard, PoisonError, Weak, atomic::Ordering, mpsc},
    thread,
    time::Duration,
};

use controllers::{PeerReport, Seen};
use installed::catalogue;
use serde_json::Value;
use service_core::{
    events::Events,
    policies::{MachineError, Resolved, Unfit, machines},
    tree::addressee,
};
use spec::{
    WorkSpec,
    wire::{CallBooks, Gauges, Halted, InjectFault, Policies, ReadRequests, SetCallees, SetMachines, SetPolicy},
};
use tokio::sync::Notify;
use workloads::plan::{ClientScope, ClientSpec};

use crate::{
    app::LiveApp,
    calls::Callers,
    clock::ServiceClock,
    control::{ConfigForm, Controlled},
    edge::Edge,
    reports::Reports,
};

mod built;

pub(crate) use built::Built;

/// A running service.
#[derive(Debug)]
pub struct Running {
    built: Built,
    edge: Arc<Edge>,
    runtime: tokio::runtime::Handle,
    stop: Notify,
    /// The listener's backlog, unless a policy asks for another one.
    backlog: u32,
    itself: Weak<Self>,
}

const NO_CONFIG: &str = "a service has no settings to change as a whole: PUT /policy and PUT /work change it";

/// Longest wait for the thread of a service that is to be halted.
const HALT: Duration = Duration::from_secs(4);

impl Running {
    /// Starts stages and timers. Needs a runtime.
    pub(crate) fn start(built: Built, edge: Arc<Edge>, backlog: u32) -> Arc<Self> {
        built.start();
        let runtime = tokio::runtime::Handle::current();
        Arc::new_cyclic(|itself| Self {
            built,
            edge,
            runtime,
            stop: Notify::new(),
            backlog,
            itself: Weak::clone(itself),
        })
    }

    /// The service as requests meet it.
    pub(crate) fn app(&self) -> &LiveApp {
        &self.built.app
    }

    /// Waits for [`Running::stop`].
    pub(crate) async fn stopped(&self) {
        self.stop.notified().await;
    }

    /// Switches the policy of the process's own calls, to the service that `stage` names or to all.
    fn set_senders_policy(&self, SetPolicy { stage, policy }: &SetPolicy) -> Result<(), Vec<String>> {
        let Some(callers) = &self.app().callers else {
            return Err(vec![format!(
                "{}: it sits with senders, and this service makes no calls; the users' policy is their generator's",
                policy.name
            )]);
        };
        let client = ClientSpec {
            policy: policy.name.clone(),
            settings: policy.settings.clone(),
            scope: ClientScope::All,
            objective: self.built.seating.objective(),
            renewed_in: Vec::new(),
        };
        callers.set_policy(&client, stage.as_deref())
    }

    fn policy(&self) -> MutexGuard<'_, String> {
        self.built.policy.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Controlled for Running {
    fn clock(&self) -> ServiceClock {
        self.app().clock
    }

    fn is_in_experiment(&self) -> bool {
        true
    }

    fn events(&self) -> &Events {
        self.built.seating.events()
    }

    fn reports(&self) -> Option<&Reports> {
        self.built.reports.as_ref()
    }

    fn hear(&self, report: PeerReport) {
        // Its own sites' numbers are those of the first task.
        let Some((_, to, report)) = addressee(report) else { return };
        self.app().sites.hear(to, &Seen::Peer(report));
    }

    fn gauges(&self) -> Gauges {
        let LiveApp { sites, ledgers, intake, callers, .. } = self.app();
        let stages = sites.stages.iter().map(|stage| stage.gauges());
        let within = [sites.gauges_of_dispatch()];
        let behind = [sites.accept.gauges(), self.built.monitors.gauges()];
        let gauges = self.edge.acceptor.gauges((ledgers, intake), within.into_iter().chain(stages), behind);
        Gauges {
            policy: self.policy().clone(),
            panics: sites.stages.iter().map(|stage| stage.panics()).sum(),
            events_dropped: self.events().dropped(),
            calls: CallBooks { made: callers.as_ref().map(Callers::counts).unwrap_or_default(), ..gauges.calls },
            ..gauges
        }
    }

    fn requests(&self) -> ReadRequests {
        self.app().ledgers.users.requests()
    }

    fn policies(&self) -> Policies {
        let sites = &self.app().sites;
        let of_stages = sites.stages.iter().map(|stage| (stage.name().to_owned(), stage.machines()));
        let of_all =
            of_stages.chain([(sites.graph.site_name(sites.graph.system()).to_owned(), self.built.monitors.names())]);
        let named = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect();
        let machines = of_all.filter(|(_, names)| !names.is_empty()).map(|(at, names)| (at, named(names))).collect();
        let gauges = [sites.accept.gauges(), sites.dispatch.gauges()].into_iter();
        let gauges = gauges.chain(sites.stages.iter().map(|stage| stage.gauges()));
        let sites = gauges.map(|gauges| (gauges.name, gauges.policy_name)).collect();
        Policies { sites, machines, names: catalogue().names().into_iter().map(str::to_owned).collect() }
    }

    fn set_policy(&self, change: &SetPolicy) -> Result<(), Vec<String>> {
        if Resolved::is_for_senders(&change.policy) {
            return self.set_senders_policy(change);
        }
        let resolve = if self.built.reports.is_some() { Resolved::new } else { Resolved::live };
        let chosen = resolve(&change.policy).map_err(|unfit| problems_of(&unfit))?;
        if !chosen.entry.is_policy() {
            return Err(vec![format!(
                "{}: decides about no requests: it is no policy but a machine",
                change.policy.name
            )]);
        }
        let sites = &self.app().sites;
        let graph = &sites.graph;
        let only = match &change.stage {
            None => {
                let misplaced = chosen.misplaced(graph);
                if !misplaced.is_empty() {
                    return Err(misplaced.iter().map(|bad| format!("{}: {bad}", change.policy.name)).collect());
                }
                None
            }
            Some(name) => Some(sites.all().find(|&site| graph.site_name(site) == name).ok_or_else(|| {
                let known: Vec<_> = sites.all().map(|site| graph.site_name(site)).collect();
                vec![format!("stage: no policy can sit at {name:?}; it can at: {}", known.join(", "))]
            })?),
        };
        if only == Some(graph.dispatch())
            && let Some(wide) = chosen.before_several(graph)
        {
            return Err(vec![format!("{}: {wide}", change.policy.name)]);
        }
        let _on_the_runtime = self.runtime.enter(); // a new policy may hire workers
        for site in sites.inner_first() {
            match only {
                Some(only) if only == site => sites.replace(site, self.built.seating.forced(&chosen, site)),
                Some(_) => {}
                None => sites.replace(site, self.built.seating.policy(&chosen, site)),
            }
        }
        if only.is_none() {
            change.policy.name.clone_into(&mut self.policy());
            self.edge.acceptor.set_backlog(chosen.backlog(self.backlog)).map_err(|error| vec![error.to_string()])?;
        }
        Ok(())
    }

    fn set_machines(&self, change: &SetMachines) -> Result<(), Vec<String>> {
        let resolved = machines(&change.machines, self.built.reports.is_some());
        let (monitors, beside) = resolved.map_err(|error| match error {
            MachineError::Unfit(unfit) => problems_of(&unfit),
            other => vec![other.to_string()],
        })?;
        let sites = &self.app().sites;
        let chosen: Vec<_> = match &change.stage {
            None => sites.dynamic().collect(),
            Some(name) => {
                if let Some(monitor) = monitors.first() {
                    let name = monitor.entry.name;
                    return Err(vec![format!("{name}: it watches the whole process: leave the stage out")]);
                }
                sites.dynamic().filter(|(stage, _)| stage.name() == name).collect()
            }
        };
        if chosen.is_empty() {
            let known: Vec<_> = sites.dynamic().map(|(stage, _)| stage.name()).collect();
            return Err(vec![format!("stage: no machine can sit there; it can at: {}", known.join(", "))]);
        }
        let (seating, now) = (&self.built.seating, self.app().clock.now());
        let _on_the_runtime = self.runtime.enter(); // workers may be hired
        for (stage, site) in chosen {
            stage.replace_machines(seating.machines(&beside, site, now));
        }
        if change.stage.is_none() {
            self.built.monitors.replace(seating.machines(&monitors, sites.graph.system(), now));
        }
        Ok(())
    }

    fn renew_callers(&self) {
        self.app().callers.iter().for_each(Callers::renew);
    }

    fn set_callees(&self, change: &SetCallees) -> Result<(), Vec<String>> {
        let callers = self.app().callers.as_ref();
        callers.map_or_else(|| Err(vec!["this service makes no calls".to_owned()]), |callers| callers.set_tasks(change))
    }

    fn set_work(&self, work: &WorkSpec) -> Result<(), Vec<String>> {
        self.app().service.set_work(work).map_err(|error| vec![error.to_string()])
    }

    fn hinder(&self, hinder: &InjectFault) -> Result<(), Vec<String>> {
        self.app().fault_injection.put(hinder)
    }

    fn drain(&self) {
        self.app().draining.store(true, Ordering::Relaxed);
    }

    fn stop(&self) {
        self.stop.notify_one(); // kept for who waits later
    }

    /// Halts the thread of the service: on one processor it has one alone, so that all counts are of one moment, and stay so.
    fn halt(&self) -> Result<Halted, Vec<String>> {
        if self.runtime.metrics().num_workers() > 1 {
            return Err(vec![
                "a service on several processors does not stand still at one moment: give it one".to_owned(),
            ]);
        }
        let running = self.itself.upgrade().ok_or_else(|| vec!["it is ending already".to_owned()])?;
        let (tell, told) = mpsc::channel();
        self.runtime.spawn(async move {
            let _ = tell.send(Halted { gauges: running.gauges(), requests: running.requests() });
            loop {
                thread::park(); // whoever asked for it ends the process
            }
        });
        told.recv_timeout(HALT).map_err(|_| vec![format!("its thread was busy for {HALT:?}")])
    }

    fn config(&self, _: ConfigForm) -> Result<String, Vec<String>> {
        Err(vec![NO_CONFIG.to_owned()])
    }

    fn configure(&self, _: &Value) -> Result<(), Vec<String>> {
        Err(vec![NO_CONFIG.to_owned()])
    }

    fn amend(&self, _: &Value) -> Result<(), Vec<String>> {
        Err(vec![NO_CONFIG.to_owned()])
    }
}

/// The problems of a choice, each with its name.
fn problems_of(unfit: &Unfit) -> Vec<String> {
    unfit.problems.iter().map(|problem| format!("{}: {problem}", unfit.name)).collect()
}
