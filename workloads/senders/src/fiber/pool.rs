use std::{
    os::fd::RawFd,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use controllers::Timestamp;
use health::clock::RunClock;
use may::coroutine::{self, Coroutine};
use measure::{Health, Report};
use workloads::host::{UserPool, UserTask};

use super::{connection::Connection, deadline::Deadline, network::Network, runtime};

/// The state that the fibers of one run share.
///
/// One lock protects the ledgers: all fibers run on one thread and none waits while holding it, so it is never
/// contended.
#[derive(Debug)]
pub(super) struct FiberPool {
    pub(super) clock: RunClock,
    pub(super) network: Network,
    state: Mutex<State>,
    /// The time of the alarm, in nanoseconds of the run; 0 after it has rung, until the pacer sets it again.
    armed_for: AtomicU64,
    /// Wake-ups are rounded up to multiples of this, in nanoseconds.
    quantum: AtomicU64,
    /// The alarm rings so long before a user is due, in nanoseconds.
    lead: AtomicU64,
    /// True once requests in flight are to be cut off.
    cutting: AtomicBool,
    tally: Tally,
    limit: u32,
    /// True if one user's action may make others due.
    shared: AtomicBool,
}

/// The largest number of fibers that begin in a row, before the pacer has its turn again: each makes a connection perhaps, and
/// answers are read, seconds end and the run is over only when none is left.
const AT_ONCE: usize = 256;

/// The body of a fiber; the deadline is its own.
type FiberWork = fn(Arc<FiberPool>, Arc<Deadline>);

#[derive(Debug)]
struct State {
    pool: Option<UserPool<Connection>>,
    idle: Vec<Coroutine>,
    /// Fibers that have yielded to the pacer, and the number of times it has resumed such fibers.
    yielded: Vec<Coroutine>,
    resumptions: u64,
    deadlines: Vec<Arc<Deadline>>,
    workers: u32,
    /// The number of workers that were spawned and have not run yet.
    starting: usize,
    closed: bool,
}

/// Counts for the health of the run.
#[derive(Debug, Default)]
struct Tally {
    waited_for_fiber: AtomicU64,
    descriptors_peak: AtomicU64,
    unasked: AtomicU64,
}

impl FiberPool {
    pub(super) fn new(clock: RunClock, network: Network, pool: UserPool<Connection>, limit: u32) -> Arc<Self> {
        let shared = AtomicBool::new(pool.is_shared());
        let state = State {
            pool: Some(pool),
            idle: Vec::new(),
            yielded: Vec::new(),
            resumptions: 0,
            deadlines: Vec::new(),
            workers: 0,
            starting: 0,
            closed: false,
        };
        Arc::new(Self {
            clock,
            network,
            state: Mutex::new(state),
            armed_for: AtomicU64::new(0),
            quantum: AtomicU64::new(1),
            lead: AtomicU64::new(0),
            cutting: AtomicBool::new(false),
            tally: Tally::default(),
            limit,
            shared,
        })
    }

    /// A fiber that panicked may have held the lock. Its user is lost and counted; the ledgers of the others still
    /// hold.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `work` on the pool of users. It must not wait.
    pub(super) fn users<T>(&self, work: impl FnOnce(&mut UserPool<Connection>) -> T) -> T {
        // Taken only by `into_report`, when no fiber is left.
        work(self.state().pool.as_mut().expect("the books are closed after the last fiber has gone"))
    }

    /// Counts a connection on which bytes have come that no request asked for.
    pub(super) fn got_unasked(&self) {
        self.tally.unasked.fetch_add(1, Relaxed);
    }

    /// Counts a socket that was opened under this number. The lowest free descriptor is given out first: the largest
    /// number tells how many are open.
    pub(super) fn opened(&self, descriptor: RawFd) {
        let open = u64::try_from(descriptor).unwrap_or_default() + 1;
        self.tally.descriptors_peak.fetch_max(open, Relaxed);
    }

    /// Gives ready users a fiber each that runs `work`, as long as there are fibers: [`AT_ONCE`] at most. True if others are to
    /// have theirs in the next turn.
    pub(super) fn assign(self: &Arc<Self>, work: FiberWork) -> bool {
        let (waiting, mut free) = {
            let state = self.state();
            // Each starting worker will take one user.
            (state.pool.as_ref().map_or(0, UserPool::ready).saturating_sub(state.starting), state.idle.len())
        };
        let mut ready = waiting.min(AT_ONCE);
        let later = waiting - ready;
        while ready > 0 && free > 0 {
            let worker = self.state().idle.pop();
            let Some(worker) = worker else { break };
            worker.unpark();
            ready -= 1;
            free -= 1;
        }
        while ready > 0 && self.spawn_worker(work) {
            ready -= 1;
        }
        if ready > 0 {
            self.tally.waited_for_fiber.fetch_add((ready + later) as u64, Relaxed);
        }
        ready == 0 && later > 0
    }

    fn spawn_worker(self: &Arc<Self>, work: FiberWork) -> bool {
        let deadline = {
            let mut state = self.state();
            if state.workers >= self.limit {
                return false;
            }
            let deadline = Deadline::new();
            state.workers += 1;
            state.starting += 1;
            state.deadlines.push(Arc::clone(&deadline));
            deadline
        };
        let fibers = Arc::clone(self);
        let spawned = runtime::spawn(move || work(fibers, deadline));
        if spawned.is_err() {
            // No memory for another stack: the existing fibers take turns.
            let mut state = self.state();
            state.workers -= 1;
            state.starting -= 1;
            state.deadlines.pop();
        }
        spawned.is_ok()
    }

    /// Counts a spawned worker that runs now.
    pub(super) fn started(&self) {
        self.state().starting -= 1;
    }

    /// The next user for a free fiber, which waits for one. `None`: the run is over.
    pub(super) fn next_user(&self) -> Option<Box<UserTask<Connection>>> {
        loop {
            let now = self.clock.now();
            let taken = {
                let mut state = self.state();
                if state.closed {
                    return None;
                }
                let taken = state.pool.as_mut().and_then(|pool| pool.take(now));
                if taken.is_none() {
                    state.idle.push(coroutine::current());
                }
                taken
            };
            if taken.is_some() {
                self.ring_for_others();
                return taken;
            }
            self.ring_by_next_due();
            coroutine::park();
        }
    }

    /// Suspends this fiber until the pacer and all ready fibers have had a turn.
    ///
    /// `may` runs ready fibers until none is left, and polls sockets and the alarm only then: a fiber that never waits
    /// would block every other fiber, even the end of the run. Its own `yield_now` has the same effect.
    pub(super) fn yield_to_pacer(&self) {
        let resumptions = {
            let mut state = self.state();
            state.yielded.push(coroutine::current());
            state.resumptions
        };
        let now = self.clock.now();
        self.ring_by(self.alarm_for(now), now);
        // A wake-up with another purpose must not leave the fiber in the list.
        while self.state().resumptions == resumptions {
            coroutine::park();
        }
    }

    /// Resumes the fibers that have yielded. The pacer calls it.
    pub(super) fn resume_yielded(&self) {
        let yielded = {
            let mut state = self.state();
            state.resumptions += 1;
            std::mem::take(&mut state.yielded)
        };
        for fiber in yielded {
            fiber.unpark();
        }
    }

    /// Notes whether users share a client-side policy: they may do so from some time on.
    pub(super) fn set_shared(&self, shared: bool) {
        self.shared.store(shared, Relaxed);
    }

    /// Rings for users that another user's action made due: they share a client-side policy.
    pub(super) fn ring_for_others(&self) {
        if self.shared.load(Relaxed) {
            self.ring_by_next_due();
        }
    }

    /// Sets the alarm earlier if a user that went to sleep is due before it rings.
    fn ring_by_next_due(&self) {
        let armed = self.armed_for.load(Relaxed);
        let due = self.users(|pool| pool.next_due()).unwrap_or(Timestamp::MAX);
        // While the pacer is awake it sets the alarm itself.
        if armed != 0 && due.as_nanos() < armed {
            self.ring_by(self.alarm_for(due), self.clock.now());
        }
    }

    /// Sets the quantum to which wake-ups are rounded up.
    pub(super) fn set_quantum(&self, quantum: Duration) {
        self.quantum.store(u64::try_from(quantum.as_nanos()).unwrap_or(u64::MAX), Relaxed);
    }

    /// Sets the time by which the alarm rings before a user is due.
    pub(super) fn set_lead(&self, lead: Duration) {
        self.lead.store(u64::try_from(lead.as_nanos()).unwrap_or(u64::MAX), Relaxed);
    }

    /// The wake-up time for users due at `due`.
    pub(super) fn alarm_for(&self, due: Timestamp) -> Timestamp {
        let (quantum, lead) = (self.quantum.load(Relaxed).max(1), self.lead.load(Relaxed));
        if lead > 0 {
            return Timestamp::from_nanos(due.as_nanos().saturating_sub(lead));
        }
        Timestamp::from_nanos(due.as_nanos().div_ceil(quantum).saturating_mul(quantum))
    }

    /// Sets the alarm. A timer that cannot be set would stop the run in silence; so it panics, and the run reports the
    /// panic: the kernel knows no reason to refuse.
    pub(super) fn ring_at(&self, at: Timestamp, now: Timestamp) {
        self.armed_for.store(at.as_nanos(), Relaxed);
        self.network.watch.set_alarm(at.since(now)).expect("a timer can be set");
    }

    /// Sets the alarm if it would ring later than this, or not at all.
    pub(super) fn ring_by(&self, at: Timestamp, now: Timestamp) {
        let at = at.max(now); // the lead may reach back beyond it
        let armed = self.armed_for.load(Relaxed);
        if armed == 0 || at.as_nanos() < armed {
            self.ring_at(at, now);
        }
    }

    /// The time of the alarm, if that has passed by now.
    pub(super) fn take_alarm(&self, now: Timestamp) -> Option<Timestamp> {
        let armed = self.armed_for.load(Relaxed);
        (armed != 0 && armed <= now.as_nanos()).then(|| {
            self.armed_for.store(0, Relaxed);
            Timestamp::from_nanos(armed)
        })
    }

    /// Ends the waits whose deadline has passed.
    pub(super) fn sweep(&self, now: Timestamp) {
        super::deadline::sweep(&self.state().deadlines, now);
    }

    /// Cuts off requests in flight.
    pub(super) fn cut(&self) {
        self.cutting.store(true, Relaxed);
        super::deadline::sweep(&self.state().deadlines, Timestamp::MAX);
    }

    pub(super) fn is_cutting(&self) -> bool {
        self.cutting.load(Relaxed)
    }

    /// Makes all fibers end.
    pub(super) fn close(&self) {
        let idle = {
            let mut state = self.state();
            state.closed = true;
            std::mem::take(&mut state.idle)
        };
        for worker in idle {
            worker.unpark();
        }
    }

    /// The number of fibers that have not ended.
    pub(super) fn workers(&self) -> u32 {
        self.state().workers
    }

    /// Runs a part of a worker; `None` if it panicked, which is counted, and loses the worker's user.
    pub(super) fn catch_panic<T>(&self, part: impl FnOnce() -> T) -> Option<T> {
        let lived = catch_unwind(AssertUnwindSafe(part)).ok();
        if lived.is_none() {
            self.users(UserPool::lost);
        }
        lived
    }

    /// Removes a fiber that has ended.
    pub(super) fn stopped(&self, deadline: &Arc<Deadline>) {
        let mut state = self.state();
        state.workers -= 1;
        // At the end of a run thousands stop at once, and none of their deadlines is set any more.
        if !state.closed {
            state.deadlines.retain(|other| !Arc::ptr_eq(other, deadline));
        }
    }

    /// Closes the ledgers and returns the report.
    pub(super) fn into_report(self: Arc<Self>, now: Timestamp, health: Health) -> Report {
        let pool = self.state().pool.take().expect("the books are closed once");
        let Tally { waited_for_fiber, descriptors_peak, unasked } = &self.tally;
        let health = Health {
            waited_for_fiber: waited_for_fiber.load(Relaxed),
            descriptors_peak: descriptors_peak.load(Relaxed),
            unasked: unasked.load(Relaxed),
            ..health
        };
        pool.finish(now, health)
    }
}
