//! A live stage: a lock, a notifier and a timer round the machine [`site::Stage`], and tokio tasks as its workers.
//!
//! The machine decides inside the lock: the lock is taken first, the clock is read second, so times never go back. What a
//! decision causes elsewhere (a held job's refusal, a word to an upstream stage, a new worker) happens after the lock is released.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use controllers::{
    Seen, SiteId, Timestamp, UnixSeconds,
    site::{self, Action, InstalledPolicy, PolicySite, SiteMachine, StageGauges},
};
use spec::StageSpec;
use tokio::sync::Notify;

use crate::{clock::ServiceClock, reports::Reports, service::At, signals::Probe};

mod gate;
mod shared;
#[cfg(test)]
mod tests;
mod timer;
mod work;
mod worker;

pub use gate::{AdmissionGate, AdmissionResult, Continuation, GateAnswer, GatePermit, HeldDecision};
#[cfg(test)]
pub(crate) use shared::interleaved;
pub use shared::{Shared, SharedSite, lock, spawn};
pub use timer::keep_time;
pub(crate) use work::shed;
pub use work::{RefusedJob, StageWork, Upstream};

/// A live stage.
#[derive(Debug)]
pub struct LiveStage<W: StageWork> {
    site: SiteId,
    name: String,
    spec: StageSpec,
    probe: Arc<dyn Probe>,
    /// The outgoing usage reports; `None` if no host carries them.
    reports: Option<Reports>,
    shared: Shared<site::Stage<W>>,
    /// Notified when a job waits, or when the pool has too many workers.
    work: Notify,
    quality: AtomicU64,
    p90: AtomicU64,
    panics: AtomicU64,
    neighbours: OnceLock<Neighbours>,
}

/// The sites and callbacks that a stage notifies.
pub struct Neighbours {
    /// The sites that are told when this stage asks for less load.
    pub upstream: Vec<Upstream>,
    /// Called when a job has left the queue.
    pub room: Box<dyn Fn() + Send + Sync>,
}

impl std::fmt::Debug for Neighbours {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Neighbours").field(&self.upstream).finish()
    }
}

/// The policy has not reported a 90th percentile yet.
const UNKNOWN: u64 = u64::MAX;

impl<W: StageWork> LiveStage<W> {
    /// A stage whose workers begin with [`LiveStage::start`]. `probe`: where load samples come from.
    #[must_use]
    pub fn new(
        name: &str,
        site: PolicySite<W>,
        spec: StageSpec,
        probe: Arc<dyn Probe>,
        reports: Option<Reports>,
        clock: ServiceClock,
    ) -> Arc<Self> {
        let stage = site::Stage::new(name, site, spec.limits());
        Arc::new(Self {
            site: stage.id(),
            name: name.to_owned(),
            spec,
            probe,
            reports,
            shared: Shared::new(stage, clock),
            work: Notify::new(),
            quality: AtomicU64::new(1.0_f64.to_bits()),
            p90: AtomicU64::new(UNKNOWN),
            panics: AtomicU64::new(0),
            neighbours: OnceLock::new(),
        })
    }

    /// Starts workers and timer on the current runtime.
    pub fn start(self: &Arc<Self>, neighbours: Neighbours) {
        let _ = self.neighbours.set(neighbours);
        spawn(keep_time(Arc::downgrade(self)));
        let workers = self.shared.peek(|stage| stage.workers());
        self.hire(workers);
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its settings.
    #[must_use]
    pub fn spec(&self) -> &StageSpec {
        &self.spec
    }

    /// The number of panics that workers caught.
    #[must_use]
    pub fn panics(&self) -> u64 {
        self.panics.load(Ordering::Relaxed)
    }

    /// Puts a job into the queue, if the policy admits it and there is room.
    ///
    /// # Errors
    /// The job and the refusal.
    pub fn enqueue(self: &Arc<Self>, work: W) -> Result<(), RefusedJob<W>> {
        let offer = work.offer();
        self.with(|stage, now| stage.offer(now, offer, work)).map_err(|(work, away)| RefusedJob { work, away })
    }

    /// Waits for other services on behalf of a job, which meanwhile counts as neither running nor runnable.
    pub async fn wait_downstream<T>(&self, wait: impl Future<Output = T>) -> T {
        self.shared.peek(|stage| stage.waits_downstream(1));
        let waits = DownstreamWait(self);
        let ended = wait.await;
        drop(waits);
        ended
    }

    /// Switches the policy; queued and running jobs are not affected.
    pub fn replace(self: &Arc<Self>, installed: InstalledPolicy) {
        self.p90.store(UNKNOWN, Ordering::Relaxed);
        self.with(|stage, now| stage.replace(now, installed));
    }

    /// Puts these machines in place of those that there are. Workers and batch are as at the start again.
    pub fn replace_machines(self: &Arc<Self>, machines: Vec<SiteMachine>) {
        self.with(|stage, _| stage.replace_machines(machines));
    }

    /// The names of the machines.
    #[must_use]
    pub fn machines(&self) -> Vec<&'static str> {
        self.shared.peek(|stage| stage.machines())
    }

