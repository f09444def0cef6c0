use std::{
    fmt::{self, Write as _},
    io,
    net::SocketAddr,
    sync::Arc,
};

use controllers::Timestamp;
use health::clock::RunClock;
use nix::libc::{EADDRNOTAVAIL, EMFILE, ENFILE, ETIMEDOUT};
use workloads::{
    host::{ExchangeEnd, RequestDeadline, UserTask},
    persona::{Call, Connection as Habit, Method, Want},
};

use super::{
    connection::{Attempt, Connecting, Connection, KeptState, Way},
    deadline::Deadline,
    network::Network,
    pool::FiberPool,
    routes::{Destination, TaskSlot},
};
use crate::{
    addresses::said,
    http1::{Http1Error, Inbox, Known, Outgoing, Progress},
};

/// A user of this host.
type User = UserTask<Connection>;

/// The destination of a request, and its time limits.
struct Route<'a> {
    call: &'a Call,
    /// The slot at the task, if each request is balanced.
    slot: Option<TaskSlot>,
    deadline: RequestDeadline,
}

/// The working state of a fiber, reused for one request after the other.
#[derive(Debug)]
pub(super) struct HttpExchange {
    out: Vec<u8>,
    pub(super) inbox: Inbox,
    pub(super) deadline: Arc<Deadline>,
    /// The error of the last request; empty if there was none.
    pub(super) error: String,
    clock: RunClock,
}

impl HttpExchange {
    pub(super) fn new(fibers: &FiberPool, deadline: Arc<Deadline>) -> Self {
        let inbox = Inbox::new(fibers.network.limits).sharing(fibers.network.memory.clone());
        Self { out: Vec::with_capacity(1024), inbox, deadline, error: String::new(), clock: fibers.clock }
    }

    /// Stores the reason, and returns how the exchange ends.
    fn because(&mut self, end: ExchangeEnd, why: &impl fmt::Display) -> ExchangeEnd {
        self.error.clear();
        // Writing into a String cannot fail.
        let _ = write!(self.error, "{why}");
        end
    }

    fn broken(&mut self, why: &Http1Error) -> ExchangeEnd {
        let end = if matches!(why, Http1Error::Memory(_)) { ExchangeEnd::OutOfMemory } else { ExchangeEnd::Broken };
        self.because(end, why)
    }

    /// Sends the user's request and receives the answer, on the user's kept connection or a new one. Waits without
    /// blocking the thread. The user keeps a connection that can be used again.
    pub(super) fn run(&mut self, fibers: &FiberPool, user: &mut User) -> ExchangeEnd {
        let Some(call) = user.call().cloned() else { return ExchangeEnd::Broken };
        self.error.clear();
        let (net, now) = (&fibers.network, self.clock.now());
        let deadline = RequestDeadline::of(net.timeout, &call, user.at, user.patience_factor());
        if let Some(end) = deadline.passed(now) {
            // The generator itself was too late to begin, so the request counts as unsent.
            return end;
        }
        user.begins(now);
        // Where each request is balanced, a request to another task than the previous one leaves its connection. A
        // connection that is wanted for itself stays where it is.
        let destination =
            if call.want == Want::Connection { Destination::OfConnection } else { net.routes.for_request(call.class) };
        let slot = match destination {
            Destination::OfConnection => None,
            Destination::Task(slot) => Some(slot),
            Destination::Full(service) => {
                // For the user the request is sent and answered.
                fibers.users(|users| {
                    let _ = users.books.number(user);
                    users.books.sends(user, now);
                    users.books.turned_back(user, &service);
                });
                return ExchangeEnd::TurnedBack;
            }
        };
        let kept = user.connection.take().filter(|connection| {
            call.connection == Habit::Keep && slot.as_ref().is_none_or(|slot| slot.address == connection.to())
        });
        let route = Route { call: &call, slot, deadline };
        self.out.clear();
        if call.want != Want::Connection {
            let number = fibers.users(|users| users.books.number(user));
            let (asker, left, draw) = (Some(user.number), Some(deadline.at.since(now)), user.draw(net.redraw));
            let known = |number| Known { number: Some(number), user: asker, left, draw };
            self.compose(net, &call, number.map(known));
        }
        let reused = kept.and_then(|connection| self.reuse(fibers, user, connection));
        let opened = reused.map_or_else(|| self.connect(fibers, user, &route, now), Ok);
        let (mut connection, written) = match opened {
            Ok(opened) => opened,
            Err(end) => return end,
        };
        if call.want == Want::Connection {
            user.connection = Some(connection).filter(|_| call.connection != Habit::Once);
            return ExchangeEnd::Connected;
        }
        let end = self.converse(fibers, user, &mut connection, written, deadline);
        self.deadline.clear();
        self.settle(fibers, user, connection, &route, end);
        end
    }

    /// Passes on what an answer says of its task, and keeps a connection that can be used again for the user.
    fn settle(&self, fibers: &FiberPool, user: &mut User, connection: Connection, route: &Route<'_>, end: ExchangeEnd) {
        if end == ExchangeEnd::Answered {
            if self.inbox.is_overfull() {
                fibers.got_unasked();
            }
            route.slot.iter().for_each(|slot| slot.answered(&self.inbox));
        }
        if matches!(end, ExchangeEnd::TimedOut | ExchangeEnd::GaveUp) {
            connection.give_up();
        } else if end == ExchangeEnd::Answered && route.call.connection != Habit::Once && self.inbox.reusable() {
            user.connection = Some(connection);
        }
    }

