//! The kept connections to one backend.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use controllers::Timestamp;
use live_service::stage::lock;
use tokio::sync::Notify;

use super::sender::Sender;

#[derive(Debug)]
pub(super) struct Pool {
    /// Connections without a request, the one used last at the end: those not needed grow old.
    idle: Mutex<Vec<(Sender, Timestamp)>>,
    open: Arc<OpenConnections>,
    most: u32,
    keep: Duration,
}

#[derive(Debug, Default)]
struct OpenConnections {
    count: AtomicU32,
    /// Told when one of them can take a request, or makes room for another.
    freed: Notify,
}

/// The place of an open connection; dropped when its task ends.
#[derive(Debug)]
pub(super) struct OpenConnection(Arc<OpenConnections>);

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.count.fetch_sub(1, Ordering::Relaxed);
        self.0.freed.notify_one();
    }
}

/// The most that are kept without a request. A steady load needs few: each is taken again at once.
const MOST_IDLE: usize = 128;

/// The longest wait for one whose request was ended.
const ENDS: Duration = Duration::from_millis(100);

impl Pool {
    pub(super) fn new(most: u32, keep: Duration) -> Self {
        Self { idle: Mutex::default(), open: Arc::default(), most, keep }
    }

    /// A place for another connection; `None`: there are as many as there may be.
    pub(super) fn place(&self) -> Option<OpenConnection> {
        let more = |open| (open < self.most).then_some(open + 1);
        self.open.count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok()?;
        Some(OpenConnection(Arc::clone(&self.open)))
    }

    /// Waits a moment for a connection, or the place of one.
    pub(super) async fn freed(&self) {
        let _ = tokio::time::timeout(ENDS, self.open.freed.notified()).await; // whoever comes too late finds out
    }

    /// A place beside the limit, for a check.
    pub(super) fn extra_place(&self) -> OpenConnection {
        self.open.count.fetch_add(1, Ordering::Relaxed);
        OpenConnection(Arc::clone(&self.open))
    }

    /// A connection that can take a request.
    pub(super) async fn take(&self, now: Timestamp) -> Option<Sender> {
        loop {
            let (mut sender, since) = lock(&self.idle).pop()?;
            // The others are older still.
            if now.since(since) > self.keep {
                lock(&self.idle).clear();
                return None;
            }
            if let Some(shared) = sender.shared() {
                lock(&self.idle).push((shared, now));
            }
            if sender.is_usable().await {
                return Some(sender);
            }
        }
    }

    /// Offers a connection that several requests share to others.
    pub(super) fn share(&self, sender: &Sender, now: Timestamp) {
        if let Some(shared) = sender.shared() {
            lock(&self.idle).push((shared, now));
        }
    }

    /// Takes a connection back.
    pub(super) fn keep(&self, mut sender: Sender, now: Timestamp) {
        let mut idle = lock(&self.idle);
        if idle.len() < MOST_IDLE && sender.rests() && !self.keep.is_zero() {
            idle.push((sender, now));
            self.open.freed.notify_one();
        }
    }

    /// Closes what has been idle for too long.
    pub(super) fn sweep(&self, now: Timestamp) {
        lock(&self.idle).retain_mut(|(sender, since)| now.since(*since) <= self.keep && !sender.is_closed());
    }

    pub(super) fn open(&self) -> u32 {
        self.open.count.load(Ordering::Relaxed)
    }

    pub(super) fn idle(&self) -> usize {
        lock(&self.idle).len()
    }
}
