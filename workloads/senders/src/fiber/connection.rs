use std::{
    io::{self, ErrorKind, Read as _, Write as _},
    mem::MaybeUninit,
    net::{IpAddr, SocketAddr},
    os::fd::{AsRawFd as _, RawFd},
    sync::Arc,
    time::Duration,
};

use nix::sys::{
    epoll::EpollFlags,
    socket::{setsockopt, sockopt::IpBindAddressNoPort},
};
use socket2::{Protocol, SockAddr, Socket, Type};

use super::{routes::TaskSlot, watch::Watch};

const HUNG_UP: EpollFlags = EpollFlags::EPOLLRDHUP.union(EpollFlags::EPOLLHUP).union(EpollFlags::EPOLLERR);

/// The number of bytes that a fiber reads in a row without a wait. A service that sends faster than the fiber reads
/// would keep it from ever waiting, and every other fiber from running.
const IN_A_ROW: usize = 256 * 1024;

/// A connection, used by one fiber at a time: every call waits for the socket without blocking the thread.
///
/// It makes few system calls: a read comes after an event and never before, because the answer to a request cannot be
/// there yet. Only a kept connection is looked at before it is used again: events lag behind while other fibers run.
#[derive(Debug)]
pub(super) struct Connection {
    socket: Socket,
    watch: Arc<Watch>,
    /// The last read emptied the socket: more bytes come only after a new event.
    drained: bool,
    /// Bytes read since the last wait.
    in_a_row: usize,
    /// The peer has closed, or the socket is broken: no further event will come, and reads return the rest.
    hung_up: bool,
    to: SocketAddr,
    /// The slot at the connection's task, where connections are balanced, held as long as the connection lives.
    _slot: Option<TaskSlot>,
}

/// The way to a service.
#[derive(Debug, Clone, Copy)]
pub(super) struct Way<'a> {
    pub(super) target: SocketAddr,
    /// The address to come from; `None`: the kernel chooses.
    pub(super) source: Option<IpAddr>,
    /// The socket to connect to in place of the target's address.
    pub(super) unix_socket: Option<&'a SockAddr>,
}

/// A connection that is being established.
#[derive(Debug)]
pub(super) struct Connecting(Connection);

/// The result of a first attempt to write.
#[derive(Debug)]
pub(super) enum Attempt {
    /// The connection is established, and this many bytes are written.
    Written(Connection, usize),
    /// The connection is not established yet.
    Early(Connecting),
}

/// The state of a kept connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeptState {
    Open,
    /// The peer has closed it.
    Closed,
    /// Bytes have come that no request asked for.
    Unasked,
}

impl Connecting {
    /// Begins to connect.
    pub(super) fn begin(watch: &Arc<Watch>, way: Way<'_>, slot: Option<TaskSlot>) -> io::Result<Self> {
        let Way { target, source, unix_socket } = way;
        let to = unix_socket.cloned().unwrap_or_else(|| target.into());
        let protocol = unix_socket.is_none().then_some(Protocol::TCP);
        let socket = Socket::new(to.domain(), Type::STREAM.nonblocking(), protocol)?;
        if let Some(source) = source {
            // Without this option, the kernel would reserve a port for all targets at once, and ports would run out
            // with the first one.
            setsockopt(&socket, IpBindAddressNoPort, &true)?;
            socket.bind(&SocketAddr::new(source, 0).into())?;
        }
        match socket.connect(&to) {
            Err(e) if !is_in_progress(&e) => return Err(e),
            _ => watch.add(&socket, EpollFlags::empty())?,
        }
        let watch = Arc::clone(watch);
        Ok(Self(Connection { socket, watch, drained: true, in_a_row: 0, hung_up: false, to: target, _slot: slot }))
    }

    pub(super) fn raw(&self) -> RawFd {
        self.0.raw()
    }

