use std::sync::{
    Arc,
    atomic::{AtomicU8, Ordering::Relaxed},
};

/// Ends a run from outside (Ctrl-C). Cloning gives another handle on the same flag.
#[derive(Debug, Clone, Default)]
pub struct StopFlag(Arc<AtomicU8>);

impl StopFlag {
    /// Not stopped.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Stops arrivals; requests in flight may end within the plan's drain time, 10 s at most. The report is partial.
    pub fn stop(&self) {
        self.0.fetch_max(1, Relaxed);
    }

    /// Also cuts off requests in flight.
    pub fn stop_now(&self) {
        self.0.fetch_max(2, Relaxed);
    }

    /// True if the run was stopped from outside.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.0.load(Relaxed) > 0
    }

    /// True if requests in flight are to be cut off.
    #[must_use]
    pub fn cuts_off(&self) -> bool {
        self.0.load(Relaxed) > 1
    }
}
