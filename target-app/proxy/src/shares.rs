//! Requests inside by their source, so that no client has all that the backends can do.

use std::sync::{Arc, Mutex};

use live_service::{
    edge::{ClientSource, SourceCounts},
    stage::lock,
};

/// The requests inside.
#[derive(Debug, Default)]
pub(super) struct Shares(Mutex<SourceCounts>);

/// A request's part in its source's share. Dropped, it has ended.
#[derive(Debug)]
pub(super) struct Share {
    shares: Arc<Shares>,
    source: ClientSource,
}

impl Shares {
    /// One of so many for this source; `None`: it has them all.
    pub(super) fn take(self: &Arc<Self>, source: ClientSource, most: u32) -> Option<Share> {
        let mut counts = lock(&self.0);
        if counts.of(source) >= usize::try_from(most).unwrap_or(usize::MAX) {
            return None;
        }
        counts.add(source);
        Some(Share { shares: Arc::clone(self), source })
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        lock(&self.shares.0).remove(self.source);
    }
}
