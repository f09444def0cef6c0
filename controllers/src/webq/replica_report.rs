//! What replicas tell each other once a second (section III-B).

use serde::{Deserialize, Serialize};

use crate::UnixSeconds;

use super::Subunits;

/// The longest booked array, seconds: an hour.
pub(super) const MAX_SECONDS: usize = 3600;

/// The version of reports that this code writes and reads.
pub(super) const VERSION: u8 = 1;

/// A replica of TokenGen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ReplicaId(pub u16);

/// One replica's load and bookings. At most 3600 seconds long: as JSON, 80 kB at the very most.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplicaReport {
    /// The version of this layout.
    pub version: u8,
    /// Who reports.
    pub from: ReplicaId,
    /// The start of the replica's process: a later one has forgotten what the earlier one booked.
    pub started: UnixSeconds,
    /// Rises with each report of a process.
    pub sequence: u64,
    /// The second that `booked` begins with.
    pub second: UnixSeconds,
    /// `L_i`: subunits asked for in the second before, let in or not.
    pub load: Subunits,
    /// `N_i[k]`, without the empty seconds at the end.
    pub booked: Vec<Subunits>,
}

impl ReplicaReport {
    /// Work booked for a second: nothing outside of the report.
    pub(super) fn booked_for(&self, second: u64) -> Subunits {
        let k = second.checked_sub(self.second.0).and_then(|k| usize::try_from(k).ok());
        k.and_then(|k| self.booked.get(k)).copied().unwrap_or_default()
    }
}

/// Why a report was ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ReportRefused {
    /// Written by another version of the lab.
    #[error("report version {0} is not {VERSION}: run the same version of the lab on all replicas")]
    Version(u8),
    /// From a replica that is not in the list, or from this one.
    #[error("replica {} is not in the list of peers", .0.0)]
    Unknown(ReplicaId),
    /// Not newer than the last one.
    #[error("an older report than one that has arrived")]
    Old,
    /// For a second that is too far ahead of this replica's clock.
    #[error("the sender's clock is {0} s ahead: synchronise the clocks of the replicas")]
    Ahead(u64),
    /// Longer than any horizon.
    #[error("a report of {0} s: at most {MAX_SECONDS} s can be booked")]
    TooLong(usize),
}
