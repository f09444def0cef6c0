//! A socket that tells its [`Conn`] what passes through it.

use std::{
    io::{self, IoSlice},
    net::Shutdown,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use socket2::SockRef;
use tokio::{
    io::{AsyncRead, AsyncWrite, Interest, ReadBuf},
    net::TcpStream,
};

use super::{
    canned,
    conn::{Conn, Phase},
};

/// What is read and thrown away at most from a client that still sends when all is said.
const LEFT_OVER: usize = 1 << 20;

#[derive(Debug)]
pub(crate) struct Wire {
    stream: Arc<TcpStream>,
    conn: Arc<Conn>,
    /// Of an answer that was written here and not by hyper: what did not fit at once.
    rest: Vec<u8>,
    /// Bytes that came after the end; `None` before it.
    left_over: Option<usize>,
}

impl Wire {
    pub(crate) fn new(stream: Arc<TcpStream>, conn: Arc<Conn>) -> Self {
        Self { stream, conn, rest: Vec::new(), left_over: None }
    }

    /// Writes what `write` writes, once there is room.
    fn poll_with(
        &self,
        cx: &mut Context<'_>,
        write: impl Fn(&TcpStream) -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.stream.poll_write_ready(cx))?;
            match write(&self.stream) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Ok(sent) => {
                    self.conn.sent(sent);
                    return Poll::Ready(Ok(sent));
                }
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }

    fn poll_rest(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.rest.is_empty() {
            let sent = ready!(self.poll_with(cx, |stream| stream.try_write(&self.rest)))?;
            self.rest.drain(..sent);
        }
        Poll::Ready(Ok(()))
    }

    /// Reads into `room`, once there is something.
    fn poll_bytes(&self, cx: &mut Context<'_>, room: &mut [u8]) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.stream.poll_read_ready(cx))?;
            match self.stream.try_read(room) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                read => return Poll::Ready(read),
            }
        }
    }
}

/// Waits until the client has given the connection up (a reset). One that has only ended its side is still there.
pub(crate) async fn given_up(stream: &TcpStream) {
    loop {
        match stream.ready(Interest::ERROR).await {
            Ok(ready) if ready.is_error() => return,
            Ok(_) => {}                                   // woken for nothing
            Err(_) => std::future::pending::<()>().await, // the runtime is at its end
        }
    }
}

impl AsyncRead for Wire {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.conn.is_late() {
            let _ = self.stream.try_write(canned::LATE.as_bytes()); // what fits; a sender that is gone will not miss it
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        let room = into.initialize_unfilled();
        let read = ready!(self.poll_bytes(cx, room))?;
        if read > 0 {
            self.conn.received(&room[..read]);
            into.advance(read);
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Wire {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_rest(cx))?;
        if self.conn.phase() == Phase::Head {
            // No request is under way: hyper itself answers a head that it cannot parse.
            let own: Vec<u8> = slices.iter().flat_map(|slice| slice.iter().copied()).collect();
            self.rest = canned::completed(&own);
            let _ = self.poll_rest(cx)?; // flushing sees to what is left
            return Poll::Ready(Ok(own.len()));
        }
        self.poll_with(cx, |stream| stream.try_write_vectored(slices))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    /// hyper flushes once everything that it had is written.
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_rest(cx))?;
        self.conn.flushed();
        Poll::Ready(Ok(()))
    }

    /// Ends this side, and reads on to the end of the other where something may still come: a socket that is closed with
    /// unread bytes in it sends a reset, and the client may lose the answer to that.
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_rest(cx))?;
        if self.left_over.is_none() {
            SockRef::from(&*self.stream).shutdown(Shutdown::Write)?;
            if self.conn.is_read_out() {
                return Poll::Ready(Ok(()));
            }
            self.conn.enter(Phase::Closing);
        }
        let mut scratch = [0; 4096];
        loop {
            let before = self.left_over.unwrap_or(0);
            self.left_over = Some(before);
            let read = match ready!(self.poll_bytes(cx, &mut scratch)) {
                Ok(read) if read > 0 && before < LEFT_OVER => read,
                _ => return Poll::Ready(Ok(())),
            };
            self.left_over = Some(before + read);
        }
    }
}
