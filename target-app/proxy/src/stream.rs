//! The bytes of a client's connection: plain or in TLS, reported to its [`Conn`].

use std::{
    io::{self, IoSlice},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use live_service::edge::{Conn, HeadStart, LATE, poll_bytes, poll_write};
use socket2::SockRef;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};

use super::frames::{DATA, Frames};

/// A socket that its watcher shares.
#[derive(Debug)]
pub(super) struct Shared(pub(super) Arc<TcpStream>);

impl AsyncRead for Shared {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        poll_bytes(&self.0, cx, into).map_ok(drop)
    }
}

impl AsyncWrite for Shared {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        poll_write(&self.0, cx, |stream| stream.try_write(bytes))
    }

    fn poll_write_vectored(self: Pin<&mut Self>, cx: &mut Context<'_>, all: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        poll_write(&self.0, cx, |stream| stream.try_write_vectored(all))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(SockRef::from(&*self.0).shutdown(std::net::Shutdown::Write))
    }
}

/// HTTP/1.1 in TLS: what is read and written is reported as on a plain connection.
#[derive(Debug)]
pub(super) struct Reported<S> {
    inner: S,
    conn: Arc<Conn>,
    start: HeadStart,
}

impl<S> Reported<S> {
    pub(super) fn new(inner: S, conn: &Arc<Conn>) -> Self {
        Self { inner, conn: Arc::clone(conn), start: HeadStart::default() }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Reported<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.conn.is_late() {
            let this = &mut *self;
            if this.start.release(into) {
                return Poll::Ready(Ok(())); // a head in part is an error to hyper, and no head is none
            }
            let _ = Pin::new(&mut this.inner).poll_write(cx, LATE.as_bytes()); // as much as fits
            let _ = Pin::new(&mut this.inner).poll_flush(cx);
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        let Self { inner, conn, start } = &mut *self;
        start.poll_read(conn, into, |into| Pin::new(&mut *inner).poll_read(cx, into))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Reported<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.inner).poll_write(cx, bytes);
        let sent = ready!(told(polled, &self.conn))?;
        self.conn.sent(sent);
        Poll::Ready(Ok(sent))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.inner).poll_flush(cx);
        ready!(told(polled, &self.conn))?;
        self.conn.flushed();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

/// Tells the connection that the kernel has no room.
fn told<T>(polled: Poll<T>, conn: &Conn) -> Poll<T> {
    if polled.is_pending() {
        conn.holds_up();
    }
    polled
}

/// HTTP/2: of the bytes that go out those of DATA are reported, as the client's progress. All others it can ask for by itself.
#[derive(Debug)]
pub(super) struct Taken<S> {
    inner: S,
    conn: Arc<Conn>,
    frames: Frames,
}

impl<S> Taken<S> {
    pub(super) fn new(inner: S, conn: &Arc<Conn>) -> Self {
        Self { inner, conn: Arc::clone(conn), frames: Frames::default() }
    }

    fn sent<'a>(&mut self, all: impl Iterator<Item = &'a [u8]>, mut sent: usize) {
        let data: usize = all
            .map(|bytes| {
                let (gone, _) = bytes.split_at(sent.min(bytes.len()));
                sent -= gone.len();
                self.frames.count(gone, |kind| kind == DATA).1
            })
            .sum();
        if data > 0 {
            self.conn.sent_data(data);
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Taken<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(cx, into)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Taken<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.inner).poll_write(cx, bytes);
        let sent = ready!(told(polled, &self.conn))?;
        self.sent([bytes].into_iter(), sent);
        Poll::Ready(Ok(sent))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        all: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.inner).poll_write_vectored(cx, all);
        let sent = ready!(told(polled, &self.conn))?;
        self.sent(all.iter().map(|slice| &**slice), sent);
        Poll::Ready(Ok(sent))
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.inner).poll_flush(cx);
        ready!(told(polled, &self.conn))?;
        self.conn.written();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}
