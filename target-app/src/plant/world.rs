//! A plant, and what happens to it.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use controllers::{
    JobId, Timestamp, UnixSeconds,
    site::{Action, Dispatch, Gate, SiteMachine, Stage},
};
use workloads::sim::{ConnId, Cx, Identity, Response, SimClient, SimRequest, SimServer, SynResult, identity_of};

use super::{
    around::Around, backend::Backend, costs::PlantSpec, fault::Faults, listener::Listener, machine::Machine,
    oracle::Foresight, sites::Place, visit::Visit, work::Worker,
};
use crate::{
    class::Ranks,
    control::events::Reader,
    graph::Graph,
    ledger::Ledger,
    policies::{Resolved, Seating},
    signals::Probe,
    spec::{EdgeSpec, Health, StageSpec},
};

/// What a plant plans for itself.
#[derive(Debug, Clone, Copy)]
pub enum Event {
    /// Some work may be done.
    Cores(u64),
    /// A site asked to be woken.
    Wake(Place),
    /// Blocked jobs are tried again.
    Retry,
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

impl Identity for Event {
    fn identity(&self) -> u64 {
        match *self {
            Self::Cores(plan) => identity_of(0, &[plan]),
            Self::Wake(place) => identity_of(1, &[place.identity()]),
            Self::Retry => identity_of(2, &[]),
            Self::Waited(JobId(job)) => identity_of(3, &[job]),
            Self::Idle(conn) => identity_of(4, &[conn.identity()]),
            Self::Fault(number, on) => identity_of(5, &[number as u64, u64::from(on)]),
            Self::Renew => identity_of(6, &[]),
            Self::Upkeep => identity_of(7, &[]),
        }
    }
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
    pub(super) dispatch: Gate<JobId>,
    /// The workers of dispatch, of which back-pressure holds some.
    pub(super) dispatchers: Dispatch<JobId>,
    pub(super) retry_planned: Option<Timestamp>,
    pub(super) accept: Gate<JobId>,
    pub(super) listener: Listener,
    pub(super) monitors: Vec<SiteMachine>,
    pub(super) visits: BTreeMap<JobId, Visit>,
    pub(super) workers: Vec<Option<Worker>>,
    pub(super) health: Health,
    /// Work on health checks.
    pub(super) spent_on_checks: Duration,
    /// Of users' requests.
    pub(super) ledger: Arc<Ledger>,
    /// Of other services' calls.
    pub(super) calls_ledger: Arc<Ledger>,
    pub(super) ranks: Ranks,
    pub(super) faults: Faults,
    pub(super) next_id: u64,
    /// Requests that were read, by attempt: first ones, first and second retries, later ones.
    pub(super) attempts: [u64; 4],
    pub(super) chosen: Resolved,
    pub(super) reader: Reader,
    /// What the oracle is told, if there is one.
    pub(super) foresight: Option<Foresight>,
    pub(super) seating: Seating,
    pub(super) renewals: Vec<Duration>,
    pub(super) cores: u32,
    /// Speed of the cores when nothing is wrong.
    pub(super) speed: f64,
    /// When the next end of work is planned for.
    pub(super) cores_planned: Option<Timestamp>,
    pub(super) armed: BTreeMap<Place, Timestamp>,
    /// The wall clock that policies were shown last.
    pub(super) wall: UnixSeconds,
    /// Stages whose workers have work to begin with.
    pub(super) woken_stages: VecDeque<usize>,
    /// For what sites want, kept to be used again.
    pub(super) buffers: Vec<Vec<Action<JobId>>>,
}

/// A stage, and what its host does for it.
#[derive(Debug)]
pub(super) struct PlantStage {
    pub(super) site: Stage<JobId>,
    pub(super) spec: StageSpec,
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
    /// Turns the work knob.
    ///
    /// # Errors
    /// The service has none, or the values make no sense.
    pub fn set_work(&mut self, work: &crate::spec::WorkSpec) -> Result<(), crate::service::WorkError> {
        self.backend.set_work(work)
    }

    /// Shows the wall clock to all policies and machines, each second anew.
    pub(super) fn show_wall(&mut self, now: Timestamp) {
        let wall = wall(now);
        if wall != std::mem::replace(&mut self.wall, wall) {
            self.dispatch.set_wall(wall);
            self.accept.set_wall(wall);
            self.stages.iter_mut().for_each(|stage| stage.site.set_wall(wall));
            self.monitors.iter_mut().for_each(|monitor| monitor.set_wall(wall));
        }
    }

    pub(super) fn meter(&self) -> Meter {
        let PlantSpec { connection_kb, memory_mb, .. } = self.costs;
        let open = self.listener.conns.len() as f64;
        let memory = if memory_mb > 0.0 { (open * connection_kb / (memory_mb * 1e3)).min(1.0) } else { 0.0 };
        // Slow cores are busy for longer with the same work.
        Meter { used: self.machine.used(), cpus: f64::from(self.cores) * self.speed, memory }
    }

    /// What a call has caused is done: woken workers begin, and the next end of their work is planned.
    pub(super) fn come_to_rest(&mut self, cx: &mut dyn Around) {
        self.start_workers(cx);
        self.plan_cores(cx);
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

    pub(super) fn starts(&mut self, cx: &mut dyn Around) {
        self.show_wall(cx.now());
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
        self.come_to_rest(cx);
    }

    /// `silent`: no request is to follow.
    pub(super) fn is_knocked(&mut self, conn: ConnId, silent: bool, cx: &mut dyn Around) -> SynResult {
        self.show_wall(cx.now());
        if self.listener.is_full() {
            return SynResult::Dropped;
        }
        self.listener.add(conn, silent, cx.now());
        self.take_connections(cx);
        self.come_to_rest(cx);
        SynResult::Taken
    }

    pub(super) fn is_asked(&mut self, asked: SimRequest, cx: &mut dyn Around) {
        self.show_wall(cx.now());
        self.arrives(asked, cx);
        self.come_to_rest(cx);
    }

    pub(super) fn is_left(&mut self, conn: ConnId, cx: &mut dyn Around) {
        self.show_wall(cx.now());
        self.client_goes(conn, cx);
        self.come_to_rest(cx);
    }

    pub(super) fn happens(&mut self, event: Event, cx: &mut dyn Around) {
        self.show_wall(cx.now());
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
            Event::Retry => self.retry_blocked(cx),
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
        self.come_to_rest(cx);
    }
}

impl SimServer for Plant {
    type Event = Event;

    fn begin(&mut self, cx: &mut Cx<'_, Event>) {
        self.starts(cx);
    }

    fn connect(&mut self, conn: ConnId, client: SimClient, cx: &mut Cx<'_, Event>) -> SynResult {
        self.is_knocked(conn, client.silent, cx)
    }

    fn ask(&mut self, asked: SimRequest, cx: &mut Cx<'_, Event>) {
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

/// An answer of nothing but a status.
pub(super) fn bare(status: u16) -> Response {
    Response { status, ..Response::default() }
}
