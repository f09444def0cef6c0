//! The phase of one connection, and its start. One reaper checks all connections, so that a request needs no timer.
//!
//! hyper's own header timer is not used: it starts when the connection begins to wait, so it would also close idle kept
//! connections after the head's few seconds. Here the time of a head counts from its first byte.

use std::{
    net::SocketAddr,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::Duration,
};

use controllers::Timestamp;
use service_core::ledger::ServiceLedger;
use spec::EdgeSpec;
use tokio::sync::Notify;

use super::{client_wait::ClientWait, framing::Framing};
use crate::{app::LiveApp, clock::ServiceClock};

/// A connection as its reaper sees it.
#[derive(Debug)]
pub struct Conn {
    /// The client's address.
    pub peer: SocketAddr,
    /// The clock of all sites.
    pub clock: ServiceClock,
    doing: Mutex<Doing>,
    /// The head has taken too long: the next read answers that and closes.
    late: AtomicBool,
    tell_late: Notify,
    /// The number of complete heads.
    requests: AtomicU32,
    /// True if another service calls on it.
    of_caller: AtomicBool,
    /// True while the kernel has no room for what is to be written.
    held_up: AtomicBool,
    /// True once a request of it was ended since its client was too slow.
    was_slow: AtomicBool,
    tell_written: Notify,
}

#[derive(Debug)]
struct Doing {
    phase: ConnPhase,
    since: Timestamp,
    /// True if the writer has the answer's last byte.
    taken: bool,
    framing: Framing,
    client_wait: ClientWait,
    /// True if its task is about to be aborted: no request begins any more.
    ending: bool,
}

/// The phase of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnPhase {
    /// Between requests.
    Idle,
    /// A head is arriving.
    Head,
    /// A body is arriving.
    Body,
    /// The service works on the request.
    Working,
    /// The answer is being written.
    Writing,
    /// Nothing more is sent; bytes that the client still sends are read, so that the last answer is not lost to a
    /// reset.
    Closing,
}

/// The reaper's tolerance beyond the time limit that the body's reader keeps.
const BODY_SPARE: Duration = Duration::from_secs(1);
/// The longest wait for the client's end of a connection that is closed on this side.
const CLOSING: Duration = Duration::from_secs(2);

impl Conn {
    pub(crate) fn new(peer: SocketAddr, clock: ServiceClock, limits: &EdgeSpec) -> Self {
        Self {
            peer,
            clock,
            doing: Mutex::new(Doing {
                phase: ConnPhase::Idle,
                since: clock.now(),
                taken: false,
                framing: Framing::default(),
                client_wait: ClientWait::new(limits),
                ending: false,
            }),
            late: AtomicBool::new(false),
            tell_late: Notify::new(),
            requests: AtomicU32::new(0),
            of_caller: AtomicBool::new(false),
            held_up: AtomicBool::new(false),
            was_slow: AtomicBool::new(false),
            tell_written: Notify::new(),
        }
    }

    /// The current phase.
    pub fn phase(&self) -> ConnPhase {
        self.lock().phase
    }

    /// Begins this phase.
    pub fn enter(&self, phase: ConnPhase) {
        let mut doing = self.lock();
        self.enters(&mut doing, phase);
    }

    fn enters(&self, doing: &mut Doing, phase: ConnPhase) {
        let now = self.clock.now();
        if self.is_waited_for(doing.phase) {
            doing.client_wait.waited(now.since(doing.since));
        }
        match phase {
            ConnPhase::Idle => doing.client_wait.settle(),
            ConnPhase::Writing => doing.client_wait.begins_to_take(),
            _ => {}
        }
        (doing.phase, doing.since) = (phase, now);
    }

    /// Notes that a request's head was read whole. True if the head, or the part of its body that has arrived, makes
    /// the end of the request ambiguous.
    ///
    /// It does not return on a connection that is being closed. Its task is aborted while it waits here, and what the request
    /// would have changed is unchanged: its client sees a kept connection end without an answer, and may send it again
    /// (RFC 9112, section 9.3.1).
    ///
    /// A client that has not taken the answers to its earlier requests is waited for: until then the connection is one that
    /// writes, and may be evicted.
    pub async fn request_begins(&self) -> bool {
        while self.is_held_up() {
            self.tell_written.notified().await;
        }
        match self.try_begin() {
            Some(ambiguous) => ambiguous,
            None => std::future::pending().await,
        }
    }

    fn try_begin(&self) -> Option<bool> {
        let mut doing = self.lock();
        if doing.ending {
            return None;
        }
        doing.taken = false;
        self.late.store(false, Ordering::Relaxed);
        let number = self.requests.fetch_add(1, Ordering::Relaxed) + 1;
        self.enters(&mut doing, ConnPhase::Working);
        Some(doing.framing.is_at_fault(number))
    }

