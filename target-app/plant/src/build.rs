//! Builds a plant from a target's spec.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use controllers::{
    Foresight, Seen, SiteId, Timestamp, UnixSeconds,
    catalogue::PolicySpec,
    seed_for,
    site::{Dispatch, Gate, Stage},
};
use service_core::{
    class::Classification,
    events::Events,
    ledger::Ledgers,
    load_report::LoadMeter,
    policies::{Resolved, Seating, listed, machines},
    request::Intake,
    synthetic::{Law, typed_graph},
};
use spec::{App, EmulatedSpec, TargetSpec, fault::Fault, plant::PlantSpec};

use super::{
    backend::Backend,
    cpu::CpuModel,
    error::PlantError,
    fault::Faults,
    generation::PlantGeneration,
    in_flight::Requests,
    listener::Listener,
    mail::PlantMail,
    own_service::PlantService,
    rooms::PlantRooms,
    sites::{PlantSites, PlantStage},
    synthetic::{PlantChecksum, PlantEmulated},
    world::{Checks, Plant},
};

/// The settings of a plant that are not in the target's spec.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PlantPlan {
    /// The costs of all steps.
    pub costs: PlantSpec,
    /// Messages in the folders of the accounts, in order of their numbers.
    pub folders: Vec<Vec<u32>>,
    /// The injected faults.
    pub faults: Vec<Fault>,
    /// When a new policy of the same kind replaces the policy, which loses what it has learnt.
    pub renewals: Vec<Duration>,
    /// The bound that sits at dispatch in place of the spec's policy, and is told what each request will cost.
    pub foresight: Option<PolicySpec>,
    /// True if workers wait for other services most of the time, so that such a bound may admit more jobs than there are servers.
    pub waits: bool,
    /// True if an emulated server spends the costs of accepting, reading and refusing.
    pub wire: bool,
    /// True if answers report the load of the task, for balancers that choose by utilization.
    pub reports_load: bool,
    /// Speed of the cores, `None` for 1.
    pub speed: Option<f64>,
}

impl Plant {
    /// A plant of this target.
    ///
    /// # Errors
    /// Any invalid value in the spec or in the costs, and faults of a service among several.
    pub fn new(spec: &TargetSpec, plan: &PlantPlan) -> Result<Self, PlantError> {
        if let Some(name) = plan.faults.iter().find_map(|fault| fault.service.as_ref()) {
            return Err(PlantError::Tree(format!("a fault is to hit {name}, and there is one service alone")));
        }
        Self::with(spec, plan, Resolved::live(&spec.policy)?)
    }

    /// A plant among others, with reports carried between them.
    pub(super) fn in_cluster(spec: &TargetSpec, plan: &PlantPlan) -> Result<Self, PlantError> {
        Self::with(spec, plan, Resolved::new(&spec.policy)?)
    }

    fn with(spec: &TargetSpec, plan: &PlantPlan, chosen: Resolved) -> Result<Self, PlantError> {
        plan.costs.check()?;
        if !chosen.entry.is_policy() {
            return Err(PlantError::NotAPolicy(spec.policy.name.clone()));
        }
        let (backend, cores) = backend(spec, plan)?;
        let graph = Arc::new(backend.graph());
        let seating = Seating::new(graph, spec.objective, spec.seed, Events::default());
        Self::of_service(spec, plan, chosen, backend, cores, seating)
    }

    /// A plant of this service on this number of cores.
    ///
    /// # Errors
    /// As [`Plant::new`].
    pub fn of_service(
        spec: &TargetSpec,
        plan: &PlantPlan,
        chosen: Resolved,
        backend: Box<dyn Backend>,
        cores: u32,
        seating: Seating,
    ) -> Result<Self, PlantError> {
        let classification = Classification::of(spec).map_err(|problem| PlantError::Class(listed(&problem)))?;
        let reader = seating.events().subscribe();
        let backlog = chosen.backlog(spec.edge.backlog);
        let mut sites = PlantSites::new(spec, chosen, seating)?;
        let load = plan.reports_load.then(|| LoadMeter::new(Timestamp::ZERO));
        let rooms = spec.waiting_room.as_ref().map(|rooms| PlantRooms::new(rooms, spec.seed)).transpose()?;
        if let Some(bound) = &plan.foresight {
            // If work takes longer while few connections are in use, as many jobs as there are connections; else no two
            // jobs share a server.
            let best = if backend.slowdown().is_empty() { None } else { backend.pools().first().copied() };
            let workers = sites.workers();
            let at_once =
                if plan.waits || backend.batch().is_some() { workers } else { best.unwrap_or(cores).min(workers) };
            let servers = cores.min(workers);
            sites.seat_bound(&Resolved::bound(bound)?, Foresight::Service { servers, at_once });
        }
        Ok(Self {
            costs: of_the_wire(spec, plan),
            cpu: CpuModel::new(cores, plan.speed.unwrap_or(1.0), &backend.pools(), &backend.slowdown()),
            batch: backend.batch(),
            listener: Listener::new(backlog, spec.edge.clone()),
            requests: Requests { rooms, load, ..Requests::default() },
            intake: Intake::new(classification),
            ledgers: Ledgers::default(),
            checks: Checks { answered: spec.health, spent: Duration::ZERO },
            faults: Faults::new(&plan.faults),
            renewals: plan.renewals.clone(),
            sites,
            backend,
            reader,
        })
    }
}

