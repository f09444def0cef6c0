//! A stage: a bounded queue with a seat at its entry, and a pool of workers that take jobs in batches (USITS'03, figure 2).
//!
//! The seat decides inside the queue's lock: the lock is taken first, the clock is read second, so times never go back.
//! A refused enqueue hands the job back to the stage upstream, which chooses what to do with it. What a decision causes
//! elsewhere (a held job's refusal, a word to an upstream stage, a new worker) happens after the lock is released.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use controllers::{
    Effect, Gauge, Grant, JobId, LoadSample, Offer, PeerReport, Reason, Refusal, Resize, Seen, SiteId, Timestamp,
    Verdict,
};
use tokio::sync::Notify;

use crate::{clock::Clock, control::wire::StageGauges, service::At, signals::Probe, spec::StageSpec};

mod desk;
mod door;
mod pool;
#[cfg(test)]
mod tests;
mod timer;
mod work;

pub use controllers::site::TurnedAway;
pub(crate) use desk::earliest;
pub use desk::{Chosen, Desk, Watcher};
pub use door::{Door, Pass};
pub(crate) use timer::{Timed, keep_time, rearm};
pub use work::{Ear, Refused, Work};

/// A stage.
#[derive(Debug)]
pub struct Stage<W: Work> {
    name: String,
    site: SiteId,
    clock: Clock,
    spec: StageSpec,
    probe: Arc<dyn Probe>,
    state: Mutex<State<W>>,
    /// There is work, or the pool is too large.
    work: Notify,
    /// A wake-up earlier than the one that the timer waits for.
    alarm: Notify,
    /// Something left the queue, or time passed that the policy asked for: a blocked enqueue may try again.
    room: Notify,
    quality: AtomicU64,
    p90: AtomicU64,
    panics: AtomicU64,
    upstream: OnceLock<Vec<Ear>>,
}

#[derive(Debug)]
struct State<W> {
    desk: Desk,
    queue: VecDeque<Queued<W>>,
    held: BTreeMap<JobId, Held<W>>,
    pool: pool::Pool,
    batch: u32,
    armed: Option<Timestamp>,
    full: u64,
    completed: u64,
    busy: Duration,
    /// Jobs whose workers wait for other services.
    elsewhere: u32,
}

#[derive(Debug)]
struct Held<W> {
    work: W,
    offered: Timestamp,
}

#[derive(Debug)]
struct Queued<W> {
    work: W,
    offer: Offer,
    grant: Grant,
    offered: Timestamp,
}

/// What remains to be done once the lock is released.
#[derive(Debug)]
struct After<W> {
    refused: Vec<(W, Refusal)>,
    shed: Vec<(Option<SiteId>, f64)>,
    wake: u32,
    hire: u32,
    alarm: bool,
}

impl<W> Default for After<W> {
    fn default() -> Self {
        Self { refused: Vec::new(), shed: Vec::new(), wake: 0, hire: 0, alarm: false }
    }
}

/// No 90th percentile has been named yet.
const UNKNOWN: u64 = u64::MAX;

impl<W: Work> Stage<W> {
    /// A stage whose pool is empty until [`Stage::start`]. `probe`: where load samples come from.
    #[must_use]
    pub fn new(name: &str, desk: Desk, spec: StageSpec, probe: Arc<dyn Probe>, clock: Clock) -> Arc<Self> {
        let state = State {
            desk,
            queue: VecDeque::new(),
            held: BTreeMap::new(),
            pool: pool::Pool::new(spec.workers.max(1)),
            batch: spec.batch.max(1),
            armed: None,
            full: 0,
            completed: 0,
            busy: Duration::ZERO,
            elsewhere: 0,
        };
        Arc::new(Self {
            name: name.to_owned(),
            site: state.desk.site(),
            clock,
            spec,
            probe,
            state: Mutex::new(state),
            work: Notify::new(),
            alarm: Notify::new(),
            room: Notify::new(),
            quality: AtomicU64::new(1.0_f64.to_bits()),
            p90: AtomicU64::new(UNKNOWN),
            panics: AtomicU64::new(0),
            upstream: OnceLock::new(),
        })
    }

