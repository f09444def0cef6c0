//! Puts a service together: the app from its spec, stages from the graph, seats from the catalogue.

use std::sync::Arc;

use controllers::{SiteId, seed_for};

use super::ServeError;
use crate::{
    app::{App, Dispatchers, Job, Parted},
    calls::Callers,
    class::Ranks,
    clock::Clock,
    control::{events::Events, reports::Reports},
    edge::Edge,
    graph::{Graph, Role},
    mail::{Arashi, ArashiSettings, SessionLimits},
    monitor::Monitors,
    policies::{Resolved, Seating, Unfit, machines},
    running::{Parts, Running},
    service::Service,
    spec::{self, OnRefuse, TargetSpec},
    stage::{Door, Ear, Neighbours, Stage, keep_time},
    synthetic::{Checksum, Emulated, Law},
    tree::TaskSpec,
};

/// hyper's smallest buffer.
const LEAST_HEAD_BYTES: u32 = 8192;

/// A service that is put together, and does not run yet.
#[derive(Debug)]
pub(crate) struct Built {
    pub(crate) app: Arc<App>,
    seating: Seating,
    monitors: Arc<Monitors>,
    events: Events,
    reports: Option<Reports>,
    policy: String,
}

/// The policy of a spec, checked.
pub(super) fn policy(task: &TaskSpec) -> Result<Resolved, ServeError> {
    let spec = &task.target.policy;
    let chosen = if task.reports { Resolved::new(spec) } else { Resolved::live(spec) }?;
    if chosen.entry.is_policy() { Ok(chosen) } else { Err(ServeError::NotAPolicy(spec.name.clone())) }
}

/// Puts the service together. Needs a runtime.
pub(super) async fn build(task: TaskSpec, chosen: Resolved) -> Result<Built, ServeError> {
    let spec = &task.target;
    if spec.edge.head_bytes < LEAST_HEAD_BYTES {
        return Err(ServeError::Head(spec.edge.head_bytes));
    }
    let clock = Clock::start();
    let service = open(&spec.app, task.speed, spec.draws.unwrap_or(spec.seed), clock).await?;
    let graph = Arc::new(service.graph());
    let events = Events::default();
    let seating = Seating::new(Arc::clone(&graph), spec.objective, spec.seed, events.clone());
    assemble(&task, &chosen, service, Ground { graph, seating, events, clock })
}

/// What sites are made by, and the clock that they are told.
pub(crate) struct Ground {
    pub(crate) graph: Arc<Graph>,
    pub(crate) seating: Seating,
    pub(crate) events: Events,
    pub(crate) clock: Clock,
}

/// Puts a service together that is open.
pub(crate) fn assemble(
    task: &TaskSpec,
    chosen: &Resolved,
    service: Arc<dyn Service>,
    ground: Ground,
) -> Result<Built, ServeError> {
    let Ground { graph, seating, events, clock } = ground;
    let spec = &task.target;
    let (monitors, machines) = machines(&spec.machines)?;
    let ranks = Ranks::of(spec).map_err(ServeError::Class)?;
    let callers = Callers::of(task, clock).map_err(ServeError::Calls)?;
    check_stages(spec, &graph)?;
    let misplaced = chosen.misplaced(&graph);
    if !misplaced.is_empty() {
        return Err(Unfit { name: spec.policy.name.clone(), problems: misplaced }.into());
    }

    let reports = task.reports.then(Reports::default);
    let stages: Vec<_> = graph
        .branches()
        .map(|(site, node)| {
            let beside = if node.role == Role::Dynamic { machines.as_slice() } else { &[] };
            let policy = seating.policy_site(chosen, beside, site);
            let spec = spec.stage(&node.name).clone();
            Stage::new(&node.name, policy, spec, service.probe(), reports.clone(), clock)
        })
        .collect();
    let workers = stages.iter().map(|stage| stage.spec().workers).sum();
    let door = |site: SiteId, capacity| {
        let policy = seating.policy_site(chosen, &[], site);
        Door::new(graph.site_name(site), policy, capacity, service.probe(), reports.clone(), clock)
    };
    let (dispatch, accept, probe) = (door(graph.dispatch(), workers), door(graph.accept(), 0), service.probe());
    let at_dispatch = spec.stage("dispatch");
    let app = App::new(Parted {
        service,
        clock,
        edge: spec.edge.clone(),
        dispatch,
        accept,
        dispatchers: Dispatchers::new(at_dispatch.workers, at_dispatch.queue, stages.clone(), clock),
        ranks,
        callers,
        wire: task.wire.at_speed(task.speed),
        health: spec.health,
        graph: (*graph).clone(),
        stages,
    });
    let system = graph.system();
    let machines = monitors.iter().filter_map(|monitor| seating.machine(monitor, system)).collect();
    let monitors = Monitors::new(system, machines, probe, ears(&app), clock);
    Ok(Built { app, seating, monitors, events, reports, policy: task.target.policy.name.clone() })
}

