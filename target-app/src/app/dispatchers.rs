//! The workers of the dispatch stage.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use controllers::{Reason, Refusal};
use tokio::sync::Semaphore;

/// The workers of the dispatch stage and the bound of its queue.
///
/// Dispatch costs about a microsecond, so a hop to a worker task of its own would cost more than the work: the
/// connection's task lends itself as the worker while one of these permits is free, and queues for one otherwise.
#[derive(Debug)]
pub struct Dispatchers {
    permits: Semaphore,
    queue: u32,
    waiting: AtomicU32,
    full: AtomicU64,
}

impl Dispatchers {
    /// This many workers, and a queue of that length.
    #[must_use]
    pub fn new(workers: u32, queue: u32) -> Self {
        let permits = usize::try_from(workers.max(1)).unwrap_or(Semaphore::MAX_PERMITS).min(Semaphore::MAX_PERMITS);
        Self { permits: Semaphore::new(permits), queue, waiting: AtomicU32::new(0), full: AtomicU64::new(0) }
    }

    /// Jobs that wait for a worker.
    #[must_use]
    pub fn waiting(&self) -> u32 {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Workers that are free.
    #[must_use]
    pub fn idle(&self) -> u32 {
        u32::try_from(self.permits.available_permits()).unwrap_or(u32::MAX)
    }

    /// Jobs refused because the queue was full.
    #[must_use]
    pub fn full(&self) -> u64 {
        self.full.load(Ordering::Relaxed)
    }

    pub(super) async fn worker(&self) -> Result<tokio::sync::SemaphorePermit<'_>, Refusal> {
        if let Ok(permit) = self.permits.try_acquire() {
            return Ok(permit);
        }
        if self.waiting.fetch_add(1, Ordering::Relaxed) >= self.queue {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            self.full.fetch_add(1, Ordering::Relaxed);
            return Err(Refusal::new(Reason::QueueFull));
        }
        let waiting = Waiting(&self.waiting);
        let permit = self.permits.acquire().await;
        drop(waiting);
        permit.map_err(|_| Refusal::new(Reason::Draining))
    }
}

struct Waiting<'a>(&'a AtomicU32);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
