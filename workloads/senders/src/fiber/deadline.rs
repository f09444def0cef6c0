use std::{
    os::fd::RawFd,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering::Relaxed},
    },
};

use controllers::Timestamp;
use nix::sys::socket::{Shutdown, shutdown};

const NO_SOCKET: RawFd = -1;

/// The deadline of one fiber's wait for its socket. At the deadline the socket is shut down, which wakes the fiber.
///
/// The pacer [sweeps](sweep) over all deadlines with every heartbeat: setting one costs a request two stores, where an
/// entry in a timer queue would cost two locks. The resolution is the heartbeat: the shutdown comes up to 5 ms late,
/// never early.
///
/// The fields are atomics only because fibers are `Send`: all run on one thread, so a socket cannot be closed, and its
/// number given to another, between the check and the shutdown.
#[derive(Debug)]
pub(super) struct Deadline {
    at: AtomicU64,
    socket: AtomicI32,
    over: AtomicBool,
}

impl Deadline {
    pub(super) fn new() -> Arc<Self> {
        let at = AtomicU64::new(u64::MAX);
        Arc::new(Self { at, socket: AtomicI32::new(NO_SOCKET), over: AtomicBool::new(false) })
    }

    /// Starts a wait for `socket`, until `at` at most.
    pub(super) fn set(&self, at: Timestamp, socket: RawFd) {
        self.over.store(false, Relaxed);
        self.socket.store(socket, Relaxed);
        self.at.store(at.as_nanos(), Relaxed);
    }

    /// Ends the wait. Must be called before the socket is closed.
    pub(super) fn clear(&self) {
        self.at.store(u64::MAX, Relaxed);
        self.socket.store(NO_SOCKET, Relaxed);
    }

    /// True if the wait ended at the deadline.
    pub(super) fn is_over(&self) -> bool {
        self.over.load(Relaxed)
    }

    fn expire(&self) {
        self.over.store(true, Relaxed);
        self.at.store(u64::MAX, Relaxed);
        // Fails if the peer was faster; the fiber is awake then anyway.
        let _ = shutdown(self.socket.load(Relaxed), Shutdown::Both);
    }
}

/// Ends the waits whose deadline has passed.
pub(super) fn sweep(deadlines: &[Arc<Deadline>], now: Timestamp) {
    for deadline in deadlines {
        let at = deadline.at.load(Relaxed);
        if at != u64::MAX && at <= now.as_nanos() {
            deadline.expire();
        }
    }
}
