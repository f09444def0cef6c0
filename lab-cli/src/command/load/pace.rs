//! Whether the rate that `-R` asked for was kept.

use measure::Window;
use serde::Serialize;

/// The share of the requests that may be sent later than the load lasts.
const ALLOWED: f64 = 0.01;

/// Requests that were sent while the load lasted, without its drain.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Pace {
    sent: u64,
}

/// A rate that was not kept because all of `-c` connections were in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct MissedRate {
    /// Requests that were due while the load lasted.
    pub planned: u64,
    /// Of these: sent while it lasted.
    pub sent: u64,
    /// Connections at most.
    pub connections: u64,
}

impl Pace {
    /// The next second. `phases`: how many the load has; what comes after them is its drain.
    pub fn second(&mut self, window: &Window, phases: usize) {
        if window.phase < phases {
            self.sent += window.sent;
        }
    }

    /// The rate that was missed, of `planned` requests. A moment's queue before the connections is none: more must be behind than
    /// there are connections.
    pub fn missed(&self, planned: u64, connections: Option<u64>) -> Option<MissedRate> {
        let (sent, connections) = (self.sent, connections?);
        let behind = planned.saturating_sub(sent);
        let missed = behind > connections && behind as f64 > ALLOWED * planned as f64;
        missed.then_some(MissedRate { planned, sent, connections })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_a_hundredth_and_than_there_are_connections_must_be_behind() {
        let missed = |sent: u64, connections: Option<u64>| Pace { sent }.missed(1000, connections);
        assert_eq!(missed(991, Some(2)), None);
        assert_eq!(missed(970, Some(30)), None, "a moment's queue");
        assert_eq!(missed(969, Some(30)), Some(MissedRate { planned: 1000, sent: 969, connections: 30 }));
        assert_eq!(missed(500, None), None, "without -c nothing waits for a connection");
        assert_eq!(Pace::default().missed(0, Some(1)), None);
    }

    #[test]
    fn what_is_sent_in_the_drain_came_too_late() {
        let mut pace = Pace::default();
        for phase in [0, 1, 2] {
            pace.second(&Window { phase, sent: 40, ..Window::default() }, 2);
        }
        assert_eq!(pace.sent, 80);
    }
}
