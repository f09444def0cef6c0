//! Connections: accepted from the kernel's queue, read from, answered on, closed.

use std::sync::Arc;

use controllers::{
    JobId, Outcome, Reason,
    site::{Action, Entered, Permit},
};
use service_core::{
    ledger::ServiceLedger,
    request::{DEGRADED, REFUSED, RETRY_AFTER, retry_after},
};
use spec::plant::ms;
use workloads::sim::{ConnId, Response, SimRequest};

use super::{
    context::PlantContext,
    cpu::Task,
    event::{Event, TimerSite},
    in_flight::{PlannedAnswer, is_check},
    listener::{State, is_call},
    world::{Plant, UPKEEP, refused},
};

impl Plant {
    /// Accepts connections from the kernel's queue, as far as the policy at accept admits them.
    pub(super) fn take_connections(&mut self, cx: &mut dyn PlantContext) {
        while self.listener.pending.is_none() && !self.listener.kernel.is_empty() {
            let offer = self.intake.connection(cx.now());
            match self.sites.accept.offer(cx.now(), offer, || offer.id) {
                Entered::In(permit) => self.take_connection(permit, cx),
                Entered::Held => self.listener.pending = Some(offer),
                Entered::Refused(_) => self.turn_away(cx),
            }
            if self.sites.accept.is_watched() {
                self.turn_accept(cx);
            }
        }
    }

    fn take_connection(&mut self, permit: Option<Permit>, cx: &mut dyn PlantContext) {
        let Some(conn) = self.listener.kernel.pop_front() else {
            if let Some(permit) = permit {
                self.sites.accept.ended(cx.now(), permit, Outcome::Ignored, None, None);
            }
            return;
        };
        self.books(conn).connected();
        let Some(taken) = self.listener.conns.get_mut(&conn) else { return };
        taken.state = State::Open(permit);
        taken.idle_since = cx.now();
        let silent = taken.silent;
        if let Some(unread) = taken.unread.take() {
            self.begin_reading(unread, cx);
        }
        if silent {
            self.look_after(conn, cx);
        }
        self.close_if_dead(conn, cx);
    }

    /// Handles an accepted connection without a request yet. A connection with a request is charged with the first
    /// request.
    fn look_after(&mut self, conn: ConnId, cx: &mut dyn PlantContext) {
        let demand = ms(self.costs.accept_ms);
        if !demand.is_zero() {
            self.cpu.run(cx.now(), Task::Upkeep, demand);
        }
        let Some(open) = self.listener.conns.get_mut(&conn) else { return };
        if !std::mem::replace(&mut open.idle_planned, true) {
            cx.plan(cx.now() + self.listener.edge.kept.idle_timeout, Event::Idle(conn));
        }
    }

    /// Charges another second of all open connections.
    pub(super) fn keep_up(&mut self, cx: &mut dyn PlantContext) {
        let demand = ms(self.costs.idle_ms * self.listener.conns.len() as f64);
        if !demand.is_zero() {
            self.cpu.run(cx.now(), Task::Upkeep, demand);
        }
        cx.plan(cx.now() + UPKEEP, Event::Upkeep);
    }

    fn turn_away(&mut self, cx: &mut dyn PlantContext) {
        let Some(conn) = self.listener.kernel.pop_front() else { return };
        self.books(conn).connection_refused();
        let Some(refused) = self.listener.conns.get_mut(&conn) else { return };
        refused.state = State::TurnedAway;
        if refused.unread.take().is_some() {
            cx.reply(conn, turned_away());
        }
        if refused.dead {
            self.listener.conns.remove(&conn);
        }
    }

    pub(super) fn turn_accept(&mut self, cx: &mut dyn PlantContext) {
        let mut wants = self.sites.collect(TimerSite::Accept, &self.meter(), cx);
        let mut decided = false;
        for want in wants.drain(..) {
            match want {
                Action::Admit(_, permit) => {
                    decided = true;
                    if self.listener.pending.take().is_some() {
                        self.take_connection(Some(permit), cx);
                    }
                }
                Action::Refuse(..) => {
                    decided = true;
                    self.listener.pending = None;
                    self.turn_away(cx);
                }
                Action::Tell(report) => cx.report(report),
                _ => {}
            }
        }
        self.sites.buffers.push(wants);
        if decided {
            self.take_connections(cx);
        }
    }

    /// Takes a request that has arrived on a connection.
    pub(super) fn arrives(&mut self, asked: Box<SimRequest>, cx: &mut dyn PlantContext) {
        let Some(conn) = self.listener.conns.get_mut(&asked.conn) else {
            if self.crashes().is_down() {
                self.lose_unread(&asked);
            }
            return;
        };
        match conn.state {
            State::Queued => conn.unread = Some(asked),
            State::TurnedAway => cx.reply(asked.conn, turned_away()),
            State::Open(_) => self.begin_reading(asked, cx),
        }
    }

