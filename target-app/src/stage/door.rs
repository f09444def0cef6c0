//! A seat without a queue of its own: before dispatch, where jobs end when they leave the service, and at accept.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering},
    },
    time::Duration,
};

use controllers::{
    Effect, Grant, JobId, LoadSample, Note, Offer, Outcome, Reason, Refusal, RetryHint, Seen, Timestamp, Timing,
    Verdict,
};
use tokio::sync::{Notify, oneshot};

use super::{Chosen, Desk, Timed, TurnedAway, timer::rearm};
use crate::{clock::Clock, control::wire::StageGauges, signals::Probe};

/// A door with a policy. While the policy is `none`, jobs walk past without a lock.
#[derive(Debug)]
pub struct Door {
    name: String,
    clock: Clock,
    watched: AtomicBool,
    /// Jobs that can be worked on side by side behind the door: what queue disciplines are told as room.
    capacity: AtomicU32,
    quality: AtomicU64,
    unwatched: AtomicU64,
    probe: Arc<dyn Probe>,
    state: Mutex<State>,
    alarm: Notify,
}

#[derive(Debug)]
struct State {
    desk: Desk,
    held: BTreeMap<JobId, Held>,
    armed: Option<Timestamp>,
    completed: u64,
}

#[derive(Debug)]
struct Held {
    offer: Offer,
    offered: Timestamp,
    decided: oneshot::Sender<Decision>,
}

/// Let in, or not.
type Decision = Result<Pass, TurnedAway>;

/// Messages to be sent once the lock is released.
type Letters = Vec<(oneshot::Sender<Decision>, Decision)>;

/// Leave to be behind the door. Ends once: by [`Pass::end`], or as abandoned when dropped.
#[derive(Debug)]
pub struct Pass(Option<Admitted>);

#[derive(Debug)]
struct Admitted {
    door: Arc<Door>,
    offer: Offer,
    grant: Grant,
    offered: Timestamp,
    started: Option<Timestamp>,
}

impl Door {
    /// A door. `capacity`: jobs that can be worked on side by side behind it; `probe`: where load samples come from.
    #[must_use]
    pub fn new(name: &str, desk: Desk, capacity: u32, probe: Arc<dyn Probe>, clock: Clock) -> Arc<Self> {
        Arc::new(Self {
            name: name.to_owned(),
            clock,
            watched: AtomicBool::new(desk.policy_name() != "none"),
            capacity: AtomicU32::new(capacity),
            quality: AtomicU64::new(1.0_f64.to_bits()),
            unwatched: AtomicU64::new(0),
            probe,
            state: Mutex::new(State { desk, held: BTreeMap::new(), armed: None, completed: 0 }),
            alarm: Notify::new(),
        })
    }

    /// Asks for a job to be let in; waits while it is held. Dropped while it waits, the job has left.
    ///
    /// # Errors
    /// The refusal.
    pub async fn enter(self: &Arc<Self>, offer: Offer) -> Result<Pass, TurnedAway> {
        if !self.is_watched() {
            self.unwatched.fetch_add(1, Ordering::Relaxed);
            return Ok(Pass(None));
        }
        let waiting = match self.ask(offer) {
            Ok(decided) => return decided,
            Err(waiting) => waiting,
        };
        let _leaving = Leaving { door: self, id: offer.id };
        waiting.await.unwrap_or(Err(Refusal::new(Reason::Draining).into()))
    }

    /// True while a policy other than `none` sits here.
    #[must_use]
    pub fn is_watched(&self) -> bool {
        self.watched.load(Ordering::Acquire)
    }

    /// Quality of service that the policy here asks for.
    #[must_use]
    pub fn quality(&self) -> f64 {
        f64::from_bits(self.quality.load(Ordering::Relaxed))
    }

    /// Switches the policy; jobs inside keep their passes, jobs that wait are offered to the new one.
    pub fn replace(self: &Arc<Self>, chosen: Chosen) {
        self.watched.store(chosen.entry.name != "none", Ordering::Release);
        self.quality.store(1.0_f64.to_bits(), Ordering::Relaxed);
        self.with(|state, now| state.desk.replace(now, chosen));
    }

    /// Tells the policy a fact that another site saw.
    pub fn hear(self: &Arc<Self>, seen: &Seen) {
        self.with(|state, now| state.desk.tell(now, seen));
    }

    /// What can be seen of it now.
    #[must_use]
    pub fn gauges(&self) -> StageGauges {
        let state = self.lock();
        let counts = state.desk.seat().counts();
        let unwatched = self.unwatched.load(Ordering::Relaxed);
        let mut policy = BTreeMap::new();
        state.desk.gauges(&mut policy);
        StageGauges {
            name: self.name.clone(),
            queue: state.desk.seat().parked(),
            offered: counts.offered + unwatched,
            admitted: counts.admitted + unwatched,
            refused: counts.refused + counts.sent_back,
            completed: state.completed + unwatched,
            policy,
            policy_name: state.desk.policy_name().to_owned(),
            ..StageGauges::default()
        }
    }

