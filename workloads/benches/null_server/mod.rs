use std::{
    io::ErrorKind,
    net::{TcpListener, TcpStream},
    os::fd::AsRawFd as _,
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

/// 100 bytes of body, like the services that load tools are usually compared on.
const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 100\r\n\r\n\
    0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789";

const LISTENER: u64 = u64::MAX;

/// Answers every request with the same bytes, as cheaply as the kernel allows: what is measured is who asks. Says on
/// standard output where it is.
///
/// It leaves it to the client to close, and resets the connection then. Did it close first, as services do, the kernel would
/// keep each connection for a minute (TIME_WAIT) and throw them away in heaps, one every 2 s: 14 000 at a time were 5 to 7 ms
/// of work on the *client's* core, charged to whoever runs there.
pub fn serve() {
    super::pin(super::SERVER_CORE);
    super::raise_descriptor_limit();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    // std listens with a backlog of 128, which overflows while a crowd connects; a second call sets another.
    listen(&listener, Backlog::MAXALLOWABLE).expect("listens");
    listener.set_nonblocking(true).expect("a listener that does not block");
    println!("{}", listener.local_addr().expect("an address"));
    let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).expect("an epoll");
    epoll.add(&listener, EpollEvent::new(EpollFlags::EPOLLIN, LISTENER)).expect("the listener is watched");
    let mut events = vec![EpollEvent::empty(); 512];
    let mut streams = Streams { epoll, open: Vec::new(), room: vec![0; 4096] };
    loop {
        let count = match streams.epoll.wait(&mut events, EpollTimeout::NONE) {
            Ok(count) => count,
            Err(Errno::EINTR) => 0,
            Err(error) => panic!("{error}"),
        };
        for event in &events[..count] {
            match event.data() {
                LISTENER => streams.accept(&listener),
                number => streams.serve(number as usize, event.events().contains(EpollFlags::EPOLLRDHUP)),
            }
        }
    }
}

struct Streams {
    epoll: Epoll,
    /// By descriptor.
    open: Vec<Option<TcpStream>>,
    room: Vec<u8>,
}

/// What is to become of a connection.
enum Then {
    Wait,
    Close,
}

impl Streams {
    fn accept(&mut self, listener: &TcpListener) {
        loop {
            let stream = match listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                // Out of descriptors: those that hold one must be served, or none is ever given back. The listener is told of
                // again at once.
                Err(_) => return,
            };
            // Said once, here: a closing that resets leaves nothing behind.
            let _ = SockRef::from(&stream).set_linger(Some(Duration::ZERO));
            // The request is often there already.
            if let Then::Wait = answer(&stream, &mut self.room) {
                self.keep(stream);
            }
        }
    }

    fn keep(&mut self, stream: TcpStream) {
        let number = stream.as_raw_fd() as usize;
        let watched = EpollFlags::EPOLLIN | EpollFlags::EPOLLRDHUP | EpollFlags::EPOLLET;
        self.epoll.add(&stream, EpollEvent::new(watched, number as u64)).expect("a connection is watched");
        if self.open.len() <= number {
            self.open.resize_with(number + 1, || None);
        }
        self.open[number] = Some(stream);
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
        // Nothing more can be there before the client has the answer: an event will tell.
        return if sent == Ok(ANSWER.len()) { Then::Wait } else { Then::Close };
    }
}
