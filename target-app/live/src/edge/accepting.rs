//! A listening socket behind the gate of the policy at accept.

use std::{
    io,
    net::{SocketAddr, TcpListener, TcpStream},
    os::fd::AsFd,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use controllers::{Offer, Outcome};
use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
};
use socket2::SockRef;
use tokio::io::unix::AsyncFd;

use crate::stage::{AdmissionGate, GatePermit};

/// A listening socket and its gate.
#[derive(Debug)]
pub(crate) struct Accepting {
    listener: AsyncFd<TcpListener>,
    gate: Arc<AdmissionGate>,
    backlog: AtomicU32,
}

/// A connection that was taken from the kernel's queue.
#[derive(Debug)]
pub(crate) enum Arrival {
    /// It is to be served. `SocketAddr`: the address that accept returned, since the socket of a connection that was reset
    /// in the queue has none.
    Accepted(TcpStream, SocketAddr, Option<GatePermit>),
    /// The policy refused it.
    Refused(TcpStream),
}

impl Accepting {
    /// Needs a runtime.
    ///
    /// # Errors
    /// If the socket cannot be watched.
    pub(crate) fn new(listener: TcpListener, gate: Arc<AdmissionGate>, backlog: u32) -> io::Result<Self> {
        #[expect(unsafe_code, reason = "waiting for a connection without taking it has no safe interface")]
        // SAFETY: the listener owns its descriptor, and nobody closes or replaces it while `AsyncFd` owns the listener.
        let listener = unsafe { AsyncFd::register(listener) }?;
        Ok(Self { listener, gate, backlog: AtomicU32::new(backlog) })
    }

    /// Changes the length of the kernel's queue of connections. Linux allows that on a listening socket.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub(crate) fn set_backlog(&self, backlog: u32) -> io::Result<()> {
        if self.backlog.swap(backlog, Ordering::Relaxed) == backlog {
            return Ok(());
        }
        SockRef::from(self.listener.get_ref()).listen(i32::try_from(backlog).unwrap_or(i32::MAX))
    }

    /// Waits for a connection, and takes it as the policy decides; a held one stays in the kernel's queue. `offer` is its
    /// offer to the policy. `None`: there is no connection after all.
    ///
    /// # Errors
    /// If the connection could not be accepted.
    pub(crate) async fn next(&self, offer: impl FnOnce() -> Offer) -> io::Result<Option<Arrival>> {
        let mut ready = self.listener.readable().await?;
        let mut permit = None;
        if self.gate.is_watched() {
            if !is_readable(&self.listener)? {
                ready.clear_ready(); // the queue is empty: a policy is asked about real connections only
                return Ok(None);
            }
            match self.gate.enter(offer()).await {
                Ok(admitted) => permit = Some(admitted),
                Err(_) => {
                    let taken = ready.try_io(|listener| listener.get_ref().accept());
                    return Ok(taken.ok().and_then(Result::ok).map(|(stream, _)| Arrival::Refused(stream)));
                }
            }
        }
        let taken = ready.try_io(|listener| listener.get_ref().accept());
        if let Ok(Ok((stream, peer))) = taken {
            return Ok(Some(Arrival::Accepted(stream, peer, permit)));
        }
        permit.into_iter().for_each(|permit| _ = permit.end(Outcome::Ignored)); // the connection was closed while it was held
        taken.map_or(Ok(None), |failed| failed.map(|_| None))
    }
}

/// The listening socket of a service that is about to end, whose policy is not asked any more.
impl Accepting {
    /// Waits for a connection, and takes it. `None`: there is none after all.
    ///
    /// # Errors
    /// If the connection could not be accepted.
    pub(crate) async fn next_unasked(&self) -> io::Result<Option<(TcpStream, SocketAddr)>> {
        let mut ready = self.listener.readable().await?;
        ready.try_io(|listener| listener.get_ref().accept()).map_or(Ok(None), |taken| taken.map(Some))
    }

    /// Closes the port. Returns the connections that were in the kernel's queue.
    pub(crate) fn close(&self) -> Vec<(TcpStream, SocketAddr)> {
        let queue = std::iter::from_fn(|| self.listener.get_ref().accept().ok()).collect();
        let _ = SockRef::from(self.listener.get_ref()).shutdown(std::net::Shutdown::Both); // it is closed at the end at the latest
        queue
    }
}

/// True if a connection could not be accepted for want of descriptors or memory: it stays in the queue.
pub(crate) fn is_exhausted(error: &io::Error) -> bool {
    let exhausted = [Errno::EMFILE, Errno::ENFILE, Errno::ENOBUFS, Errno::ENOMEM];
    error.raw_os_error().is_some_and(|code| exhausted.contains(&Errno::from_raw(code)))
}

fn is_readable(listener: &AsyncFd<TcpListener>) -> io::Result<bool> {
    let mut fds = [PollFd::new(listener.get_ref().as_fd(), PollFlags::POLLIN)];
    Ok(poll(&mut fds, PollTimeout::ZERO)? > 0)
}
