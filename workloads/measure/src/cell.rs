//! Counts and times of one phase, part of a phase, request type and class.

use std::time::Duration;

use super::{Distribution, Ledger};

/// The families of times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TimeFamily {
    /// Response time of requests answered as requested: from the planned start, or the intended end of the think time,
    /// to the complete answer, connecting included. Time-outs and abandoned requests are in it as censored times.
    Response,
    /// Service time of the same requests: from the actual send.
    Service,
    /// Response time of requests that the service refused.
    Reject,
    /// Time to connect, where a connection was established; connect time-outs are in it as censored times.
    Connect,
    /// Lateness of the generator: from the intended start to the first act (connect or write).
    SendLag,
    /// In replays: the delay of first attempts behind their recorded times, because their users still waited for an
    /// earlier answer. The generator's own lateness is not included.
    Behind,
}

impl TimeFamily {
    /// All families.
    pub const ALL: [Self; 6] =
        [Self::Response, Self::Service, Self::Reject, Self::Connect, Self::SendLag, Self::Behind];

    /// The family's name in file names.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Response => "response",
            Self::Service => "service",
            Self::Reject => "reject",
            Self::Connect => "connect",
            Self::SendLag => "send-lag",
            Self::Behind => "behind",
        }
    }
}

/// One cell. A distribution is created with its first sample.
#[derive(Debug, Clone, Default)]
pub(super) struct Cell {
    pub(super) ledger: Ledger,
    families: [Option<Box<Distribution>>; TimeFamily::ALL.len()],
}

impl Cell {
    /// A cell with this ledger and without times.
    pub(super) fn with(ledger: Ledger) -> Self {
        Self { ledger, ..Self::default() }
    }

    pub(super) fn of(&self, family: TimeFamily) -> Option<&Distribution> {
        self.families[family as usize].as_deref()
    }

    pub(super) fn set(&mut self, family: TimeFamily, times: Distribution) {
        self.families[family as usize] = Some(Box::new(times));
    }

    pub(super) fn at(&mut self, family: TimeFamily, most: Duration) -> &mut Distribution {
        self.families[family as usize].get_or_insert_with(|| Box::new(Distribution::new(most)))
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.ledger += other.ledger;
        for (mine, theirs) in self.families.iter_mut().zip(&other.families) {
            match (mine, theirs) {
                (_, None) => {}
                (Some(mine), Some(theirs)) => mine.add(theirs),
                (mine, Some(theirs)) => *mine = Some(theirs.clone()),
            }
        }
    }
}
