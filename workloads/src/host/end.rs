use crate::{
    balance::TURNED_BACK,
    measure::Fate,
    persona::{Answer, Reply},
};

/// How an exchange ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExchangeEnd {
    /// The answer is in the inbox.
    Answered,
    /// The connection is established, and nothing else was wanted.
    Connected,
    /// No connection within the connect time-out.
    ConnectTimedOut,
    /// The connection was refused or reset.
    ConnectFailed,
    /// No connection could be made: the process is out of descriptors.
    OutOfDescriptors,
    /// No connection could be made: no local port is left.
    OutOfPorts,
    /// The generator's memory for answers was exhausted: this answer was abandoned.
    OutOfMemory,
    /// No answer within the time-out.
    TimedOut,
    /// The user's patience ended first.
    GaveUp,
    /// The connection broke, or the response was not HTTP.
    Broken,
    /// The balancer in front of the service refused the request.
    TurnedBack,
}

impl ExchangeEnd {
    /// True if the exchange may have ended without a wait for the service: a user that goes on at once could do so for
    /// ever, and no other user would have a turn.
    pub fn is_sudden(self) -> bool {
        match self {
            Self::ConnectFailed
            | Self::OutOfDescriptors
            | Self::OutOfPorts
            | Self::OutOfMemory
            | Self::Broken
            | Self::TurnedBack => true,
            Self::Answered | Self::Connected | Self::ConnectTimedOut | Self::TimedOut | Self::GaveUp => false,
        }
    }

    /// The reply to the user and the fate for the ledger, where no answer has come on a connection.
    pub fn without_answer<'a>(self) -> ExchangeOutcome<'a> {
        let (reply, fate) = match self {
            Self::ConnectTimedOut => (Reply::ConnectFailed, Fate::ConnectTimedOut),
            Self::ConnectFailed | Self::OutOfDescriptors | Self::OutOfPorts => {
                (Reply::ConnectFailed, Fate::ConnectFailed)
            }
            Self::Connected => (Reply::Connected, Fate::Served),
            Self::TimedOut => (Reply::TimedOut, Fate::TimedOut),
            Self::GaveUp => (Reply::GaveUp, Fate::Abandoned),
            Self::TurnedBack => (Reply::Answer(TURNED_BACK), Fate::Failed),
            Self::Answered | Self::Broken | Self::OutOfMemory => (Reply::Broken, Fate::Broken),
        };
        let error = match self {
            Self::OutOfDescriptors => Some("no file descriptor is left"),
            Self::OutOfPorts => Some("no local port is left"),
            Self::ConnectFailed => Some("no connection"),
            Self::Broken => Some("the connection broke before the answer was whole"),
            _ => None,
        };
        ExchangeOutcome { end: self, reply, fate, error }
    }
}

/// The result of an exchange.
#[derive(Debug, Clone, Copy)]
pub struct ExchangeOutcome<'a> {
    /// How the exchange ended.
    pub end: ExchangeEnd,
    /// The reply that the user is told.
    pub reply: Reply<'a>,
    /// The fate that the ledger is told, where the user has no answer to judge.
    pub fate: Fate,
    /// The error, where there is no answer and the error has a text.
    pub error: Option<&'a str>,
}

impl<'a> ExchangeOutcome<'a> {
    /// The service has answered; the user judges the answer.
    pub fn answered(answer: Answer<'a>) -> Self {
        Self { end: ExchangeEnd::Answered, reply: Reply::Answer(answer), fate: Fate::Failed, error: None }
    }

    /// Adds the text of the error.
    pub fn because(self, error: &'a str) -> Self {
        Self { error: Some(error), ..self }
    }
}
