//! The test whether a load kept the rate that was asked for, and whether the service is there at all.

use std::time::Duration;

use measure::{Report, Window};
use serde::Serialize;

/// The share of the requests that may be sent after the last one was due, or not at all.
const ALLOWED: f64 = 0.01;

/// Counts requests that were sent after the last one was due.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    /// The first whole second in which none is due.
    over: u64,
    /// The second after the last one that was counted.
    next: u64,
    late: u64,
}

/// A rate that was not kept: all of `-c` connections were in use, or the generator cannot send so many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct MissedRate {
    /// Requests that were due.
    pub planned: u64,
    /// Requests, of these, that were sent until the last one was due, to the second.
    pub sent: u64,
    /// Connections at most, if all of them were in use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connections: Option<u64>,
}

/// Ends of requests, as far as they tell whether the rate was kept.
#[derive(Debug, Clone, Copy)]
pub(super) struct Counted {
    pub planned: u64,
    pub sent: u64,
    /// For which no connection became free in time.
    pub never_free: u64,
    /// Requests that waited for one.
    pub waited: u64,
    /// Sent in the last second, as far as it was not handed over.
    pub sent_last: u64,
    /// Never begun: the generator was not quick enough.
    pub unsent: u64,
    /// It was behind by seconds.
    pub behind: bool,
}

/// The generator's lateness that makes what it sends after the end its own doing: whole seconds are compared.
const BEHIND: Duration = Duration::from_secs(1);

impl Counted {
    /// Counts the requests of a report; `waited`: those that waited for a connection.
    pub fn of(report: &Report, waited: u64) -> Self {
        let total = &report.total.measured;
        let sent_last = report.last_second().map_or(0, |last| last.sent);
        Self {
            planned: total.planned,
            sent: total.sent,
            never_free: total.refused_locally,
            waited,
            sent_last,
            unsent: total.unsent,
            behind: report.generator.send_lag_p99_ms.is_some_and(|lag| lag > BEHIND.as_secs_f64() * 1e3),
        }
    }
}

impl Pace {
    /// Starts the counts of a load whose last request is due after `seconds`.
    pub fn of(seconds: f64) -> Self {
        Self { over: seconds.ceil() as u64, next: 0, late: 0 }
    }

    /// So many were sent in this second.
    pub fn second(&mut self, second: u64, sent: u64) {
        self.next = second + 1;
        self.late += if second >= self.over { sent } else { 0 };
    }

    /// The rate that was missed. A moment's queue before the connections is none: more must be behind than there are connections.
    pub fn missed(&self, counted: Counted, connections: Option<u64>) -> Option<MissedRate> {
        let Counted { planned, sent, never_free, waited, sent_last, unsent, behind } = counted;
        let late = self.late + if self.next >= self.over { sent_last } else { 0 };
        let connections = connections.filter(|_| waited > 0);
        let missing = match connections {
            Some(_) => late + never_free,
            None if behind => late + unsent,
            None => unsent,
        };
        let missed = missing > connections.unwrap_or(0) && missing as f64 > ALLOWED * planned as f64;
        missed.then_some(MissedRate { planned, sent: sent.saturating_sub(late), connections })
    }
}

/// A count of requests, without a rate, is given up after so long in a row without a connection or an answer. The requests that
/// find no connection count too, but users back off, and the rest of them could take hours.
pub(super) const GIVES_UP_AFTER: Duration = Duration::from_secs(5);

/// Counts seconds in a row in which no connection was there and no answer came.
#[derive(Debug, Default)]
pub(super) struct Silence {
    seconds: u64,
}

