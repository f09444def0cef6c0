//! The state that all tasks of a proxy share, and the part of it that may change while it runs.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicBool, Ordering},
    },
};

use tokio::sync::Semaphore;

use super::{
    admission::Admission,
    backend::Backends,
    error::ProxyError,
    observe::Observers,
    page::Pages,
    retry::{Retries, RetryCounts},
    spec::ProxySpec,
    takers::Takers,
    waiting_room::Room,
};
use crate::{clock::ServiceClock, ledger::Ledgers, request::Intake, spec::EdgeSpec, stage::AdmissionGate};

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
    pub(super) observers: Arc<Observers>,
    pub(super) intake: Intake,
    pub(super) retry_counts: RetryCounts,
    settings: RwLock<Arc<Settings>>,
    /// True once new requests are refused, before it stops.
    pub(super) draining: AtomicBool,
}

/// What may change while the proxy runs. A request keeps to the settings that it found.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) spec: ProxySpec,
    pub(super) edge: EdgeSpec,
    pub(super) backends: Arc<Backends>,
    pub(super) retries: Option<Arc<Retries>>,
    pub(super) pages: Pages,
    /// Places for health checks.
    pub(super) checks: Arc<Semaphore>,
}

impl Settings {
    /// Checks settings, and reads what they name. `before`: those in force, if there are any. Needs a runtime.
    ///
    /// # Errors
    /// The first that makes no sense.
    pub(super) fn new(
        spec: ProxySpec,
        clock: ServiceClock,
        takers: &Arc<Takers>,
        before: Option<&Self>,
    ) -> Result<Arc<Self>, ProxyError> {
        let backends = Backends::new(&spec, clock, takers)?;
        let retries = match before.filter(|before| Retries::are_kept(&before.spec, &spec)) {
            Some(before) => before.retries.clone(),
            None => Retries::new(&spec, clock)?,
        };
        let pages = Pages::new(&spec.refusal)?;
        let checks = Arc::new(Semaphore::new(spec.limits.checks.into()));
        Ok(Arc::new(Self { edge: spec.edge(), backends, retries, pages, checks, spec }))
    }
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

    /// Refuses requests from now on, before the proxy stops, and logs that.
    pub(super) fn begin_drain(&self) {
        if !self.draining.swap(true, Ordering::Relaxed) {
            let inside = self.ledgers.users.read().in_flight;
            self.changed("drain", &BTreeMap::from([("requests_inside", inside)]));
        }
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
