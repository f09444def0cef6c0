use std::{
    io::{self, ErrorKind, Read as _, Write as _},
    net::{IpAddr, SocketAddr},
    os::fd::{AsRawFd, RawFd},
};

use nix::{
    libc::{EPOLLERR, EPOLLHUP, EPOLLIN, EPOLLRDHUP},
    sys::socket::{setsockopt, sockopt::IpBindAddressNoPort},
};
use socket2::{Domain, Protocol, Socket, Type};

use super::polled::Polled;

const HUNG_UP: usize = (EPOLLRDHUP | EPOLLHUP | EPOLLERR) as usize;
const READABLE: usize = EPOLLIN as usize;

/// A connection as one fiber at a time uses it: every call waits for the socket without blocking the thread.
///
/// `may`'s own stream tries a read before each wait, which for a client is always in vain: the answer to a request
/// cannot be there yet. Waiting first saves one of three system calls.
#[derive(Debug)]
pub(super) struct Connection {
    io: Polled<Socket>,
    /// The last read emptied the socket: nothing more comes without a new event.
    drained: bool,
    /// The peer has closed, or the socket is broken: no further event will come, reads tell what is left.
    hung_up: bool,
}

/// A connection on its way.
#[derive(Debug)]
pub(super) struct Connecting {
    socket: Connection,
    done: bool,
}

impl Connecting {
    /// Begins to connect, from `source` if given.
    pub(super) fn begin(target: SocketAddr, source: Option<IpAddr>) -> io::Result<Self> {
        let domain = if target.is_ipv4() { Domain::IPV4 } else { Domain::IPV6 };
        let socket = Socket::new(domain, Type::STREAM.nonblocking(), Some(Protocol::TCP))?;
        socket.set_tcp_nodelay(true)?;
        if let Some(source) = source {
            // Without this, a port would be taken for all targets at once, and ports run out with the first one.
            setsockopt(&socket, IpBindAddressNoPort, &true)?;
            socket.bind(&SocketAddr::new(source, 0).into())?;
        }
        let done = match socket.connect(&target.into()) {
            Ok(()) => true,
            Err(e) if is_in_progress(&e) => false,
            Err(e) => return Err(e),
        };
        let io = Polled::new(socket)?;
        Ok(Self { socket: Connection { io, drained: true, hung_up: false }, done })
    }

    pub(super) fn raw(&self) -> RawFd {
        self.socket.raw()
    }

    /// Waits until the connection is there, or cannot be.
    pub(super) fn finish(self) -> io::Result<Connection> {
        if self.done {
            return Ok(self.socket);
        }
        loop {
            let events = self.socket.io.wait();
            if let Some(error) = self.socket.io.inner().take_error()? {
                return Err(error);
            }
            if events & HUNG_UP != 0 {
                return Err(ErrorKind::ConnectionAborted.into());
            }
            if self.socket.io.inner().peer_addr().is_ok() {
                return Ok(self.socket);
            }
        }
    }
}

impl Connection {
    pub(super) fn raw(&self) -> RawFd {
        self.io.as_raw_fd()
    }

    /// Whether a kept connection was closed by the peer meanwhile (or has said something unasked): known from the events
    /// seen, without a system call.
    pub(super) fn is_stale(&self) -> bool {
        self.hung_up || self.io.events() & (HUNG_UP | READABLE) != 0
    }

    pub(super) fn write_all(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match (self.io.inner()).write(bytes) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(count) => bytes = &bytes[count..],
                Err(e) if e.kind() == ErrorKind::WouldBlock => {
                    if self.io.wait() & HUNG_UP != 0 {
                        return Err(ErrorKind::BrokenPipe.into());
                    }
                }
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        self.drained = true;
        Ok(())
    }

    /// Reads what there is, waiting until there is something; 0 at the end.
    pub(super) fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.drained && !self.hung_up {
                self.hung_up = self.io.wait() & HUNG_UP != 0;
            }
            match (self.io.inner()).read(room) {
                Ok(count) => {
                    self.drained = count < room.len();
                    return Ok(count);
                }
                Err(e) if e.kind() == ErrorKind::WouldBlock => {
                    self.drained = true;
                    // Had it hung up, the read would have said so: wait again rather than spin.
                    self.hung_up = false;
                }
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
    }
}

fn is_in_progress(error: &io::Error) -> bool {
    error.raw_os_error() == Some(nix::libc::EINPROGRESS)
}
