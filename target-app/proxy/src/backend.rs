//! The backends: which of them a request goes to, and the kept connections to each.

mod allowance;
pub(super) mod check;
mod connect;
mod driven;
mod health;
mod pool;
mod sender;

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicU64, Ordering},
};

use http::{HeaderMap, Response, request::Parts};
use hyper::body::Incoming;
use live_service::{clock::ServiceClock, stage::lock};
use spec::proxy::ProxySpec;
use workloads::balance::{LOAD_METRICS, LoadReport, Picker};

use self::health::Health;
use connect::Connector;
pub(super) use driven::Driven;
use pool::Pool;
use sender::Sender;

use super::{
    address::Address,
    error::ProxyError,
    takers::{BackendId, Takers},
    upload::Upload,
};

/// The reason that a request got no answer of a backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trouble {
    /// No connection could be made.
    Unreachable,
    /// Every backend has all the connections that it may have.
    Full,
    /// The connection broke before the head of an answer was complete.
    Broken,
    /// The policy of retries lets no attempt go out.
    Withheld,
    /// The head of an answer was not complete in time.
    TooLate,
}

/// How often a request that finds all connections in use may have another one's end.
const ROOM_TRIES: u32 = 4;

/// A request without an answer.
#[derive(Debug)]
pub(super) struct Unanswered {
    pub(super) trouble: Trouble,
    /// The request's body, if no part of the request was sent.
    pub(super) unsent: Option<Upload>,
}

/// All backends.
#[derive(Debug)]
pub(super) struct Backends {
    all: Vec<Arc<Backend>>,
    picker: Mutex<Picker>,
    hears_reports: bool,
    connector: Connector,
    /// The makers of room where a backend has all its connections.
    pub(super) takers: Arc<Takers>,
    clock: ServiceClock,
}

/// One backend.
#[derive(Debug)]
pub(super) struct Backend {
    pub(super) address: Address,
    pool: Pool,
    health: Health,
    pub(super) counts: Arc<BackendCounts>,
}

/// Counts of requests, for as long as the settings name the backend.
#[derive(Debug, Default)]
pub(super) struct BackendCounts {
    /// Requests that it was chosen for.
    pub(super) requests: AtomicU64,
    /// Requests without a whole answer, or with one that says that there is none.
    pub(super) failures: AtomicU64,
}

/// A request's place at a backend, and the connection that it is sent on. Dropped, the connection is closed.
#[derive(Debug)]
pub(super) struct Lease {
    backends: Arc<Backends>,
    index: usize,
    sender: Option<Sender>,
}

impl Backends {
    /// The backends of these settings; `before`: those of the settings in force.
    ///
    /// # Errors
    /// An address that is none.
    pub(super) fn new(
        spec: &ProxySpec,
        clock: ServiceClock,
        takers: &Arc<Takers>,
        before: Option<&Self>,
    ) -> Result<Arc<Self>, ProxyError> {
        if spec.to.is_empty() {
            return Err(ProxyError::setting("to", "no backend; --to http://127.0.0.1:8080 names one"));
        }
        let counted = |url: &String| {
            let same = before?.iter().find(|backend| backend.address.url == *url)?;
            Some(Arc::clone(&same.counts))
        };
        let all = spec.to.iter().map(|url| {
            Ok(Arc::new(Backend {
                address: Address::of(url).map_err(|message| ProxyError::setting("to", message))?,
                pool: Pool::new(spec.limits.backend_connections, spec.timeouts.backend_idle),
                health: Health::new(&spec.health),
                counts: counted(url).unwrap_or_default(),
            }))
        });
        let all = all.collect::<Result<Vec<_>, ProxyError>>()?;
        let picker = Mutex::new(Picker::new(spec.balancer, all.len(), spec.seed));
        let hears_reports = spec.balancer.hears_reports();
        let (connector, takers) = (Connector::new(spec)?, Arc::clone(takers));
        Ok(Arc::new(Self { all, picker, hears_reports, connector, takers, clock }))
    }

    /// Each backend.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Arc<Backend>> {
        self.all.iter()
    }

    /// A place at the backend whose turn it is, among those that are not left out; among all if all are.
    pub(super) fn lease(self: &Arc<Self>) -> Lease {
        self.lease_beside(&[])
    }

    /// A place at another backend than these, or where there is no other, at the one whose turn it is.
    pub(super) fn lease_beside(self: &Arc<Self>, tried: &[usize]) -> Lease {
        let mut picker = lock(&self.picker);
        let index = match self.all.len() {
            1 => 0,
            _ => {
                let now = self.clock.now();
                let takes = |index: usize| self.all[index].health.takes(now);
                let other = |index: usize| !tried.contains(&index) && takes(index);
                let found = if tried.is_empty() { None } else { picker.pick_among(other) };
                found.or_else(|| picker.pick_among(takes)).unwrap_or_else(|| picker.pick())
            }
        };
        picker.took(index);
        drop(picker);
        Lease { backends: Arc::clone(self), index, sender: None }
    }

    /// Takes in what a backend has reported of its load on an answer, if the balancer asks for it.
    fn answered(&self, index: usize, headers: &HeaderMap) {
        if !self.hears_reports {
            return;
        }
        let report = headers.get(LOAD_METRICS).and_then(|value| LoadReport::read(value.as_bytes()));
        report.iter().for_each(|report| lock(&self.picker).reported(index, report));
    }

    async fn connect(&self, backend: &Backend) -> Result<Sender, Trouble> {
        let place = backend.pool.place().ok_or(Trouble::Full)?;
        match self.connector.connect(&backend.address, place).await {
            Ok(sender) => Ok(sender),
            Err(_) => {
                self.failed(backend);
                Err(Trouble::Unreachable)
            }
        }
    }

    fn failed(&self, backend: &Backend) {
        backend.counts.failures.fetch_add(1, Ordering::Relaxed);
        backend.health.failed(self.clock.now());
    }

    /// Closes kept connections that have been idle for too long, or that the other side has ended.
    pub(super) fn sweep(&self) {
        let now = self.clock.now();
        self.all.iter().for_each(|backend| backend.pool.sweep(now));
    }
}

