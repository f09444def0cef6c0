//! A connection whose bytes are looked at as they are read.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    task::{Context, Poll, ready},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A connection, and who looks. An error of the latter breaks the connection.
pub(super) struct Tapped<S, F> {
    inner: S,
    on_read: F,
}

impl<S, F: FnMut(&[u8]) -> io::Result<()>> Tapped<S, F> {
    pub(super) fn new(inner: S, on_read: F) -> Self {
        Self { inner, on_read }
    }
}

impl<S: AsyncRead + Unpin, F: FnMut(&[u8]) -> io::Result<()> + Unpin> AsyncRead for Tapped<S, F> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(cx, into))?;
        Poll::Ready((self.on_read)(&into.filled()[before..]))
    }
}

impl<S: AsyncWrite + Unpin, F: Unpin> AsyncWrite for Tapped<S, F> {
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
