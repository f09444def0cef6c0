//! The state that all tasks of a proxy share, and the part of it that may change while it runs.

use std::sync::{Arc, PoisonError, RwLock, atomic::AtomicBool};

use super::{
    admission::Admission,
    backend::Backends,
    error::ProxyError,
    page::Pages,
    spec::{LogLevel, ProxySpec},
};
use crate::{clock::ServiceClock, ledger::Ledgers, request::Intake, spec::EdgeSpec};

/// A proxy as requests meet it.
#[derive(Debug)]
pub(super) struct Proxy {
    pub(super) clock: ServiceClock,
    pub(super) admission: Arc<Admission>,
    pub(super) ledgers: Ledgers,
    pub(super) intake: Intake,
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
    pub(super) pages: Pages,
}

impl Settings {
    /// Checks settings, and reads what they name.
    ///
    /// # Errors
    /// The first that makes no sense.
    pub(super) fn new(spec: ProxySpec, clock: ServiceClock) -> Result<Arc<Self>, ProxyError> {
        not_built_yet(&spec)?;
        let backends = Backends::new(&spec, clock)?;
        let pages = Pages::new(&spec.refusal)?;
        Ok(Arc::new(Self { edge: spec.edge(), backends, pages, spec }))
    }
}

/// Refuses what nothing carries out: a setting without effect would be taken for one that has it.
fn not_built_yet(spec: &ProxySpec) -> Result<(), ProxyError> {
    let asked = [
        ("metrics", spec.metrics.is_some(), "GET /gauges of the control port has the same figures"),
        ("log", spec.log == LogLevel::Requests, "GET /events of the control port has what policies do"),
        ("health.path", !spec.health.path.is_empty(), "backends are left out after failures of requests"),
    ];
    match asked.into_iter().find(|(_, asked, _)| *asked) {
        Some((key, _, instead)) => Err(ProxyError::setting(key, format!("is not built yet; {instead}"))),
        None => Ok(()),
    }
}

impl Proxy {
    pub(super) fn new(
        clock: ServiceClock,
        admission: Arc<Admission>,
        intake: Intake,
        settings: Arc<Settings>,
    ) -> Arc<Self> {
        Arc::new(Self {
            clock,
            admission,
            ledgers: Ledgers::default(),
            intake,
            settings: RwLock::new(settings),
            draining: AtomicBool::new(false),
        })
    }

    /// The settings in force.
    pub(super) fn settings(&self) -> Arc<Settings> {
        Arc::clone(&self.settings.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Puts other settings in force for the requests from now on.
    pub(super) fn set(&self, settings: Arc<Settings>) {
        *self.settings.write().unwrap_or_else(PoisonError::into_inner) = settings;
    }
}
