//! The policy of a filter, shared by Envoy's workers, and the thread that wakes it.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use admission_ffi::{AdmissionDecision, AdmissionDoor, AdmissionStep};
use controllers::{JobId, Offer, Outcome, Tags, Timestamp, site::TurnedAway};

use crate::{abi::Scheduler, config::ModuleConfig, metrics::Metrics};

/// The time between two publications of counts and gauges.
const PUBLISH: Duration = Duration::from_secs(1);

/// A policy and what it knows of requests.
#[derive(Debug)]
pub struct Host {
    pub config: ModuleConfig,
    state: Mutex<State>,
    /// The thread sleeps too long.
    earlier: Condvar,
    began: Instant,
    next_id: AtomicU64,
}

#[derive(Debug)]
struct State {
    door: AdmissionDoor,
    /// Requests that wait in Envoy.
    held: BTreeMap<JobId, Held>,
    wake_at: Option<Timestamp>,
    would_refuse: u64,
    stops: bool,
}

/// A request that waits.
#[derive(Debug)]
struct Held {
    scheduler: Scheduler,
    /// What became of it, until its worker asks.
    decided: Option<Decided>,
}

/// What becomes of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decided {
    In,
    Refused(TurnedAway),
}

/// The first answer to a request.
#[derive(Debug)]
pub enum Entry {
    Decided(Decided),
    /// It waits: its worker is called back.
    Held,
}

/// A host with its thread, which ends with it.
#[derive(Debug)]
pub struct RunningHost {
    pub host: Arc<Host>,
    thread: Option<JoinHandle<()>>,
}

impl RunningHost {
    /// Makes the policy and begins.
    ///
    /// # Errors
    /// In words.
    pub fn begin(config: ModuleConfig, metrics: impl FnOnce(&AdmissionDoor) -> Metrics) -> Result<Self, String> {
        let door = AdmissionDoor::new(&config.admission)?;
        let mut metrics = metrics(&door);
        let state = State { door, held: BTreeMap::new(), wake_at: None, would_refuse: 0, stops: false };
        let host = Arc::new(Host {
            config,
            state: Mutex::new(state),
            earlier: Condvar::new(),
            began: Instant::now(),
            next_id: AtomicU64::new(0),
        });
        let shared = Arc::clone(&host);
        let thread = thread::Builder::new().name("admission".to_owned()).spawn(move || shared.follow(&mut metrics));
        Ok(Self { host, thread: Some(thread.map_err(|error| error.to_string())?) })
    }
}

impl Drop for RunningHost {
    fn drop(&mut self) {
        self.host.lock().stops = true;
        self.host.earlier.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join(); // what it could not publish is lost
        }
    }
}

impl Host {
    pub fn now(&self) -> Timestamp {
        Timestamp::ZERO + self.began.elapsed()
    }

    pub fn new_id(&self) -> JobId {
        JobId(self.next_id.fetch_add(1, Ordering::Relaxed))
    }

    /// Asks for a request. `scheduler`: makes one, if it has to wait.
    pub fn enter(&self, id: JobId, tags: Tags, scheduler: impl FnOnce() -> Scheduler) -> Entry {
        let mut state = self.lock();
        let now = self.now();
        let dry_run = self.config.dry_run;
        let entry = match state.door.offer(now, Offer { id, tags, entered: now, note: None }) {
            AdmissionDecision::In => Entry::Decided(Decided::In),
            AdmissionDecision::Refused(_) if dry_run => {
                state.would_refuse += 1;
                Entry::Decided(Decided::In)
            }
            AdmissionDecision::Refused(turned) => Entry::Decided(Decided::Refused(turned)),
            // What becomes of it is counted all the same.
            AdmissionDecision::Held if dry_run => Entry::Decided(Decided::In),
            AdmissionDecision::Held => {
                state.held.insert(id, Held { scheduler: scheduler(), decided: None });
                Entry::Held
            }
        };
        self.turn(&mut state, now);
        entry
    }

    /// What became of a request that waited; it does not wait any more then.
    pub fn decided(&self, id: JobId) -> Option<Decided> {
        let mut state = self.lock();
        let decided = state.held.get(&id)?.decided?;
        state.held.remove(&id);
        Some(decided)
    }

    /// A request has ended, or its sender has left it.
    pub fn ended(&self, id: JobId, outcome: Outcome) {
        let mut state = self.lock();
        let now = self.now();
        state.held.remove(&id);
        if outcome == Outcome::Abandoned {
            state.door.left(now, id);
        } else if !state.door.ended(now, id, outcome) {
            // In a dry run it may still be held.
            state.door.left(now, id);
        }
        self.turn(&mut state, now);
    }

    /// Carries out what the policy decides about requests that wait.
    fn turn(&self, state: &mut State, now: Timestamp) {
        let wake_at = loop {
            let (id, decided) = match state.door.poll(now) {
                AdmissionStep::Admit(id) => (id, Decided::In),
                AdmissionStep::Refuse(id, turned) => (id, Decided::Refused(turned)),
                AdmissionStep::WakeAt(at) => break Some(at),
                AdmissionStep::Idle => break None,
            };
            match state.held.get_mut(&id) {
                Some(held) => {
                    held.decided = Some(decided);
                    held.scheduler.wake();
                }
                None => state.would_refuse += u64::from(matches!(decided, Decided::Refused(_))),
            }
        };
        let is_earlier = wake_at.is_some_and(|at| state.wake_at.is_none_or(|before| at < before));
        state.wake_at = wake_at;
        if is_earlier {
            self.earlier.notify_one();
        }
    }

    /// Wakes the policy when it has work, and publishes.
    fn follow(&self, metrics: &mut Metrics) {
        let mut state = self.lock();
        let mut published = Instant::now();
        while !state.stops {
            let now = self.now();
            if state.wake_at.is_some_and(|at| at <= now) {
                self.turn(&mut state, now);
            }
            if published.elapsed() >= PUBLISH {
                metrics.publish(&state.door, state.would_refuse);
                published = Instant::now();
            }
            let next = state.wake_at.map_or(PUBLISH, |at| at.since(self.now()));
            let sleep = next.min(PUBLISH.saturating_sub(published.elapsed())).max(Duration::from_micros(50));
            let (woken, _) = self.earlier.wait_timeout(state, sleep).unwrap_or_else(PoisonError::into_inner);
            state = woken;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
