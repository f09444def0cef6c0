//! Ways between senders and services: the time that a message takes.

use std::time::Duration;

use controllers::{Random, Seeded};
use spec::services::CallLink;

/// The way of one pool of connections.
#[derive(Debug)]
pub(super) struct Way {
    /// The delay of one direction.
    pub(super) delay: Duration,
    jitter: Duration,
    random: Seeded,
}

impl Way {
    pub(super) fn new(link: CallLink, seed: u64) -> Self {
        Self { delay: link.delay, jitter: link.jitter, random: Seeded::new(seed) }
    }

    /// The time that the next request or answer takes.
    pub(super) fn message(&mut self) -> Duration {
        let more = if self.jitter.is_zero() { self.jitter } else { self.jitter.mul_f64(self.random.uniform()) };
        self.delay + more
    }
}
