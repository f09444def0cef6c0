//! The beginning of a run that several machines begin together.

use std::{
    mem, thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

/// The moment at which a run begins.
#[derive(Debug, Clone, Copy)]
pub struct Start {
    at: Instant,
}

impl Start {
    /// Between two looks at whether a wait was given up.
    const LOOK: Duration = Duration::from_millis(50);
    const SETUP: Duration = Duration::from_millis(500);

    /// This moment of the monotonic clock.
    #[must_use]
    pub fn at(at: Instant) -> Self {
        Self { at }
    }

    /// Now.
    #[must_use]
    pub fn now() -> Self {
        Self { at: Instant::now() }
    }

    /// The moment that the wall clock shows so long after 1970; `None`: it has passed.
    #[must_use]
    pub fn at_wall(wall: Duration) -> Option<Self> {
        Some(Self { at: Instant::now() + wall.checked_sub(wall_now())? })
    }

    /// As soon as what it takes can be set up.
    #[must_use]
    pub fn soon() -> Self {
        Self { at: Instant::now() + Self::SETUP }
    }

    /// The time until it; zero once it has passed.
    #[must_use]
    pub fn ahead(&self) -> Duration {
        self.at.saturating_duration_since(Instant::now())
    }

    /// True if it has passed.
    #[must_use]
    pub fn has_passed(&self) -> bool {
        self.at <= Instant::now()
    }

    /// Time of the wall clock at this moment, as it is set now, since 1970.
    #[must_use]
    pub fn wall(&self) -> Duration {
        let now = Instant::now();
        let ahead = self.at.saturating_duration_since(now);
        (wall_now() + ahead).saturating_sub(now.saturating_duration_since(self.at))
    }

    /// Waits until half a second before it: time to set up what is to be ready then, and no more.
    pub fn wait_for_setup(&self, given_up: impl Fn() -> bool) {
        if let Some(at) = self.at.checked_sub(Self::SETUP) {
            Self { at }.wait(given_up);
        }
    }

    /// Waits for it. `given_up` ends the wait.
    pub fn wait(&self, given_up: impl Fn() -> bool) {
        while !given_up() {
            let left = self.at.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            thread::sleep(left.min(Self::LOOK));
        }
    }

    pub(super) fn instant(&self) -> Instant {
        self.at
    }
}

fn wall_now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// The most by which the wall clock is off, by the kernel's own account; `None`: nothing keeps it set.
#[must_use]
#[expect(unsafe_code, reason = "no library reads the kernel's estimate")]
pub fn wall_error() -> Option<Duration> {
    // SAFETY: all of its fields are numbers, for which zero is a value; with `modes` 0 nothing is set.
    let mut read: libc::timex = unsafe { mem::zeroed() };
    // SAFETY: the kernel writes one `timex` where it is told to, and keeps no pointer to it.
    let state = unsafe { libc::adjtimex(&raw mut read) };
    let is_kept = state >= 0 && state != libc::TIME_ERROR && read.status & libc::STA_UNSYNC == 0;
    u64::try_from(read.maxerror).ok().filter(|_| is_kept).map(Duration::from_micros)
}

/// A name of the kernel since it was started, which its containers share with it; empty where it does not tell.
#[must_use]
pub fn boot() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").map(|id| id.trim().to_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_of_the_wall_clock_is_waited_for() {
        let wall = wall_now() + Duration::from_millis(120);
        let start = Start::at_wall(wall).expect("it is ahead");
        assert!(start.wall().abs_diff(wall) < Duration::from_millis(20), "{:?}", start.wall());
        start.wait(|| false);
        assert!(wall_now() + Duration::from_millis(20) >= wall);
        assert!(start.has_passed() && !Start::soon().has_passed());
        assert!(Start::at_wall(wall).is_none(), "it has passed");
        // Given up at once.
        Start::at_wall(wall_now() + Duration::from_secs(3600)).expect("ahead").wait(|| true);
    }
}
