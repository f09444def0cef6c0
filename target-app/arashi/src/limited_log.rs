//! Messages to the operator, limited to a few a second: a full disk under load fails every request.

use std::{
    fmt,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

/// The largest number of lines a second.
const MOST: u32 = 5;
const WINDOW: Duration = Duration::from_secs(1);

/// Writes lines to standard error, a few a second.
#[derive(Debug, Default)]
pub struct LimitedLog(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    since: Option<Instant>,
    said: u32,
    unsaid: u64,
}

impl LimitedLog {
    /// Writes the message, unless enough have been written this second. Suppressed messages are counted, and the count
    /// is written with the next.
    pub fn write(&self, what: &dyn fmt::Display) {
        let Some(unsaid) = self.turn(Instant::now()) else { return };
        match unsaid {
            0 => eprintln!("{what}"),
            more => eprintln!("{what} (and {more} more)"),
        }
    }

    /// The number of messages suppressed since the last one, if this one may be written.
    fn turn(&self, now: Instant) -> Option<u64> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.since.is_none_or(|since| now.saturating_duration_since(since) >= WINDOW) {
            (state.since, state.said) = (Some(now), 0);
        }
        if state.said == MOST {
            state.unsaid += 1;
            return None;
        }
        state.said += 1;
        Some(std::mem::take(&mut state.unsaid))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_a_second_are_said_and_the_rest_is_counted() {
        let log = LimitedLog::default();
        let start = Instant::now();
        let turns: Vec<_> = (0..8).map(|_| log.turn(start)).collect();
        assert_eq!(turns, [Some(0), Some(0), Some(0), Some(0), Some(0), None, None, None]);
        assert_eq!(log.turn(start + WINDOW), Some(3));
        assert_eq!(log.turn(start + WINDOW), Some(0));
    }
}