impl Silence {
    /// One more second is over. True if it has been silent for [`GIVES_UP_AFTER`].
    ///
    /// A request that is open has a connection, however long its answer takes: its time-out ends it.
    pub(super) fn lasts(&mut self, second: &Window) -> bool {
        let answers = second.served + second.late + second.rejected + second.failed;
        let is_there = second.sent + second.in_flight + answers > 0;
        self.seconds = if is_there { 0 } else { self.seconds + 1 };
        self.seconds >= GIVES_UP_AFTER.as_secs()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNTED: Counted =
        Counted { planned: 1000, sent: 1000, never_free: 0, waited: 1, sent_last: 0, unsent: 0, behind: false };

    /// 1000 requests in ten seconds, of which so many are sent in the two after them.
    fn missed(late: u64, never_free: u64, connections: Option<u64>) -> Option<MissedRate> {
        let mut pace = Pace::of(10.0);
        let in_time = 1000 - late - never_free;
        (0..10).for_each(|second| pace.second(second, in_time / 10));
        pace.second(10, late / 2);
        let sent = 1000 - never_free;
        pace.missed(Counted { sent, never_free, sent_last: late - late / 2, ..COUNTED }, connections)
    }

    #[test]
    fn more_than_a_hundredth_and_than_there_are_connections_must_be_behind() {
        assert_eq!(missed(10, 0, Some(2)), None);
        assert_eq!(missed(20, 10, Some(30)), None, "a moment's queue");
        assert_eq!(missed(21, 10, Some(30)), Some(MissedRate { planned: 1000, sent: 969, connections: Some(30) }));
        assert_eq!(missed(0, 500, Some(2)), Some(MissedRate { planned: 1000, sent: 500, connections: Some(2) }));
        assert_eq!(missed(500, 0, None), None, "without -c nothing waits for a connection");
    }

    #[test]
    fn a_part_of_a_second_at_the_end_belongs_to_the_load() {
        let counted = Counted { planned: 150, sent: 150, sent_last: 50, ..COUNTED };
        let mut pace = Pace::of(1.5);
        pace.second(0, 100);
        assert_eq!(pace.missed(counted, Some(2)), None);
        // Half a second, of which no second was whole.
        assert_eq!(Pace::of(0.5).missed(Counted { sent_last: 150, ..counted }, Some(2)), None);
    }

    #[test]
    fn what_did_not_wait_for_a_connection_is_another_matter() {
        let mut pace = Pace::of(1.0);
        pace.second(0, 100);
        let counted = Counted { sent: 100, waited: 0, ..COUNTED };
        assert_eq!(pace.missed(counted, Some(2)), None, "the service refused the others");
    }

    #[test]
    fn a_generator_that_is_not_quick_enough_misses_the_rate_without_any_limit() {
        let mut pace = Pace::of(1.0);
        pace.second(0, 400);
        pace.second(1, 300);
        let missed = |unsent, behind| {
            let counted = Counted { sent: 1000 - unsent, unsent, waited: 0, behind, ..COUNTED };
            pace.missed(counted, None).map(|missed| (missed.sent, missed.connections))
        };
        assert_eq!(missed(300, true), Some((400, None)));
        assert_eq!(missed(11, false), Some((689, None)));
        assert_eq!((missed(10, false), missed(0, true)), (None, Some((700, None))));
    }
}

#[cfg(test)]
mod silence_tests {
    use super::*;

    fn dead() -> Window {
        Window { connect_failed: 16, ..Window::default() }
    }

    #[test]
    fn five_seconds_in_a_row_are_silence_and_four_with_any_sign_of_the_service_are_not() {
        let signs = [
            Window { sent: 1, ..dead() },
            Window { in_flight: 1, ..dead() },
            Window { served: 1, ..dead() },
            Window { late: 1, ..dead() },
            Window { rejected: 1, ..dead() },
            Window { failed: 1, ..dead() },
        ];
        let mut silence = Silence::default();
        for sign in &signs {
            for _ in 0..4 {
                assert!(!silence.lasts(&dead()));
            }
            assert!(!silence.lasts(sign), "{sign:?}");
        }
        let told: Vec<bool> = (0..5).map(|_| silence.lasts(&dead())).collect();
        assert_eq!(told, [false, false, false, false, true]);
    }
}
