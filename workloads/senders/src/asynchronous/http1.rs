//! HTTP/1.1 on one connection: one request after the other.

use std::{
    io,
    mem::MaybeUninit,
    net::SocketAddr,
    pin::Pin,
    task::{Context, Waker},
    time::Duration,
};

use tokio::{
    io::{AsyncRead as _, AsyncReadExt as _, AsyncWriteExt as _, ReadBuf},
    net::TcpStream,
};
use workloads::host::ExchangeEnd;

use super::{lost::Lost, wire::Wire};
use crate::{
    http1::{Inbox, Progress},
    tls,
};

/// A connection that speaks HTTP/1.1. If it is dropped in the middle of an exchange it is reset, which abandons the answer:
/// after an ordinary close the service would go on with its work.
#[derive(Debug)]
pub struct Http1Connection {
    wire: Box<dyn Wire>,
    is_busy: bool,
}

impl Http1Connection {
    pub(super) fn new(wire: Box<dyn Wire>) -> Self {
        Self { wire, is_busy: false }
    }

    /// A new connection without TLS.
    ///
    /// # Errors
    /// The system's.
    pub async fn plain(to: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(to).await?;
        stream.set_nodelay(true)?;
        Ok(Self::new(Box::new(stream)))
    }

    /// True if the service has closed a kept connection meanwhile, or has sent what nobody asked for.
    pub fn is_stale(&mut self) -> bool {
        match self.wire.socket().peek(&mut [MaybeUninit::uninit()]) {
            Err(error) => error.kind() != io::ErrorKind::WouldBlock,
            // Tickets for later sessions come unasked.
            Ok(1..) if self.wire.is_secure() => {
                let (mut byte, mut context) = ([0], Context::from_waker(Waker::noop()));
                Pin::new(&mut self.wire).poll_read(&mut context, &mut ReadBuf::new(&mut byte)).is_ready()
            }
            Ok(_) => true,
        }
    }

    /// Sends a request and receives the answer into the inbox. True if the connection may be used again.
    ///
    /// # Errors
    /// There is no whole answer.
    pub async fn exchange(&mut self, request: &[u8], inbox: &mut Inbox) -> Result<bool, Lost> {
        inbox.clear();
        self.is_busy = true;
        let ended = self.converse(request, inbox).await;
        self.is_busy = false;
        ended?;
        Ok(inbox.reusable())
    }

    async fn converse(&mut self, request: &[u8], inbox: &mut Inbox) -> Result<(), Lost> {
        let broken = |error: io::Error| Lost::because(ExchangeEnd::Broken, &tls::said(&error));
        self.wire.write_all(request).await.map_err(broken)?;
        self.wire.flush().await.map_err(broken)?;
        loop {
            let progress = match self.wire.read(inbox.room()).await.map_err(broken)? {
                0 => inbox.ended()?,
                count => inbox.received(count)?,
            };
            if progress == Progress::Whole {
                return Ok(());
            }
        }
    }
}

impl Drop for Http1Connection {
    fn drop(&mut self) {
        if self.is_busy {
            let _ = self.wire.socket().set_linger(Some(Duration::ZERO)); // it is closed in any case
        }
    }
}
