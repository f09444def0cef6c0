//! What one connection is doing, and since when. Kept in atomics, so that a request costs no timer.
//!
//! hyper's own header timer is not used: it starts when the connection begins to wait, so it would also close idle kept
//! connections after the head's few seconds. Here the time of a head counts from its first byte.

use std::{
    net::SocketAddr,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering},
    },
    time::Duration,
};

use controllers::Timestamp;
use tokio::sync::Notify;

use super::framing::Framing;
use crate::{app::App, clock::Clock, ledger::Ledger, spec::EdgeSpec};

/// A connection as its reaper sees it.
#[derive(Debug)]
pub(crate) struct Conn {
    pub(crate) peer: SocketAddr,
    clock: Clock,
    /// Milliseconds, shifted, and the phase.
    state: AtomicU64,
    /// Bytes came in while a request was worked on: the next head has begun.
    ahead: AtomicBool,
    /// The answer's last byte has been handed to the writer.
    taken: AtomicBool,
    /// The head has taken too long: whoever reads next says so and hangs up.
    late: AtomicBool,
    tell_late: Notify,
    framing: Mutex<Framing>,
    /// Heads that were read whole.
    requests: AtomicU32,
    /// Another service calls on it.
    of_caller: AtomicBool,
}

/// What a connection is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Nothing: between requests.
    Idle,
    /// A head has begun to come in.
    Head,
    /// A body is coming in.
    Body,
    /// The service has the request.
    Working,
    /// The answer goes out.
    Writing,
}

const PHASES: [Phase; 5] = [Phase::Idle, Phase::Head, Phase::Body, Phase::Working, Phase::Writing];
const BITS: u32 = 3;
/// What the reaper gives a body beyond the time that its reader keeps.
const BODY_SPARE: Duration = Duration::from_secs(1);

impl Conn {
    pub(crate) fn new(peer: SocketAddr, clock: Clock) -> Self {
        let conn = Self {
            peer,
            clock,
            state: AtomicU64::new(0),
            ahead: AtomicBool::new(false),
            taken: AtomicBool::new(false),
            late: AtomicBool::new(false),
            tell_late: Notify::new(),
            framing: Mutex::new(Framing::default()),
            requests: AtomicU32::new(0),
            of_caller: AtomicBool::new(false),
        };
        conn.enter(Phase::Idle);
        conn
    }

    /// What it is doing, and since when.
    pub(crate) fn phase(&self) -> (Phase, Timestamp) {
        let state = self.state.load(Ordering::Relaxed);
        let phase = PHASES[usize::try_from(state & ((1 << BITS) - 1)).unwrap_or(0)];
        (phase, Timestamp::from_millis(state >> BITS))
    }

    pub(crate) fn enter(&self, phase: Phase) {
        let millis = self.clock.now().as_nanos() / 1_000_000;
        self.state.store(millis << BITS | phase as u64, Ordering::Relaxed);
    }

    /// A request's head was read whole: what the head said about the length of its body.
    pub(crate) fn request_begins(&self) -> Framing {
        self.taken.store(false, Ordering::Relaxed);
        self.ahead.store(false, Ordering::Relaxed);
        self.late.store(false, Ordering::Relaxed);
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.enter(Phase::Working);
        std::mem::take(&mut *self.framing.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Another service calls on it, as its first request says: it is moved to those books.
    pub(crate) fn is_callers(&self, app: &App) {
        if !self.of_caller.swap(true, Ordering::Relaxed) {
            app.ledger.was_not_ours();
            app.calls_ledger.connected();
        }
    }

    /// The books that it is in.
    pub(crate) fn ledger<'a>(&self, app: &'a App) -> &'a Ledger {
        if self.of_caller.load(Ordering::Relaxed) { &app.calls_ledger } else { &app.ledger }
    }

    /// The request under way is the first one.
    pub(crate) fn is_new(&self) -> bool {
        self.requests.load(Ordering::Relaxed) == 1
    }

    /// The request under way is the last one that this connection may bring.
    pub(crate) fn is_used_up(&self, limits: &EdgeSpec) -> bool {
        let most = limits.connection_requests;
        most > 0 && self.requests.load(Ordering::Relaxed) >= most
    }

