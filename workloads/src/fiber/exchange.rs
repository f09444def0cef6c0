use std::{
    fmt::{self, Write as _},
    io,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    os::fd::RawFd,
    sync::Arc,
    time::Duration,
};

use controllers::Timestamp;
use nix::libc::{EADDRNOTAVAIL, EMFILE, ENFILE, ETIMEDOUT};

use super::{
    connection::{Attempt, Connecting, Connection},
    deadline::Deadline,
    routes::{Choice, Routes, Seat},
    watch::Watch,
};
use crate::{
    clock::Clock,
    host::{End, Limit},
    http1::{Budget, Http1Error, Inbox, Known, Limits, Outgoing, Progress},
    persona::{Call, Connection as Habit, Method, Want},
};

/// Where the connections of a run go to, and how long they may take.
#[derive(Debug, Clone)]
pub(super) struct Network {
    pub(super) routes: Routes,
    pub(super) host: String,
    /// Source addresses are spread over this many of 127.0.0.0/8; 1: the kernel chooses.
    pub(super) sources: u32,
    pub(super) timeout: Duration,
    pub(super) connect_timeout: Duration,
    /// How large an answer may be.
    pub(super) limits: Limits,
    /// What all of them may take up.
    pub(super) memory: Budget,
    /// Who sees what happens on them.
    pub(super) watch: Arc<Watch>,
}

impl Network {
    /// The address that this user connects from: one user keeps one, as a real one would.
    fn source(&self, user: u64, target: SocketAddr) -> Option<IpAddr> {
        if self.sources <= 1 || !target.ip().is_loopback() || !target.is_ipv4() {
            return None;
        }
        let number = u32::try_from(user % u64::from(self.sources)).unwrap_or_default();
        // 127.0.0.1 to 127.255.255.254 without the last bytes 0 and 255: 254 addresses a block.
        let address = 0x7F00_0000 + ((number / 254) << 8) + number % 254 + 1;
        Some(Ipv4Addr::from_bits(address).into())
    }
}

/// Who listens to an exchange while it goes on.
pub(super) trait Witness {
    /// The generator begins with it.
    fn begins(&mut self, now: Timestamp);
    /// A socket was opened under this number.
    fn opened(&mut self, descriptor: RawFd);
    /// A connection was made, and took so long.
    fn connected(&mut self, took: Duration);
    /// It is about to be written, if there is a connection: what the service is told of it, where requests are numbered.
    fn known(&mut self) -> Option<Known>;
    /// It is written now.
    fn sends(&mut self, now: Timestamp);
    /// A kept connection had been closed by the service.
    fn found_stale(&mut self);
    /// The balancer before this service refused it.
    fn turned_back(&mut self, service: &str);
}

/// One request of one user.
#[derive(Debug, Clone, Copy)]
pub(super) struct Errand<'a> {
    pub(super) call: &'a Call,
    pub(super) user: u64,
    /// Intended start, from which time-out and patience count.
    pub(super) intended: Timestamp,
    /// The share of both that the user waits, if it is in more of a hurry than planned.
    pub(super) patience_factor: Option<f64>,
}

/// What a fiber works with, reused for one request after the other.
#[derive(Debug)]
pub(super) struct HttpExchange {
    out: Vec<u8>,
    pub(super) inbox: Inbox,
    pub(super) deadline: Arc<Deadline>,
    /// What went wrong with the last request, if anything did; empty else.
    pub(super) error: String,
    clock: Clock,
}

impl HttpExchange {
    pub(super) fn new(clock: Clock, deadline: Arc<Deadline>, net: &Network) -> Self {
        let inbox = Inbox::new(net.limits).sharing(net.memory.clone());
        Self { out: Vec::with_capacity(1024), inbox, deadline, error: String::new(), clock }
    }

