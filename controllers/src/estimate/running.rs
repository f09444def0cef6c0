//! How many admitted jobs wait, and how many are being worked on.

use std::collections::BTreeSet;

use crate::{JobId, Seen};

/// Follows which jobs are being worked on. What is in flight and not worked on waits in the queue.
///
/// A host that never reports [`Seen::Started`] makes every job look as if it waited until its end.
#[derive(Debug, Default)]
pub(crate) struct Running(BTreeSet<JobId>);

impl Running {
    /// Takes in a fact.
    pub(crate) fn observe(&mut self, seen: &Seen) {
        match seen {
            Seen::Started { id, .. } => drop(self.0.insert(*id)),
            Seen::Ended { id, .. } | Seen::Freed(id) => drop(self.0.remove(id)),
            _ => {}
        }
    }

    /// Jobs that wait, of `in_flight` that are here.
    pub(crate) fn waiting(&self, in_flight: u32) -> u32 {
        in_flight.saturating_sub(u32::try_from(self.0.len()).unwrap_or(u32::MAX))
    }
}
