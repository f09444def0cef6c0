//! Background clients: connections that are kept open, connections that open and close, and health checks. Google SRE,
//! chapter 21, "Load from Connections": what they cost a service can exceed what its requests cost.

use std::{sync::Arc, time::Duration};

use controllers::{Class, Timestamp};
use serde::{Deserialize, Serialize};

use crate::persona::{Answer, Call, Connection, Draws, Ending, Move, Pause, Persona, Purpose, Reply, Turn, Want};

/// The role of a background client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BackgroundRole {
    /// Keeps a connection open, and opens another within two seconds after the service has closed it.
    Idle,
    /// Opens a connection and closes it again.
    Churn {
        /// True to check the service's health before the connection is closed.
        ask: bool,
    },
    /// Checks health periodically.
    Checker {
        /// The period.
        every: Duration,
        /// True to open a new connection for each check.
        anew: bool,
    },
}

/// The path of health checks.
pub const HEALTH: &str = "/health";

/// The period at which a background client checks that its connection is still open.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// A client that sends no requests of users: it keeps or makes connections, or checks health.
#[derive(Debug)]
pub struct BackgroundClient {
    role: BackgroundRole,
    call: Call,
}

impl BackgroundClient {
    /// A client that has not arrived yet.
    #[must_use]
    pub fn new(role: BackgroundRole, class: Class) -> Self {
        let (want, connection) = match role {
            BackgroundRole::Idle => (Want::Connection, Connection::Keep),
            BackgroundRole::Churn { ask } => (if ask { Want::Check } else { Want::Connection }, Connection::Once),
            BackgroundRole::Checker { anew, .. } => {
                (Want::Check, if anew { Connection::Once } else { Connection::Keep })
            }
        };
        let call = Call { want, connection, ..Call::get(class, Arc::from(HEALTH), Arc::from("")) };
        Self { role, call }
    }

    fn ask(&mut self, now: Timestamp) -> Move {
        self.call.wanted_at = now;
        Move::Send(self.call.clone())
    }

    /// The move after a connection or a check, whatever its result.
    fn rest(&self, now: Timestamp) -> Move {
        match self.role {
            BackgroundRole::Idle => Move::Think(LOOK_EVERY, Pause::Thinking),
            BackgroundRole::Churn { .. } => Move::Leave,
            // The period runs from check to check, however long each takes; a check that takes longer is followed by the next at once.
            BackgroundRole::Checker { every, .. } => {
                let pause = (self.call.wanted_at + every).since(now).max(Duration::from_millis(1));
                Move::Think(pause, Pause::Thinking)
            }
        }
    }
}

impl Persona for BackgroundClient {
    fn next(&mut self, last: Reply<'_>, now: Timestamp, draws: &mut Draws) -> Turn {
        let then = match (last, self.role) {
            // Checkers that arrive together spread their first checks over a period.
            (Reply::Start, BackgroundRole::Checker { every, .. }) => {
                Move::Think(every.mul_f64(draws.uniform(Purpose::Think)), Pause::Thinking)
            }
            (Reply::Start | Reply::Woke, _) => self.ask(now),
            _ => self.rest(now),
        };
        let ending = match last {
            Reply::Answer(Answer { status: 200..=399, .. }) => Ending::Served,
            Reply::Answer(Answer { status: 429 | 503, .. }) => Ending::Rejected,
            Reply::Answer(_) => Ending::Failed,
            _ => Ending::Unasked,
        };
        Turn { ending, then }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    fn answer(status: u16) -> Reply<'static> {
        Reply::Answer(Answer::whole(status, &[], b""))
    }

    #[test]
    fn a_checker_asks_at_even_times_whatever_comes_back() {
        let every = Duration::from_secs(10);
        let mut checker = BackgroundClient::new(BackgroundRole::Checker { every, anew: false }, Class(0));
        let mut draws = Draws::new(1, 1);
        let Move::Think(first, _) = checker.next(Reply::Start, at(0), &mut draws).then else {
            panic!("it asks at once")
        };
        assert!(first < every);
        let Move::Send(call) = checker.next(Reply::Woke, at(5_000), &mut draws).then else { panic!("it asks") };
        assert_eq!((call.want, call.connection, &*call.path), (Want::Check, Connection::Keep, "/health"));
        let turn = checker.next(answer(200), at(5_400), &mut draws);
        assert_eq!(turn.ending, Ending::Served);
        assert_eq!(turn.then, Move::Think(Duration::from_millis(9_600), Pause::Thinking));
        checker.next(Reply::Woke, at(15_000), &mut draws);
        let turn = checker.next(answer(503), at(40_000), &mut draws);
        assert_eq!(
            (turn.ending, turn.then),
            (Ending::Rejected, Move::Think(Duration::from_millis(1), Pause::Thinking))
        );
    }

    #[test]
    fn an_idle_one_looks_after_its_connection_and_churn_goes() {
        let mut draws = Draws::new(1, 1);
        let mut idle = BackgroundClient::new(BackgroundRole::Idle, Class(0));
        assert!(matches!(
            idle.next(Reply::Start, at(0), &mut draws).then,
            Move::Send(Call { want: Want::Connection, .. })
        ));
        let then = idle.next(Reply::Connected, at(1), &mut draws).then;
        assert_eq!(then, Move::Think(LOOK_EVERY, Pause::Thinking));
        assert!(matches!(idle.next(Reply::ConnectFailed, at(3), &mut draws).then, Move::Think(..)));
        for (ask, want) in [(false, Want::Connection), (true, Want::Check)] {
            let mut churn = BackgroundClient::new(BackgroundRole::Churn { ask }, Class(0));
            let Move::Send(call) = churn.next(Reply::Start, at(0), &mut draws).then else { panic!("it stays away") };
            assert_eq!((call.want, call.connection), (want, Connection::Once));
            assert_eq!(churn.next(Reply::Connected, at(1), &mut draws).then, Move::Leave);
        }
    }
}
