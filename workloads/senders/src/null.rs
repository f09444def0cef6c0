//! A service that does nothing, as cheaply as the kernel allows: a generator that runs against it measures itself.

use std::{
    io::{self, ErrorKind},
    net::{SocketAddr, TcpListener, TcpStream},
    os::fd::AsRawFd as _,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use nix::{
    errno::Errno,
    sys::{
        epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout},
        socket::{Backlog, MsgFlags, listen, recv, send},
    },
};
use socket2::SockRef;

/// A body of 100 bytes, like those of the services that load tools are usually compared on.
const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 100\r\n\r\n\
    0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789";

const LISTENER: u64 = u64::MAX;

/// The longest time from [`Null::stop`] to the end of the service, milliseconds.
const ENDS_WITHIN_MS: u16 = 50;

/// Answers every request with the same bytes.
///
/// The client closes the connections, and the service then resets them. If the service closed first, as services do,
/// the kernel would keep each connection for a minute (TIME_WAIT) and remove them in batches, one every 2 s: batches of
/// 14 000 took 5 to 7 ms of the *client's* core, charged to the thread that runs there.
#[derive(Debug, Clone)]
pub struct Null(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    listener: TcpListener,
    address: SocketAddr,
    over: AtomicBool,
}

impl Null {
    /// Binds a free port of 127.0.0.1.
    ///
    /// # Errors
    /// If no port or descriptor is left.
    pub fn bind() -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        // std listens with a backlog of 128, which overflows while a crowd connects; a second call sets another.
        listen(&listener, Backlog::MAXALLOWABLE)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        Ok(Self(Arc::new(Inner { listener, address, over: AtomicBool::new(false) })))
    }

    /// The address of the service.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.0.address
    }

    /// Makes [`serve`](Self::serve) return soon.
    pub fn stop(&self) {
        self.0.over.store(true, Ordering::Relaxed);
    }

    /// Serves on this thread until it is stopped.
    ///
    /// # Errors
    /// If sockets cannot be watched.
    pub fn serve(&self) -> io::Result<()> {
        let Inner { listener, over, .. } = &*self.0;
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        epoll.add(listener, EpollEvent::new(EpollFlags::EPOLLIN, LISTENER))?;
        let mut events = vec![EpollEvent::empty(); 512];
        let mut streams = Streams { epoll, open: Vec::new(), room: vec![0; 4096] };
        while !over.load(Ordering::Relaxed) {
            let count = match streams.epoll.wait(&mut events, EpollTimeout::from(ENDS_WITHIN_MS)) {
                Ok(count) => count,
                Err(Errno::EINTR) => 0,
                Err(error) => return Err(error.into()),
            };
            for event in &events[..count] {
                match event.data() {
                    LISTENER => streams.accept(listener)?,
                    number => streams.serve(number as usize, event.events().contains(EpollFlags::EPOLLRDHUP)),
                }
            }
        }
        Ok(())
    }
}

struct Streams {
    epoll: Epoll,
    /// Open connections, by descriptor.
    open: Vec<Option<TcpStream>>,
    room: Vec<u8>,
}

/// What to do with a connection next.
enum Then {
    Wait,
    Close,
}

impl Streams {
    fn accept(&mut self, listener: &TcpListener) -> io::Result<()> {
        loop {
            let stream = match listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                // Out of descriptors: the open connections must be served first, or none is ever freed. The event of
                // the listener is reported again at once.
                Err(_) => return Ok(()),
            };
            // Set once, here: a reset on close leaves no TIME_WAIT.
            let _ = SockRef::from(&stream).set_linger(Some(Duration::ZERO));
            // The request is often there already.
            if let Then::Wait = answer(&stream, &mut self.room) {
                self.keep(stream)?;
            }
        }
    }

    fn keep(&mut self, stream: TcpStream) -> io::Result<()> {
        let number = stream.as_raw_fd() as usize;
        let watched = EpollFlags::EPOLLIN | EpollFlags::EPOLLRDHUP | EpollFlags::EPOLLET;
        self.epoll.add(&stream, EpollEvent::new(watched, number as u64))?;
        if self.open.len() <= number {
            self.open.resize_with(number + 1, || None);
        }
        self.open[number] = Some(stream);
        Ok(())
    }

    fn serve(&mut self, number: usize, closed: bool) {
        if let Some(Some(stream)) = self.open.get(number) {
            let then = answer(stream, &mut self.room);
            if closed || matches!(then, Then::Close) {
                self.open[number] = None;
            }
        }
    }
}

/// Clients here send one request at a time, without a body, in one piece.
fn answer(stream: &TcpStream, room: &mut [u8]) -> Then {
    let socket = stream.as_raw_fd();
    loop {
        let request = match recv(socket, room, MsgFlags::MSG_DONTWAIT) {
            Ok(count) => &room[..count],
            Err(Errno::EAGAIN) => return Then::Wait,
            Err(Errno::EINTR) => continue,
            Err(_) => return Then::Close,
        };
        if !request.ends_with(b"\r\n\r\n") {
            return Then::Close;
        }
        // An answer is far smaller than a socket's buffer.
        let sent = send(socket, ANSWER, MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL);
        // Nothing more can arrive before the client has the answer; an event will report it.
        return if sent == Ok(ANSWER.len()) { Then::Wait } else { Then::Close };
    }
}
