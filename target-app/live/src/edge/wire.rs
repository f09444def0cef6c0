//! A socket that reports all bytes to its [`Conn`].

use std::{
    io::{self, IoSlice},
    net::Shutdown,
    os::fd::AsFd,
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
    conn::{Conn, ConnPhase},
    head_start::HeadStart,
};

/// Bounds the bytes that a client that does not read holds in the kernel. For unsent bytes a quarter of that is enough,
/// and a client that sends request after request without reading soon waits for itself.
pub(crate) fn bounded<S: AsFd>(stream: &S, send_buffer: u32) -> io::Result<()> {
    if send_buffer == 0 {
        return Ok(());
    }
    let socket = SockRef::from(stream);
    socket.set_send_buffer_size(usize::try_from(send_buffer).unwrap_or(usize::MAX))?;
    socket.set_tcp_notsent_lowat((send_buffer / 4).max(1))
}

/// The largest number of bytes read and discarded from a client that still sends after the end.
const LEFT_OVER: usize = 1 << 20;

/// A connection as hyper reads and writes it, with its limits.
#[derive(Debug)]
pub struct Wire {
    stream: Arc<TcpStream>,
    conn: Arc<Conn>,
    start: HeadStart,
    /// The rest of an answer that was written here and not by hyper.
    rest: Vec<u8>,
    /// The number of bytes that came after the end; `None` before it.
    left_over: Option<usize>,
}

impl Wire {
    /// The wire of this connection, which is told all that passes.
    pub fn new(stream: Arc<TcpStream>, conn: Arc<Conn>) -> Self {
        Self { stream, conn, start: HeadStart::default(), rest: Vec::new(), left_over: None }
    }

    /// Calls `write` once there is room.
    fn poll_with(
        &self,
        cx: &mut Context<'_>,
        write: impl Fn(&TcpStream) -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        let polled = poll_write(&self.stream, cx, write);
        match &polled {
            Poll::Pending => self.conn.holds_up(),
            Poll::Ready(sent) => sent.iter().for_each(|sent| self.conn.sent(*sent)),
        }
        polled
    }

    fn poll_rest(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.rest.is_empty() {
            let sent = ready!(self.poll_with(cx, |stream| stream.try_write(&self.rest)))?;
            self.rest.drain(..sent);
        }
        Poll::Ready(Ok(()))
    }
}

/// Reads into `room` once there are bytes. What has not been written to yet is not set to zero first: hyper's room is 8 KiB for a head
/// of a hundred bytes.
pub fn poll_bytes(stream: &TcpStream, cx: &mut Context<'_>, room: &mut ReadBuf<'_>) -> Poll<io::Result<usize>> {
    loop {
        ready!(stream.poll_read_ready(cx))?;
        match read_some(stream, room) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            read => return Poll::Ready(read),
        }
    }
}

/// Reads what has come. Fewer bytes than there is room for were all of them: the socket then counts as not readable until
/// more come, which spares a read that would find nothing.
/// Writes as many bytes as the socket takes now.
pub fn poll_write(
    stream: &TcpStream,
    cx: &mut Context<'_>,
    write: impl Fn(&TcpStream) -> io::Result<usize>,
) -> Poll<io::Result<usize>> {
    loop {
        ready!(stream.poll_write_ready(cx))?;
        match write(stream) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            written => return Poll::Ready(written),
        }
    }
}

fn read_some(stream: &TcpStream, room: &mut ReadBuf<'_>) -> io::Result<usize> {
    let (size, mut some) = (room.remaining(), None);
    let read = stream.try_io(Interest::READABLE, || match stream.try_read_buf(room) {
        Ok(read) if read > 0 && read < size => {
            some = Some(read);
            Err(io::ErrorKind::WouldBlock.into()) // as tokio's own streams do it; the end of the other side stays known
        }
        read => read,
    });
    some.map_or(read, Ok)
}

/// Waits until the client resets the connection. A client that has only ended its side is still there.
pub(crate) async fn given_up(stream: &TcpStream) {
    loop {
        match stream.ready(Interest::ERROR).await {
            Ok(ready) if ready.is_error() => return,
            Ok(_) => {}                                   // a spurious wake-up
            Err(_) => std::future::pending::<()>().await, // the runtime ends
        }
    }
}

impl AsyncRead for Wire {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.conn.is_late() {
            if self.start.release(into) {
                return Poll::Ready(Ok(())); // a head in part is an error to hyper, and no head is none
            }
            let _ = self.stream.try_write(canned::LATE.as_bytes()); // as much as fits; if the sender is gone, nothing is lost
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        let Self { stream, conn, start, .. } = &mut *self;
        start.poll_read(conn, into, |into| poll_bytes(stream, cx, into).map_ok(drop))
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
        if self.conn.phase() == ConnPhase::Head {
            // No request is under way: this is hyper's own answer to a head that it cannot parse.
            let own: Vec<u8> = slices.iter().flat_map(|slice| slice.iter().copied()).collect();
            self.rest = canned::completed(&own);
            let _ = self.poll_rest(cx)?; // flushing writes the rest
            return Poll::Ready(Ok(own.len()));
        }
        self.poll_with(cx, |stream| stream.try_write_vectored(slices))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    /// hyper flushes once everything is written.
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_rest(cx))?;
        self.conn.flushed();
        Poll::Ready(Ok(()))
    }

    /// Ends this side, and reads on to the end of the other where bytes may still come: a socket closed with unread
    /// bytes sends a reset, and the client may then lose the answer.
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_rest(cx))?;
        if self.left_over.is_none() {
            SockRef::from(&*self.stream).shutdown(Shutdown::Write)?;
            if self.conn.is_read_out() {
                return Poll::Ready(Ok(()));
            }
            self.conn.enter(ConnPhase::Closing);
        }
        let mut scratch = [0; 4096];
        loop {
            let before = self.left_over.unwrap_or(0);
            self.left_over = Some(before);
            let read = match ready!(poll_bytes(&self.stream, cx, &mut ReadBuf::new(&mut scratch))) {
                Ok(read) if read > 0 && before < LEFT_OVER => read,
                _ => return Poll::Ready(Ok(())),
            };
            self.left_over = Some(before + read);
        }
    }
}
