//! The bytes that a backend may send before the head of a final answer is read: interim answers have no end of their own, and hyper
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

    /// Counts from now on, anew.
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
    /// Of HTTP/2, where bodies come between heads.
    frames: Option<Frames>,
}

/// Finds in the bytes of a connection of HTTP/2 what is neither a body nor room for one.
#[derive(Debug, Default)]
struct Frames {
    head: [u8; 9],
    /// Bytes of the head that have come.
    known: usize,
    /// Bytes of the payload that are to come.
    left: usize,
    counts: bool,
}

const DATA: u8 = 0;
const WINDOW_UPDATE: u8 = 8;

impl<S> Bounded<S> {
    /// HTTP/1: all bytes count, from a request to its answer's head.
    pub(super) fn http1(inner: S, allowance: &Arc<Allowance>) -> Self {
        Self { inner, allowance: Arc::clone(allowance), frames: None }
    }

    /// HTTP/2: frames other than of bodies count, from one answer's head to that of another.
    pub(super) fn http2(inner: S, allowance: &Arc<Allowance>) -> Self {
        allowance.begin();
        Self { inner, allowance: Arc::clone(allowance), frames: Some(Frames::default()) }
    }
}

impl Frames {
    /// The bytes among these that count.
    fn count(&mut self, mut bytes: &[u8]) -> usize {
        let mut count = 0;
        while !bytes.is_empty() {
            let (is_head, missing) = if self.left == 0 { (true, 9 - self.known) } else { (false, self.left) };
            let (some, rest) = bytes.split_at(missing.min(bytes.len()));
            bytes = rest;
            if is_head {
                self.head[self.known..][..some.len()].copy_from_slice(some);
                self.known = (self.known + some.len()) % 9;
                if self.known == 0 {
                    let [high, middle, low, kind, ..] = self.head.map(usize::from);
                    self.left = high << 16 | middle << 8 | low;
                    self.counts = ![DATA, WINDOW_UPDATE].map(usize::from).contains(&kind);
                    count += if self.counts { 9 } else { 0 };
                }
            } else {
                self.left -= some.len();
                count += if self.counts { some.len() } else { 0 };
            }
        }
        count
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Bounded<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(cx, into))?;
        let come = &into.filled()[before..];
        let count = self.frames.as_mut().map_or(come.len(), |frames| frames.count(come));
        let is_allowed = self.allowance.take(count);
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

    #[test]
    fn bodies_of_http2_are_not_counted_in_whatever_pieces_they_come() {
        let frame = |kind: u8, payload: &[u8]| [&[0, 0, payload.len() as u8, kind, 0, 0, 0, 0, 1], payload].concat();
        let all =
            [frame(1, b"head"), frame(DATA, &[7; 200]), frame(DATA, &[]), frame(4, &[]), frame(WINDOW_UPDATE, &[0; 4])];
        let bytes = [&all.concat()[..], &frame(6, &[0; 8])].concat();
        for size in 1..bytes.len() {
            let mut frames = Frames::default();
            let count: usize = bytes.chunks(size).map(|some| frames.count(some)).sum();
            assert_eq!(count, 9 + 4 + 9 + 9 + 8, "{size}");
        }
    }
}
