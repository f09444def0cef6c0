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
    /// From the start of a request's first attempt to its answer: a family of its own only where a retry was answered, since
    /// else these are the response times. Requests belong to the cell of their first attempt.
    FirstAttempt,
}

impl TimeFamily {
    /// All families.
    pub const ALL: [Self; 7] =
        [Self::Response, Self::Service, Self::Reject, Self::Connect, Self::SendLag, Self::Behind, Self::FirstAttempt];

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
            Self::FirstAttempt => "from-first-attempt",
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

    /// Times from the start of first attempts to the answers.
    pub(super) fn since_first_attempts(&self) -> Option<&Distribution> {
        self.of(TimeFamily::FirstAttempt).or_else(|| self.of(TimeFamily::Response))
    }

    /// The same, which from now on are not the response times.
    pub(super) fn own_from_first_attempts(&mut self) -> &mut Distribution {
        if self.of(TimeFamily::FirstAttempt).is_none() {
            // A user may try for longer than any single time-out.
            let mut times = Distribution::new(Duration::MAX);
            self.of(TimeFamily::Response).into_iter().for_each(|answers| times.add_known(answers));
            self.set(TimeFamily::FirstAttempt, times);
        }
        self.at(TimeFamily::FirstAttempt, Duration::MAX)
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.ledger += other.ledger;
        if [&*self, other].iter().any(|cell| cell.of(TimeFamily::FirstAttempt).is_some()) {
            let times = self.own_from_first_attempts();
            other.since_first_attempts().into_iter().for_each(|theirs| times.add_known(theirs));
        }
        let others = TimeFamily::FirstAttempt as usize;
        for (mine, theirs) in self.families[..others].iter_mut().zip(&other.families[..others]) {
            match (mine, theirs) {
                (_, None) => {}
                (Some(mine), Some(theirs)) => mine.add(theirs),
                (mine, Some(theirs)) => *mine = Some(theirs.clone()),
            }
        }
    }
}