    /// Starts workers and timer on the current runtime. `upstream` is who hears when this stage asks for less.
    pub fn start(self: &Arc<Self>, upstream: Vec<Ear>) {
        let _ = self.upstream.set(upstream);
        tokio::spawn(keep_time(Arc::downgrade(self)));
        let hire = self.lock().pool.hire();
        self.hire(hire);
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

    /// Panics that its workers caught.
    #[must_use]
    pub fn panics(&self) -> u64 {
        self.panics.load(Ordering::Relaxed)
    }

    /// Puts a job into the queue, if the seat admits it and there is room.
    ///
    /// # Errors
    /// The job and the refusal.
    pub fn enqueue(self: &Arc<Self>, mut work: W) -> Result<(), Refused<W>> {
        let offer = work.offer();
        let mut state = self.lock();
        let now = state.desk.read(self.clock);
        if state.pool.closed() {
            return Err(Refused { work, refusal: Refusal::new(Reason::Draining) });
        }
        if state.queue.len() + state.held.len() >= usize::try_from(self.spec.queue).unwrap_or(usize::MAX) {
            state.full += 1;
            return Err(Refused { work, refusal: Refusal::new(Reason::QueueFull) });
        }
        let mut after = After::default();
        let refused = match state.desk.offer(now, &offer) {
            Verdict::Admit(grant) => {
                state.queue.push_back(Queued { work, offer, grant, offered: now });
                after.wake += 1;
                None
            }
            Verdict::Hold => {
                state.held.insert(offer.id, Held { work, offered: now });
                self.tell_room(&mut state, now);
                None
            }
            Verdict::Refuse(refusal) => {
                state.desk.note(offer.id).into_iter().for_each(|note| work.annotate(note));
                Some(Refused { work, refusal })
            }
            // A place where nobody can wait outside: refused, with the time to come back.
            Verdict::ComeBack(wait) => {
                let retry = controllers::RetryHint::After(wait);
                Some(Refused { work, refusal: Refusal { reason: Reason::Rate, retry } })
            }
        };
        self.settle(&mut state, now, &mut after);
        drop(state);
        self.carry_out(after);
        refused.map_or(Ok(()), Err)
    }

    /// Waits until it is worth trying again to enqueue what was refused: room was made, or a moment has passed.
    pub async fn blocked(&self) {
        let _ = tokio::time::timeout(Duration::from_millis(5), self.room.notified()).await;
    }

    /// What a job of this stage waits for that other services do: meanwhile it is neither running nor ready to run.
    pub async fn elsewhere<T>(&self, wait: impl Future<Output = T>) -> T {
        self.set_elsewhere(1);
        let waits = Elsewhere(self);
        let ended = wait.await;
        drop(waits);
        ended
    }

    fn set_elsewhere(&self, more: i32) {
        let mut state = self.lock();
        state.elsewhere = state.elsewhere.saturating_add_signed(more);
        let elsewhere = state.elsewhere;
        state.desk.set_elsewhere(elsewhere);
    }

    /// Switches the policy; nobody in the stage notices but the policy.
    pub fn replace(self: &Arc<Self>, chosen: Chosen) {
        let mut state = self.lock();
        let now = state.desk.read(self.clock);
        state.desk.replace(now, chosen);
        self.quality.store(1.0_f64.to_bits(), Ordering::Relaxed);
        self.p90.store(UNKNOWN, Ordering::Relaxed);
        let mut after = After::default();
        self.tell_room(&mut state, now);
        self.settle(&mut state, now, &mut after);
        drop(state);
        self.carry_out(after);
    }

    /// Tells the seat and the machines a fact that another site saw.
    pub fn hear(self: &Arc<Self>, seen: &Seen) {
        let mut state = self.lock();
        let now = state.desk.read(self.clock);
        state.desk.tell(now, seen);
        let mut after = After::default();
        self.settle(&mut state, now, &mut after);
        drop(state);
        self.carry_out(after);
    }

    /// Takes no more jobs; workers go home when the queue is empty.
    pub fn close(&self) {
        self.lock().pool.close();
        self.work.notify_waiters();
        self.alarm.notify_one();
    }

    /// What can be seen of it now.
    #[must_use]
    pub fn gauges(&self) -> StageGauges {
        let state = self.lock();
        let counts = state.desk.seat().counts();
        let mut policy = BTreeMap::new();
        state.desk.gauges(&mut policy);
        StageGauges {
            name: self.name.clone(),
            queue: count(state.queue.len() + state.held.len()),
            workers: state.pool.workers(),
            idle: state.pool.idle(),
            batch: state.batch,
            offered: counts.offered + state.full,
            admitted: counts.admitted,
            refused: counts.refused + counts.sent_back + state.full,
            completed: state.completed,
            busy_ms: state.busy.as_secs_f64() * 1e3,
            policy,
            counts: BTreeMap::new(),
            policy_name: state.desk.policy_name().to_owned(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<W>> {
        // Policies do not panic under the lock; if one did, its numbers are still numbers.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
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

    /// Queue disciplines hold everything and let in what free workers can take.
    fn tell_room(&self, state: &mut State<W>, now: Timestamp) {
        let free = state.pool.idle().saturating_sub(count(state.queue.len()));
        if free > 0 && !state.held.is_empty() {
            state.desk.tell(now, &Seen::Room(free));
        }
    }

    /// Asks seat and machines what they want, does what concerns the queue, and notes the rest.
    fn settle(&self, state: &mut State<W>, now: Timestamp, after: &mut After<W>) {
        let mut wants = Vec::new();
        let wake = state.desk.turn(now, state.sample(), &*self.probe, &mut wants);
        for effect in wants {
            match effect {
                Effect::Release(id, grant) => {
                    let Some(Held { work, offered }) = state.held.remove(&id) else { continue };
                    let offer = work.offer();
                    state.queue.push_back(Queued { work, offer, grant, offered });
                    after.wake += 1;
                }
                Effect::Refuse(id, refusal) => {
                    let Some(Held { mut work, .. }) = state.held.remove(&id) else { continue };
                    state.desk.note(id).into_iter().for_each(|note| work.annotate(note));
                    after.refused.push((work, refusal));
                }
                Effect::Quality(quality) => self.quality.store(quality.to_bits(), Ordering::Relaxed),
                Effect::Shed { to, level } => after.shed.push((to, level)),
                Effect::Resize(Resize::Workers(wanted)) => {
                    if state.pool.resize(wanted) {
                        after.wake = after.wake.max(state.pool.idle());
                    }
                    after.hire += state.pool.hire();
                }
                Effect::Resize(Resize::Batch(batch)) => state.batch = batch.max(1),
                // The desk keeps notes for the replies, and has told reports, if anybody carries them: else no policy makes any.
                Effect::Annotate(..) | Effect::Tell(_) => {}
            }
        }
        after.alarm |= timer::rearm(&mut state.armed, wake);
    }

    fn carry_out(self: &Arc<Self>, after: After<W>) {
        for _ in 0..after.wake {
            self.work.notify_one();
        }
        if after.alarm {
            self.alarm.notify_one();
        }
        self.hire(after.hire);
        for (work, refusal) in after.refused {
            work.refuse(refusal);
        }
        for (to, level) in after.shed {
            let seen = Seen::Peer(PeerReport::Pressure { from: self.site, level });
            let upstream = self.upstream.get().map_or(&[][..], Vec::as_slice);
            upstream.iter().filter(|ear| to.is_none_or(|to| to == ear.site())).for_each(|ear| ear.tell(&seen));
        }
    }

    fn hire(self: &Arc<Self>, workers: u32) {
        for _ in 0..workers {
            tokio::spawn(pool::worker(Arc::clone(self)));
        }
    }

    /// A copy of the policy's own 90th percentile for handlers, which never take the lock.
    fn publish_p90(&self, state: &State<W>) {
        state.desk.seat().gauges(&mut |gauge, value| {
            if gauge == Gauge::of("p90_ms") && value.is_finite() && value >= 0.0 {
                self.p90.store((value * 1e6) as u64, Ordering::Relaxed);
            }
        });
    }
}

/// A job that waits for other services, however that ends.
struct Elsewhere<'a, W: Work>(&'a Stage<W>);

impl<W: Work> Drop for Elsewhere<'_, W> {
    fn drop(&mut self) {
        self.0.set_elsewhere(-1);
    }
}

impl<W: Work> Timed for Stage<W> {
    fn turn(self: &Arc<Self>) -> Option<Timestamp> {
        let mut state = self.lock();
        if state.pool.closed() && state.queue.is_empty() && state.held.is_empty() {
            return None;
        }
        let now = state.desk.read(self.clock);
        state.armed = None;
        self.tell_room(&mut state, now);
        let mut after = After::default();
        self.settle(&mut state, now, &mut after);
        after.alarm = false; // the timer is awake: it need not be woken
        let armed = state.armed;
        drop(state);
        self.carry_out(after);
        self.room.notify_waiters();
        armed
    }

    fn alarm(&self) -> &Notify {
        &self.alarm
    }

    fn clock(&self) -> Clock {
        self.clock
    }
}

impl<W> State<W> {
    fn sample(&self) -> LoadSample {
        LoadSample::Stage {
            queue: count(self.queue.len() + self.held.len()),
            workers: self.pool.workers(),
            idle: self.pool.idle(),
            completed: self.completed,
        }
    }
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// How many jobs of a queue a worker takes: a batch, which leaves idle colleagues their share (SEDA takes all there is, and
/// lets them idle).
pub(crate) fn batch_of(queue: usize, idle: u32, batch: u32) -> usize {
    let share = count(queue).div_ceil(idle + 1);
    usize::try_from(share.min(batch)).unwrap_or(usize::MAX)
}
