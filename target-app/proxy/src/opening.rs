//! The first bytes of a connection: what its client speaks. They are looked at and left where they are.

use std::{io, net::Shutdown, os::fd::AsRawFd, sync::Arc, time::Duration};

use live_service::edge::{Conn, ConnPhase, LATE, PLAIN};
use nix::sys::socket::{MsgFlags, recv};
use socket2::SockRef;
use tokio::{io::Interest, net::TcpStream, time::timeout};
use tokio_rustls::server::TlsStream;

use super::{stream::Shared, tls::Acceptor};

/// The first bytes of every HTTP/2 connection (RFC 9113, section 3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// As much of it as cannot be HTTP/1.1.
const LINE: &[u8] = b"PRI * HTTP/2.0\r\n";
/// The most that is read of a client that is turned away, bytes, and the time for it.
const LEFT_OVER: (usize, Duration) = (1 << 20, Duration::from_secs(2));

/// The protocol of a client without TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spoken {
    Http1,
    Http2,
}

/// The reason that there is no TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unsecured {
    /// The client speaks HTTP without it, and was told so.
    Plain,
    /// The handshake has failed.
    Broken,
}

/// The protocol of a client without TLS. `None`: a beginning of HTTP/2 took as long as no head may, and was told so.
pub(super) async fn spoken(stream: &TcpStream, conn: &Conn) -> Option<Spoken> {
    let (mut first, mut known) = ([0; PREFACE.len()], 0);
    loop {
        let come = tokio::select! {
            biased;
            come = peek_beyond(stream, &mut first, known) => come,
            () = conn.called_late() => {
                // Left unread, it would make the end a reset. Not by `try_read`: for tokio nothing has come since it was looked at.
                let _ = recv(stream.as_raw_fd(), &mut first, MsgFlags::MSG_DONTWAIT);
                let _ = stream.try_write(LATE.as_bytes()); // as much as fits
                return None;
            }
        };
        let begin = &first[..come];
        if come > known && come < PREFACE.len() && PREFACE.starts_with(begin) {
            if known == 0 {
                conn.enter(ConnPhase::Head);
            }
            known = come;
        } else if begin.starts_with(LINE) {
            conn.enter(ConnPhase::Idle);
            return Some(Spoken::Http2); // what follows the line is its own affair
        } else {
            return Some(Spoken::Http1);
        }
    }
}

/// Waits until more bytes have come than these, or the end of what the client sends. Those that are there already wake nobody.
async fn peek_beyond(stream: &TcpStream, first: &mut [u8], known: usize) -> usize {
    loop {
        let Ok(ready) = stream.ready(Interest::READABLE).await else { return known };
        let looked = stream.try_io(Interest::READABLE, || match recv(stream.as_raw_fd(), first, MsgFlags::MSG_PEEK)? {
            come if come == known && !ready.is_read_closed() => Err(io::ErrorKind::WouldBlock.into()),
            come => Ok(come),
        });
        match looked {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            looked => return looked.unwrap_or(known),
        }
    }
}

/// The server's end of TLS, within this time.
pub(super) async fn secured(
    tls: &Acceptor,
    stream: &Arc<TcpStream>,
    limit: Duration,
) -> Result<TlsStream<Shared>, Unsecured> {
    let opened = timeout(limit, async {
        let mut first = [0];
        // A handshake begins with 22, and HTTP with the name of a method.
        if peek_beyond(stream, &mut first, 0).await > 0 && first[0].is_ascii_alphabetic() {
            turn_away(stream).await;
            return Err(Unsecured::Plain);
        }
        tls.0.accept(Shared(Arc::clone(stream))).await.map_err(|_| Unsecured::Broken)
    });
    opened.await.unwrap_or(Err(Unsecured::Broken))
}

/// Says what this port speaks, and reads what the client still sends: left unread, it would make the end a reset, and the client could
/// lose the answer.
async fn turn_away(stream: &TcpStream) {
    let _ = stream.try_write(PLAIN.as_bytes()); // nothing was written before: it fits
    let _ = SockRef::from(stream).shutdown(Shutdown::Write);
    let (most, limit) = LEFT_OVER;
    let reading = timeout(limit, async {
        let (mut scratch, mut read) = ([0; 4096], 0);
        while read < most && stream.readable().await.is_ok() {
            match stream.try_read(&mut scratch) {
                Ok(0) => break,
                Ok(some) => read += some,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => break,
            }
        }
    });
    let _ = reading.await;
}
