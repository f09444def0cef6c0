//! The sharing of a machine between tasks: a lock, a timer, and requests that wait.
//!
//! The lock is taken first and the clock is read second, so that times never go back. Everything is polled under the
//! lock; what was decided
//! about held requests is told outside of it.
//!
//! An end without notes needs no answer: a task that finds the lock taken leaves the end in a queue, and whoever has the lock takes
//! it from there before the
//! next decision and again after the lock is free. So no end waits for a lock, and each decision sees all ends before
//! it.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError, TryLockError,
    atomic::{AtomicBool, AtomicU64, Ordering, fence},
};

use controllers::{JobId, Note, PeerReport, Seen, Timestamp, site::Probe};
use crossbeam_queue::SegQueue;
use tokio::sync::{Notify, oneshot};

use crate::{
    Refused, RequestTags,
    admitted::{AdmittedRequest, Held, HoldDecision, Host},
    clock::Clock,
    machine::{AdmissionGrant, Answer, Ended, Machine, Step, Successor},
    plan::SitePlan,
    reports::OnTell,
    timer::{self, Timed},
};

/// A held request.
#[derive(Debug)]
pub(crate) struct Waiter {
    tell: oneshot::Sender<HoldDecision>,
    /// It runs although it is held: its work begins when the policy lets it in.
    shadow: bool,
}

/// A machine that tasks share.
#[derive(Debug)]
pub(crate) struct LiveGate {
    clock: Clock,
    state: Mutex<State>,
    /// Ends of requests that found the lock taken.
    ends: SegQueue<Ended>,
    /// Rings when the timer waits for too late a time, and when the gate is dropped.
    alarm: Arc<Notify>,
    timed: AtomicBool,
    probe: Arc<dyn Probe>,
    on_tell: Option<OnTell>,
    /// Requests that passed although they were refused.
    passed: AtomicU64,
}

#[derive(Debug)]
struct State {
    machine: Machine<Waiter>,
    /// The wake-up that the timer waits for.
    armed: Option<Timestamp>,
    next: u64,
    ended: u64,
    /// From then on the wall clock is read again: it is told in seconds.
    wall_due: Timestamp,
}

/// What is told outside of the lock.
#[derive(Debug, Default)]
struct Outbox {
    decided: Vec<(Waiter, HoldDecision)>,
    reports: Vec<PeerReport>,
}

/// Who runs under the lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Caller {
    Request,
    Timer,
}

/// The answer of a gate to a request.
#[derive(Debug)]
pub(crate) enum Entry {
    Go(AdmittedRequest),
    Refused(Refused),
    Held(Held),
}

/// The wall clock is read again after this time, nanoseconds: it is told in seconds.
const WALL_EVERY_NS: u64 = 50_000_000;

impl LiveGate {
    pub(crate) fn new(machine: Machine<Waiter>, plan: &SitePlan) -> Arc<Self> {
        let state = State { machine, armed: None, next: 0, ended: 0, wall_due: Timestamp::ZERO };
        Arc::new(Self {
            clock: plan.clock,
            state: Mutex::new(state),
            ends: SegQueue::new(),
            alarm: Arc::default(),
            timed: AtomicBool::new(false),
            probe: Arc::clone(&plan.probe),
            on_tell: plan.on_tell.clone(),
            passed: AtomicU64::new(0),
        })
    }

    /// Asks about a request. `shadow`: it runs, whatever the policy says.
    pub(crate) fn enter(self: &Arc<Self>, request: RequestTags, shadow: bool) -> Entry {
        let mut waiting = None;
        let answer = self.with(|state, now| {
            state.next += 1;
            state.machine.ask(now, state.next, request, || {
                let (sender, receiver) = oneshot::channel();
                waiting = Some(receiver);
                Waiter { tell: sender, shadow }
            })
        });
        match (answer, waiting) {
            (Answer::Go(Some(grant)), _) => Entry::Go(AdmittedRequest::new(self.host(), grant)),
            (Answer::Go(None), _) => Entry::Go(AdmittedRequest::unwatched()),
            (Answer::Refused(refused), _) => Entry::Refused(refused),
            (Answer::Held(id), Some(receiver)) => Entry::Held(Held::new(self.host(), id, receiver)),
            (Answer::Held(_), None) => unreachable!("a held request was given a waiter"),
        }
    }

    /// Passes a fact to the policy.
    pub(crate) fn hear(self: &Arc<Self>, seen: &Seen) {
        self.with(|state, now| state.machine.observe(now, seen));
    }

    pub(crate) fn passed(&self) -> u64 {
        self.passed.load(Ordering::Relaxed)
    }

    /// Looks at the machine; `ended`: the requests that have ended.
    pub(crate) fn peek<T>(self: &Arc<Self>, look: impl FnOnce(&Machine<Waiter>, u64) -> T) -> T {
        self.with(|state, _| look(&state.machine, state.ended))
    }

    /// Another policy takes over.
    pub(crate) fn replace(self: &Arc<Self>, by: Successor) {
        self.with(|state, now| state.machine.replace(now, by));
    }

    fn host(self: &Arc<Self>) -> Arc<dyn Host> {
        Arc::clone(self) as _
    }

