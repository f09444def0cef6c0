//! What is used to share a site between tasks. Everything else about a site is a machine that one task drives at a time.
//!
//! In tests `shuttle` may switch tasks wherever a lock is about to be taken (`stage/tests/interleavings`).

use std::{
    future::Future,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// Locks. Policies do not panic under the lock; if one did, its numbers are still numbers.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    #[cfg(test)]
    interleaved::switch();
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts a task of a site on the current runtime.
pub(crate) fn spawn(task: impl Future<Output = ()> + Send + 'static) {
    #[cfg(test)]
    if interleaved::is_on() {
        return drop(shuttle::future::spawn(task));
    }
    drop(tokio::spawn(task));
}

/// Many orders of the same tasks, one after the other on one thread.
#[cfg(test)]
pub(crate) mod interleaved {
    use std::cell::Cell;

    /// Bytes of stack for each task: a build without optimizations needs more than the scheduler's 32 KiB.
    const STACK: usize = 1 << 20;

    thread_local! {
        static ON: Cell<bool> = const { Cell::new(false) };
    }

    /// Whether the scheduler of [`explore`] runs this task.
    pub(crate) fn is_on() -> bool {
        ON.get()
    }

    /// Lets another task run, or not.
    pub(crate) fn switch() {
        if is_on() {
            shuttle::sync::atomic::AtomicBool::new(false).load(std::sync::atomic::Ordering::SeqCst);
        }
    }

    /// Runs a test in that many random orders of its tasks. It fails if tasks that the test waits for cannot go on.
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