impl PlantSites {
    fn new(spec: &TargetSpec, chosen: Resolved, seating: Seating) -> Result<Self, PlantError> {
        // Whether anybody hears them is checked where the experiment is read.
        let (monitors, machines) = machines(&spec.machines, true)?;
        let graph = Arc::clone(seating.graph());
        let stages = seating.stages(&chosen, &machines, |name, policy| {
            let stage = spec.stage(name);
            PlantStage { site: Stage::new(name, policy, stage.limits()), spec: stage.clone() }
        })?;
        let workers = stages.iter().map(|stage| stage.spec.workers).sum();
        let gate = |site: SiteId, capacity| {
            Gate::new(graph.site_name(site), seating.policy_site(&chosen, &[], site), capacity)
        };
        let at_dispatch = spec.stage("dispatch");
        Ok(Self {
            dispatch: gate(graph.dispatch(), workers),
            accept: gate(graph.accept(), 0),
            dispatchers: Dispatch::new(at_dispatch.workers, at_dispatch.queue),
            monitors: seating.machines(&monitors, graph.system(), Timestamp::ZERO),
            foresees: false,
            armed: BTreeMap::new(),
            retry_planned: None,
            wall: UnixSeconds::default(),
            buffers: Vec::new(),
            stages,
            chosen,
            seating,
        })
    }

    /// The number of workers of all stages.
    pub(super) fn workers(&self) -> u32 {
        self.stages.iter().map(|stage| stage.spec.workers).sum()
    }

    /// Seats a bound at dispatch, and tells it what it knows of the service.
    fn seat_bound(&mut self, bound: &Resolved, service: Foresight) {
        let installed = self.seating.forced(bound, self.graph().dispatch());
        self.dispatch.replace(Timestamp::ZERO, installed);
        self.dispatch.observe(Timestamp::ZERO, &Seen::Foreseen(service));
        self.foresees = true;
    }
}

/// The costs of reading and refusing. The time of an emulated server is no CPU time, and reading takes none of it,
/// unless the plan says otherwise.
fn of_the_wire(spec: &TargetSpec, plan: &PlantPlan) -> PlantSpec {
    match spec.app {
        App::Emulated(_) | App::Generation(_) if !plan.wire => PlantSpec {
            accept_ms: 0.0,
            read_ms: 0.0,
            refuse_ms: 0.0,
            police_batch_ms: 0.0,
            police_threshold_ms: 0.0,
            check_ms: 0.0,
            idle_ms: 0.0,
            ..plan.costs.clone()
        },
        App::Emulated(_) | App::Generation(_) | App::Arashi { .. } | App::Checksum(_) => plan.costs.clone(),
    }
}

/// The service, and its cores.
fn backend(spec: &TargetSpec, plan: &PlantPlan) -> Result<(Box<dyn Backend>, u32), PlantError> {
    let seed = seed_for(spec.draws.unwrap_or(spec.seed), "service");
    let costs = &plan.costs;
    Ok(match &spec.app {
        App::Arashi { work, spec, .. } => {
            (Box::new(PlantMail::new(costs, spec.connections, work, &plan.folders, spec.stale)?), costs.cores)
        }
        App::Checksum(page) => (Box::new(PlantChecksum::new(costs, page)), costs.cores),
        App::Emulated(emulated) => {
            if let Some(service) = &costs.service {
                return Ok((Box::new(PlantService::new(service, seed)), service.servers));
            }
            let EmulatedSpec { servers, discipline, .. } = *emulated;
            let (law, graph) = (Law::of(emulated)?, typed_graph(emulated));
            (Box::new(PlantEmulated { law, graph, servers, discipline, seed }), servers)
        }
        App::Generation(tokens) => {
            let workers = spec.stage(PlantGeneration::STAGE).workers;
            (Box::new(PlantGeneration { spec: *tokens, workers, seed }), 1)
        }
    })
}
