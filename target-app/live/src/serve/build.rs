//! Builds the app of a service from its spec: stages from the graph, seats from the catalogue.

use std::sync::{Arc, Mutex};

use controllers::{SiteId, Timestamp, site::OnRefuse};
use service_core::{
    class::Classification,
    events::Events,
    policies::{Resolved, Seating, machines},
    request::Intake,
};
use spec::{TargetSpec, graph::Graph, services::TaskSpec};

use super::ServeError;
use crate::{
    app::{Dispatchers, LiveApp, Sites},
    calls::Callers,
    clock::ServiceClock,
    edge::LEAST_HEAD_BYTES,
    monitor::Monitors,
    reports::Reports,
    running::Built,
    service::Service,
    signals::{Probe, ThisProcess},
    stage::{AdmissionGate, LiveStage},
};

/// An open service, or the error that keeps it from serving.
pub type Opened = Result<Arc<dyn Service>, ServeError>;

/// The checked policy of a spec.
pub(super) fn policy(task: &TaskSpec) -> Result<Resolved, ServeError> {
    let spec = &task.target.policy;
    let chosen = if task.reports { Resolved::new(spec) } else { Resolved::live(spec) }?;
    if chosen.entry.is_policy() { Ok(chosen) } else { Err(ServeError::NotAPolicy(spec.name.clone())) }
}

/// Opens a service and builds its app. Needs a runtime.
pub(super) async fn build(
    task: TaskSpec,
    chosen: Resolved,
    open: impl AsyncFnOnce(&TaskSpec, ServiceClock) -> Opened,
) -> Result<Built, ServeError> {
    let spec = &task.target;
    if spec.edge.head_bytes < LEAST_HEAD_BYTES {
        return Err(ServeError::Head(spec.edge.head_bytes));
    }
    let clock = ServiceClock::start();
    let service = open(&task, clock).await?;
    let graph = Arc::new(service.graph());
    let seating = Seating::new(graph, spec.objective, spec.seed, Events::default());
    assemble(&task, &chosen, service, &seating, clock)
}

/// Builds the app of an open service.
pub(crate) fn assemble(
    task: &TaskSpec,
    chosen: &Resolved,
    service: Arc<dyn Service>,
    seating: &Seating,
    clock: ServiceClock,
) -> Result<Built, ServeError> {
    let (spec, graph) = (&task.target, Arc::clone(seating.graph()));
    let probe: Arc<dyn Probe> = match task.cpu_allotment {
        allotted @ Some(_) => Arc::new(ThisProcess { allotted }),
        None => service.probe(),
    };
    let (monitors, machines) = machines(&spec.machines, task.reports)?;
    let intake = Intake::new(Classification::of(spec).map_err(ServeError::Class)?);
    let callers = Callers::of(task, clock).map_err(ServeError::Calls)?;
    check_stages(spec, &graph)?;
    let reports = task.reports.then(Reports::default);
    let stages = seating.stages(chosen, &machines, |name, policy| {
        LiveStage::new(name, policy, spec.stage(name).clone(), Arc::clone(&probe), reports.clone(), clock)
    })?;
    let workers = stages.iter().map(|stage| stage.spec().workers).sum();
    let gate = |site: SiteId, capacity| {
        let policy = seating.policy_site(chosen, &[], site);
        AdmissionGate::new(graph.site_name(site), policy, capacity, Arc::clone(&probe), reports.clone(), clock)
    };
    let at_dispatch = spec.stage("dispatch");
    let sites = Sites {
        dispatch: gate(graph.dispatch(), workers),
        accept: gate(graph.accept(), 0),
        dispatchers: Dispatchers::new(at_dispatch.workers, at_dispatch.queue, stages.clone(), clock),
        stages,
        graph: Arc::clone(&graph),
    };
    let system = graph.system();
    let machines = seating.machines(&monitors, system, Timestamp::ZERO);
    let monitors = Monitors::new(system, machines, Arc::clone(&probe), sites.monitored(), clock);
    let app = LiveApp::new(task, service, sites, intake, callers, (clock, probe));
    Ok(Built { app, seating: seating.clone(), monitors, reports, policy: Mutex::new(spec.policy.name.clone()) })
}

/// Rejects settings for stages that do not exist: they are typing errors.
fn check_stages(spec: &TargetSpec, graph: &Graph) -> Result<(), ServeError> {
    if let Some(name) = spec.stages.keys().find(|name| graph.sized().all(|stage| stage != **name)) {
        let known = graph.sized().collect::<Vec<_>>().join(", ");
        return Err(ServeError::Stage { name: name.clone(), known });
    }
    let of_stages = spec.stages.values().chain([&spec.stage_defaults]);
    for stage in of_stages {
        if let OnRefuse::Redirect(node) = &stage.on_refuse
            && !node.parse::<http::Uri>().is_ok_and(|uri| uri.scheme().is_some() && uri.authority().is_some())
        {
            return Err(ServeError::Node(node.clone()));
        }
    }
    Ok(())
}
