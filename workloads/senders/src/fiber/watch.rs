use std::{
    io,
    os::fd::{AsFd, AsRawFd, RawFd},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use may::coroutine::{self, Coroutine};
use nix::{
    errno::Errno,
    sys::{
        epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout},
        time::TimeSpec,
        timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags},
    },
};

use super::polled::Polled;

/// Token of the alarm: no descriptor has it.
const ALARM: u64 = u64::MAX;

/// The events that a socket is watched for: bytes to read, and its end (errors and hang-ups are always reported).
const TO_READ: EpollFlags = EpollFlags::EPOLLIN.union(EpollFlags::EPOLLRDHUP).union(EpollFlags::EPOLLET);

/// The sockets of a run, and its alarm, in one epoll of its own, which the worker's epoll watches in turn.
///
/// A socket that `may` itself watches costs three more system calls, two to make sure that it does not block and one to
/// remove it, and, since `may` watches for room to write as well, a spurious wake-up. Nine of ten users may connect
/// again for each request, so that counts. With an epoll of its own, the kernel also forgets a socket when it is
/// closed: no number is removed from epoll that meanwhile belongs to another socket.
///
/// The pacer [`look`](Self::look)s; fibers [`wait`](Self::wait). All run on one thread. An event that is under way when
/// its socket is closed must not reach the next socket with that number: the generation distinguishes them.
#[derive(Debug)]
pub(super) struct Watch {
    epoll: Polled<Inner>,
    timer: TimerFd,
    sockets: Mutex<Vec<Seen>>,
}

#[derive(Debug)]
struct Inner(Epoll);

/// The events seen of the socket with this number.
#[derive(Debug)]
struct Seen {
    events: EpollFlags,
    generation: u32,
    waiting: Option<Coroutine>,
}

impl AsRawFd for Inner {
    fn as_raw_fd(&self) -> RawFd {
        self.0.0.as_raw_fd()
    }
}

impl Watch {
    pub(super) fn new() -> io::Result<Self> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC)?;
        epoll.add(timer.as_fd(), EpollEvent::new(EpollFlags::EPOLLIN | EpollFlags::EPOLLET, ALARM))?;
        Ok(Self { epoll: Polled::new(Inner(epoll))?, timer, sockets: Mutex::new(Vec::new()) })
    }

    /// Sets the alarm: it rings once after `delay`, and replaces any earlier setting. It has the kernel's precision:
    /// `may`'s own timers have a resolution of 1 ms and run on another thread.
    ///
    /// The timer is never read: setting it again clears it, and epoll reports each expiry as an edge.
    pub(super) fn set_alarm(&self, delay: Duration) -> io::Result<()> {
        // Zero would switch the timer off.
        let delay = TimeSpec::from_duration(delay.max(Duration::from_nanos(1)));
        self.timer.set(Expiration::OneShot(delay), TimerSetTimeFlags::empty())?;
        Ok(())
    }

    /// Suspends this fiber until the alarm has rung or a socket has an event (or, rarely, spuriously), and wakes the
    /// fibers of those sockets. For the pacer alone. `room` is the buffer for events.
    pub(super) fn look(&self, room: &mut [EpollEvent]) -> io::Result<()> {
        self.epoll.wait();
        self.fetch(room)
    }

    /// Wakes the fibers of the sockets that have had an event. For the pacer alone.
    pub(super) fn fetch(&self, room: &mut [EpollEvent]) -> io::Result<()> {
        loop {
            let count = match self.epoll.inner().0.wait(room, EpollTimeout::ZERO) {
                Ok(count) => count,
                Err(Errno::EINTR) => continue,
                Err(error) => return Err(error.into()),
            };
            self.tell(&room[..count]);
            // An edge is reported once: an event that is not fetched now would not be reported again.
            if count < room.len() {
                return Ok(());
            }
        }
    }

    fn tell(&self, events: &[EpollEvent]) {
        let mut sockets = self.sockets();
        for event in events.iter().filter(|event| event.data() != ALARM) {
            let (number, generation) = (event.data() as u32 as usize, (event.data() >> 32) as u32);
            if let Some(seen) = sockets.get_mut(number).filter(|seen| seen.generation == generation) {
                seen.events |= event.events();
                if let Some(fiber) = seen.waiting.take() {
                    fiber.unpark();
                }
            }
        }
    }

    /// Watches this socket until it is closed.
    pub(super) fn add(&self, socket: &impl AsFd, also: EpollFlags) -> io::Result<()> {
        let token = self.begin(socket.as_fd().as_raw_fd());
        self.epoll.inner().0.add(socket, EpollEvent::new(TO_READ | also, token))?;
        Ok(())
    }

    /// Changes the additional events that the socket is watched for.
    pub(super) fn change(&self, socket: &impl AsFd, also: EpollFlags) -> io::Result<()> {
        let token = self.begin(socket.as_fd().as_raw_fd());
        self.epoll.inner().0.modify(socket, &mut EpollEvent::new(TO_READ | also, token))?;
        Ok(())
    }

    /// Begins a new generation for this number. Epoll reports the current state of the socket again, so no event is
    /// lost.
    fn begin(&self, number: RawFd) -> u64 {
        let index = usize::try_from(number).unwrap_or_default();
        let mut sockets = self.sockets();
        if sockets.len() <= index {
            sockets.resize_with(index + 1, || Seen { events: EpollFlags::empty(), generation: 0, waiting: None });
        }
        let seen = &mut sockets[index];
        seen.generation = seen.generation.wrapping_add(1);
        seen.events = EpollFlags::empty();
        u64::from(seen.generation) << 32 | index as u64
    }

    /// Suspends this fiber until there are events of this socket, and takes them.
    pub(super) fn wait(&self, socket: RawFd) -> EpollFlags {
        loop {
            {
                let mut sockets = self.sockets();
                let Some(seen) = usize::try_from(socket).ok().and_then(|index| sockets.get_mut(index)) else {
                    return EpollFlags::EPOLLERR;
                };
                if !seen.events.is_empty() {
                    return std::mem::replace(&mut seen.events, EpollFlags::empty());
                }
                seen.waiting = Some(coroutine::current());
            }
            coroutine::park();
        }
    }

    /// Takes the events of this socket that came since the last look, without waiting.
    pub(super) fn take(&self, socket: RawFd) -> EpollFlags {
        let mut sockets = self.sockets();
        let seen = usize::try_from(socket).ok().and_then(|index| sockets.get_mut(index));
        seen.map_or(EpollFlags::empty(), |seen| std::mem::replace(&mut seen.events, EpollFlags::empty()))
    }

    fn sockets(&self) -> MutexGuard<'_, Vec<Seen>> {
        self.sockets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
