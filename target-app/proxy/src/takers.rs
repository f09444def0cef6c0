//! The requests that wait for their clients, to take an answer or to send a body: each holds memory, most of them a backend's connection
//! too, for as long as its client does neither. Who takes nothing for too long is ended, and whoever is slowest makes room where there is
//! none left.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use controllers::Timestamp;
use live_service::{
    clock::ServiceClock,
    edge::{ClientSource, Conn, SourceCounts},
    stage::lock,
};
use tokio::{sync::Semaphore, task::AbortHandle};

use super::endable::EndableTask;

/// All that wait.
#[derive(Debug)]
pub(super) struct Takers {
    clock: ServiceClock,
    waiting: Mutex<Waiting>,
    /// The number that may wait at once: one more ends the slowest.
    most: usize,
    /// The number that were ended.
    ended: AtomicU64,
}

#[derive(Debug, Default)]
struct Waiting {
    next: u64,
    requests: BTreeMap<u64, WaitingRequest>,
}

/// A backend, among those whose connections are held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BackendId(pub(super) usize);

/// A connection of a backend that waits with a request for its client.
#[derive(Debug)]
pub(super) struct Hold {
    backend: BackendId,
    /// Of an answer that is read ahead, the task that does it and the room for what it reads.
    reader: Option<(AbortHandle, Arc<Semaphore>)>,
}

impl Hold {
    pub(super) fn until_taken(backend: BackendId) -> Self {
        Self { backend, reader: None }
    }

    /// While a reader has no room.
    pub(super) fn while_full(backend: BackendId, reader: AbortHandle, room: Arc<Semaphore>) -> Self {
        Self { backend, reader: Some((reader, room)) }
    }

    fn is_at(&self, backend: BackendId) -> bool {
        // A reader that waits for room has what there is of it.
        let is_full =
            |(task, room): &(AbortHandle, Arc<Semaphore>)| !task.is_finished() && room.available_permits() == 0;
        self.backend == backend && self.reader.as_ref().is_none_or(is_full)
    }
}

/// A request whose client has not taken what it was given last, or not sent what comes next.
#[derive(Debug)]
pub(super) struct WaitingRequest {
    pub(super) conn: Arc<Conn>,
    pub(super) task: EndableTask,
    pub(super) held: Option<Hold>,
    /// Of an answer over HTTP/2: for how long the client has kept its window closed while the kernel had room.
    pub(super) closed: Option<Duration>,
    pub(super) since: Timestamp,
}

impl WaitingRequest {
    pub(super) fn new(conn: &Arc<Conn>, task: EndableTask, held: Option<Hold>) -> Self {
        Self { conn: Arc::clone(conn), task, held, closed: None, since: Timestamp::default() }
    }

    /// For how long its place was wasted, in seconds: the window kept closed, or what the connection as a whole makes of its time.
    fn score(&self, now: Timestamp) -> f64 {
        /// What a second counts in which the client may just not have come to it.
        const AGE: f64 = 1e-3;
        let closed = self.closed.map_or(0.0, |closed| closed.as_secs_f64());
        let age = AGE * now.since(self.since).as_secs_f64();
        self.conn.eviction_score(now).unwrap_or(0.0).max(closed + age)
    }
}

impl Takers {
    pub(super) fn new(clock: ServiceClock, most: usize) -> Arc<Self> {
        Arc::new(Self { clock, waiting: Mutex::default(), most, ended: AtomicU64::new(0) })
    }

    /// Takes a request in, until [`Takers::leave`] with the number that it gets.
    pub(super) fn wait(&self, request: WaitingRequest) -> u64 {
        let mut waiting = lock(&self.waiting);
        let number = waiting.next;
        waiting.next += 1;
        waiting.requests.insert(number, WaitingRequest { since: self.clock.now(), ..request });
        if waiting.requests.len() > self.most {
            self.end_slowest(&mut waiting, |_| true);
        }
        number
    }

    pub(super) fn leave(&self, number: u64) {
        lock(&self.waiting).requests.remove(&number);
    }

    /// Ends the slowest at this backend. False if none waits.
    pub(super) fn make_room_at(&self, backend: BackendId) -> bool {
        self.end_slowest(&mut lock(&self.waiting), |request| {
            request.held.as_ref().is_some_and(|hold| hold.is_at(backend))
        })
    }

    /// Lets time pass: who has kept its window closed for longer than `limit` is ended.
    pub(super) fn pass(&self, time: Duration, limit: Duration) {
        let mut waiting = lock(&self.waiting);
        waiting.requests.retain(|_, request| {
            let Some(closed) = request.closed.as_mut().filter(|_| !request.conn.is_held_up()) else { return true };
            *closed += time;
            let is_over = *closed > limit;
            if is_over {
                self.end(request);
            }
            !is_over
        });
    }

    /// The number that were ended.
    pub(super) fn ended(&self) -> u64 {
        self.ended.load(Ordering::Relaxed)
    }

    /// Of the source that has most of these, the slowest: a part of them at once, since each search looks at all.
    fn end_slowest(&self, waiting: &mut Waiting, among: impl Fn(&WaitingRequest) -> bool) -> bool {
        /// The divisor of their number.
        const AT_ONCE: usize = 64;
        let mut sources = SourceCounts::default();
        let of = |request: &WaitingRequest| ClientSource::of(request.conn.peer);
        let all = || waiting.requests.iter().filter(|(_, request)| among(request));
        all().for_each(|(_, request)| sources.add(of(request)));
        let most = sources.most();
        let now = self.clock.now();
        let of_greedy = all().filter(|(_, request)| sources.of(of(request)) == most);
        let mut scored: Vec<_> = of_greedy.map(|(number, request)| (request.score(now), *number)).collect();
        let wanted = most.div_ceil(AT_ONCE);
        if wanted == 0 {
            return false;
        }
        scored.select_nth_unstable_by(wanted - 1, |one, other| other.0.total_cmp(&one.0));
        scored.truncate(wanted);
        let ended = scored.iter().filter_map(|(_, number)| waiting.requests.remove(number));
        ended.for_each(|request| self.end(&request));
        true
    }

    fn end(&self, request: &WaitingRequest) {
        self.ended.fetch_add(1, Ordering::Relaxed);
        request.conn.note_slow();
        request.task.end();
    }
}
