use std::{
    io,
    os::fd::{AsFd as _, AsRawFd, RawFd},
    time::Duration,
};

use nix::sys::{
    time::TimeSpec,
    timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags},
};
use tokio::io::{Interest, unix::AsyncFd};

/// A timer with the kernel's precision: tokio's own have a resolution of 1 ms.
#[derive(Debug)]
pub(super) struct Alarm(AsyncFd<Timer>);

#[derive(Debug)]
struct Timer(TimerFd);

impl AsRawFd for Timer {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_fd().as_raw_fd()
    }
}

impl Alarm {
    /// Must be called in the runtime.
    pub(super) fn new() -> io::Result<Self> {
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC)?;
        #[expect(deprecated, reason = "what replaces it is unsafe, for those whose descriptor is not their own")]
        let watched = AsyncFd::with_interest(Timer(timer), Interest::READABLE)?;
        Ok(Self(watched))
    }

    /// Waits for this long. The timer is never read: setting it again clears it, and each expiry is an event of its own.
    pub(super) async fn wait(&self, delay: Duration) -> io::Result<()> {
        // Zero would switch the timer off.
        let delay = TimeSpec::from_duration(delay.max(Duration::from_nanos(1)));
        self.0.get_ref().0.set(Expiration::OneShot(delay), TimerSetTimeFlags::empty())?;
        self.0.readable().await?.clear_ready();
        Ok(())
    }
}
