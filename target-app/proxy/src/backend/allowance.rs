//! The bytes that a backend may send before the head of a final answer is read: interim answers have no end of their own, and hyper
//! reads on as long as they come.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use crate::{
    frames::{DATA, Frames, WINDOW_UPDATE},
    tapped::Tapped,
};

/// More than the largest head that hyper takes (400 KiB), and what it may have read behind it.
const BEFORE_THE_HEAD: u64 = 1 << 20;
const ANY: u64 = u64::MAX;

/// The rest of it on one connection.
#[derive(Debug)]
pub(super) struct Allowance(AtomicU64);

impl Allowance {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self(AtomicU64::new(ANY)))
    }

    /// Counts from now on, anew.
    pub(super) fn begin(&self) {
        self.0.store(BEFORE_THE_HEAD, Ordering::Relaxed);
    }

    /// The head has come: the body has limits of its own.
    pub(super) fn lift(&self) {
        self.0.store(ANY, Ordering::Relaxed);
    }

    /// Takes so many bytes, if they are left.
    fn take(&self, bytes: usize) -> io::Result<()> {
        let less = |left| if left == ANY { Some(ANY) } else { u64::checked_sub(left, bytes as u64) };
        let taken = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        taken.map(drop).map_err(|_| io::Error::other("the backend sends no final answer"))
    }
}

/// A connection of HTTP/1: all bytes count, from a request to its answer's head.
pub(super) fn http1<S>(
    inner: S,
    allowance: Arc<Allowance>,
) -> Tapped<S, impl FnMut(&[u8]) -> io::Result<()> + Unpin + Send + use<S>> {
    Tapped::new(inner, move |come| allowance.take(come.len()))
}

/// A connection of HTTP/2: frames other than of bodies, and of room for them, count, from one answer's head to that of another.
pub(super) fn http2<S>(
    inner: S,
    allowance: Arc<Allowance>,
) -> Tapped<S, impl FnMut(&[u8]) -> io::Result<()> + Unpin + Send + use<S>> {
    allowance.begin();
    let mut frames = Frames::default();
    Tapped::new(inner, move |come| {
        let (heads, payload) = frames.count(come, |kind| ![DATA, WINDOW_UPDATE].contains(&kind));
        allowance.take(heads + payload)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_comes_before_the_head_is_counted() {
        let allowance = Allowance::new();
        let may_take = |bytes| allowance.take(bytes).is_ok();
        assert!(may_take(usize::MAX), "between requests");
        allowance.begin();
        assert!(may_take(1 << 19) && may_take(1 << 19) && !may_take(1));
        allowance.lift();
        assert!((0..100).all(|_| may_take(1 << 30)), "a body");
        allowance.begin();
        assert!(may_take(1 << 20) && !may_take(1));
    }
}
