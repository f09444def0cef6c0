use std::{
    io,
    os::fd::{AsFd, AsRawFd, RawFd},
    time::Duration,
};

use nix::sys::{
    time::TimeSpec,
    timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags},
};

use super::polled::Polled;

/// A timer that wakes one fiber through the worker's own epoll, at kernel precision: `may`'s own timers are whole
/// milliseconds and run on another thread.
#[derive(Debug)]
pub(super) struct Alarm(Polled<Timer>);

#[derive(Debug)]
struct Timer(TimerFd);

impl AsRawFd for Timer {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_fd().as_raw_fd()
    }
}

impl Alarm {
    pub(super) fn new() -> io::Result<Self> {
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC)?;
        Ok(Self(Polled::new(Timer(timer))?))
    }

    /// Rings once after `delay`, and not at any time set before.
    pub(super) fn set(&self, delay: Duration) -> io::Result<()> {
        // Zero would switch the timer off.
        let delay = TimeSpec::from_duration(delay.max(Duration::from_nanos(1)));
        self.0.inner().0.set(Expiration::OneShot(delay), TimerSetTimeFlags::empty())?;
        Ok(())
    }

    /// Suspends this fiber until the alarm has rung (or, rarely, for nothing).
    ///
    /// The timer is never read: setting it anew clears it, and epoll reports each ring as an edge.
    pub(super) fn wait(&self) {
        self.0.wait();
    }
}
