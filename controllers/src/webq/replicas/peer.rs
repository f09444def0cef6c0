//! One other replica, as this one knows it.

use crate::UnixSeconds;

use super::super::{
    Subunits,
    replica_report::{MAX_SECONDS, ReplicaId, ReplicaReport},
    slots::Slots,
};

/// How recently a peer was heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hearing {
    /// A report has arrived in this second: all who heard it know the same load.
    Fresh,
    /// Its report is on its way, or it was cut off: it keeps its last share.
    Late,
    /// It keeps its reserved minimum.
    Lost,
}

/// Seconds without a report after which a replica no longer counts a peer for its majority. Shorter than
/// [`LOST_AFTER_S`]: those who are cut off shrink to their minimum before the others use what they had, with two seconds
/// for clocks that differ and reports on their way.
const CUT_OFF_AFTER_S: u64 = 2;

/// Seconds without a report after which a peer has but its reserved minimum.
const LOST_AFTER_S: u64 = 4;

#[derive(Debug)]
pub(super) struct Peer {
    pub(super) id: ReplicaId,
    last: Option<ReplicaReport>,
    /// When its last report arrived, by this replica's clock.
    heard_at: u64,
    /// What earlier processes of this replica booked: their users come all the same.
    inherited: Option<Slots>,
    /// `S_j` when all shares were last computed, of the capacity of then.
    pub(super) share: Subunits,
}

impl Peer {
    pub(super) fn new(id: ReplicaId) -> Self {
        Self { id, last: None, heard_at: 0, inherited: None, share: Subunits::ZERO }
    }

    /// Takes a report; false if it is not newer than the last.
    pub(super) fn hear(&mut self, now: UnixSeconds, report: ReplicaReport) -> bool {
        if let Some(last) = &self.last {
            if (report.started, report.sequence) <= (last.started, last.sequence) {
                return false;
            }
            if report.started != last.started {
                self.inherit(now);
            }
        }
        self.last = Some(report);
        self.heard_at = now.0;
        true
    }

    pub(super) fn hearing(&self, now: u64) -> Hearing {
        match self.silent_s(now) {
            Some(0) => Hearing::Fresh,
            Some(1..=LOST_AFTER_S) => Hearing::Late,
            _ => Hearing::Lost,
        }
    }

    /// True if it counts for a majority.
    pub(super) fn is_heard(&self, now: u64) -> bool {
        self.silent_s(now).is_some_and(|silent| silent <= CUT_OFF_AFTER_S)
    }

    /// `L_j` of its last report.
    pub(super) fn load(&self) -> Subunits {
        self.last.as_ref().map_or(Subunits::ZERO, |report| report.load)
    }

    /// `N_j[k]`, with what its earlier processes booked.
    pub(super) fn booked(&self, second: u64) -> Subunits {
        let inherited = self.inherited.as_ref().map_or(Subunits::ZERO, |slots| slots.get(second));
        self.last.as_ref().map_or(Subunits::ZERO, |report| report.booked_for(second)) + inherited
    }

    fn silent_s(&self, now: u64) -> Option<u64> {
        self.last.as_ref().map(|_| now.saturating_sub(self.heard_at))
    }

    fn inherit(&mut self, now: UnixSeconds) {
        let Some(last) = self.last.take() else { return };
        let slots = self.inherited.get_or_insert_with(|| Slots::new(MAX_SECONDS));
        slots.advance(now.0);
        for (k, work) in last.booked.iter().enumerate() {
            slots.add(last.second.0.saturating_add(k as u64), *work);
        }
    }
}