    /// As [`Conn::request_begins`], of a stream that has entered its phase.
    pub async fn stream_begins(&self) {
        if self.lock().ending {
            std::future::pending::<()>().await;
        }
    }

    /// True if the arrived part of the current request's body is malformed.
    pub fn is_at_fault(&self) -> bool {
        self.lock().framing.is_at_fault(self.requests.load(Ordering::Relaxed))
    }

    /// Notes that another service calls on it, as its first request says: the connection moves to the ledger of calls.
    pub(crate) fn is_callers(&self, app: &LiveApp) {
        if !self.of_caller.swap(true, Ordering::Relaxed) {
            app.ledgers.users.was_not_ours();
            app.ledgers.calls.connected();
        }
    }

    /// The ledger of the connection.
    pub(crate) fn ledger<'a>(&self, app: &'a LiveApp) -> &'a ServiceLedger {
        app.ledgers.of(self.of_caller.load(Ordering::Relaxed))
    }

    /// True if the current request is the first one.
    pub(crate) fn is_new(&self) -> bool {
        self.requests.load(Ordering::Relaxed) == 1
    }

    /// True if the current request is the last one that this connection may bring.
    pub fn is_used_up(&self, limits: &EdgeSpec) -> bool {
        let most = limits.kept.connection_requests;
        most > 0 && self.requests.load(Ordering::Relaxed) >= most
    }

    /// Takes in received bytes. Returns the number of bytes that have come of a head that has no end yet.
    pub(crate) fn received(&self, bytes: &[u8]) -> usize {
        let mut doing = self.lock();
        if doing.phase == ConnPhase::Idle {
            self.enters(&mut doing, ConnPhase::Head);
        }
        doing.framing.scan(bytes);
        self.moves(&mut doing, bytes.len());
        doing.framing.open_head()
    }

    /// The number of bytes that have come of a head that has no end yet.
    pub(crate) fn open_head(&self) -> usize {
        self.lock().framing.open_head()
    }

    /// Notes that another protocol is spoken from now on.
    pub fn switches(&self) {
        self.lock().framing.ends();
    }

    /// Takes in sent bytes.
    pub fn sent(&self, bytes: usize) {
        let mut doing = self.lock();
        self.moves(&mut doing, bytes);
    }

    /// Takes in bytes of answers over HTTP/2. Between requests they are the end of an answer that is still on its way.
    pub fn sent_data(&self, bytes: usize) {
        let mut doing = self.lock();
        self.moves(&mut doing, bytes);
        if doing.phase == ConnPhase::Idle {
            doing.since = self.clock.now();
        }
    }

    fn moves(&self, doing: &mut Doing, bytes: usize) {
        let waiting = self.is_waited_for(doing.phase).then_some(doing.since);
        doing
            .client_wait
            .moved(bytes, |wait| wait.time() + waiting.map_or(Duration::ZERO, |since| self.clock.now().since(since)));
    }

    /// Notes that the writer has all of the answer.
    pub fn taken(&self) {
        self.lock().taken = true;
    }

    /// Notes that the kernel has no room for what is to be written.
    pub fn holds_up(&self) {
        self.held_up.store(true, Ordering::Release);
    }

    /// True while bytes wait for room in the kernel.
    pub fn is_held_up(&self) -> bool {
        self.held_up.load(Ordering::Acquire)
    }

    /// Notes that the kernel has all bytes so far.
    pub fn written(&self) {
        if self.is_held_up() {
            self.held_up.store(false, Ordering::Release);
            self.tell_written.notify_one();
        }
    }

    /// Notes that the kernel has all bytes of the writer.
    pub fn flushed(&self) {
        self.written();
        let mut doing = self.lock();
        if doing.phase == ConnPhase::Writing && doing.taken {
            let ahead = doing.framing.is_ahead(self.requests.load(Ordering::Relaxed));
            self.enters(&mut doing, if ahead { ConnPhase::Head } else { ConnPhase::Idle });
        }
    }

    /// True if every received byte belongs to a request that was read.
    pub(crate) fn is_read_out(&self) -> bool {
        let doing = self.lock();
        !doing.framing.is_ahead(self.requests.load(Ordering::Relaxed)) && doing.framing.is_between()
    }

    /// Makes the connection's task answer that the head has taken too long. False if it was told before, and has not
    /// done so.
    fn call_late(&self) -> bool {
        let first = !self.late.swap(true, Ordering::Relaxed);
        self.tell_late.notify_one();
        first
    }

    /// Waits until its head has taken too long.
    pub async fn called_late(&self) {
        self.tell_late.notified().await;
    }

    /// True if the arriving head has taken too long: no answer is under way then.
    pub fn is_late(&self) -> bool {
        self.late.load(Ordering::Relaxed) && self.phase() == ConnPhase::Head
    }

    /// Whether it exceeds the limit of its phase. Then its task is to be aborted, and begins no request before that. A
    /// sender of a slow head is told first: the task does that, and has time until the next check.
    pub(crate) fn end_if_overdue(&self, now: Timestamp, limits: &EdgeSpec) -> bool {
        self.end_if(|doing| match self.overdue(doing, now, limits) {
            None => false,
            Some(ConnPhase::Head) => !self.call_late(),
            Some(_) => true,
        })
    }

    /// Whether it is between requests, or, if `new`, before its first one. Then its task is to be aborted, and begins no request
    /// before that.
    pub(crate) fn end_if_idle(&self, new: bool) -> bool {
        let had_one = self.requests.load(Ordering::Relaxed) > 0;
        self.end_if(|doing| doing.phase == ConnPhase::Idle && (new || had_one))
    }

    /// Notes that a request of it was ended since its client was too slow: with HTTP/2 the connection stays, with what it has cost.
    pub fn note_slow(&self) {
        self.was_slow.store(true, Ordering::Relaxed);
    }

    /// True if its client keeps the service waiting in the middle of a request or its answer, or has until it was ended.
    pub(crate) fn is_slow(&self) -> bool {
        matches!(self.phase(), ConnPhase::Head | ConnPhase::Body | ConnPhase::Writing)
            || self.was_slow.load(Ordering::Relaxed)
    }

    /// Whether it may be closed to make room ([`Conn::eviction_score`]). Then its task is to be aborted, and begins no
    /// request before that.
    pub(crate) fn end_if_evictable(&self) -> bool {
        self.end_if(|doing| !doing.ending && doing.phase != ConnPhase::Working)
    }

    /// Decides under the lock by which requests begin: an abort may not fall into one that has just begun.
    fn end_if(&self, doomed: impl FnOnce(&Doing) -> bool) -> bool {
        let mut doing = self.lock();
        let ends = doomed(&doing);
        doing.ending |= ends;
        ends
    }

    /// The phase in which it exceeds its limit, if it does.
    fn overdue(&self, doing: &Doing, now: Timestamp, limits: &EdgeSpec) -> Option<ConnPhase> {
        let over = |limit: Duration| now.since(doing.since) > limit;
        let is_over = match doing.phase {
            ConnPhase::Idle => over(limits.kept.idle_timeout),
            ConnPhase::Head => over(limits.head_timeout),
            // The body's reader keeps the time, and can answer; this is for a task that does not run.
            ConnPhase::Body => over(limits.body_timeout + BODY_SPARE),
            ConnPhase::Working => false,
            ConnPhase::Writing => doing.client_wait.is_stuck(self.waited(doing, now), limits.write_timeout),
            ConnPhase::Closing => over(CLOSING),
        };
        is_over.then_some(doing.phase)
    }

    /// The value of closing it, in seconds for which its place was wasted: the highest score is evicted first. `None`
    /// if it must not be closed.
    ///
    /// The service waits for a client while it sends, while it takes its answer, and until its first request. A client
    /// that has been served before may be between requests, for longer the more it has used its place.
    pub fn eviction_score(&self, now: Timestamp) -> Option<f64> {
        let doing = self.lock();
        if doing.ending || doing.phase == ConnPhase::Working {
            return None;
        }
        let requests = self.requests.load(Ordering::Relaxed);
        Some(if self.is_waited_for(doing.phase) {
            doing.client_wait.eviction_score(self.waited(&doing, now))
        } else {
            let idle = now.since(doing.since);
            idle.saturating_sub(IN_USE).as_secs_f64() / (IDLE_DISCOUNT * f64::from(requests))
        })
    }

    /// The time waited for its client since it was last between requests.
    fn waited(&self, doing: &Doing, now: Timestamp) -> Duration {
        let now = if self.is_waited_for(doing.phase) { now.since(doing.since) } else { Duration::ZERO };
        doing.client_wait.time() + now
    }

    fn is_waited_for(&self, phase: ConnPhase) -> bool {
        match phase {
            ConnPhase::Idle => self.requests.load(Ordering::Relaxed) == 0,
            ConnPhase::Head | ConnPhase::Body | ConnPhase::Writing | ConnPhase::Closing => true,
            ConnPhase::Working => false,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Doing> {
        self.doing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A client that comes back within this time uses its place: nobody's place is taken before it.
const IN_USE: Duration = Duration::from_secs(1);
/// The factor by which a second between requests counts less than one of waiting for the client.
const IDLE_DISCOUNT: f64 = 16.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn conn() -> Conn {
        Conn::new("127.0.0.1:1".parse().unwrap(), ServiceClock::start(), &EdgeSpec::default())
    }

    fn serve(conn: &Conn) {
        assert!(conn.try_begin().is_some());
        conn.enter(ConnPhase::Writing);
        conn.taken();
        conn.flushed();
    }

    #[test]
    fn a_request_goes_through_the_phases_and_back_to_idle() {
        let conn = conn();
        assert_eq!(conn.phase(), ConnPhase::Idle);
        conn.received(b"GET / HT");
        assert_eq!(conn.phase(), ConnPhase::Head);
        conn.received(b"TP/1.1\r\n\r\n");
        assert!(conn.try_begin().is_some());
        assert_eq!(conn.phase(), ConnPhase::Working);
        conn.enter(ConnPhase::Writing);
        conn.flushed();
        assert_eq!(conn.phase(), ConnPhase::Writing, "the writer does not have it all yet");
        conn.taken();
        conn.flushed();
        assert_eq!(conn.phase(), ConnPhase::Idle);
    }

    #[test]
    fn a_head_that_begins_early_is_not_taken_for_idleness() {
        let conn = conn();
        conn.received(b"GET / HTTP/1.1\r\n\r\nGET /slow");
        serve(&conn);
        assert_eq!(conn.phase(), ConnPhase::Head);
    }

    #[test]
    fn each_phase_has_its_own_limit() {
        let conn = conn();
        let limits = EdgeSpec::default();
        let after = |secs| Timestamp::from_secs(secs);
        let overdue = |secs| conn.overdue(&conn.lock(), after(secs), &limits);
        assert_eq!((overdue(14), overdue(16)), (None, Some(ConnPhase::Idle)));
        conn.enter(ConnPhase::Head);
        assert_eq!((overdue(4), overdue(6)), (None, Some(ConnPhase::Head)));
        conn.enter(ConnPhase::Working);
        assert_eq!(overdue(100_000), None);
        conn.enter(ConnPhase::Writing);
        assert_eq!((overdue(14), overdue(16)), (None, Some(ConnPhase::Writing)));
        conn.enter(ConnPhase::Closing);
        assert_eq!((overdue(1), overdue(3)), (None, Some(ConnPhase::Closing)));
    }

    #[test]
    fn only_a_head_is_called_late() {
        let conn = conn();
        conn.received(b"GET /");
        assert!(!conn.is_late());
        assert!(conn.call_late() && conn.is_late());
        assert!(!conn.call_late(), "told before");
        assert!(conn.try_begin().is_some());
        assert!(!conn.is_late(), "it came after all: an answer may be under way");
    }

    #[test]
    fn connections_that_the_service_waits_for_are_evicted_before_served_ones() {
        let (silent, slow, served, working) = (conn(), conn(), conn(), conn());
        slow.received(b"GET / HTTP/1.1\r\nHost: a");
        serve(&served);
        assert!(working.try_begin().is_some());
        let after = |conn: &Conn| conn.eviction_score(Timestamp::from_secs(4));
        assert!(after(&silent) > after(&served) && after(&slow) > after(&served));
        assert_eq!(after(&working), None, "that is the service's own time");
        let just_served = served.eviction_score(Timestamp::from_millis(900));
        assert_eq!(just_served, Some(0.0), "it comes back within a second");
        let score = after(&served);
        serve(&served);
        assert!(after(&served) < score, "the more it was used the longer it is kept");
        assert!(slow.end_if_evictable() && !working.end_if_evictable());
        assert_eq!(after(&slow), None, "not twice");
        assert!(!slow.end_if_evictable());
    }

    #[test]
    fn a_connection_that_is_to_be_closed_begins_no_request_and_one_with_a_request_is_not_closed() {
        let limits = EdgeSpec::default();
        let (idle_for_long, idle, asked) = (Timestamp::from_secs(16), conn(), conn());
        assert!(idle.end_if_overdue(idle_for_long, &limits));
        idle.received(b"GET / HTTP/1.1\r\n\r\n"); // at the moment of its end
        assert_eq!(idle.try_begin(), None);
        asked.received(b"GET / HTTP/1.1\r\n\r\n");
        assert_eq!(asked.try_begin(), Some(false));
        assert!(!asked.end_if_idle(true) && !asked.end_if_evictable() && !asked.end_if_overdue(idle_for_long, &limits));
    }
}
