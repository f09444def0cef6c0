//! A built service.

use std::sync::{Arc, Mutex};

use service_core::policies::Seating;

use crate::{
    app::LiveApp,
    monitor::Monitors,
    reports::Reports,
    stage::{keep_time, spawn},
};

/// A built service that does not run yet.
#[derive(Debug)]
pub(crate) struct Built {
    pub(crate) app: Arc<LiveApp>,
    pub(crate) seating: Seating,
    pub(crate) monitors: Arc<Monitors>,
    pub(crate) reports: Option<Reports>,
    /// The name of the policy.
    pub(crate) policy: Mutex<String>,
}

impl Built {
    /// Starts stages and timers, on the current runtime.
    pub(crate) fn start(&self) {
        self.app.sites.start();
        spawn(keep_time(Arc::downgrade(&self.monitors)));
    }
}