    /// The kept connection, and how much of the request is already written to it. `None`: the service had closed it
    /// before anything was written, or sent what nobody asked for, so that the request may go out on a new one. Whatever happens after a byte is
    /// written is the end of the request: the service may have read it.
    fn reuse(&self, fibers: &FiberPool, user: &mut User, connection: Connection) -> Option<(Connection, usize)> {
        let now = self.clock.now();
        let written = match connection.state() {
            KeptState::Open => connection.begin_to_write(&self.out).ok(),
            KeptState::Closed => None,
            KeptState::Unasked => {
                fibers.got_unasked();
                return None;
            }
        };
        fibers.users(|users| match written {
            Some(0) => {}
            Some(_) => users.books.sends(user, now),
            None => users.books.resends(user),
        });
        written.map(|count| (connection, count))
    }

    /// A new connection, to the task of the route if the request has one, and how much of the request is already
    /// written to it. Of a host with several addresses each is tried.
    fn connect(
        &mut self,
        fibers: &FiberPool,
        user: &mut User,
        route: &Route<'_>,
        began: Timestamp,
    ) -> Result<(Connection, usize), ExchangeEnd> {
        let routes = &fibers.network.routes;
        let (mut target, mut slot) = match &route.slot {
            Some(slot) => (slot.address, None),
            None => routes.for_connection(route.call.class).ok_or(ExchangeEnd::ConnectFailed)?,
        };
        let mut tried = 0;
        loop {
            let connected = self.connect_to((target, slot.take()), fibers, user, route.deadline, began);
            tried += 1;
            let dead = matches!(connected, Err(ExchangeEnd::ConnectFailed | ExchangeEnd::OutOfPorts));
            match dead.then(|| routes.after(target, tried)).flatten() {
                Some(next) => target = next,
                None => return connected,
            }
        }
    }

    fn connect_to(
        &mut self,
        (target, slot): (SocketAddr, Option<TaskSlot>),
        fibers: &FiberPool,
        user: &mut User,
        deadline: RequestDeadline,
        began: Timestamp,
    ) -> Result<(Connection, usize), ExchangeEnd> {
        let net = &fibers.network;
        let source = net.source(user.number, target);
        let way = Way { target, source, unix_socket: net.unix_socket.as_deref() };
        let connecting = Connecting::begin(&net.watch, way, slot).map_err(|e| self.no_connection(&e))?;
        fibers.opened(connecting.raw());
        let asked = self.clock.now();
        let connecting = match connecting.attempt(&self.out).map_err(|e| self.no_connection(&e))? {
            Attempt::Written(connection, count) => {
                fibers.users(|users| {
                    users.books.connected(user, asked.since(began));
                    users.books.sends(user, asked);
                });
                return Ok((connection, count));
            }
            Attempt::Early(connecting) => connecting,
        };
        let connect_by = began + net.connect_timeout;
        self.deadline.set(connect_by.min(deadline.at), connecting.raw());
        let connected = connecting.finish();
        let over = self.deadline.is_over();
        self.deadline.clear();
        match connected {
            Ok(connection) if !over => {
                let took = self.clock.now().since(began);
                fibers.users(|users| users.books.connected(user, took));
                Ok((connection, 0))
            }
            _ if over && deadline.at < connect_by => Err(deadline.end),
            _ if over => Err(ExchangeEnd::ConnectTimedOut),
            Err(error) => Err(self.no_connection(&error)),
            Ok(_) => Err(ExchangeEnd::ConnectFailed),
        }
    }

    fn no_connection(&mut self, error: &io::Error) -> ExchangeEnd {
        let end = match error.raw_os_error() {
            Some(EADDRNOTAVAIL) => ExchangeEnd::OutOfPorts,
            Some(EMFILE | ENFILE) => ExchangeEnd::OutOfDescriptors,
            Some(ETIMEDOUT) => ExchangeEnd::ConnectTimedOut,
            _ => ExchangeEnd::ConnectFailed,
        };
        self.because(end, &said(error))
    }

    fn compose(&mut self, net: &Network, call: &Call, known: Option<Known>) {
        self.inbox.expect_body(call.method != Method::Head);
        Outgoing {
            method: call.method.name(),
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

    /// Writes the part that is not `written` yet, and receives the answer.
    fn converse(
        &mut self,
        fibers: &FiberPool,
        user: &mut User,
        connection: &mut Connection,
        written: usize,
        deadline: RequestDeadline,
    ) -> ExchangeEnd {
        self.inbox.clear();
        self.deadline.set(deadline.at, connection.raw());
        if written == 0 {
            let now = self.clock.now();
            fibers.users(|users| users.books.sends(user, now));
        }
        let read = match connection.write_all(&self.out[written..]) {
            Ok(()) => self.receive(connection),
            Err(error) => self.because(ExchangeEnd::Broken, &said(&error)),
        };
        // An answer that was complete before the deadline is in time.
        if read == ExchangeEnd::Answered || !self.deadline.is_over() {
            return read;
        }
        // The host itself caused the socket's error.
        self.error.clear();
        deadline.end
    }

    fn receive(&mut self, connection: &mut Connection) -> ExchangeEnd {
        loop {
            let progress = match connection.read(self.inbox.room()) {
                // The deadline shuts the socket down; its end must not count as the end of a body.
                Ok(0) if self.deadline.is_over() => return ExchangeEnd::TimedOut,
                Ok(0) => self.inbox.ended(),
                Ok(count) => self.inbox.received(count),
                Err(error) => return self.because(ExchangeEnd::Broken, &said(&error)),
            };
            match progress {
                Ok(Progress::Whole) => return ExchangeEnd::Answered,
                Ok(Progress::More) => {}
                Err(error) => return self.broken(&error),
            }
        }
    }
}