    fn with<T>(self: &Arc<Self>, act: impl FnOnce(&mut State, Timestamp) -> T) -> T {
        self.run(lock(&self.state), Caller::Request, act).0
    }

    /// Runs under the lock, and returns the result and the next wake-up.
    fn run<T>(
        self: &Arc<Self>,
        mut state: MutexGuard<'_, State>,
        caller: Caller,
        act: impl FnOnce(&mut State, Timestamp) -> T,
    ) -> (T, Option<Timestamp>) {
        let now = self.clock.now();
        if now >= state.wall_due {
            state.wall_due = Timestamp::from_nanos(now.as_nanos() + WALL_EVERY_NS);
            state.machine.set_wall(self.clock.wall());
        }
        let mut outbox = Outbox::default();
        while let Some(ended) = self.ends.pop() {
            state.end(now, ended);
            self.poll(&mut state.machine, now, &mut outbox);
        }
        let result = act(&mut state, now);
        let wake = self.poll(&mut state.machine, now, &mut outbox);
        // The timer is awake: it needs no alarm.
        let earlier = caller == Caller::Request && wake.is_some_and(|at| state.armed.is_none_or(|armed| at < armed));
        if earlier || caller == Caller::Timer {
            state.armed = wake;
        }
        drop(state);
        if earlier {
            self.wake_timer();
        }
        for (waiter, decision) in outbox.decided {
            // An admitted request that nobody waits for any more ends as abandoned.
            drop(waiter.tell.send(decision));
        }
        if let Some(on_tell) = &self.on_tell {
            on_tell.tell(outbox.reports);
        }
        self.take_ends();
        (result, wake)
    }

    /// Tells the timer to come earlier; starts it, if there is none.
    fn wake_timer(self: &Arc<Self>) {
        if self.timed.load(Ordering::Acquire) || self.timed.swap(true, Ordering::AcqRel) {
            self.alarm.notify_one();
        } else if !timer::start(self) {
            self.untimed();
        }
    }

    /// Takes the ends that came while the lock was taken.
    fn take_ends(self: &Arc<Self>) {
        // Either this sees an end that was left during the lock, or who left it sees the lock free.
        fence(Ordering::SeqCst);
        while !self.ends.is_empty() {
            match self.state.try_lock() {
                Ok(state) => _ = self.run(state, Caller::Request, |_, _| ()),
                Err(TryLockError::Poisoned(state)) => _ = self.run(state.into_inner(), Caller::Request, |_, _| ()),
                Err(TryLockError::WouldBlock) => return,
            }
            fence(Ordering::SeqCst);
        }
    }

    /// Polls until nothing is left to do, and returns the time of the next poll.
    fn poll(self: &Arc<Self>, machine: &mut Machine<Waiter>, now: Timestamp, outbox: &mut Outbox) -> Option<Timestamp> {
        loop {
            match machine.poll(now, &*self.probe) {
                Step::Decided(waiter, mut decision) => {
                    if let (true, Ok(grant)) = (waiter.shadow, &mut decision) {
                        machine.started(now, grant);
                    }
                    outbox.decided.push((waiter, decision.map(|grant| AdmittedRequest::new(self.host(), grant))));
                }
                Step::Tell(report) => outbox.reports.push(report),
                Step::Wait(wake) => return wake,
            }
        }
    }
}

impl State {
    fn end(&mut self, now: Timestamp, ended: Ended) -> Option<Note> {
        self.ended += 1;
        self.machine.ended(now, ended)
    }
}

impl Host for LiveGate {
    fn started(self: Arc<Self>, grant: &mut AdmissionGrant) {
        self.with(|state, now| state.machine.started(now, grant));
    }

    /// Never waits for the lock.
    fn end(self: Arc<Self>, ended: Ended) {
        let state = match self.state.try_lock() {
            Ok(state) => state,
            Err(TryLockError::Poisoned(state)) => state.into_inner(),
            Err(TryLockError::WouldBlock) => {
                self.ends.push(ended);
                return self.take_ends();
            }
        };
        self.run(state, Caller::Request, |state, now| state.end(now, ended));
    }

    fn end_noted(self: Arc<Self>, ended: Ended) -> Option<Note> {
        self.with(|state, now| state.end(now, ended))
    }

    fn leave(self: Arc<Self>, id: JobId) {
        let gone = self.with(|state, now| state.machine.leave(now, id));
        drop(gone);
    }

    fn pass(&self) {
        self.passed.fetch_add(1, Ordering::Relaxed);
    }
}

impl Timed for LiveGate {
    fn alarm(&self) -> (Arc<Notify>, Clock) {
        (Arc::clone(&self.alarm), self.clock)
    }

    fn turn(self: &Arc<Self>) -> Option<Timestamp> {
        self.run(lock(&self.state), Caller::Timer, |_, _| ()).1
    }

    fn untimed(&self) {
        self.timed.store(false, Ordering::Release);
        lock(&self.state).armed = None;
    }
}

impl Drop for LiveGate {
    fn drop(&mut self) {
        self.alarm.notify_one();
    }
}

/// Locks. Policies do not panic under the lock; even after a panic their numbers are valid.
fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