    /// Remembers why, and how the exchange ends for it.
    fn because(&mut self, end: End, why: &impl fmt::Display) -> End {
        self.error.clear();
        // Writing into a String cannot fail.
        let _ = write!(self.error, "{why}");
        end
    }

    fn broken(&mut self, why: &Http1Error) -> End {
        let end = if matches!(why, Http1Error::Memory(_)) { End::OutOfMemory } else { End::Broken };
        self.because(end, why)
    }

    /// Sends the request and receives the answer, on the `kept` connection or a new one. Waits without blocking the
    /// thread. Leaves in `kept` what can be used again.
    pub(super) fn exchange(
        &mut self,
        net: &Network,
        kept: &mut Option<Connection>,
        errand: Errand<'_>,
        witness: &mut impl Witness,
    ) -> End {
        self.error.clear();
        let now = self.clock.now();
        let limit = Limit::of(net.timeout, errand.call, errand.intended, errand.patience_factor);
        if let Some(end) = limit.passed(now) {
            // The generator came too late to begin: this is its own fault, and shows as unsent.
            return end;
        }
        witness.begins(now);
        let call = errand.call;
        // Where each request is balanced, one that goes to another task than the one before leaves that connection.
        // One that is wanted for itself stays where it is.
        let choice =
            if call.want == Want::Connection { Choice::OfConnection } else { net.routes.for_request(call.class) };
        let seat = match choice {
            Choice::OfConnection => None,
            Choice::Task(seat) => Some(seat),
            Choice::Full(service) => {
                // To the user it is sent and answered.
                let _ = witness.known();
                witness.sends(now);
                witness.turned_back(&service);
                return End::TurnedBack;
            }
        };
        let reused = kept.take().filter(|connection| {
            if seat.as_ref().is_some_and(|seat| seat.address != connection.to()) {
                return false;
            }
            let stale = connection.is_stale();
            if stale && call.connection == Habit::Keep {
                witness.found_stale();
            }
            !stale && call.connection == Habit::Keep
        });
        if call.want == Want::Connection {
            return self.only_connect(net, kept, reused, errand, (now, limit), witness);
        }
        self.compose(net, call, witness.known());
        let was_reused = reused.is_some();
        let opened = match reused {
            Some(connection) => Ok((connection, 0)),
            None => self.connect(net, errand, seat.as_ref(), now, limit, witness),
        };
        let (mut connection, written) = match opened {
            Ok(opened) => opened,
            Err(end) => return end,
        };
        let mut end = self.converse(&mut connection, written, limit, witness);
        if end == End::Broken && was_reused && self.inbox.is_empty() && call.method == Method::Get {
            // The service closed the kept connection just as it was used again: a client tries once more on a new one
            // (RFC 9112, section 9.3.1).
            witness.found_stale();
            self.error.clear();
            self.deadline.clear();
            let again = self.connect(net, errand, seat.as_ref(), self.clock.now(), limit, witness);
            let (other, written) = match again {
                Ok(opened) => opened,
                Err(end) => return end,
            };
            connection = other;
            end = self.converse(&mut connection, written, limit, witness);
        }
        self.deadline.clear();
        if matches!(end, End::TimedOut | End::GaveUp) {
            connection.give_up();
        } else if end == End::Answered && call.connection != Habit::Once && self.inbox.reusable() {
            *kept = Some(connection);
        }
        end
    }

