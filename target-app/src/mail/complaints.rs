//! What the operator is told: enough to see what is wrong, and never so much that telling costs more than working. A full
//! disk under load fails every request.

use std::{
    fmt,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

/// Lines a second, at most.
const MOST: u32 = 5;
const WINDOW: Duration = Duration::from_secs(1);

/// Writes lines to standard error, a few a second.
#[derive(Debug, Default)]
pub struct Complaints(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    since: Option<Instant>,
    said: u32,
    unsaid: u64,
}

impl Complaints {
    /// Says it, unless enough has been said this second. What was not said is counted, and the count said with the next.
    pub fn say(&self, what: &dyn fmt::Display) {
        let Some(unsaid) = self.turn(Instant::now()) else { return };
        match unsaid {
            0 => eprintln!("{what}"),
            more => eprintln!("{what} (and {more} more)"),
        }
    }

    /// How many were not said since the last that was, if this one may be.
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
        let complaints = Complaints::default();
        let start = Instant::now();
        let turns: Vec<_> = (0..8).map(|_| complaints.turn(start)).collect();
        assert_eq!(turns, [Some(0), Some(0), Some(0), Some(0), Some(0), None, None, None]);
        assert_eq!(complaints.turn(start + WINDOW), Some(3));
        assert_eq!(complaints.turn(start + WINDOW), Some(0));
    }
}
