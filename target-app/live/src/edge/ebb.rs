//! Memory that a flood of connections has left behind. The system's allocator keeps it for later, unless it is told to give it back.

use std::time::Duration;

use controllers::Timestamp;

/// Whether a flood of connections is over.
#[derive(Debug, Default)]
pub(crate) struct Ebb {
    /// The most connections since the last one.
    most: usize,
    /// Since when there are half of those or less.
    fell: Option<Timestamp>,
}

/// Fewer connections than this are no flood.
const MANY: usize = 256;
/// The time after which what belonged to connections has gone too: those to backends that are kept between requests.
const SETTLES: Duration = Duration::from_secs(5);

impl Ebb {
    /// Gives memory back once for each flood. `open`: connections now. Needs a runtime.
    pub(crate) fn look(&mut self, now: Timestamp, open: usize) {
        if self.is_over(now, open) {
            // It looks at all that is free: not on a thread of requests.
            tokio::task::spawn_blocking(give_back);
        }
    }

    fn is_over(&mut self, now: Timestamp, open: usize) -> bool {
        self.most = self.most.max(open);
        if self.most < MANY || open > self.most / 2 {
            self.fell = None;
            return false;
        }
        let is_over = now.since(*self.fell.get_or_insert(now)) >= SETTLES;
        if is_over {
            *self = Self { most: open, fell: None };
        }
        is_over
    }
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(
    unsafe_code,
    reason = "a call of the C library without arguments that could be wrong, and without a safe interface"
)]
fn give_back() {
    // SAFETY: it may be called at any time from any thread.
    unsafe { nix::libc::malloc_trim(0) };
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn give_back() {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_over_once_when_half_of_many_have_been_gone_for_a_while() {
        let mut ebb = Ebb::default();
        let mut at = |second, open| ebb.is_over(Timestamp::from_secs(second), open);
        assert!(!at(0, 200) && !at(10, 0), "few come and go");
        assert!(!at(11, 1000) && !at(12, 600) && !at(20, 600));
        assert!(!at(21, 500) && !at(25, 400), "it has to last");
        assert!(at(26, 400) && !at(60, 400), "once");
        assert!(!at(61, 700) && !at(62, 100) && !at(64, 600) && !at(65, 100) && !at(69, 100) && at(70, 100));
    }
}
