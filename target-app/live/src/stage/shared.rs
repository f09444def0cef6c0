//! The sharing of a site between tasks. Apart from this, a site is a machine that one task drives at a time.
//!
//! In tests `shuttle` may switch tasks before each lock (`stage/tests/interleavings`).

use std::{
    fmt,
    future::Future,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use controllers::{Timestamp, UnixSeconds};
use tokio::sync::Notify;

use crate::clock::ServiceClock;

/// A site that tasks share: a machine with a lock and a timer, and a host that does what the machine wants.
pub trait SharedSite: Send + Sync + 'static {
    /// The machine.
    type Machine: Send;
    /// What the machine wants of its host.
    type Wants;

    /// The machine with its lock and timer.
    fn shared(&self) -> &Shared<Self::Machine>;

    /// Sets the wall clock that policies and machines see.
    fn set_wall(_: &mut Self::Machine, _: UnixSeconds) {}

    /// Tells the machine that a wake-up may be due, where polling it does not.
    fn due(_: &mut Self::Machine, _: Timestamp) {}

    /// Collects, under the lock, what the machine wants, and when it is to be woken.
    fn poll(self: &Arc<Self>, machine: &mut Self::Machine, now: Timestamp) -> (Self::Wants, Option<Timestamp>);

    /// Does what the machine wants, outside the lock.
    fn carry_out(self: &Arc<Self>, wants: Self::Wants);

    /// Runs under the lock with the time read inside it, then does what the machine wants.
    fn with<T>(self: &Arc<Self>, act: impl FnOnce(&mut Self::Machine, Timestamp) -> T) -> T {
        let shared = self.shared();
        let (result, wants) = shared.with(|machine, now| {
            Self::set_wall(machine, shared.clock.wall());
            let result = act(machine, now);
            let (wants, wake) = self.poll(machine, now);
            ((result, wants), wake)
        });
        self.carry_out(wants);
        result
    }

    /// Does what is due, and says when to come again. Called late, it does it once.
    fn turn(self: &Arc<Self>) -> Option<Timestamp> {
        let shared = self.shared();
        let (wants, wake) = shared.on_timer(|machine, now| {
            Self::set_wall(machine, shared.clock.wall());
            Self::due(machine, now);
            self.poll(machine, now)
        });
        self.carry_out(wants);
        wake
    }
}

/// A machine that tasks share, and its timer.
///
/// The lock is taken first and the clock is read second, so times never go back.
pub struct Shared<M> {
    /// Its clock.
    pub clock: ServiceClock,
    state: Mutex<State<M>>,
    /// Rings when the timer waits for too late a time, and when nobody has the machine any more.
    pub(crate) alarm: Arc<Notify>,
}

struct State<M> {
    machine: M,
    /// The wake-up that the timer waits for.
    armed: Option<Timestamp>,
}

impl<M> fmt::Debug for Shared<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("clock", &self.clock).finish_non_exhaustive()
    }
}

impl<M> Shared<M> {
    /// The machine, with a timer that waits for nothing.
    pub fn new(machine: M, clock: ServiceClock) -> Self {
        Self { clock, state: Mutex::new(State { machine, armed: None }), alarm: Arc::default() }
    }

    /// Runs under the lock. Not for actions that may change the machine's next wake-up.
    pub fn peek<T>(&self, act: impl FnOnce(&mut M) -> T) -> T {
        act(&mut lock(&self.state).machine)
    }

    /// Runs under the lock, with the time. `act` also returns the machine's next wake-up.
    pub(crate) fn with<T>(&self, act: impl FnOnce(&mut M, Timestamp) -> (T, Option<Timestamp>)) -> T {
        let mut state = lock(&self.state);
        let now = self.clock.now();
        let (result, wake) = act(&mut state.machine, now);
        let earlier = rearm(&mut state.armed, wake);
        drop(state);
        if earlier {
            self.alarm.notify_one();
        }
        result
    }

    /// The same as [`Shared::with`] for the timer, which is awake and needs no alarm: returns the result, and the next
    /// wake-up.
    pub(crate) fn on_timer<T>(
        &self,
        act: impl FnOnce(&mut M, Timestamp) -> (T, Option<Timestamp>),
    ) -> (T, Option<Timestamp>) {
        let mut state = lock(&self.state);
        let now = self.clock.now();
        let (result, wake) = act(&mut state.machine, now);
        state.armed = wake;
        (result, wake)
    }
}

impl<M> Drop for Shared<M> {
    fn drop(&mut self) {
        self.alarm.notify_one();
    }
}

/// Notes the next wake-up; true if the timer must be told, as it would sleep too long.
fn rearm(armed: &mut Option<Timestamp>, wake: Option<Timestamp>) -> bool {
    let earlier = wake.is_some_and(|at| armed.is_none_or(|armed| at < armed));
    if earlier {
        *armed = wake;
    }
    earlier
}

/// Locks. Policies do not panic under the lock; even after a panic their numbers are valid.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    #[cfg(test)]
    interleaved::switch();
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts a task of a site on the current runtime.
pub fn spawn(task: impl Future<Output = ()> + Send + 'static) {
    #[cfg(test)]
    if interleaved::is_on() {
        return drop(shuttle::future::spawn(task));
    }
    drop(tokio::spawn(task));
}

/// Runs the same tasks in many orders, one order after the other on one thread.
#[cfg(test)]
pub(crate) mod interleaved {
    use std::cell::Cell;

    /// Bytes of stack for each task: a build without optimizations needs more than the scheduler's 32 KiB.
    const STACK: usize = 1 << 20;

    thread_local! {
        static ON: Cell<bool> = const { Cell::new(false) };
    }

    /// True if the scheduler of [`explore`] runs this task.
    pub(crate) fn is_on() -> bool {
        ON.get()
    }

    /// A point at which the scheduler may let another task run.
    pub(crate) fn switch() {
        if is_on() {
            shuttle::sync::atomic::AtomicBool::new(false).load(std::sync::atomic::Ordering::SeqCst);
        }
    }

    /// Runs a test in this number of random orders of its tasks. It fails if tasks that the test waits for cannot
    /// continue.
    pub(crate) fn explore<T: Future<Output = ()> + Send + 'static>(orders: usize, test: fn() -> T) {
        struct Off;
        impl Drop for Off {
            fn drop(&mut self) {
                ON.set(false);
            }
        }
        let _off = Off;
        ON.set(true);
        let mut config = shuttle::Config::new();
        config.stack_size = STACK;
        let scheduler = shuttle::scheduler::RandomScheduler::new(orders);
        shuttle::Runner::new(scheduler, config).run(move || shuttle::future::block_on(test()));
    }
}
