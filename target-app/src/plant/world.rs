//! The plant put together from a target's spec, and its events.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use controllers::{Effect, JobId, LoadSample, PeerReport, Seen, SiteId, Timestamp, UnixSeconds, seed_for};
use workloads::{
    persona::Call,
    sim::{Asked, ConnId, Cx, Knock, Response, Visitor, World},
};

use super::{
    around::Around,
    backend::Backend,
    costs::{PlantError, PlantSpec},
    door::PlantDoor,
    fault::{Fault, Faults},
    listener::Listener,
    machine::Machine,
    mail::PlantMail,
    oracle::{self, Foresight},
    stage::PlantStage,
    synthetic::{PlantChecksum, PlantEmulated},
    visit::{Visit, head_of},
    work::Worker,
};
use crate::{
    class::Ranks,
    control::events::{Events, Reader},
    graph::{Graph, Role},
    ledger::Ledger,
    policies::{Resolved, Seating, listed, machines},
    running,
    signals::Probe,
    spec::{App, EdgeSpec, EmulatedSpec, Health, TargetSpec},
    stage::{Watcher, earliest},
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
    /// An emulated server pays for taking, reading and refusing as the costs say: they are meant for it.
    pub wire: bool,
    /// Speed of the cores, `None` for 1.
    pub speed: Option<f64>,
}

/// What a plant plans for itself.
#[derive(Debug, Clone, Copy)]
pub enum Event {
    /// Some work may be done.
    Cores(u64),
    /// A site asked to be woken.
    Wake(Place),
    /// A blocked enqueue is tried again.
    Retry(usize),
    /// A request has waited as long as a fault makes it.
    Waited(JobId),
    /// A connection may have been idle for too long.
    Idle(ConnId),
    /// A fault begins or ends.
    Fault(usize, bool),
    /// The policy begins anew.
    Renew,
    /// Another second of all open connections is to be paid.
    Upkeep,
}

/// A site with a timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// The door at accept.
    Accept,
    /// The door at dispatch.
    Dispatch,
    /// A stage of the service.
    Stage(usize),
    /// The monitors of the whole process.
    System,
}

/// A target in virtual time.
#[derive(Debug)]
pub struct Plant {
    pub(super) graph: Arc<Graph>,
    pub(super) costs: PlantSpec,
    pub(super) edge: EdgeSpec,
    pub(super) backend: Box<dyn Backend>,
    pub(super) machine: Machine,
    pub(super) stages: Vec<PlantStage>,
    pub(super) dispatch: PlantDoor,
    pub(super) accept: PlantDoor,
    pub(super) listener: Listener,
    pub(super) monitors: Vec<Watcher>,
    pub(super) visits: BTreeMap<JobId, Visit>,
    pub(super) workers: Vec<Option<Worker>>,
    pub(super) health: Health,
    /// Work on health checks.
    pub(super) spent_on_checks: Duration,
    /// Of users' requests.
    pub(super) ledger: Arc<Ledger>,
    /// Of other services' calls.
    pub(super) calls_ledger: Arc<Ledger>,
    /// Jobs of each stage that wait for other services.
    pub(super) elsewhere: Vec<u32>,
    pub(super) ranks: Ranks,
    pub(super) faults: Faults,
    pub(super) next_id: u64,
    /// Requests that were read, by attempt: first ones, first and second retries, later ones.
    pub(super) attempts: [u64; 4],
    pub(super) chosen: Resolved,
    pub(super) reader: Reader,
    /// What the oracle is told, if there is one.
    pub(super) foresight: Option<Foresight>,
    seating: Seating,
    renewals: Vec<Duration>,
    cores: u32,
    /// Speed of the cores when nothing is wrong.
    speed: f64,
    /// When the next end of work is planned for.
    cores_planned: Option<Timestamp>,
    armed: BTreeMap<Place, Timestamp>,
}

/// The plant as load samples see it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Meter {
    used: Duration,
    cpus: f64,
    memory: f64,
}

impl Probe for Meter {
    fn cpu_time(&self) -> Duration {
        self.used
    }

    fn cpus(&self) -> f64 {
        self.cpus
    }

