//! A service that is there no more.

use std::time::Duration;

use measure::Window;

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
