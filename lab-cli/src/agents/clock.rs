//! How far two clocks are apart, from questions and answers: each clock counts from a beginning of its own.

use std::time::Duration;

/// A question that left and an answer that came by one clock, and the other clock in between; all since their beginnings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockReading {
    pub asked: Duration,
    pub heard: Duration,
    pub theirs: Duration,
}

/// The difference of two clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockOffset {
    /// Their clock ahead of ours, in nanoseconds.
    pub ahead_ns: i64,
    /// The most by which that is wrong: the answer was given at some moment between question and answer.
    pub error: Duration,
}

impl ClockReading {
    fn offset(self) -> ClockOffset {
        let half = self.heard.saturating_sub(self.asked) / 2;
        let middle = self.asked + half;
        let ns = |time: Duration| i64::try_from(time.as_nanos()).unwrap_or(i64::MAX);
        ClockOffset { ahead_ns: ns(self.theirs) - ns(middle), error: half }
    }
}

impl ClockOffset {
    /// From the reading with the shortest round trip; `None`: there is none.
    pub fn of(readings: impl IntoIterator<Item = ClockReading>) -> Option<Self> {
        readings.into_iter().map(ClockReading::offset).min_by_key(|offset| offset.error)
    }

    /// What their clock says when ours says this; zero where it had not begun.
    pub fn theirs(self, ours: Duration) -> u64 {
        let ours = i64::try_from(ours.as_nanos()).unwrap_or(i64::MAX);
        u64::try_from(ours.saturating_add(self.ahead_ns)).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// A clock `ahead` of ours, over a way of so many milliseconds there and back.
    fn reading(asked: u64, there: u64, back: u64, ahead: u64) -> ClockReading {
        ClockReading { asked: ms(asked), heard: ms(asked + there + back), theirs: ms(asked + there + ahead) }
    }

    #[test]
    fn the_shortest_round_trip_tells_and_its_half_bounds_the_error() {
        let found = ClockOffset::of([reading(0, 9, 21, 500), reading(50, 2, 2, 500), reading(90, 0, 8, 500)]);
        assert_eq!(found, Some(ClockOffset { ahead_ns: 500_000_000, error: ms(2) }));
        assert_eq!(ClockOffset::of([]), None);
        // 5 ms there, 35 ms back: 15 ms wrong, and 20 ms stated.
        let skewed = ClockOffset::of([reading(0, 5, 35, 500)]).expect("a reading");
        assert_eq!((skewed.ahead_ns, skewed.error), (485_000_000, ms(20)));
    }

    #[test]
    fn a_moment_of_ours_is_told_by_their_clock() {
        let behind = ClockOffset { ahead_ns: -300_000_000, error: ms(1) };
        assert_eq!(behind.theirs(ms(1000)), 700_000_000);
        assert_eq!(behind.theirs(ms(100)), 0, "it had not begun");
    }
}
