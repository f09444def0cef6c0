use std::{
    io,
    os::fd::{AsRawFd, RawFd},
};

use may::io::{CoIo, WaitIo};

/// A descriptor that fibers wait for through the worker's epoll.
///
/// `may`'s own wrapper closes its descriptor *before* it takes the number out of epoll. If another thread opens something
/// in between, it gets the same number, and what is taken out is the newcomer: a timer that never rings, a socket that never
/// wakes its fiber. So epoll is given a bare number, and the descriptor is closed after the number is out: fields are dropped
/// in the order in which they stand.
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