impl Backend {
    /// As answers know it that hold one of its connections, which it outlives.
    pub(super) fn id(self: &Arc<Self>) -> BackendId {
        BackendId(Arc::as_ptr(self).addr())
    }

    /// Connections to it, idle ones included.
    pub(super) fn open(&self) -> u32 {
        self.pool.open()
    }

    /// Connections to it without a request.
    pub(super) fn idle(&self) -> usize {
        self.pool.idle()
    }

    /// Checks of its health so far, by their outcome.
    pub(super) fn checks(&self) -> [(&'static str, u64); 2] {
        self.health.counts()
    }

    /// True while it is left out.
    pub(super) fn is_ejected(&self, clock: ServiceClock) -> bool {
        !self.health.takes(clock.now())
    }
}

impl Lease {
    /// The number of the backend, from 0.
    pub(super) fn index(&self) -> usize {
        self.index
    }

    /// The backend.
    pub(super) fn backend(&self) -> &Arc<Backend> {
        &self.backends.all[self.index]
    }

    /// Sends a request, and waits for the head of the answer.
    ///
    /// A kept connection may have been closed by the backend. A request that hyper hands back was not sent, not even in
    /// part, and goes out on another connection; one that may have been sent is never repeated.
    pub(super) async fn send(
        &mut self,
        mut head: Box<Parts>,
        mut body: Upload,
    ) -> Result<Response<Incoming>, Unanswered> {
        let backend = Arc::clone(self.backend());
        backend.counts.requests.fetch_add(1, Ordering::Relaxed);
        body.goes_to(backend.id());
        let mut makes_room = ROOM_TRIES;
        loop {
            let kept = backend.pool.take(self.backends.clock.now()).await;
            let was_kept = kept.is_some();
            let mut sender = match kept {
                Some(sender) => sender,
                None => {
                    // Boxed: it is rare and large, and this future is moved with each request.
                    let connected = Box::pin(self.backends.connect(&backend)).await;
                    let sender = match connected {
                        Ok(sender) => sender,
                        Err(Trouble::Full) if makes_room > 0 && self.backends.takers.make_room_at(backend.id()) => {
                            makes_room -= 1;
                            Box::pin(backend.pool.freed()).await;
                            continue;
                        }
                        Err(trouble) => return Err(Unanswered { trouble, unsent: Some(body) }),
                    };
                    backend.pool.share(&sender, self.backends.clock.now());
                    sender
                }
            };
            let progress = body.progress();
            match sender.send(head, body).await {
                Ok(response) => {
                    if !backend.health.answered(response.status(), || self.backends.clock.now()) {
                        backend.counts.failures.fetch_add(1, Ordering::Relaxed);
                    }
                    self.backends.answered(self.index, response.headers());
                    self.sender = Some(sender);
                    return Ok(response);
                }
                Err(Some(unsent)) if was_kept => (head, body) = unsent,
                Err(unsent) => {
                    // A client whose own body breaks off says nothing of the backend.
                    if progress.is_none_or(|progress| progress.fault().is_none()) {
                        self.failed(&backend);
                    }
                    let unsent = unsent.map(|(_, body)| body);
                    return Err(Unanswered { trouble: Trouble::Broken, unsent });
                }
            }
        }
    }

    /// The connection that the request is on, if it is for the request's own task to drive it.
    pub(super) fn driven(&mut self) -> Option<&mut Driven> {
        self.sender.as_mut()?.driven()
    }

    /// Gives the connection a task of its own: more goes to the backend than the relaying of its answer drives.
    pub(super) fn detach(&mut self) {
        self.sender.as_mut().map(Sender::detach);
    }

    /// Notes that no answer came, or that it broke off.
    pub(super) fn failed(&self, backend: &Backend) {
        self.backends.failed(backend);
    }

    /// Keeps the connection for another request: the answer was read to its end.
    pub(super) fn keep(mut self) {
        if let Some(sender) = self.sender.take() {
            self.backend().pool.keep(sender, self.backends.clock.now());
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        lock(&self.backends.picker).left(self.index);
    }
}
