//! Counts and times of one phase, part of a phase, request type and class.

use std::time::Duration;

use super::{Distribution, Ledger};

/// Which times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TimeFamily {
    /// Response time of what was answered as asked: from the planned start, or the intended end of the think time, to the
    /// whole answer, connecting included. What timed out or was given up is in it as censored.
    Response,
    /// Service time of the same: from the actual send.
    Service,
    /// Response time of what the service refused.
    Reject,
    /// Time to connect, where a connection was made; connect time-outs are in it as censored.
    Connect,
    /// How late the generator began: from the intended start to the first act (connect or write).
    SendLag,
    /// In replays: how long after its recorded time a request was begun to be wanted of the service, because its user was still
    /// at the one before. Of first attempts; the generator's own lateness is not in it.
    Behind,
}

impl TimeFamily {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Response, Self::Service, Self::Reject, Self::Connect, Self::SendLag, Self::Behind];

    /// Its name in file names.
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

/// One cell. Distributions are made with their first sample.
#[derive(Debug, Clone, Default)]
pub(super) struct Cell {
    pub(super) ledger: Ledger,
    families: [Option<Box<Distribution>>; TimeFamily::ALL.len()],
}

impl Cell {
    /// Without times.
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