    /// A new connection, to the task of `seat` if the request has one, and how much of the request is already written to it.
    fn connect(
        &mut self,
        net: &Network,
        errand: Errand<'_>,
        seat: Option<&Seat>,
        began: Timestamp,
        limit: Limit,
        witness: &mut impl Witness,
    ) -> Result<(Connection, usize), End> {
        let (target, seat) = match seat {
            Some(seat) => (seat.address, None),
            None => net.routes.for_connection(errand.call.class).ok_or(End::ConnectFailed)?,
        };
        let source = net.source(errand.user, target);
        let connecting = Connecting::begin(&net.watch, target, seat, source).map_err(|e| self.no_connection(&e))?;
        witness.opened(connecting.raw());
        let asked = self.clock.now();
        let connecting = match connecting.attempt(&self.out).map_err(|e| self.no_connection(&e))? {
            Attempt::Written(connection, count) => {
                witness.connected(asked.since(began));
                witness.sends(asked);
                return Ok((connection, count));
            }
            Attempt::Early(connecting) => connecting,
        };
        let connect_by = began + net.connect_timeout;
        self.deadline.set(connect_by.min(limit.at), connecting.raw());
        let connected = connecting.finish();
        let over = self.deadline.is_over();
        self.deadline.clear();
        match connected {
            Ok(connection) if !over => {
                witness.connected(self.clock.now().since(began));
                Ok((connection, 0))
            }
            _ if over && limit.at < connect_by => Err(limit.end),
            _ if over => Err(End::ConnectTimedOut),
            Err(error) => Err(self.no_connection(&error)),
            Ok(_) => Err(End::ConnectFailed),
        }
    }

    fn no_connection(&mut self, error: &io::Error) -> End {
        let end = match error.raw_os_error() {
            Some(EADDRNOTAVAIL) => End::OutOfPorts,
            Some(EMFILE | ENFILE) => End::OutOfDescriptors,
            Some(ETIMEDOUT) => End::ConnectTimedOut,
            _ => End::ConnectFailed,
        };
        self.because(end, error)
    }

    /// Sees to it that there is a connection.
    fn only_connect(
        &mut self,
        net: &Network,
        kept: &mut Option<Connection>,
        reused: Option<Connection>,
        errand: Errand<'_>,
        (now, limit): (Timestamp, Limit),
        witness: &mut impl Witness,
    ) -> End {
        self.out.clear();
        let connection = match reused {
            Some(connection) => connection,
            None => match self.connect(net, errand, None, now, limit, witness) {
                Ok((connection, _)) => connection,
                Err(end) => return end,
            },
        };
        *kept = Some(connection).filter(|_| errand.call.connection != Habit::Once);
        End::Connected
    }

    fn compose(&mut self, net: &Network, call: &Call, known: Option<Known>) {
        self.out.clear();
        Outgoing {
            method: if call.method == Method::Get { "GET" } else { "POST" },
            path: &call.path,
            host: &net.host,
            headers: &call.headers,
            body: call.body.as_deref(),
            attempt: call.attempt,
            known,
            close: call.connection == Habit::Once,
        }
        .write(&mut self.out);
    }

    /// Writes what is not `written` yet, and receives the answer.
    fn converse(
        &mut self,
        connection: &mut Connection,
        written: usize,
        limit: Limit,
        witness: &mut impl Witness,
    ) -> End {
        self.inbox.clear();
        self.deadline.set(limit.at, connection.raw());
        if written == 0 {
            witness.sends(self.clock.now());
        }
        let read = match connection.write_all(&self.out[written..]) {
            Ok(()) => self.receive(connection),
            Err(error) => self.because(End::Broken, &error),
        };
        // An answer that was whole before the time was over has come in time.
        if read == End::Answered || !self.deadline.is_over() {
            return read;
        }
        // What the socket said was our own doing.
        self.error.clear();
        limit.end
    }

    fn receive(&mut self, connection: &mut Connection) -> End {
        loop {
            let progress = match connection.read(self.inbox.room()) {
                // The deadline shuts the socket down, which must not pass for the end of a body.
                Ok(0) if self.deadline.is_over() => return End::TimedOut,
                Ok(0) => self.inbox.ended(),
                Ok(count) => self.inbox.received(count),
                Err(error) => return self.because(End::Broken, &error),
            };
            match progress {
                Ok(Progress::Whole) => return End::Answered,
                Ok(Progress::More) => {}
                Err(error) => return self.broken(&error),
            }
        }
    }
}
