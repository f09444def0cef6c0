//! Keys and the mouse, from a terminal that may be gone at any moment.

use std::{
    io::{self, stdout},
    os::fd::AsFd as _,
    time::Duration,
};

use crossterm::event::{self, Event};
use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
};

/// Waits for the next event, within this time. The terminal is asked whether it is there before each look: `crossterm`
/// reads from one that is gone for ever (its issue 793).
///
/// # Errors
/// It is gone.
#[expect(clippy::disallowed_methods, reason = "here alone, behind the question whether it is there")]
pub(crate) fn next(longest: Duration) -> io::Result<Option<Event>> {
    // Several keys may have come at once, and wait in a queue.
    for wait in [Duration::ZERO, longest] {
        stays_within(wait)?;
        if event::poll(Duration::ZERO)? {
            return event::read().map(Some);
        }
    }
    Ok(None)
}

/// Waits until there is input.
fn stays_within(longest: Duration) -> io::Result<()> {
    let out = stdout();
    let mut terminal = [PollFd::new(out.as_fd(), PollFlags::POLLIN)];
    let timeout = PollTimeout::try_from(longest).unwrap_or(PollTimeout::ZERO);
    match poll(&mut terminal, timeout) {
        Ok(_) | Err(Errno::EINTR) => {}
        Err(error) => return Err(error.into()),
    }
    let seen = terminal[0].revents().unwrap_or(PollFlags::empty());
    if seen.intersects(PollFlags::POLLHUP | PollFlags::POLLERR | PollFlags::POLLNVAL) {
        return Err(io::Error::new(io::ErrorKind::BrokenPipe, "the terminal is gone"));
    }
    Ok(())
}
