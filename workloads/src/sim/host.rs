use std::time::Duration;

use controllers::{Timestamp, UnixSeconds, random::mix, seed_for, site::earliest};

use super::{
    ConnId, Cx, EventQueue, Identity, LinkSpec, Response, SimClient, SimRequest, SimServer, SynResult,
    connections::{Connections, Handle, PendingRequest},
    event::SimEvent,
    link::SYN_RETRIES,
};
use crate::{
    crowd::{Crowd, CrowdError},
    host::{ExchangeEnd, ExchangeOutcome, RequestDeadline, StopFlag, UserPool, UserTask},
    measure::{Health, Report, Window},
    persona::{Answer, Connection as Habit, Want},
    plan::LoadPlan,
};

/// The results of a run.
#[derive(Debug)]
pub struct SimOutcome {
    /// The report of the run.
    pub report: Report,
    /// The time at which the run ended.
    pub ended: Timestamp,
    /// The number of scheduled events.
    pub events: u64,
    /// The digest of every event (its time and its [identity](Identity), the server's own events too) and of the key of
    /// every request's draws, in order: equal for two runs that agree in all of them.
    pub digest: u64,
}

/// Runs a plan against a server in virtual time.
///
/// Calls `on_second` at the end of each second with its window, the server's current state and the time.
///
/// # Errors
/// If the users of the plan cannot be made.
pub fn run<W: SimServer>(
    plan: &LoadPlan,
    link: LinkSpec,
    server: &mut W,
    on_second: impl FnMut(Window, &mut W, Timestamp),
    stop: &StopFlag,
) -> Result<SimOutcome, CrowdError> {
    let crowd = Crowd::new(plan)?.in_virtual_time();
    let host = Host {
        plan,
        server,
        pool: UserPool::new(plan, crowd, None, true),
        events: EventQueue::default(),
        connections: Connections::new(link, seed_for(plan.seed, "link")),
        link,
        now: Timestamp::ZERO,
        digest: 0,
    };
    Ok(host.run(on_second, stop))
}

struct Host<'a, W: SimServer> {
    plan: &'a LoadPlan,
    server: &'a mut W,
    pool: UserPool<Handle>,
    events: EventQueue<SimEvent<W::Event>>,
    connections: Connections,
    link: LinkSpec,
    now: Timestamp,
    digest: u64,
}

const SECOND: Duration = Duration::from_secs(1);
/// The number of events between two checks of the stop flag.
const LOOK_EVERY: u64 = 4096;

