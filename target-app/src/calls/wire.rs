//! A kept connection to a task of a called service: HTTP/1.1 on a plain socket.

use std::{
    io::{self, ErrorKind},
    net::SocketAddr,
    time::Duration,
};

use service_core::calls::CallReply;
use socket2::SockRef;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};
use workloads::http1::{HEADERS_MAX, Inbox, Limits, Outgoing, Progress};

/// A connection to a task.
#[derive(Debug)]
pub(super) struct Wire {
    stream: TcpStream,
    inbox: Inbox,
    out: Vec<u8>,
    /// True while a call is under way.
    asking: bool,
}

impl Wire {
    pub(super) async fn connect(to: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(to).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, inbox: Inbox::new(Limits::default()), out: Vec::new(), asking: false })
    }

    /// True if the service has closed it meanwhile, or sent unrequested bytes.
    pub(super) fn is_stale(&self) -> bool {
        !self.stream.try_read(&mut [0]).is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
    }

    /// True if another call may follow.
    pub(super) fn is_reusable(&self) -> bool {
        self.inbox.reusable()
    }

    /// Sends a request and receives the answer; `None` if the connection broke before it. If the future is dropped before
    /// its end, the connection is unusable.
    pub(super) async fn ask(&mut self, request: &Outgoing<'_>) -> Option<CallReply> {
        self.inbox.clear();
        self.out.clear();
        self.asking = true;
        request.write(&mut self.out);
        let received = match self.stream.write_all(&self.out).await {
            Ok(()) => self.receive().await,
            Err(_) => None,
        };
        self.asking = false;
        received
    }

    async fn receive(&mut self) -> Option<CallReply> {
        loop {
            let progress = match self.stream.read(self.inbox.room()).await {
                Ok(0) => self.inbox.ended(),
                Ok(count) => self.inbox.received(count),
                Err(_) => return None,
            };
            match progress {
                Ok(Progress::More) => {}
                Ok(Progress::Whole) => break,
                Err(_) => return None,
            }
        }
        let mut space = [("", &b""[..]); HEADERS_MAX];
        let response = self.inbox.response(&mut space)?;
        Some(CallReply::of(response.status, response.headers.iter().copied()))
    }
}

impl Drop for Wire {
    /// A reset tells the service that the answer is not wanted any more: an ordinary close would only mean that no more
    /// requests follow.
    fn drop(&mut self) {
        if self.asking {
            let _ = SockRef::from(&self.stream).set_linger(Some(Duration::ZERO));
        }
    }
}
