//! The processes of the service that is measured, as those see them who watch the machine.

use std::{fmt, sync::Arc};

/// The processes of a service, which may come and go.
#[derive(Clone)]
pub struct ServiceProcesses {
    pids: Arc<dyn Fn() -> Result<Vec<u32>, String> + Send + Sync>,
    /// It runs on another machine.
    pub is_elsewhere: bool,
}

impl ServiceProcesses {
    /// Makes the list from `pids`, which tells them, or the reason why they are not known.
    pub fn new(is_elsewhere: bool, pids: impl Fn() -> Result<Vec<u32>, String> + Send + Sync + 'static) -> Self {
        Self { pids: Arc::new(pids), is_elsewhere }
    }

    /// Process ids at this moment.
    ///
    /// # Errors
    /// The reason why they are not known.
    pub fn pids(&self) -> Result<Vec<u32>, String> {
        (self.pids)()
    }
}

impl fmt::Debug for ServiceProcesses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServiceProcesses").field("is_elsewhere", &self.is_elsewhere).finish_non_exhaustive()
    }
}