    /// Tries to write at once: on loopback the connection is established at once (unless the backlog is full), and a
    /// write that succeeds proves it without a further system call.
    ///
    /// # Errors
    /// If the connection cannot be established: nothing was written.
    pub(super) fn attempt(self, bytes: &[u8]) -> io::Result<Attempt> {
        if bytes.is_empty() {
            return Ok(Attempt::Early(self)); // nothing to prove it with
        }
        match self.0.begin_to_write(bytes)? {
            0 => Ok(Attempt::Early(self)),
            count => Ok(Attempt::Written(self.0, count)),
        }
    }

    /// Waits until the connection is established or has failed.
    pub(super) fn finish(self) -> io::Result<Connection> {
        let Connection { socket, watch, .. } = &self.0;
        watch.change(socket, EpollFlags::EPOLLOUT)?;
        loop {
            let events = watch.wait(self.raw());
            if let Some(error) = socket.take_error()? {
                return Err(error);
            }
            if events.intersects(HUNG_UP) {
                return Err(ErrorKind::ConnectionAborted.into());
            }
            if socket.peer_addr().is_ok() {
                watch.change(socket, EpollFlags::empty())?;
                return Ok(self.0);
            }
        }
    }
}

impl Connection {
    /// The address of the peer.
    pub(super) fn to(&self) -> SocketAddr {
        self.to
    }

    pub(super) fn raw(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    /// What a kept connection is good for.
    pub(super) fn state(&self) -> KeptState {
        let events = self.watch.take(self.raw());
        match self.socket.peek(&mut [MaybeUninit::uninit()]) {
            Ok(1..) => KeptState::Unasked,
            Err(error) if error.kind() == ErrorKind::WouldBlock && !self.hung_up && !events.intersects(HUNG_UP) => {
                KeptState::Open
            }
            _ => KeptState::Closed,
        }
    }

    /// Writes what there is room for; 0 if that is nothing.
    ///
    /// # Errors
    /// If nothing can be written any more: nothing was.
    pub(super) fn begin_to_write(&self, bytes: &[u8]) -> io::Result<usize> {
        match (&self.socket).write(bytes) {
            Err(e) if e.kind() == ErrorKind::WouldBlock => Ok(0),
            written => written,
        }
    }

    /// Closes the connection with a reset, which abandons the answer under way. An ordinary close would only say that
    /// no more requests will come, and the service would go on with its work.
    pub(super) fn give_up(self) {
        let _ = self.socket.set_linger(Some(Duration::ZERO)); // it is closed in any case
    }

    /// Writes all bytes. `TCP_NODELAY` is not needed: a request goes out in one piece, after the answer to the previous
    /// one has confirmed that one, so the kernel has no reason to hold it back. For a request that
    /// goes out in several pieces it is set.
    pub(super) fn write_all(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        let mut waited = false;
        while !bytes.is_empty() {
            match (&self.socket).write(bytes) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(count) => bytes = &bytes[count..],
                Err(e) if e.kind() == ErrorKind::WouldBlock => {
                    if !waited {
                        waited = true;
                        // A Unix socket has no such option, and needs none.
                        let _ = self.socket.set_tcp_nodelay(true);
                        self.watch.change(&self.socket, EpollFlags::EPOLLOUT)?;
                    }
                    if self.watch.wait(self.raw()).intersects(HUNG_UP) {
                        return Err(ErrorKind::BrokenPipe.into());
                    }
                }
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        if waited {
            self.watch.change(&self.socket, EpollFlags::empty())?;
        }
        self.drained = true;
        Ok(())
    }

    /// Reads the available bytes, after a wait until there are some; 0 at the end.
    pub(super) fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.in_a_row >= IN_A_ROW {
                // Registering the socket again makes epoll report its bytes again, after all other events.
                self.watch.change(&self.socket, EpollFlags::empty())?;
                self.drained = true;
                self.hung_up = false;
            }
            if self.drained && !self.hung_up {
                self.in_a_row = 0;
                self.hung_up = self.watch.wait(self.raw()).intersects(HUNG_UP);
            }
            match (&self.socket).read(room) {
                Ok(count) => {
                    self.in_a_row += count;
                    self.drained = count < room.len();
                    return Ok(count);
                }
                Err(e) if e.kind() == ErrorKind::WouldBlock => {
                    self.drained = true;
                    // If it had hung up, the read would have reported it: wait again rather than spin.
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
