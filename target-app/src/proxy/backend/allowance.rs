//! The bytes that a backend may send before the head of its final answer is read: interim answers have no end of their own, and hyper
//! reads on as long as they come.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll, ready},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// More than the largest head that hyper takes (400 KiB), and what it may have read behind it.
const BEFORE_THE_HEAD: u64 = 1 << 20;
const ANY: u64 = u64::MAX;

/// What is left of it on one connection.
#[derive(Debug)]
pub(super) struct Allowance(AtomicU64);

impl Allowance {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self(AtomicU64::new(ANY)))
    }

    /// A request goes out.
    pub(super) fn begin(&self) {
        self.0.store(BEFORE_THE_HEAD, Ordering::Relaxed);
    }

    /// The head has come: the body has limits of its own.
    pub(super) fn lift(&self) {
        self.0.store(ANY, Ordering::Relaxed);
    }

    /// True if so many bytes may be taken.
    fn take(&self, bytes: usize) -> bool {
        let less = |left| if left == ANY { Some(ANY) } else { u64::checked_sub(left, bytes as u64) };
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
    }
}

/// A connection with an allowance.
#[derive(Debug)]
pub(super) struct Bounded<S> {
    inner: S,
    allowance: Arc<Allowance>,
}

impl<S> Bounded<S> {
    pub(super) fn new(inner: S, allowance: &Arc<Allowance>) -> Self {
        Self { inner, allowance: Arc::clone(allowance) }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Bounded<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(cx, into))?;
        let is_allowed = self.allowance.take(into.filled().len() - before);
        Poll::Ready(if is_allowed { Ok(()) } else { Err(io::Error::other("the backend sends no final answer")) })
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Bounded<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        all: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write_vectored(cx, all)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_comes_before_the_head_is_counted() {
        let allowance = Allowance::new();
        assert!(allowance.take(usize::MAX), "between requests");
        allowance.begin();
        assert!(allowance.take(1 << 19) && allowance.take(1 << 19) && !allowance.take(1));
        allowance.lift();
        assert!((0..100).all(|_| allowance.take(1 << 30)), "a body");
        allowance.begin();
        assert!(allowance.take(1 << 20) && !allowance.take(1));
    }
}
