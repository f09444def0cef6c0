//! Progress of a search, and the time that it will take, on standard error.

use std::{
    io::{self, Write},
    time::{Duration, Instant},
};

use analysis::text::long_time;

/// Between two lines.
const EVERY: Duration = Duration::from_secs(2);
/// Between two lines that say the same.
const STILL: Duration = Duration::from_secs(20);

/// Counts runs.
#[derive(Debug)]
pub struct SearchProgress {
    began: Instant,
    told: Instant,
    done: usize,
    /// Runs that were done when a line was told.
    done_told: usize,
    /// All runs, as far as their number is known.
    all: usize,
}

impl SearchProgress {
    /// Starts at none of so many runs.
    pub fn new(all: usize) -> Self {
        let now = Instant::now();
        Self { began: now, told: now, done: 0, done_told: 0, all }
    }

    /// A run ended.
    pub fn step(&mut self) {
        self.done += 1;
        self.tell();
    }

    /// A run was found in the journal, and need not be done.
    pub fn skip(&mut self) {
        self.all = self.all.saturating_sub(1).max(self.done);
    }

    /// A line, if it is time for one.
    pub fn tell(&mut self) {
        if self.told.elapsed() < if self.done > self.done_told { EVERY } else { STILL } {
            return;
        }
        (self.told, self.done_told) = (Instant::now(), self.done);
        // Nobody may be reading; the search goes on.
        let _ = writeln!(io::stderr(), "{}", line(self.done, self.all, self.began.elapsed()));
    }
}

fn line(done: usize, all: usize, took: Duration) -> String {
    let all = all.max(done);
    if done == 0 {
        return format!("0 of {all} runs");
    }
    let left = took.as_secs_f64() / done as f64 * (all - done) as f64;
    format!("{done} of {all} runs, about {} left", long_time(left))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_takes_as_long_as_what_was_done() {
        let after = |done, seconds| line(done, 120, Duration::from_secs(seconds));
        assert_eq!(after(0, 9), "0 of 120 runs");
        assert_eq!(after(30, 60), "30 of 120 runs, about 3 min left");
        assert_eq!(after(130, 60), "130 of 130 runs, about 0 s left");
    }

    #[test]
    fn what_was_done_before_is_no_work() {
        let mut progress = SearchProgress::new(10);
        (0..4).for_each(|_| progress.skip());
        assert_eq!(progress.all, 6);
    }
}
