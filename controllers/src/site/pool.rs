//! How many workers a stage has, and should have.

/// The workers of a stage.
///
/// Hosts may have a task for each worker. Tasks are alike: whichever looks first takes the work, or the leave.
#[derive(Debug)]
pub(super) struct Pool {
    workers: u32,
    wanted: u32,
    idle: u32,
    /// Workers that count no more, and whose tasks have not heard of it.
    leaving: u32,
}

impl Pool {
    /// So many workers, all idle.
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

    /// Sets the number of workers. Idle ones leave at once, busy ones after their batch. How many tasks have to be started, and how
    /// many have to be told that they may leave.
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

    /// An idle worker becomes busy. False if none is idle.
    pub(super) fn begin(&mut self) -> bool {
        let any = self.idle > 0;
        self.idle -= u32::from(any);
        any
    }

    /// A busy worker is done: it is idle, or leaves if there are too many.
    pub(super) fn done(&mut self) {
        if self.workers > self.wanted {
            self.workers -= 1;
            self.leaving += 1;
        } else {
            self.idle += 1;
        }
    }

    /// An idle worker leaves because there will be no more work.
    pub(super) fn close_one(&mut self) {
        self.idle = self.idle.saturating_sub(1);
        self.workers = self.workers.saturating_sub(1);
    }

    /// One of those that are to leave hears of it. False if nobody is.
    pub(super) fn leave(&mut self) -> bool {
        let any = self.leaving > 0;
        self.leaving -= u32::from(any);
        any
    }
}
