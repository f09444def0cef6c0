//! The backends: which of them a request goes to, and the kept connections to each.

mod check;
mod connect;
mod driven;
mod health;
mod pool;
mod sender;

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicU64, Ordering},
};

use http::{Response, request::Parts};
use hyper::body::Incoming;
use workloads::balance::Picker;

use connect::Connector;
pub(super) use driven::Driven;
use health::Health;
use pool::Pool;
use sender::Sender;

use super::{address::Address, error::ProxyError, spec::ProxySpec, upload::Upload};
use crate::{clock::ServiceClock, stage::lock};

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
}

/// A request without an answer.
#[derive(Debug)]
pub(super) struct Unanswered {
    pub(super) trouble: Trouble,
    /// Its body, if no part of the request was sent.
    pub(super) unsent: Option<Upload>,
}

/// All backends.
#[derive(Debug)]
pub(super) struct Backends {
    all: Vec<Arc<Backend>>,
    picker: Mutex<Picker>,
    connector: Connector,
    clock: ServiceClock,
}

/// One backend.
#[derive(Debug)]
pub(super) struct Backend {
    pub(super) address: Address,
    pool: Pool,
    health: Health,
    /// Requests that were sent to it.
    pub(super) requests: AtomicU64,
    /// Those of them without a complete head of an answer.
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
    /// The backends of these settings, which are checked from now on if the settings say so. Needs a runtime.
    ///
    /// # Errors
    /// An address or a path of checks that is none.
    pub(super) fn new(spec: &ProxySpec, clock: ServiceClock) -> Result<Arc<Self>, ProxyError> {
        if spec.to.is_empty() {
            return Err(ProxyError::setting("to", "no backend; --to http://127.0.0.1:8080 names one"));
        }
        let all = spec.to.iter().map(|url| {
            Ok(Arc::new(Backend {
                address: Address::of(url).map_err(|message| ProxyError::setting("to", message))?,
                pool: Pool::new(spec.limits.backend_connections, spec.timeouts.backend_idle),
                health: Health::new(&spec.health),
                requests: AtomicU64::new(0),
                failures: AtomicU64::new(0),
            }))
        });
        let all = all.collect::<Result<Vec<_>, ProxyError>>()?;
        let picker = Mutex::new(Picker::new(spec.balancer, all.len(), spec.seed));
        let backends = Arc::new(Self { all, picker, connector: Connector::new(spec)?, clock });
        if !spec.health.path.is_empty() {
            if !spec.health.path.starts_with('/') || spec.health.path.parse::<http::uri::PathAndQuery>().is_err() {
                let message = format!("{:?} is not a path; /health is one", spec.health.path);
                return Err(ProxyError::setting("health.path", message));
            }
            check::start(&backends, &spec.health);
        }
        Ok(backends)
    }

    /// Each backend.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Arc<Backend>> {
        self.all.iter()
    }

    /// A place at the backend whose turn it is, among those that are not left out; among all if all are.
    pub(super) fn lease(self: &Arc<Self>) -> Lease {
        let mut picker = lock(&self.picker);
        let index = match self.all.len() {
            1 => 0,
            _ => {
                let now = self.clock.now();
                picker.pick_among(|index| self.all[index].health.takes(now)).unwrap_or_else(|| picker.pick())
            }
        };
        picker.took(index);
        drop(picker);
        Lease { backends: Arc::clone(self), index, sender: None }
    }

    /// A place at another backend than these, or where there is no other, at the one whose turn it is.
    pub(super) fn lease_beside(self: &Arc<Self>, tried: &[usize]) -> Lease {
        if tried.is_empty() || tried.len() >= self.all.len() {
            return self.lease();
        }
        let now = self.clock.now();
        let mut picker = lock(&self.picker);
        let other = picker.pick_among(|index| !tried.contains(&index) && self.all[index].health.takes(now));
        let Some(index) = other else {
            drop(picker);
            return self.lease();
        };
        picker.took(index);
        drop(picker);
        Lease { backends: Arc::clone(self), index, sender: None }
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
        backend.failures.fetch_add(1, Ordering::Relaxed);
        backend.health.failed(self.clock.now());
    }

    /// Closes kept connections that have been idle for too long, or that the other side has ended.
    pub(super) fn sweep(&self) {
        let now = self.clock.now();
        self.all.iter().for_each(|backend| backend.pool.sweep(now));
    }
}

impl Backend {
    /// Connections to it, idle ones included.
    pub(super) fn open(&self) -> u32 {
        self.pool.open()
    }

    /// Connections to it without a request.
    pub(super) fn idle(&self) -> usize {
        self.pool.idle()
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
        backend.requests.fetch_add(1, Ordering::Relaxed);
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
                        Err(trouble) => return Err(Unanswered { trouble, unsent: Some(body) }),
                    };
                    backend.pool.share(&sender, self.backends.clock.now());
                    sender
                }
            };
            match sender.send(head, body).await {
                Ok(response) => {
                    if !backend.health.answered(response.status(), || self.backends.clock.now()) {
                        backend.failures.fetch_add(1, Ordering::Relaxed);
                    }
                    self.sender = Some(sender);
                    return Ok(response);
                }
                Err(Some(unsent)) if was_kept => (head, body) = unsent,
                Err(unsent) => {
                    self.failed(&backend);
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