    /// Tells the policy and the machines a fact that another site observed.
    pub fn hear(self: &Arc<Self>, seen: &Seen) {
        self.with(|stage, now| stage.observe(now, seen));
    }

    /// Stops taking jobs; workers leave once the queue is empty.
    pub fn close(&self) {
        self.shared.peek(site::Stage::close);
        self.work.notify_waiters();
        self.shared.alarm.notify_one();
    }

    /// The current gauges.
    #[must_use]
    pub fn gauges(&self) -> StageGauges {
        self.shared.peek(|stage| stage.gauges())
    }

    fn hire(self: &Arc<Self>, workers: u32) {
        for _ in 0..workers {
            spawn(worker::work(Arc::clone(self)));
        }
    }

    fn at<'a>(&'a self, offered: Timestamp, started: Timestamp) -> At<'a> {
        let p90 = self.p90.load(Ordering::Relaxed);
        At {
            stage: &self.name,
            offered,
            started,
            quality: f64::from_bits(self.quality.load(Ordering::Relaxed)),
            p90: (p90 != UNKNOWN).then(|| Duration::from_nanos(p90)),
            speed: 1.0,
        }
    }

    /// A copy of the policy's own 90th percentile for handlers, which never take the lock.
    fn publish_p90(&self, stage: &site::Stage<W>) {
        if let Some(p90) = stage.reported_p90() {
            self.p90.store(u64::try_from(p90.as_nanos()).unwrap_or(UNKNOWN), Ordering::Relaxed);
        }
    }
}

/// The guard of a job that waits for other services, however that ends.
struct DownstreamWait<'a, W: StageWork>(&'a LiveStage<W>);

impl<W: StageWork> Drop for DownstreamWait<'_, W> {
    fn drop(&mut self) {
        self.0.shared.peek(|stage| stage.waits_downstream(-1));
    }
}

impl<W: StageWork> SharedSite for LiveStage<W> {
    type Machine = site::Stage<W>;
    type Wants = Vec<Action<W>>;

    fn shared(&self) -> &Shared<Self::Machine> {
        &self.shared
    }

    fn set_wall(stage: &mut Self::Machine, wall: UnixSeconds) {
        stage.set_wall(wall);
    }

    fn poll(self: &Arc<Self>, stage: &mut Self::Machine, now: Timestamp) -> (Self::Wants, Option<Timestamp>) {
        let mut wants = Vec::new();
        let wake = loop {
            match stage.poll(now, &*self.probe) {
                Action::WakeAt(at) => break Some(at),
                Action::Idle => break None,
                // No allocation for the most frequent action.
                Action::Start(jobs) => (0..jobs).for_each(|_| self.work.notify_one()),
                want => wants.push(want),
            }
        };
        self.quality.store(stage.quality().to_bits(), Ordering::Relaxed);
        // Nothing is to come to a stage that has closed and is empty.
        (wants, wake.filter(|_| !stage.is_drained()))
    }

    fn carry_out(self: &Arc<Self>, wants: Self::Wants) {
        for want in wants {
            match want {
                Action::Refuse(work, away) => work.refuse(away),
                Action::Hire(workers) => self.hire(workers),
                Action::Dismiss(workers) => (0..workers).for_each(|_| self.work.notify_one()),
                Action::Shed(to, level) => {
                    let upstream = self.neighbours.get().map_or(&[][..], |neighbours| &neighbours.upstream);
                    shed(upstream, self.site, to, level);
                }
                Action::Tell(report) => self.reports.iter().for_each(|reports| reports.tell(report)),
                // A stage queues released jobs itself; the other actions are carried out above.
                Action::Admit(..) | Action::Start(_) | Action::WakeAt(_) | Action::Idle => {}
            }
        }
    }
}
