use std::{
    io,
    os::fd::{AsRawFd, RawFd},
};

use may::io::{CoIo, WaitIo};

/// A descriptor that fibers wait for through the worker's epoll.
///
/// `may`'s own wrapper closes its descriptor *before* it removes the number from epoll. If another thread opens a
/// descriptor in between, that gets the same number, and the newcomer is removed: a timer that never rings, a socket
/// that never wakes its fiber. So epoll is given a bare number, and the descriptor is closed after the number is
/// removed: fields are dropped in the order of their declaration.
#[derive(Debug)]
pub(super) struct Polled<T> {
    io: CoIo<Number>,
    inner: T,
}

#[derive(Debug)]
struct Number(RawFd);

impl AsRawFd for Number {
    fn as_raw_fd(&self) -> RawFd {
        self.0
    }
}

impl<T: AsRawFd> Polled<T> {
    pub(super) fn new(inner: T) -> io::Result<Self> {
        Ok(Self { io: CoIo::new(Number(inner.as_raw_fd()))?, inner })
    }

    pub(super) fn inner(&self) -> &T {
        &self.inner
    }

    /// Suspends this fiber until there is an event.
    pub(super) fn wait(&self) {
        self.io.wait_io();
    }
}