    fn begin_reading(&mut self, asked: Box<SimRequest>, cx: &mut dyn PlantContext) {
        let first = self.listener.conns.get(&asked.conn).is_some_and(|conn| conn.requests == 0 && !conn.silent);
        let check = if is_check(&asked.call) { self.costs.check_ms } else { 0.0 };
        let demand = ms(self.costs.read_ms + check + if first { self.costs.accept_ms } else { 0.0 });
        if is_check(&asked.call) {
            self.checks.spent += demand;
        }
        if let Some(conn) = self.listener.conns.get_mut(&asked.conn) {
            conn.requests += 1;
            // Busy from now on, under a provisional identity until the request is read.
            conn.busy = Some(JobId(u64::MAX));
        }
        if demand.is_zero() {
            self.police(asked, cx);
        } else {
            self.cpu.run(cx.now(), Task::Read(asked), demand);
        }
    }

    /// The ledger of a connection: users' requests are counted apart from other services' calls.
    pub(super) fn books(&self, conn: ConnId) -> &Arc<ServiceLedger> {
        self.ledgers.of(is_call(conn))
    }

    pub(super) fn reply(&mut self, conn: ConnId, mut response: Response, cx: &mut dyn PlantContext) {
        let most = self.listener.edge.kept.connection_requests;
        let Some(open) = self.listener.conns.get_mut(&conn) else { return };
        open.busy = None;
        open.idle_since = cx.now();
        let has = |header: &str| response.headers.iter().any(|(name, _)| *name == header);
        let (degraded, refused) = (has(DEGRADED), has(REFUSED));
        if let Some(seconds) = retry_after(self.listener.edge.kept.retry_after, has) {
            response.headers.push((RETRY_AFTER, seconds.to_string()));
        }
        response.close |= !self.listener.edge.kept.keep_alive
            || (most > 0 && open.requests >= most)
            || (refused && self.listener.edge.kept.refusal_closes);
        let (close, planned) = (response.close, std::mem::replace(&mut open.idle_planned, true));
        if degraded {
            self.books(conn).degraded();
        }
        cx.reply(conn, response);
        if close {
            self.close(conn, cx);
        } else if !planned {
            cx.plan(cx.now() + self.listener.edge.kept.idle_timeout, Event::Idle(conn));
        }
        self.close_if_dead(conn, cx);
    }

    pub(super) fn look_at_idle(&mut self, conn: ConnId, cx: &mut dyn PlantContext) {
        let Some(open) = self.listener.conns.get_mut(&conn) else { return };
        let over = open.idle_since + self.listener.edge.kept.idle_timeout;
        if open.busy.is_some() || over > cx.now() {
            let again = if open.busy.is_some() { cx.now() + self.listener.edge.kept.idle_timeout } else { over };
            cx.plan(again, Event::Idle(conn));
            return;
        }
        cx.close(conn);
        self.close(conn, cx);
    }

    /// Takes the end of a connection that its client has closed.
    pub(super) fn client_goes(&mut self, conn: ConnId, cx: &mut dyn PlantContext) {
        let Some(open) = self.listener.conns.get_mut(&conn) else { return };
        open.dead = true;
        let busy = open.busy;
        if let Some(request) = busy.and_then(|id| self.requests.in_flight.get_mut(id)) {
            let id = request.offer.id;
            request.gone = true;
            request.entry = None; // dropped: the ledger records that the client was gone
            self.leave_before_stage(id, cx);
        }
        self.close_if_dead(conn, cx);
    }

    /// Drops a request whose stage does not have it yet.
    pub(super) fn leave_before_stage(&mut self, id: JobId, cx: &mut dyn PlantContext) {
        if self.sites.dispatch.holds(id) {
            self.sites.dispatch.leave(cx.now(), id);
            self.forget(id, cx);
            self.turn_dispatch(cx);
        } else if self.sites.dispatchers.leave(id).is_some() {
            self.leave_dispatch(id, Outcome::Abandoned, None, cx);
            self.forget(id, cx);
            self.turn_dispatchers(cx);
        }
    }

    /// Drops a request that nobody waits for any more.
    fn forget(&mut self, id: JobId, cx: &mut dyn PlantContext) {
        let request = self.requests.in_flight.remove(id);
        let is_lost = request.is_some_and(|request| matches!(request.answer, PlannedAnswer::Lost));
        self.faults.crashes.lost -= usize::from(is_lost);
        if let Some(rooms) = &mut self.requests.rooms {
            rooms.ended(cx.now(), id, false);
        }
    }

    /// Closes a connection whose client is gone once the kernel does not keep it any more; work on its request goes on.
    fn close_if_dead(&mut self, conn: ConnId, cx: &mut dyn PlantContext) {
        let dead = self.listener.conns.get(&conn).is_some_and(|c| c.dead && !matches!(c.state, State::Queued));
        if dead {
            self.close(conn, cx);
        }
    }

    fn close(&mut self, conn: ConnId, cx: &mut dyn PlantContext) {
        let Some(closed) = self.listener.conns.remove(&conn) else { return };
        let State::Open(permit) = closed.state else { return };
        self.books(conn).disconnected();
        if let Some(permit) = permit {
            self.sites.accept.ended(cx.now(), permit, Outcome::Abandoned, None, None);
            self.turn_accept(cx);
            self.take_connections(cx);
        }
    }
}

fn turned_away() -> Response {
    Response { close: true, ..refused(Reason::Connections) }
}
