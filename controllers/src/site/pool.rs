//! The actual and the desired number of workers of a stage.

/// The workers of a stage.
///
/// Hosts can run a task for each worker. Tasks are interchangeable: the first that polls takes the work, or stops.
#[derive(Debug)]
pub(super) struct Pool {
    workers: u32,
    wanted: u32,
    idle: u32,
    /// Removed workers whose tasks have not stopped yet.
    leaving: u32,
}

impl Pool {
    /// A pool of idle workers.
    pub(super) fn new(workers: u32) -> Self {
        let workers = workers.max(1);
        Self { workers, wanted: workers, idle: workers, leaving: 0 }
    }

    pub(super) fn workers(&self) -> u32 {
        self.workers
    }

    pub(super) fn idle(&self) -> u32 {
        self.idle
    }

    /// Sets the number of workers. Idle workers leave at once, busy ones after their batch. Returns the number of tasks
    /// to start, and the number of tasks to stop.
    pub(super) fn resize(&mut self, wanted: u32) -> (u32, u32) {
        self.wanted = wanted.max(1);
        if self.workers < self.wanted {
            let more = self.wanted - self.workers;
            self.workers += more;
            self.idle += more;
            let stay = more.min(self.leaving);
            self.leaving -= stay;
            (more - stay, 0)
        } else {
            let gone = (self.workers - self.wanted).min(self.idle);
            self.idle -= gone;
            self.workers -= gone;
            self.leaving += gone;
            (0, gone)
        }
    }

    /// Makes an idle worker busy. False: none is idle.
    pub(super) fn begin(&mut self) -> bool {
        let any = self.idle > 0;
        self.idle -= u32::from(any);
        any
    }

    /// Makes a busy worker idle, or removes it if the pool has too many.
    pub(super) fn done(&mut self) {
        if self.workers > self.wanted {
            self.workers -= 1;
            self.leaving += 1;
        } else {
            self.idle += 1;
        }
    }

    /// Removes an idle worker because no more work will come.
    pub(super) fn close_one(&mut self) {
        self.idle = self.idle.saturating_sub(1);
        self.workers = self.workers.saturating_sub(1);
    }

    /// Stops the task of one removed worker. False: none is left.
    pub(super) fn leave(&mut self) -> bool {
        let any = self.leaving > 0;
        self.leaving -= u32::from(any);
        any
    }
}
