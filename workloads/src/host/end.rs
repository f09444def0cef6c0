use std::time::Duration;

use controllers::Timestamp;

use super::Outcome;
use crate::{
    balance::TURNED_BACK,
    measure::Fate,
    persona::{Call, Reply},
};

/// How an exchange ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// The answer is in the inbox.
    Answered,
    /// The connection is there, and nothing else was wanted.
    Connected,
    /// No connection within the connect time-out.
    ConnectTimedOut,
    /// The connection was refused or reset.
    ConnectFailed,
    /// No connection could be made: the process is out of descriptors.
    OutOfDescriptors,
    /// No connection could be made: no local port is left.
    OutOfPorts,
    /// No answer within the time-out.
    TimedOut,
    /// The user's patience ended first.
    GaveUp,
    /// The connection broke, or what came was no HTTP.
    Broken,
    /// The balancer before the service refused it.
    TurnedBack,
}

impl End {
    /// What the user and the ledger are told, where no answer has come on a connection.
    pub(crate) fn without_answer(self) -> Outcome<'static> {
        let (reply, fate) = match self {
            Self::ConnectTimedOut => (Reply::ConnectFailed, Fate::ConnectTimedOut),
            Self::ConnectFailed | Self::OutOfDescriptors | Self::OutOfPorts => {
                (Reply::ConnectFailed, Fate::ConnectFailed)
            }
            Self::Connected => (Reply::Connected, Fate::Served),
            Self::TimedOut => (Reply::TimedOut, Fate::TimedOut),
            Self::GaveUp => (Reply::GaveUp, Fate::Abandoned),
            Self::TurnedBack => (Reply::Answer(TURNED_BACK), Fate::Failed),
            Self::Answered | Self::Broken => (Reply::Broken, Fate::Failed),
        };
        Outcome { reply, fate }
    }
}

/// When the wait for an answer ends, and what it means.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limit {
    pub(crate) at: Timestamp,
    pub(crate) end: End,
}

impl Limit {
    /// Time-out and patience both count from the intended start. `haste`: the share of both that the user waits.
    pub(crate) fn of(timeout: Duration, call: &Call, intended: Timestamp, haste: Option<f64>) -> Self {
        let waits = |planned: Duration| haste.map_or(planned, |share| planned.mul_f64(share));
        let timeout = Self { at: intended + waits(timeout), end: End::TimedOut };
        match call.give_up_after.map(waits) {
            Some(patience) if intended + patience < timeout.at => Self { at: intended + patience, end: End::GaveUp },
            _ => timeout,
        }
    }

    pub(crate) fn passed(self, now: Timestamp) -> Option<End> {
        (now >= self.at).then_some(self.end)
    }
}