    /// Bytes came in.
    pub(crate) fn received(&self, bytes: &[u8]) {
        match self.phase().0 {
            Phase::Idle => {
                self.enter(Phase::Head);
                self.scan(bytes, true);
            }
            Phase::Head => self.scan(bytes, false),
            Phase::Body => {}
            Phase::Working | Phase::Writing => self.ahead.store(true, Ordering::Relaxed),
        }
    }

    /// The writer has all of the answer.
    pub(crate) fn taken(&self) {
        self.taken.store(true, Ordering::Relaxed);
    }

    /// Everything that the writer had has gone to the kernel.
    pub(crate) fn flushed(&self) {
        if self.phase().0 == Phase::Writing && self.taken.load(Ordering::Relaxed) {
            let ahead = self.ahead.swap(false, Ordering::Relaxed);
            self.enter(if ahead { Phase::Head } else { Phase::Idle });
        }
    }

    /// Has the connection's task say that the head has taken too long. False if it was told before, and did not.
    pub(crate) fn call_late(&self) -> bool {
        let first = !self.late.swap(true, Ordering::Relaxed);
        self.tell_late.notify_one();
        first
    }

    /// Waits for [`Conn::call_late`].
    pub(crate) async fn called_late(&self) {
        self.tell_late.notified().await;
    }

    /// True if the head that is coming in has taken too long: nothing of an answer is under way then.
    pub(crate) fn is_late(&self) -> bool {
        self.late.load(Ordering::Relaxed) && self.phase().0 == Phase::Head
    }

    /// What it has taken longer over than it may, if it has.
    pub(crate) fn overdue(&self, now: Timestamp, limits: &EdgeSpec) -> Option<Phase> {
        let (phase, since) = self.phase();
        let limit = match phase {
            Phase::Idle => limits.idle_timeout,
            Phase::Head => limits.head_timeout,
            // Whoever reads the body keeps its time, and can answer; this is for a task that does not run.
            Phase::Body => limits.body_timeout + BODY_SPARE,
            Phase::Working => Duration::MAX,
            Phase::Writing => limits.write_timeout,
        };
        (now.since(since) > limit).then_some(phase)
    }

    fn scan(&self, bytes: &[u8], first: bool) {
        let mut framing = self.framing.lock().unwrap_or_else(PoisonError::into_inner);
        if first {
            *framing = Framing::default();
        }
        framing.scan(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_goes_through_the_phases_and_back_to_idle() {
        let conn = Conn::new("127.0.0.1:1".parse().unwrap(), Clock::start());
        assert_eq!(conn.phase().0, Phase::Idle);
        conn.received(b"GET / HT");
        assert_eq!(conn.phase().0, Phase::Head);
        conn.request_begins();
        assert_eq!(conn.phase().0, Phase::Working);
        conn.enter(Phase::Writing);
        conn.flushed();
        assert_eq!(conn.phase().0, Phase::Writing, "the writer does not have it all yet");
        conn.taken();
        conn.flushed();
        assert_eq!(conn.phase().0, Phase::Idle);
    }

    #[test]
    fn a_head_that_begins_early_is_not_taken_for_idleness() {
        let conn = Conn::new("127.0.0.1:1".parse().unwrap(), Clock::start());
        conn.request_begins();
        conn.received(b"GET /slow");
        conn.enter(Phase::Writing);
        conn.taken();
        conn.flushed();
        assert_eq!(conn.phase().0, Phase::Head);
    }

    #[test]
    fn each_phase_has_its_own_limit() {
        let conn = Conn::new("127.0.0.1:1".parse().unwrap(), Clock::start());
        let limits = EdgeSpec::default();
        let after = |secs| Timestamp::from_secs(secs);
        let overdue = |secs| conn.overdue(after(secs), &limits);
        assert_eq!((overdue(14), overdue(16)), (None, Some(Phase::Idle)));
        conn.enter(Phase::Head);
        assert_eq!((overdue(4), overdue(6)), (None, Some(Phase::Head)));
        conn.enter(Phase::Working);
        assert_eq!(overdue(100_000), None);
    }

    #[test]
    fn only_a_head_is_called_late() {
        let conn = Conn::new("127.0.0.1:1".parse().unwrap(), Clock::start());
        conn.received(b"GET /");
        assert!(!conn.is_late());
        assert!(conn.call_late() && conn.is_late());
        assert!(!conn.call_late(), "told before");
        conn.request_begins();
        assert!(!conn.is_late(), "it came after all: an answer may be under way");
    }
}