    fn ask(self: &Arc<Self>, offer: Offer) -> Result<Decision, oneshot::Receiver<Decision>> {
        self.with(|state, now| match state.desk.offer(now, &offer) {
            Verdict::Admit(grant) => Ok(Ok(self.pass(offer, grant, now))),
            Verdict::Refuse(refusal) => Ok(Err(TurnedAway { refusal, note: state.desk.note(offer.id) })),
            Verdict::ComeBack(wait) => Ok(Err(Refusal { reason: Reason::Rate, retry: RetryHint::After(wait) }.into())),
            Verdict::Hold => {
                let (decided, receiver) = oneshot::channel();
                state.held.insert(offer.id, Held { offer, offered: now, decided });
                self.tell_room(state, now);
                Err(receiver)
            }
        })
    }

    fn pass(self: &Arc<Self>, offer: Offer, grant: Grant, offered: Timestamp) -> Pass {
        Pass(Some(Admitted { door: Arc::clone(self), offer, grant, offered, started: None }))
    }

    /// Runs under the lock with the time read inside it, then does what policy and machines want.
    fn with<T>(self: &Arc<Self>, act: impl FnOnce(&mut State, Timestamp) -> T) -> T {
        let mut state = self.lock();
        let now = state.desk.read(self.clock);
        let result = act(&mut state, now);
        let (letters, alarm) = self.settle(&mut state, now);
        drop(state);
        if alarm {
            self.alarm.notify_one();
        }
        post(letters);
        result
    }

    fn settle(self: &Arc<Self>, state: &mut State, now: Timestamp) -> (Letters, bool) {
        let sample = LoadSample::Stage {
            queue: state.desk.seat().parked(),
            workers: self.capacity.load(Ordering::Relaxed),
            idle: self.free(state),
            completed: state.completed,
        };
        let mut wants = Vec::new();
        let mut letters = Vec::new();
        let wake = state.desk.turn(now, sample, &*self.probe, &mut wants);
        for effect in wants {
            match effect {
                Effect::Release(id, grant) => {
                    let Some(Held { offer, offered, decided }) = state.held.remove(&id) else { continue };
                    letters.push((decided, Ok(self.pass(offer, grant, offered))));
                }
                Effect::Refuse(id, refusal) => {
                    let Some(Held { decided, .. }) = state.held.remove(&id) else { continue };
                    letters.push((decided, Err(TurnedAway { refusal, note: state.desk.note(id) })));
                }
                Effect::Quality(quality) => self.quality.store(quality.to_bits(), Ordering::Relaxed),
                // Nothing lies before the door that could shed, and it has no pool.
                Effect::Shed { .. } | Effect::Resize(_) => {}
                // As in a stage.
                Effect::Annotate(..) | Effect::Tell(_) => {}
            }
        }
        (letters, rearm(&mut state.armed, wake))
    }

    fn free(&self, state: &State) -> u32 {
        self.capacity.load(Ordering::Relaxed).saturating_sub(state.desk.seat().in_flight())
    }

    fn tell_room(&self, state: &mut State, now: Timestamp) {
        let free = self.free(state);
        if free > 0 && !state.held.is_empty() {
            state.desk.tell(now, &Seen::Room(free));
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sends what was decided. A pass that nobody waits for any more ends as it is dropped.
fn post(letters: Letters) {
    for (sender, letter) in letters {
        let _ = sender.send(letter);
    }
}

impl Pass {
    /// Work on the job begins.
    pub fn started(&mut self) {
        let Some(admitted) = &mut self.0 else { return };
        let id = admitted.offer.id;
        let offered = admitted.offered;
        let now = admitted.door.with(|state, now| {
            state.desk.tell(now, &Seen::Started { id, waited: now.since(offered) });
            now
        });
        admitted.started = Some(now);
    }

    /// The job leaves.
    pub fn end(self, outcome: Outcome) {
        self.end_with_cost(outcome, None);
    }

    /// The job leaves; `cost`: the CPU time that it took, where that is known. Says what its reply is to tell beside the answer.
    pub fn end_with_cost(mut self, outcome: Outcome, cost: Option<Duration>) -> Option<Note> {
        self.finish(outcome, cost)
    }

    fn finish(&mut self, outcome: Outcome, cost: Option<Duration>) -> Option<Note> {
        let Admitted { door, offer, grant, offered, started } = self.0.take()?;
        door.with(|state, now| {
            let started = started.unwrap_or(now);
            let timing = Timing { entered: offer.entered, offered, started, ended: now };
            let Offer { id, tags, note, .. } = offer;
            state.completed += 1;
            state.desk.tell(now, &Seen::Ended { id, grant, tags, outcome, timing, cost, note });
            let to_tell = state.desk.note(id);
            // SEDA's controllers run when a batch is done; here each job is a batch of its own.
            state.desk.tell(now, &Seen::Batch { jobs: 1, busy: now.since(started) });
            door.tell_room(state, now);
            to_tell
        })
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        self.finish(Outcome::Abandoned, None);
    }
}

/// Says that a held job has left, unless it has been decided about.
struct Leaving<'a> {
    door: &'a Arc<Door>,
    id: JobId,
}

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        self.door.with(|state, now| {
            if state.held.remove(&self.id).is_some() {
                state.desk.tell(now, &Seen::Left(self.id));
            }
        });
    }
}

impl Timed for Door {
    fn turn(self: &Arc<Self>) -> Option<Timestamp> {
        let mut state = self.lock();
        let now = state.desk.read(self.clock);
        state.armed = None;
        let (letters, _) = self.settle(&mut state, now);
        let armed = state.armed;
        drop(state);
        post(letters);
        armed
    }

    fn alarm(&self) -> &Notify {
        &self.alarm
    }

    fn clock(&self) -> Clock {
        self.clock
    }
}