impl Built {
    /// Starts stages and timers.
    pub(super) fn run(self, edge: Arc<Edge>, backlog: u32) -> Arc<Running> {
        self.start();
        let Self { app, seating, monitors, events, reports, policy } = self;
        Running::new(Parts { app, edge, seating, monitors, events, reports, policy, backlog })
    }

    /// Starts stages and timers, on the current runtime.
    pub(crate) fn start(&self) {
        let Self { app, monitors, .. } = self;
        for (branch, stage) in app.stages.iter().enumerate() {
            let dispatchers = Arc::downgrade(&app.dispatchers);
            stage.start(Neighbours {
                upstream: vec![ear_of_door(&app.dispatch, app.graph.dispatch())],
                room: Box::new(move || Dispatchers::room(&dispatchers, branch)),
            });
        }
        tokio::spawn(keep_time(Arc::downgrade(&app.dispatchers)));
        for door in [&app.dispatch, &app.accept] {
            tokio::spawn(keep_time(Arc::downgrade(door)));
        }
        tokio::spawn(keep_time(Arc::downgrade(monitors)));
    }
}

/// Opens what is served.
async fn open(app: &spec::App, speed: f64, seed: u64, clock: Clock) -> Result<Arc<dyn Service>, ServeError> {
    let seed = seed_for(seed, "service");
    match app {
        spec::App::Arashi { database, connections, work, session_in_links, full_text, durability, stale } => {
            let settings = ArashiSettings {
                database: database.clone(),
                connections: *connections,
                work: work.clone(),
                session_in_links: *session_in_links,
                full_text: *full_text,
                durability: *durability,
                stale: *stale,
                sessions: SessionLimits::default(),
            };
            let arashi = Arashi::open(&settings).await.map_err(|error| ServeError::Service(Box::new(error)))?;
            Ok(Arc::new(arashi))
        }
        spec::App::Checksum(page) => Ok(Checksum::new(page, seed)?),
        spec::App::Emulated(emulated) => {
            let law = Law::of(emulated)?.at_speed(speed)?;
            Ok(Emulated::new(law, emulated.servers, emulated.discipline, emulated.answer_bytes, seed, clock))
        }
    }
}

/// Settings for stages that do not exist are slips.
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

/// Who hears the monitors: every dynamic stage, and dispatch.
fn ears(app: &Arc<App>) -> Vec<Ear> {
    let dynamic = app.stages.iter().zip(app.graph.branches()).filter(|(_, (_, node))| node.role == Role::Dynamic);
    let mut ears: Vec<_> = dynamic.map(|(stage, (site, _))| ear_of_stage(stage, site)).collect();
    ears.push(ear_of_door(&app.dispatch, app.graph.dispatch()));
    ears
}

fn ear_of_stage(stage: &Arc<Stage<Job>>, site: SiteId) -> Ear {
    let stage = Arc::downgrade(stage);
    Ear::new(site, move |seen| stage.upgrade().into_iter().for_each(|stage| stage.hear(seen)))
}

fn ear_of_door(door: &Arc<Door>, site: SiteId) -> Ear {
    let door = Arc::downgrade(door);
    Ear::new(site, move |seen| door.upgrade().into_iter().for_each(|door| door.hear(seen)))
}
