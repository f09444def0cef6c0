//! The bytes of a client's connection: plain or in TLS, reported to its [`Conn`].

use std::{
    io::{self, IoSlice},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use socket2::SockRef;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};

use crate::edge::{Conn, HeadStart, LATE, poll_bytes};

/// A socket that its watcher shares.
#[derive(Debug)]
pub(super) struct Shared(pub(super) Arc<TcpStream>);

impl Shared {
    fn poll_with(
        &self,
        cx: &mut Context<'_>,
        write: impl Fn(&TcpStream) -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.0.poll_write_ready(cx))?;
            match write(&self.0) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                written => return Poll::Ready(written),
            }
        }
    }
}

impl AsyncRead for Shared {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        poll_bytes(&self.0, cx, into).map_ok(drop)
    }
}

impl AsyncWrite for Shared {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_with(cx, |stream| stream.try_write(bytes))
    }

    fn poll_write_vectored(self: Pin<&mut Self>, cx: &mut Context<'_>, all: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        self.poll_with(cx, |stream| stream.try_write_vectored(all))
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
                self.frames.data_in(gone)
            })
            .sum();
        if data > 0 {
            self.conn.sent_data(data);
        }
    }
}

/// Where a row of frames has got to (RFC 9113, section 4.1).
#[derive(Debug, Default)]
struct Frames {
    head: [u8; FRAME_HEAD],
    /// Bytes of the head that have come.
    come: usize,
    /// Bytes of the payload that have not.
    left: usize,
}

const FRAME_HEAD: usize = 9;
const DATA: u8 = 0;

impl Frames {
    /// The number of these bytes that are payload of DATA frames.
    fn data_in(&mut self, mut bytes: &[u8]) -> usize {
        let mut data = 0;
        while !bytes.is_empty() {
            if self.come < FRAME_HEAD {
                let (of_head, rest) = bytes.split_at((FRAME_HEAD - self.come).min(bytes.len()));
                self.head[self.come..][..of_head.len()].copy_from_slice(of_head);
                (self.come, bytes) = (self.come + of_head.len(), rest);
                let [high, middle, low, ..] = self.head;
                self.left = u32::from_be_bytes([0, high, middle, low]) as usize;
            }
            let (payload, rest) = bytes.split_at(self.left.min(bytes.len()));
            if self.come == FRAME_HEAD {
                data += if self.head[3] == DATA { payload.len() } else { 0 };
                (self.left, bytes) = (self.left - payload.len(), rest);
                self.come = if self.left == 0 { 0 } else { FRAME_HEAD };
            }
        }
        data
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_payload_of_data_counts_however_it_is_cut() {
        let frame = |kind: u8, length: u8| [&[0, 0, length, kind, 0, 0, 0, 0, 1][..], &vec![0; length.into()]].concat();
        let (ping, settings) = (6, 4);
        let row =
            [frame(settings, 6), frame(DATA, 5), frame(ping, 8), frame(DATA, 0), frame(DATA, 200), frame(ping, 8)];
        let bytes = row.concat();
        for step in [1, 3, 9, 14, bytes.len()] {
            let mut frames = Frames::default();
            let counted: Vec<_> = bytes.chunks(step).map(|part| frames.data_in(part)).collect();
            assert_eq!(counted.iter().sum::<usize>(), 205, "in parts of {step}");
            assert_eq!(frames.come, 0, "the last one is whole");
        }
    }
}
