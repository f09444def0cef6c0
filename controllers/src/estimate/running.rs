//! The numbers of admitted jobs that wait and that are in progress.

use std::collections::BTreeSet;

use crate::{JobId, Seen};

/// Tracks the jobs in progress. Jobs in flight that are not in progress wait in the queue.
///
/// If the host never reports [`Seen::Started`], every job counts as waiting until its end.
#[derive(Debug, Default)]
pub struct RunningJobs(BTreeSet<JobId>);

impl RunningJobs {
    /// Receives a fact.
    pub fn observe(&mut self, seen: &Seen) {
        match seen {
            Seen::Started { id, .. } => drop(self.0.insert(*id)),
            Seen::Ended { id, .. } | Seen::Freed(id) => drop(self.0.remove(id)),
            _ => {}
        }
    }

    /// Waiting jobs among `in_flight` jobs.
    pub fn waiting(&self, in_flight: u32) -> u32 {
        in_flight.saturating_sub(u32::try_from(self.0.len()).unwrap_or(u32::MAX))
    }
}
