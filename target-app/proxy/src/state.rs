//! The state that all tasks of a proxy share, and the part of it that may change while it runs.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicBool, Ordering},
    },
};

use controllers::{Reason, catalogue::PolicySpec};
use live_service::{clock::ServiceClock, edge::cap, stage::AdmissionGate};
use service_core::{ledger::Ledgers, request::Intake};
use spec::{EdgeSpec, proxy::ProxySpec};
use tokio::sync::Semaphore;

use super::{
    admission::Admission,
    backend::{Backends, check},
    checks,
    error::ProxyError,
    observe::Observers,
    page::Pages,
    retry::{Retries, RetryCounts},
    shares::Shares,
    takers::Takers,
    tls::{self, Acceptor},
    waiting_room::Room,
};

/// A proxy as requests meet it.
#[derive(Debug)]
pub(super) struct Proxy {
    pub(super) clock: ServiceClock,
    pub(super) admission: Arc<Admission>,
    pub(super) room: Option<Arc<Room>>,
    /// The gate of a policy at accept, which decides about connections.
    pub(super) accept: Arc<AdmissionGate>,
    pub(super) ledgers: Ledgers,
    pub(super) takers: Arc<Takers>,
    pub(super) shares: Arc<Shares>,
    pub(super) observers: Arc<Observers>,
    pub(super) intake: Intake,
    pub(super) retry_counts: RetryCounts,
    settings: RwLock<Arc<Settings>>,
    /// True once new requests are refused, before it stops.
    pub(super) draining: AtomicBool,
}

/// Settings that may change while the proxy runs. A request keeps to the settings that it found.
#[derive(Debug, Clone)]
pub(super) struct Settings {
    pub(super) spec: ProxySpec,
    pub(super) edge: EdgeSpec,
    pub(super) backends: Arc<Backends>,
    pub(super) retries: Option<Arc<Retries>>,
    pub(super) pages: Pages,
    /// Places for health checks.
    pub(super) checks: Arc<Semaphore>,
    /// The listener's side of TLS.
    pub(super) tls: Option<Acceptor>,
}

impl Settings {
    /// Checks settings, and reads what they name. `before`: those in force, if there are any. Needs a runtime.
    ///
    /// # Errors
    /// Everything that makes no sense, each with its key.
    pub(super) fn new(spec: ProxySpec, clock: ServiceClock, before: Option<&Self>) -> Result<Arc<Self>, Vec<String>> {
        let mut found = checks::problems(&spec);
        let takers = match before {
            Some(before) => Arc::clone(&before.backends.takers),
            None => Takers::new(clock, spec.edge().most_slow_clients(most_connections(&spec))),
        };
        let backends = match before.filter(|before| keeps_backends(&before.spec, &spec)) {
            Some(before) => Some(Arc::clone(&before.backends)),
            None => {
                let made = Backends::new(&spec, clock, &takers, before.map(|before| &*before.backends));
                note(&mut found, made.inspect(|backends| check::start(backends, &spec.health)))
            }
        };
        let retries = match before.filter(|before| Retries::are_kept(&before.spec, &spec)) {
            Some(before) => Some(before.retries.clone()),
            None => note(&mut found, Retries::new(&spec, clock)),
        };
        let pages = note(&mut found, Pages::new(&spec.refusal));
        let tls = spec.tls.as_ref().map(|tls| tls::acceptor(tls, spec.limits.streams > 0));
        let tls = note(&mut found, tls.transpose());
        match (backends, retries, pages, tls) {
            (Some(backends), Some(retries), Some(pages), Some(tls)) if found.is_empty() => {
                let checks = Arc::new(Semaphore::new(spec.limits.checks.into()));
                Ok(Arc::new(Self { edge: spec.edge(), backends, retries, pages, checks, tls, spec }))
            }
            _ => Err(found.iter().map(|problem| checks::in_words(problem)).collect()),
        }
    }

    /// The same with another policy.
    pub(super) fn with_policy(&self, policy: &PolicySpec) -> Arc<Self> {
        Arc::new(Self { spec: ProxySpec { policy: policy.clone(), ..self.spec.clone() }, ..self.clone() })
    }
}

/// The result, or a note of the problems.
fn note<T>(found: &mut Vec<String>, made: Result<T, ProxyError>) -> Option<T> {
    made.map_err(|problem| {
        for line in problem.to_string().lines() {
            if !found.iter().any(|known| known == line) {
                found.push(line.to_owned());
            }
        }
    })
    .ok()
}

/// True if nothing changes that concerns backends: they keep their connections, their health and their counts. A file of
/// certificates is read again.
fn keeps_backends(old: &ProxySpec, new: &ProxySpec) -> bool {
    let beside = ProxySpec {
        policy: old.policy.clone(),
        dry_run: old.dry_run,
        types: old.types,
        refusal: old.refusal.clone(),
        retries: old.retries.clone(),
        headers: old.headers.clone(),
        waiting_room: old.waiting_room.clone(),
        tls: old.tls.clone(),
        log: old.log,
        ..new.clone()
    };
    beside == *old && new.backend_ca.is_none()
}

impl Proxy {
    pub(super) fn new(
        clock: ServiceClock,
        (admission, accept): (Arc<Admission>, Arc<AdmissionGate>),
        observers: Arc<Observers>,
        intake: Intake,
        settings: Arc<Settings>,
        room: Option<Arc<Room>>,
    ) -> Arc<Self> {
        Arc::new(Self {
            clock,
            admission,
            room,
            accept,
            ledgers: Ledgers::default(),
            takers: Arc::clone(&settings.backends.takers),
            shares: Arc::default(),
            observers,
            intake,
            retry_counts: RetryCounts::default(),
            settings: RwLock::new(settings),
            draining: AtomicBool::new(false),
        })
    }

    /// The settings in force.
    pub(super) fn settings(&self) -> Arc<Settings> {
        Arc::clone(&self.settings.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Refuses requests from now on, before the proxy stops, and logs that. Returns the number of requests inside.
    pub(super) fn begin_drain(&self) -> u64 {
        let inside = self.ledgers.users.read().in_flight;
        if !self.draining.swap(true, Ordering::Relaxed) {
            self.changed("drain", &BTreeMap::from([("requests_inside", inside)]));
        }
        inside
    }

    /// Logs what has become of the requests that were inside when the proxy was to stop, and of those that came later.
    pub(super) fn drained(&self, inside: u64) {
        let books = self.ledgers.users.read();
        let cut = books.in_flight.min(inside);
        let refused = books.refused.get(Reason::Draining.name()).copied().unwrap_or(0);
        let says = [("requests_inside", inside), ("ended", inside - cut), ("cut", cut), ("refused", refused)];
        self.changed("drained", &BTreeMap::from(says));
    }

    /// Logs a change of the proxy.
    pub(super) fn changed(&self, event: &str, says: &impl serde::Serialize) {
        self.observers.changed(self.settings().spec.log, event, says);
    }

    /// Puts other settings in force for the requests from now on.
    pub(super) fn set(&self, settings: Arc<Settings>) {
        *self.settings.write().unwrap_or_else(PoisonError::into_inner) = settings;
    }
}

/// The largest number of connections of clients: a request needs two descriptors, its client's connection and its backend's.
pub(super) fn most_connections(spec: &ProxySpec) -> usize {
    let edge = spec.edge();
    if edge.connections > 0 { cap(&edge) } else { (cap(&edge) / 2).max(1) }
}