    /// Nothing but connections takes memory in a plant.
    fn memory_share(&self) -> f64 {
        self.memory
    }
}

impl Plant {
    /// A plant of this target.
    ///
    /// # Errors
    /// Whatever makes no sense in the spec or in the costs.
    pub fn new(spec: &TargetSpec, plan: &PlantPlan) -> Result<Self, PlantError> {
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
        let (monitors, machines) = machines(&spec.machines)?;
        let ranks = Ranks::of(spec).map_err(|problem| PlantError::Class(listed(&problem)))?;
        let (backend, cores) = backend(spec, plan)?;
        let graph = Arc::new(backend.graph());
        let misplaced = chosen.misplaced(&graph);
        if !misplaced.is_empty() {
            return Err(crate::policies::Unfit { name: spec.policy.name.clone(), problems: misplaced }.into());
        }
        let events = Events::default();
        let reader = events.subscribe();
        let seating = Seating::new(Arc::clone(&graph), spec.objective, spec.seed, events);
        let stages: Vec<_> = graph
            .branches()
            .map(|(site, node)| {
                let beside = if node.role == Role::Dynamic { machines.as_slice() } else { &[] };
                let stage = spec.stages.get(&node.name).unwrap_or(&spec.stage_defaults);
                PlantStage::new(&node.name, seating.desk(&chosen, beside, site), stage.clone())
            })
            .collect();
        let workers = stages.iter().map(|stage| stage.spec.workers).sum();
        let door =
            |site: SiteId, capacity| PlantDoor::new(graph.site_name(site), seating.desk(&chosen, &[], site), capacity);
        let speed = plan.speed.unwrap_or(1.0);
        let mut machine = Machine::new(cores, &backend.pools(), &backend.slowdown());
        machine.set_speed(Timestamp::ZERO, speed);
        let backlog = running::backlog(&chosen, spec.edge.backlog);
        let mut dispatch = door(graph.dispatch(), workers);
        let foresight = plan.oracle.then(Foresight::default);
        if let Some(foresight) = &foresight {
            // Where work takes longer while few connections are in use, as many as there are; else nobody shares a server.
            let best = if backend.slowdown().is_empty() { None } else { backend.pools().first().copied() };
            let at_once = best.unwrap_or(cores).min(workers);
            let oracle = oracle::chosen(foresight, cores.min(workers), at_once, spec.objective.response_time);
            dispatch.replace(Timestamp::ZERO, oracle);
        }
        Ok(Self {
            costs: of_the_wire(spec, plan),
            edge: spec.edge.clone(),
            machine,
            speed,
            dispatch,
            foresight,
            accept: door(graph.accept(), 0),
            listener: Listener::new(backlog),
            monitors: monitors.iter().filter_map(|monitor| seating.watcher(monitor, graph.system())).collect(),
            visits: BTreeMap::new(),
            workers: Vec::new(),
            health: spec.health,
            spent_on_checks: Duration::ZERO,
            ledger: Arc::default(),
            calls_ledger: Arc::default(),
            elsewhere: vec![0; stages.len()],
            ranks,
            faults: Faults::new(&plan.faults),
            next_id: 0,
            attempts: [0; 4],
            renewals: plan.renewals.clone(),
            cores,
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

    /// Turns the work knob.
    ///
    /// # Errors
    /// The service has none, or the values make no sense.
    pub fn set_work(&mut self, work: &crate::spec::WorkSpec) -> Result<(), crate::service::WorkError> {
        self.backend.set_work(work)
    }

    /// The work on a request with these draws, at full quality: what only an offline bound may ask.
    pub fn foresee(&mut self, call: &Call, key: u64) -> Duration {
        let kind = self.backend.route(&head_of(call)).kind;
        self.backend.steps(kind, key, 1.0).iter().map(|step| step.demand).sum()
    }

    /// Requests that can be worked on at the same time.
    #[must_use]
    pub fn servers(&self) -> u32 {
        let workers = self.stages.iter().map(|stage| stage.spec.workers).sum();
        self.cores.min(workers)
    }

    pub(super) fn meter(&self) -> Meter {
        let PlantSpec { connection_kb, memory_mb, .. } = self.costs;
        let open = self.listener.conns.len() as f64;
        let memory = if memory_mb > 0.0 { (open * connection_kb / (memory_mb * 1e3)).min(1.0) } else { 0.0 };
        Meter { used: self.machine.used(), cpus: f64::from(self.cores), memory }
    }

    /// Plans to wake a site, unless it is woken before.
    pub(super) fn arm(&mut self, place: Place, wake: Option<Timestamp>, cx: &mut dyn Around) {
        let Some(at) = wake.map(|at| at.max(cx.now())) else { return };
        if self.armed.get(&place).is_none_or(|&armed| at < armed) {
            self.armed.insert(place, at);
            cx.plan(at, Event::Wake(place));
        }
    }

    /// Plans the next end of work, unless it is planned already.
    pub(super) fn plan_cores(&mut self, cx: &mut dyn Around) {
        let Some(at) = self.machine.next_done() else { return };
        if self.cores_planned.is_none_or(|planned| at < planned) {
            self.cores_planned = Some(at);
            self.machine.plans += 1;
            cx.plan(at, Event::Cores(self.machine.plans));
        }
    }

    fn woken(&mut self, place: Place, cx: &mut dyn Around) {
        if self.armed.get(&place).is_some_and(|&at| at <= cx.now()) {
            self.armed.remove(&place);
        }
        self.turn(place, cx);
    }

    pub(super) fn turn(&mut self, place: Place, cx: &mut dyn Around) {
        match place {
            Place::Accept => self.turn_accept(cx),
            Place::Dispatch => self.turn_dispatch(cx),
            Place::Stage(stage) => self.turn_stage(stage, cx),
            Place::System => self.turn_monitors(cx),
        }
    }

    /// Monitors of the whole process signal every dynamic stage and dispatch, as the live ones do.
    fn turn_monitors(&mut self, cx: &mut dyn Around) {
        let (now, meter) = (cx.now(), self.meter());
        let nothing = LoadSample::Stage { queue: 0, workers: 0, idle: 0, completed: 0 };
        let mut wants = Vec::new();
        let wakes = self.monitors.iter_mut().map(|monitor| monitor.turn(now, nothing, &meter, &mut wants));
        let wake = wakes.fold(None, earliest);
        self.arm(Place::System, wake, cx);
        for want in wants {
            if let Effect::Tell(report) = want {
                cx.report(report);
            }
            let Effect::Shed { to, level } = want else { continue };
            let seen = Seen::Peer(PeerReport::Pressure { from: self.graph.system(), level });
            let dynamic = self.graph.branches().enumerate().filter(|(_, (_, node))| node.role == Role::Dynamic);
            let stages: Vec<_> = dynamic.map(|(at, (site, _))| (site, Place::Stage(at))).collect();
            let all = stages.into_iter().chain([(self.graph.dispatch(), Place::Dispatch)]);
            for (_, place) in all.filter(|(site, _)| to.is_none_or(|to| to == *site)) {
                self.tell(place, &seen, cx);
            }
        }
    }

    /// A word from another plant, to the site with this number here.
    pub(super) fn hears(&mut self, site: SiteId, seen: &Seen, cx: &mut dyn Around) {
        let stage = self.graph.branches().position(|(of, _)| of == site);
        match stage {
            Some(stage) => self.tell(Place::Stage(stage), seen, cx),
            None if site == self.graph.dispatch() => self.tell(Place::Dispatch, seen, cx),
            None if site == self.graph.accept() => self.tell(Place::Accept, seen, cx),
            None => {}
        }
        self.plan_cores(cx);
    }

    pub(super) fn tell(&mut self, place: Place, seen: &Seen, cx: &mut dyn Around) {
        let now = cx.now();
        match place {
            Place::Accept => self.accept.hear(now, seen),
            Place::Dispatch => self.dispatch.hear(now, seen),
            Place::Stage(stage) => self.stages[stage].hear(now, seen),
            Place::System => {}
        }
        self.turn(place, cx);
    }

    fn renew(&mut self, cx: &mut dyn Around) {
        let now = cx.now();
        self.accept.replace(now, self.seating.policy(&self.chosen, self.graph.accept()));
        // The oracle has learnt nothing that it could forget.
        if self.foresight.is_none() {
            self.dispatch.replace(now, self.seating.policy(&self.chosen, self.graph.dispatch()));
        }
        for stage in &mut self.stages {
            stage.replace(now, self.seating.policy(&self.chosen, stage.site()));
        }
        self.turn_all(cx);
    }

    fn turn_all(&mut self, cx: &mut dyn Around) {
        let stages = (0..self.stages.len()).map(Place::Stage);
        for place in [Place::Accept, Place::Dispatch, Place::System].into_iter().chain(stages) {
            self.turn(place, cx);
        }
    }

    pub(super) fn starts(&mut self, cx: &mut dyn Around) {
        for (at, number, on) in self.faults.times().collect::<Vec<_>>() {
            cx.plan(Timestamp::ZERO + at, Event::Fault(number, on));
        }
        for &at in &self.renewals {
            cx.plan(Timestamp::ZERO + at, Event::Renew);
        }
        if self.costs.idle_ms > 0.0 {
            cx.plan(Timestamp::ZERO + UPKEEP, Event::Upkeep);
        }
        self.turn_all(cx);
    }

    /// `silent`: no request is to follow.
    pub(super) fn is_knocked(&mut self, conn: ConnId, silent: bool, cx: &mut dyn Around) -> Knock {
        if self.listener.is_full() {
            return Knock::Dropped;
        }
        self.listener.add(conn, silent, cx.now());
        self.take_connections(cx);
        self.plan_cores(cx);
        Knock::Taken
    }

    pub(super) fn is_asked(&mut self, asked: Asked, cx: &mut dyn Around) {
        self.arrives(asked, cx);
        self.plan_cores(cx);
    }

    pub(super) fn is_left(&mut self, conn: ConnId, cx: &mut dyn Around) {
        self.client_goes(conn, cx);
        self.plan_cores(cx);
    }

    pub(super) fn happens(&mut self, event: Event, cx: &mut dyn Around) {
        match event {
            Event::Cores(plan) => {
                if plan == self.machine.plans {
                    self.cores_planned = None;
                }
                while let Some(task) = self.machine.done(cx.now()) {
                    self.done(task, cx);
                }
            }
            Event::Wake(place) => self.woken(place, cx),
            Event::Retry(stage) => self.try_blocked(stage, cx),
            Event::Waited(id) => self.worked(id, cx),
            Event::Idle(conn) => self.look_at_idle(conn, cx),
            Event::Fault(number, on) => {
                self.faults.set(number, on);
                self.machine.set_speed(cx.now(), self.speed * self.faults.speed());
                self.cores_planned = None;
            }
            Event::Renew => self.renew(cx),
            Event::Upkeep => self.keep_up(cx),
        }
        self.plan_cores(cx);
    }
}

impl World for Plant {
    type Event = Event;

    fn begin(&mut self, cx: &mut Cx<'_, Event>) {
        self.starts(cx);
    }

    fn knock(&mut self, conn: ConnId, visitor: Visitor, cx: &mut Cx<'_, Event>) -> Knock {
        self.is_knocked(conn, visitor.silent, cx)
    }

    fn ask(&mut self, asked: Asked, cx: &mut Cx<'_, Event>) {
        self.is_asked(asked, cx);
    }

    fn hang_up(&mut self, conn: ConnId, cx: &mut Cx<'_, Event>) {
        self.is_left(conn, cx);
    }

    fn happen(&mut self, event: Event, cx: &mut Cx<'_, Event>) {
        self.happens(event, cx);
    }
}

/// Open connections are paid for so often.
pub(super) const UPKEEP: Duration = Duration::from_secs(1);

/// Wall time begins with the run: nothing outside of it is to agree with.
pub(super) fn wall(now: Timestamp) -> UnixSeconds {
    UnixSeconds(now.as_nanos() / 1_000_000_000)
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
    let seed = seed_for(spec.seed, "service");
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

/// An answer of nothing but a status.
pub(super) fn bare(status: u16) -> Response {
    Response { status, ..Response::default() }
}
