//! How a plant is put together from a target's spec.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use controllers::{
    SiteId, Timestamp, UnixSeconds, seed_for,
    site::{Dispatch, Gate, Stage},
};

use super::{
    backend::Backend,
    costs::{PlantError, PlantSpec},
    fault::{Fault, Faults},
    listener::Listener,
    machine::Machine,
    mail::PlantMail,
    oracle::{self, Foresight},
    synthetic::{PlantChecksum, PlantEmulated},
    world::{Plant, PlantStage},
};
use crate::{
    class::Ranks,
    control::events::{Events, Reader},
    graph::{Graph, Role},
    policies::{Resolved, Seating, Unfit, listed, machines},
    running,
    spec::{App, EmulatedSpec, TargetSpec},
    stage::limits,
    synthetic::Law,
};

/// What a plant is made of, beside the target's spec.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PlantPlan {
    /// What things cost.
    pub costs: PlantSpec,
    /// Messages in the folders of the accounts, in order of their numbers.
    pub folders: Vec<Vec<u32>>,
    /// What goes wrong when.
    pub faults: Vec<Fault>,
    /// When the policy begins anew, as if the run did.
    pub renewals: Vec<Duration>,
    /// At dispatch sits a policy that knows what each request will cost, in place of the spec's.
    pub oracle: bool,
    /// Its workers wait for other services most of the time: what is let in is not bound to the servers.
    pub waits: bool,
    /// An emulated server pays for taking, reading and refusing as the costs say: they are meant for it.
    pub wire: bool,
    /// Speed of the cores, `None` for 1.
    pub speed: Option<f64>,
}

/// A service, and what its sites are made by.
#[derive(Debug)]
pub(super) struct Parts {
    pub(super) backend: Box<dyn Backend>,
    pub(super) cores: u32,
    pub(super) graph: Arc<Graph>,
    pub(super) seating: Seating,
    pub(super) reader: Reader,
}

impl Plant {
    /// A plant of this target.
    ///
    /// # Errors
    /// Whatever makes no sense in the spec or in the costs, and faults of a service among several.
    pub fn new(spec: &TargetSpec, plan: &PlantPlan) -> Result<Self, PlantError> {
        if let Some(name) = plan.faults.iter().find_map(|fault| fault.service.as_ref()) {
            return Err(PlantError::Tree(format!("a fault is to hit {name}, and there is one service alone")));
        }
        Self::with(spec, plan, Resolved::live(&spec.policy)?)
    }

    /// A plant among others, between which reports are carried.
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
        let events = Events::default();
        let reader = events.subscribe();
        let seating = Seating::new(Arc::clone(&graph), spec.objective, spec.seed, events);
        Self::of_parts(spec, plan, chosen, Parts { backend, cores, graph, seating, reader })
    }

    /// A plant of this service.
    pub(super) fn of_parts(
        spec: &TargetSpec,
        plan: &PlantPlan,
        chosen: Resolved,
        parts: Parts,
    ) -> Result<Self, PlantError> {
        let Parts { backend, cores, graph, seating, reader } = parts;
        let (monitors, machines) = machines(&spec.machines)?;
        let ranks = Ranks::of(spec).map_err(|problem| PlantError::Class(listed(&problem)))?;
        let misplaced = chosen.misplaced(&graph);
        if !misplaced.is_empty() {
            return Err(Unfit { name: spec.policy.name.clone(), problems: misplaced }.into());
        }
        let stages: Vec<_> = graph
            .branches()
            .map(|(site, node)| {
                let beside = if node.role == Role::Dynamic { machines.as_slice() } else { &[] };
                let stage = spec.stages.get(&node.name).unwrap_or(&spec.stage_defaults);
                PlantStage {
                    site: Stage::new(&node.name, seating.policy_site(&chosen, beside, site), limits(stage)),
                    spec: stage.clone(),
                }
            })
            .collect();
        let workers = stages.iter().map(|stage| stage.spec.workers).sum();
        let door = |site: SiteId, capacity| {
            Gate::new(graph.site_name(site), seating.policy_site(&chosen, &[], site), capacity)
        };
        let speed = plan.speed.unwrap_or(1.0);
        let mut machine = Machine::new(cores, &backend.pools(), &backend.slowdown());
        machine.set_speed(Timestamp::ZERO, speed);
        let at_dispatch = spec.stage("dispatch");
        let backlog = running::backlog(&chosen, spec.edge.backlog);
        let mut dispatch = door(graph.dispatch(), workers);
        let foresight = plan.oracle.then(Foresight::default);
        if let Some(foresight) = &foresight {
            // Where work takes longer while few connections are in use, as many as there are; else nobody shares a server.
            let best = if backend.slowdown().is_empty() { None } else { backend.pools().first().copied() };
            let at_once = if plan.waits { workers } else { best.unwrap_or(cores).min(workers) };
            let oracle = oracle::chosen(foresight, cores.min(workers), at_once, spec.objective.response_time);
            dispatch.replace(Timestamp::ZERO, oracle);
        }
        Ok(Self {
            costs: of_the_wire(spec, plan),
            edge: spec.edge.clone(),
            machine,
            speed,
            dispatch,
            dispatchers: Dispatch::new(at_dispatch.workers, at_dispatch.queue),
            retry_planned: None,
            foresight,
            accept: door(graph.accept(), 0),
            listener: Listener::new(backlog),
            monitors: monitors.iter().filter_map(|monitor| seating.machine(monitor, graph.system())).collect(),
            visits: BTreeMap::new(),
            workers: Vec::new(),
            health: spec.health,
            spent_on_checks: Duration::ZERO,
            ledger: Arc::default(),
            calls_ledger: Arc::default(),
            ranks,
            faults: Faults::new(&plan.faults),
            next_id: 0,
            attempts: [0; 4],
            renewals: plan.renewals.clone(),
            cores,
            wall: UnixSeconds::default(),
            woken_stages: VecDeque::new(),
            buffers: Vec::new(),
            cores_planned: None,
            armed: BTreeMap::new(),
            graph,
            backend,
            stages,
            chosen,
            reader,
            seating,
        })
    }
}

/// What reading and refusing cost. The time of an emulated server is no CPU time, and none of it goes into reading, unless the
/// plan says that it does.
fn of_the_wire(spec: &TargetSpec, plan: &PlantPlan) -> PlantSpec {
    match spec.app {
        App::Emulated(_) if !plan.wire => PlantSpec {
            accept_ms: 0.0,
            read_ms: 0.0,
            refuse_ms: 0.0,
            check_ms: 0.0,
            idle_ms: 0.0,
            ..plan.costs.clone()
        },
        App::Emulated(_) | App::Arashi { .. } | App::Checksum(_) => plan.costs.clone(),
    }
}

/// The service, and the cores that it runs on.
fn backend(spec: &TargetSpec, plan: &PlantPlan) -> Result<(Box<dyn Backend>, u32), PlantError> {
    let seed = seed_for(spec.draws.unwrap_or(spec.seed), "service");
    let costs = &plan.costs;
    Ok(match &spec.app {
        App::Arashi { connections, work, stale, .. } => {
            (Box::new(PlantMail::new(costs, *connections, work, &plan.folders, *stale)?), costs.cores)
        }
        App::Checksum(page) => (Box::new(PlantChecksum::new(costs, page)), costs.cores),
        App::Emulated(emulated) => {
            let EmulatedSpec { servers, discipline, .. } = *emulated;
            (Box::new(PlantEmulated { law: Law::of(emulated)?, servers, discipline, seed }), servers)
        }
    })
}
