use std::fmt;

use socket2::SockRef;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpStream, UnixStream},
};
use tokio_rustls::client::TlsStream;

/// The bytes of a connection.
pub(super) trait Wire: AsyncRead + AsyncWrite + Unpin + Send + fmt::Debug {
    /// The socket below.
    fn socket(&self) -> SockRef<'_>;
    /// True if bytes may arrive that no answer consists of.
    fn is_secure(&self) -> bool;
}

impl Wire for TcpStream {
    fn socket(&self) -> SockRef<'_> {
        SockRef::from(self)
    }

    fn is_secure(&self) -> bool {
        false
    }
}

impl Wire for UnixStream {
    fn socket(&self) -> SockRef<'_> {
        SockRef::from(self)
    }

    fn is_secure(&self) -> bool {
        false
    }
}

impl Wire for TlsStream<Box<dyn Wire>> {
    fn socket(&self) -> SockRef<'_> {
        self.get_ref().0.socket()
    }

    fn is_secure(&self) -> bool {
        true
    }
}