impl<W: SimServer> Host<'_, W> {
    fn run(mut self, mut on_second: impl FnMut(Window, &mut W, Timestamp), stop: &StopFlag) -> SimOutcome {
        self.tell(W::begin);
        let mut second_ends = Timestamp::ZERO + SECOND;
        let mut drained_by = None;
        let mut turns = 0_u64;
        while !self.pool.is_drained() {
            let users_due = self.pool.next_due();
            let Some(due) = earliest(users_due, self.events.next_at()) else { break };
            // A second is closed before the events at its end.
            while second_ends <= due {
                self.now = second_ends;
                while let Some(window) = self.pool.next_window(second_ends) {
                    on_second(window, self.server, second_ends);
                }
                second_ends = second_ends + SECOND;
            }
            turns += 1;
            if turns.is_multiple_of(LOOK_EVERY) && stop.is_stopped() {
                self.pool.stop(self.now);
            }
            if self.pool.is_over() && *drained_by.get_or_insert(self.now + self.plan.drain) < due {
                break;
            }
            self.now = due;
            self.turn(users_due == Some(due));
        }
        self.finish()
    }

    /// Carries out everything that is due now: the plan's events for users before the consequences of others.
    fn turn(&mut self, users_are_due: bool) {
        self.pool.set_wall(UnixSeconds::in_virtual_time(self.now));
        if users_are_due {
            self.pool.advance(self.now);
        }
        while let Some(user) = self.pool.take(self.now) {
            self.begin(user);
        }
        if self.events.next_at() == Some(self.now)
            && let Some((_, event)) = self.events.take()
        {
            self.happen(event);
        }
        self.hang_up();
    }

    fn happen(&mut self, event: SimEvent<W::Event>) {
        self.digest(event.identity());
        match event {
            SimEvent::Server(event) => self.tell(|server, cx| server.happen(event, cx)),
            SimEvent::Request(request) => self.tell(|server, cx| server.ask(request, cx)),
            SimEvent::HungUp(conn) => self.tell(|server, cx| server.hang_up(conn, cx)),
            SimEvent::Syn(conn, sent_before) => self.syn(conn, sent_before),
            SimEvent::Connected(conn) => self.connected(conn),
            SimEvent::Refused(conn) => self.end(conn, ExchangeEnd::ConnectFailed),
            SimEvent::Answered(conn, response) => self.answered(conn, &response),
            SimEvent::Closed(conn) | SimEvent::Reset(conn) => self.closed(conn),
            SimEvent::Deadline(conn, number, end) => {
                if self.connections.waits_for(conn, number) {
                    self.end(conn, end);
                }
            }
        }
    }

    /// Begins a user's request.
    fn begin(&mut self, mut user: Box<UserTask<Handle>>) {
        loop {
            let Some(call) = user.call().cloned() else { return };
            let deadline = RequestDeadline::of(self.plan.timeout, &call, user.at, user.patience_factor());
            if let Some(end) = deadline.passed(self.now) {
                match self.pool.settle(user, end.without_answer(), self.now) {
                    Some(again) => user = again,
                    None => return,
                }
                continue;
            }
            user.begins(self.now);
            let mut found_closed = false;
            let kept = user.connection.take().filter(|handle| {
                call.connection == Habit::Keep && {
                    let open = self.connections.get(handle.id).is_some_and(|state| !state.closed);
                    found_closed = !open;
                    open
                }
            });
            if found_closed {
                self.pool.books.resends(&user);
            }
            let key = user.key();
            self.digest(key);
            let number = self.pool.books.number(&mut user);
            match kept {
                Some(handle) if call.want == Want::Connection => {
                    user.connection = Some(handle);
                    match self.pool.settle(user, ExchangeEnd::Connected.without_answer(), self.now) {
                        Some(again) => user = again,
                        None => return,
                    }
                    continue;
                }
                Some(handle) => {
                    let left = number.map(|_| deadline.at.since(self.now));
                    let (conn, draw) = (handle.id, user.draw(self.plan.redraw));
                    let request = Box::new(SimRequest { conn, user: user.number, call, key: draw, number, left });
                    self.connections.rekey(conn, key);
                    let waiting = PendingRequest { user, handle, request: Some(request), began: self.now };
                    self.write(waiting, deadline);
                }
                None => self.connect(user, call, key, number, deadline),
            }
            return;
        }
    }

    fn connect(
        &mut self,
        user: Box<UserTask<Handle>>,
        call: crate::persona::Call,
        key: u64,
        number: Option<u64>,
        deadline: RequestDeadline,
    ) {
        let handle = self.connections.open(key);
        let conn = handle.id;
        let left = number.map(|_| deadline.at.since(self.now));
        let draw = user.draw(self.plan.redraw);
        let request = Box::new(SimRequest { conn, user: user.number, call, key: draw, number, left });
        let connect_by = self.now + self.plan.connect_timeout;
        let (at, end) = if deadline.at < connect_by {
            (deadline.at, deadline.end)
        } else {
            (connect_by, ExchangeEnd::ConnectTimedOut)
        };
        let number = self.connections.next_limit(conn);
        self.events.plan(at, SimEvent::Deadline(conn, number, end));
        let waiting = PendingRequest { user, handle, request: Some(request), began: self.now };
        if let Some(state) = self.connections.get(conn) {
            state.waiting = Some(waiting);
        }
        self.send_syn(conn, 0);
    }

    /// The client's kernel sends a SYN, for the first time or again.
    fn send_syn(&mut self, conn: ConnId, sent_before: u32) {
        match self.connections.syn_arrives(conn, self.now) {
            Some(at) => self.events.plan(at, SimEvent::Syn(conn, sent_before)),
            None => self.syn_again(conn, sent_before),
        }
    }

    fn syn_again(&mut self, conn: ConnId, sent_before: u32) {
        if sent_before < SYN_RETRIES && self.connections.get(conn).is_some() {
            // The link's delay is short compared with the wait: the SYN arrives as it is sent.
            self.events.plan(self.now + self.link.syn_again(sent_before), SimEvent::Syn(conn, sent_before + 1));
        }
    }

    fn syn(&mut self, conn: ConnId, sent_before: u32) {
        let waiting = self.connections.get(conn).and_then(|state| state.waiting.as_ref());
        let client = waiting.and_then(|waiting| {
            let call = &waiting.request.as_ref()?.call;
            let silent = call.want == Want::Connection;
            Some(SimClient { user: waiting.user.number, class: call.class, silent })
        });
        let Some(client) = client else { return };
        let mut syn = SynResult::Dropped;
        self.tell(|server, cx| syn = server.connect(conn, client, cx));
        let back = self.connections.arrives_at_client(conn, self.now);
        match (syn, back) {
            (SynResult::Dropped, _) => self.syn_again(conn, sent_before),
            (SynResult::Taken, Some(at)) => self.events.plan(at, SimEvent::Connected(conn)),
            (SynResult::Refused, Some(at)) => self.events.plan(at, SimEvent::Refused(conn)),
            (_, None) => {}
        }
    }

    fn connected(&mut self, conn: ConnId) {
        let Some(waiting) = self.connections.get(conn).and_then(|state| state.waiting.take()) else { return };
        self.pool.books.connected(&waiting.user, self.now.since(waiting.began));
        let Some(request) = &waiting.request else { return };
        if request.call.want == Want::Connection {
            let PendingRequest { mut user, handle, request, .. } = waiting;
            if request.is_some_and(|request| request.call.connection != Habit::Once) {
                user.connection = Some(handle);
            }
            if let Some(again) = self.pool.settle(user, ExchangeEnd::Connected.without_answer(), self.now) {
                self.begin(again);
            }
            return;
        }
        let deadline =
            RequestDeadline::of(self.plan.timeout, &request.call, waiting.user.at, waiting.user.patience_factor());
        self.write(waiting, deadline);
    }

    fn write(&mut self, mut waiting: PendingRequest, deadline: RequestDeadline) {
        let conn = waiting.handle.id;
        self.pool.books.sends(&mut waiting.user, self.now);
        let arrives = self.connections.arrives_at_service(conn, self.now);
        if let (Some(at), Some(request)) = (arrives, waiting.request.take()) {
            self.events.plan(at, SimEvent::Request(request));
        }
        let number = self.connections.next_limit(conn);
        self.events.plan(deadline.at, SimEvent::Deadline(conn, number, deadline.end));
        if let Some(state) = self.connections.get(conn) {
            state.waiting = Some(waiting);
        }
    }

    fn answered(&mut self, conn: ConnId, response: &Response) {
        let Some(waiting) = self.connections.get(conn).and_then(|state| state.waiting.take()) else { return };
        let PendingRequest { mut user, handle, .. } = waiting;
        if !response.ahead.is_zero() {
            self.pool.books.streamed(&mut user, self.now - response.ahead);
        }
        let once = user.call().is_none_or(|call| call.connection == Habit::Once);
        if !once && !response.close {
            user.connection = Some(handle);
        }
        let headers: Vec<(&str, &[u8])> =
            response.headers.iter().map(|(name, value)| (*name, value.as_bytes())).collect();
        let answer = Answer::whole(response.status, &headers, response.body.as_bytes());
        if let Some(again) = self.pool.settle(user, ExchangeOutcome::answered(answer), self.now) {
            self.begin(again);
        }
    }

    /// The service has closed a connection, or it broke: what was asked on it has failed.
    fn closed(&mut self, conn: ConnId) {
        if let Some(state) = self.connections.get(conn) {
            state.closed = true;
        }
        self.end(conn, ExchangeEnd::Broken);
    }

    /// Ends the request on this connection without an answer.
    fn end(&mut self, conn: ConnId, end: ExchangeEnd) {
        if let Some(waiting) = self.connections.get(conn).and_then(|state| state.waiting.take()) {
            self.over(waiting, end);
        }
    }

    fn over(&mut self, waiting: PendingRequest, end: ExchangeEnd) {
        let PendingRequest { user, handle, .. } = waiting;
        drop(handle);
        if let Some(again) = self.pool.settle(user, end.without_answer(), self.now) {
            self.begin(again);
        }
    }

    fn digest(&mut self, what: u64) {
        self.digest = mix(self.digest.rotate_left(1) ^ mix(self.now.as_nanos()) ^ what);
    }

    /// Tells the service which connections clients have closed.
    fn hang_up(&mut self) {
        while let Some(conn) = self.connections.next_dropped() {
            self.events.plan(self.now + self.link.delay, SimEvent::HungUp(conn));
        }
    }

    fn tell(&mut self, what: impl FnOnce(&mut W, &mut Cx<'_, W::Event>)) {
        let mut cx = Cx { now: self.now, events: &mut self.events, connections: &mut self.connections };
        what(self.server, &mut cx);
    }

    fn finish(mut self) -> SimOutcome {
        for PendingRequest { user, .. } in self.connections.take_waiting() {
            self.pool.cut(user, self.now);
        }
        let health = Health { wall: self.now.since(Timestamp::ZERO), in_flight_limit: u32::MAX, ..Health::default() };
        let (ended, events) = (self.now, self.events.planned());
        SimOutcome { report: self.pool.finish(self.now, health), ended, events, digest: self.digest }
    }
}
