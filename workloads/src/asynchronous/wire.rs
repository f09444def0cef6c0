use std::fmt;

use socket2::SockRef;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
};
use tokio_rustls::client::TlsStream;

/// The bytes of a connection.
pub(super) trait Wire: AsyncRead + AsyncWrite + Unpin + fmt::Debug {
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

impl Wire for TlsStream<TcpStream> {
    fn socket(&self) -> SockRef<'_> {
        SockRef::from(self.get_ref().0)
    }

    fn is_secure(&self) -> bool {
        true
    }
}
