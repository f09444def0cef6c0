//! A plant, and what happens to it.

use std::time::Duration;

use controllers::{JobId, Note, Reason, Refusal, Timestamp, UnixSeconds};
use workloads::sim::{ConnId, Cx, Identity, Response, SimClient, SimRequest, SimServer, SynResult, identity_of};

use super::{
    backend::Backend,
    context::PlantContext,
    costs::PlantSpec,
    cpu::CpuModel,
    fault::Faults,
    in_flight::Requests,
    listener::Listener,
    sites::{PlantSites, TimerSite},
};
use crate::{
    control::events::Reader,
    ledger::Ledgers,
    request::{self, End, Intake},
    signals::Probe,
    spec::Health,
};

/// A scheduled event of a plant.
#[derive(Debug, Clone, Copy)]
pub enum Event {
    /// Some work may be done.
    Cores(u64),
    /// A site asked to be woken.
    Wake(TimerSite),
    /// Blocked jobs are tried again.
    Retry,
    /// A request has waited as long as a fault makes it.
    Waited(JobId),
    /// A connection may have been idle for too long.
    Idle(ConnId),
    /// A fault begins or ends.
    Fault(usize, bool),
    /// A new policy of the same kind replaces the policy.
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
    pub(super) backend: Box<dyn Backend>,
    pub(super) costs: PlantSpec,
    pub(super) cpu: CpuModel,
    pub(super) listener: Listener,
    pub(super) sites: PlantSites,
    pub(super) requests: Requests,
    pub(super) intake: Intake,
    pub(super) ledgers: Ledgers,
    pub(super) checks: Checks,
    pub(super) faults: Faults,
    /// When a new policy replaces the policy.
    pub(super) renewals: Vec<Duration>,
    pub(super) reader: Reader,
}

/// Health checks.
#[derive(Debug)]
pub(super) struct Checks {
    /// The place that answers them.
    pub(super) answered: Health,
    /// Work on them.
    pub(super) spent: Duration,
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

    pub(super) fn meter(&self) -> Meter {
        let PlantSpec { connection_kb, memory_mb, .. } = self.costs;
        let open = self.listener.conns.len() as f64;
        let memory = if memory_mb > 0.0 { (open * connection_kb / (memory_mb * 1e3)).min(1.0) } else { 0.0 };
        // Slow cores are busy for longer with the same work.
        Meter { used: self.cpu.used(), cpus: f64::from(self.cpu.count()) * self.cpu.usual_speed(), memory }
    }

    /// What a call has caused is done: woken workers begin, and the next end of their work is planned.
    pub(super) fn settle(&mut self, cx: &mut dyn PlantContext) {
        self.start_workers(cx);
        if let Some((at, plan)) = self.cpu.plan() {
            cx.plan(at, Event::Cores(plan));
        }
    }

    pub(super) fn start(&mut self, cx: &mut dyn PlantContext) {
        self.sites.show_wall(cx.now());
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
        self.settle(cx);
    }

    /// `silent`: no request is to follow.
    pub(super) fn on_connect(&mut self, conn: ConnId, silent: bool, cx: &mut dyn PlantContext) -> SynResult {
        self.sites.show_wall(cx.now());
        if self.listener.is_full() {
            return SynResult::Dropped;
        }
        self.listener.add(conn, silent, cx.now());
        self.take_connections(cx);
        self.settle(cx);
        SynResult::Taken
    }

    pub(super) fn on_request(&mut self, asked: SimRequest, cx: &mut dyn PlantContext) {
        self.sites.show_wall(cx.now());
        self.arrives(asked, cx);
        self.settle(cx);
    }

    pub(super) fn on_hang_up(&mut self, conn: ConnId, cx: &mut dyn PlantContext) {
        self.sites.show_wall(cx.now());
        self.client_goes(conn, cx);
        self.settle(cx);
    }

    pub(super) fn on_event(&mut self, event: Event, cx: &mut dyn PlantContext) {
        self.sites.show_wall(cx.now());
        match event {
            Event::Cores(plan) => {
                self.cpu.plan_is_due(plan);
                while let Some(task) = self.cpu.done(cx.now()) {
                    self.done(task, cx);
                }
            }
            Event::Wake(place) => self.on_wake(place, cx),
            Event::Retry => self.retry_blocked(cx),
            Event::Waited(id) => self.worked(id, cx),
            Event::Idle(conn) => self.look_at_idle(conn, cx),
            Event::Fault(number, on) => {
                self.faults.set(number, on);
                self.cpu.set_share(cx.now(), self.faults.speed());
            }
            Event::Renew => self.renew(cx),
            Event::Upkeep => self.keep_up(cx),
        }
        self.settle(cx);
    }
}

impl SimServer for Plant {
    type Event = Event;

    fn begin(&mut self, cx: &mut Cx<'_, Event>) {
        self.start(cx);
    }

    fn connect(&mut self, conn: ConnId, visitor: SimClient, cx: &mut Cx<'_, Event>) -> SynResult {
        self.on_connect(conn, visitor.silent, cx)
    }

    fn ask(&mut self, asked: SimRequest, cx: &mut Cx<'_, Event>) {
        self.on_request(asked, cx);
    }

    fn hang_up(&mut self, conn: ConnId, cx: &mut Cx<'_, Event>) {
        self.on_hang_up(conn, cx);
    }

    fn happen(&mut self, event: Event, cx: &mut Cx<'_, Event>) {
        self.on_event(event, cx);
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

/// The answer with the header lines that its end requires; `note`: what it tells the sender's policy.
pub(super) fn reply_to(mut response: Response, end: &End, note: Option<Note>) -> Response {
    response.headers.extend(request::headers(end, note).map(|(name, value)| (name, value.into_owned())));
    response
}

/// The answer to a refusal.
pub(super) fn refused(reason: Reason) -> Response {
    let end = End::Refused(Refusal::new(reason));
    reply_to(bare(end.status()), &end, None)
}
