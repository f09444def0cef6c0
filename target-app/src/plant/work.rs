//! A request's way through a plant: taken, read, dispatched, queued, worked on, answered. The live way is in
//! [`crate::app`] and [`crate::stage`].

use std::{collections::VecDeque, time::Duration};

use controllers::{JobId, Kind, Offer, Outcome, PeerReport, Reason, Refusal, RetryHint, Seen, Tags, Timestamp};
use workloads::sim::{Asked, ConnId, Cx, Response};

use super::{
    costs::ms,
    door::Entered,
    listener::{Refused, State},
    machine::{Step, Task},
    stage::Queued,
    visit::{Pass, Visit, head_of, peer_of},
    world::{Event, Place, Plant, bare},
};
use crate::{class::Shown, ledger::Ending, spec::OnRefuse};

/// A stage's worker with a batch.
#[derive(Debug)]
pub(super) struct Worker {
    stage: usize,
    batch: VecDeque<Queued>,
    under_way: Option<Queued>,
    jobs: u32,
    began: Timestamp,
}

/// How soon a blocked enqueue is tried again if nothing else happens, as in the live stage.
const BLOCKED: Duration = Duration::from_millis(5);

impl Plant {
    /// Takes connections from the kernel's queue, as far as the policy at accept lets them in.
    pub(super) fn take_connections(&mut self, cx: &mut Cx<'_, Event>) {
        while self.listener.pending.is_none() && !self.listener.kernel.is_empty() {
            let offer = self.offer(Tags::default(), cx.now());
            match self.accept.enter(cx.now(), &offer) {
                Entered::In(pass) => self.take_connection(pass.map(|pass| (offer, pass)), cx),
                Entered::Held => self.listener.pending = Some(offer),
                Entered::Refused(_) => self.turn_away(cx),
            }
            if self.accept.is_watched() {
                self.turn_accept(cx);
            }
        }
    }

    fn offer(&mut self, tags: Tags, entered: Timestamp) -> Offer {
        let id = JobId(self.next_id);
        self.next_id += 1;
        Offer { id, tags, entered, note: None }
    }

    fn take_connection(&mut self, pass: Option<(Offer, Pass)>, cx: &mut Cx<'_, Event>) {
        let Some(conn) = self.listener.kernel.pop_front() else {
            if let Some((offer, pass)) = pass {
                self.accept.finish(cx.now(), &offer, pass, Outcome::Ignored, None);
            }
            return;
        };
        self.ledger.connected();
        let Some(taken) = self.listener.conns.get_mut(&conn) else { return };
        taken.state = State::Open(pass);
        taken.idle_since = cx.now();
        if let Some(unread) = taken.unread.take() {
            self.begin_reading(*unread, cx);
        }
        self.close_if_dead(conn, cx);
    }

    fn turn_away(&mut self, cx: &mut Cx<'_, Event>) {
        let Some(conn) = self.listener.kernel.pop_front() else { return };
        self.ledger.connection_refused();
        let Some(refused) = self.listener.conns.get_mut(&conn) else { return };
        refused.state = State::TurnedAway;
        if refused.unread.take().is_some() {
            cx.reply(conn, turned_away());
        }
        if refused.dead {
            self.listener.conns.remove(&conn);
        }
    }

    pub(super) fn turn_accept(&mut self, cx: &mut Cx<'_, Event>) {
        let meter = self.meter();
        let news = self.accept.turn(cx.now(), &meter);
        self.arm(Place::Accept, news.wake, cx);
        let decided = !news.released.is_empty() || !news.refused.is_empty();
        for (_, pass) in news.released {
            if let Some(offer) = self.listener.pending.take() {
                self.take_connection(Some((offer, pass)), cx);
            }
        }
        for _ in news.refused {
            self.listener.pending = None;
            self.turn_away(cx);
        }
        if decided {
            self.take_connections(cx);
        }
    }

    /// A request has come in on a connection.
    pub(super) fn arrives(&mut self, asked: Asked, cx: &mut Cx<'_, Event>) {
        let Some(conn) = self.listener.conns.get_mut(&asked.conn) else { return };
        match conn.state {
            State::Queued => conn.unread = Some(Box::new(asked)),
            State::TurnedAway => cx.reply(asked.conn, turned_away()),
            State::Open(_) => self.begin_reading(asked, cx),
        }
    }

    fn begin_reading(&mut self, asked: Asked, cx: &mut Cx<'_, Event>) {
        let first = self.listener.conns.get(&asked.conn).is_some_and(|conn| conn.requests == 0);
        let demand = ms(self.costs.read_ms + if first { self.costs.accept_ms } else { 0.0 });
        if let Some(conn) = self.listener.conns.get_mut(&asked.conn) {
            conn.requests += 1;
            // Busy from now on, under an identity that the request gets once it is read.
            conn.busy = Some(JobId(u64::MAX));
        }
        if demand.is_zero() {
            self.read(asked, cx);
        } else {
            self.machine.run(cx.now(), Task::Read(Box::new(asked)), demand);
        }
    }

    /// A request has been read whole.
    fn read(&mut self, asked: Asked, cx: &mut Cx<'_, Event>) {
        let entry = self.ledger.open(asked.number);
        let head = head_of(&asked.call);
        let route = self.backend.route(&head);
        let shown = Shown { head: &head, peer: peer_of(asked.user) };
        let tags = crate::app::tags(&self.classes, &shown, route.kind);
        let offer = self.offer(tags, cx.now());
        let id = offer.id;
        let gone = match self.listener.conns.get_mut(&asked.conn) {
            Some(conn) => {
                conn.busy = Some(id);
                conn.dead
            }
            None => true,
        };
        let key = asked.key;
        let visit = Visit {
            asked,
            offer,
            route,
            entry: (!gone).then_some(entry),
            pass: None,
            offered: cx.now(),
            started: cx.now(),
            steps: self.foreseen(id, route.kind, key),
            cost: Duration::ZERO,
            gone,
            worker: None,
        };
        self.visits.insert(id, visit);
        match self.dispatch.enter(cx.now(), &offer) {
            Entered::In(pass) => self.dispatched(id, pass, cx),
            Entered::Refused(refusal) => self.refuse(id, refusal, cx),
            Entered::Held => {}
        }
        if self.dispatch.is_watched() {
            self.turn_dispatch(cx);
        }
    }

    /// With an oracle, the work is drawn before it is asked: nobody else may know it before it begins.
    fn foreseen(&mut self, id: JobId, kind: Kind, key: u64) -> VecDeque<Step> {
        let Some(foresight) = &self.foresight else { return VecDeque::new() };
        let steps = self.backend.steps(kind, key, 1.0);
        foresight.tell(id, steps.iter().map(|step| step.demand).sum());
        steps.into()
    }

    pub(super) fn turn_dispatch(&mut self, cx: &mut Cx<'_, Event>) {
        let meter = self.meter();
        let news = self.dispatch.turn(cx.now(), &meter);
        self.arm(Place::Dispatch, news.wake, cx);
        for (id, pass) in news.released {
            self.dispatched(id, Some(pass), cx);
        }
        for (id, refusal) in news.refused {
            self.refuse(id, refusal, cx);
        }
    }

    fn dispatched(&mut self, id: JobId, pass: Option<Pass>, cx: &mut Cx<'_, Event>) {
        if let Some(visit) = self.visits.get_mut(&id) {
            visit.pass = pass;
            let stage = visit.route.branch.0;
            self.enqueue(id, stage, cx);
        }
    }

    fn enqueue(&mut self, id: JobId, stage: usize, cx: &mut Cx<'_, Event>) {
        let Some(visit) = self.visits.get(&id) else { return };
        let (now, offer) = (cx.now(), visit.offer);
        if let Err(refusal) = self.stages[stage].enqueue(now, offer) {
            self.not_enqueued(id, stage, refusal, cx);
        }
        self.turn_stage(stage, cx);
    }

    /// The stage upstream chooses (USITS'03, section 2.3).
    fn not_enqueued(&mut self, id: JobId, stage: usize, refusal: Refusal, cx: &mut Cx<'_, Event>) {
        let Some(visit) = self.visits.get(&id) else { return };
        let (kind, key) = (visit.route.kind, visit.asked.key);
        match self.stages[stage].spec.on_refuse.clone() {
            OnRefuse::Block => {
                let blocked = &mut self.stages[stage].blocked;
                blocked.push_back(id);
                if blocked.len() == 1 {
                    cx.plan(cx.now() + BLOCKED, Event::Retry(stage));
                }
                return;
            }
            OnRefuse::Redirect(node) => {
                let location = format!("{}{}", node.trim_end_matches('/'), visit.asked.call.path);
                let headers = vec![("location", location), ("x-refused", refusal.reason.name().to_owned())];
                let response = Response { headers, ..bare(307) };
                self.leave_dispatch(id, Outcome::Ignored, cx);
                self.turn_back(id, response, Ending::Refused(refusal.reason), ms(self.costs.refuse_ms), cx);
                return;
            }
            OnRefuse::Degrade => {
                if let Some((cost, response)) = self.backend.degrade(kind, &visit.asked.call, key) {
                    self.leave_dispatch(id, Outcome::Ignored, cx);
                    self.turn_back(id, response, Ending::Served, cost, cx);
                    return;
                }
            }
            OnRefuse::Reject => {}
        }
        self.refuse(id, refusal, cx);
    }

    /// What could not be enqueued is tried again, in order, until one does not fit.
    pub(super) fn try_blocked(&mut self, stage: usize, cx: &mut Cx<'_, Event>) {
        while let Some(id) = self.stages[stage].blocked.pop_front() {
            let Some(visit) = self.visits.get(&id) else { continue };
            let offer = visit.offer;
            if self.stages[stage].enqueue(cx.now(), offer).is_err() {
                self.stages[stage].blocked.push_front(id);
                break;
            }
            self.turn_stage(stage, cx);
        }
        if !self.stages[stage].blocked.is_empty() {
            cx.plan(cx.now() + BLOCKED, Event::Retry(stage));
        }
    }

    /// Tells the client that its request is refused.
    fn refuse(&mut self, id: JobId, refusal: Refusal, cx: &mut Cx<'_, Event>) {
        self.leave_dispatch(id, Outcome::Overloaded { retry: true }, cx);
        let mut headers = vec![("x-refused", refusal.reason.name().to_owned())];
        match refusal.retry {
            RetryHint::After(wait) => {
                headers.push(("retry-after", format!("{}", wait.as_secs_f64().ceil().max(1.0) as u64)));
            }
            RetryHint::Never => headers.push(("x-retry", "never".to_owned())),
            RetryHint::Unsaid => {}
        }
        let response = Response { headers, ..bare(503) };
        self.turn_back(id, response, Ending::Refused(refusal.reason), ms(self.costs.refuse_ms), cx);
    }

    /// Sends an answer that no stage has worked on.
    fn turn_back(&mut self, id: JobId, response: Response, ending: Ending, cost: Duration, cx: &mut Cx<'_, Event>) {
        let Some(visit) = self.visits.remove(&id) else { return };
        let refused = Refused { conn: visit.asked.conn, response, entry: visit.entry, ending };
        if cost.is_zero() {
            self.send_refusal(refused, cx);
        } else {
            self.machine.run(cx.now(), Task::Refusal(Box::new(refused)), cost);
        }
    }

    fn send_refusal(&mut self, refused: Refused, cx: &mut Cx<'_, Event>) {
        if let Some(entry) = refused.entry {
            entry.close(refused.ending);
        }
        self.reply(refused.conn, refused.response, cx);
    }

    /// A job leaves the seat at dispatch, if it had been let in there.
    fn leave_dispatch(&mut self, id: JobId, outcome: Outcome, cx: &mut Cx<'_, Event>) {
        let Some(visit) = self.visits.get_mut(&id) else { return };
        let (offer, pass, cost) = (visit.offer, visit.pass.take(), visit.cost);
        if let Some(pass) = pass {
            self.dispatch.finish(cx.now(), &offer, pass, outcome, Some(cost));
            self.turn_dispatch(cx);
        }
    }

    pub(super) fn turn_stage(&mut self, stage: usize, cx: &mut Cx<'_, Event>) {
        let meter = self.meter();
        let news = self.stages[stage].turn(cx.now(), &meter);
        self.arm(Place::Stage(stage), news.wake, cx);
        for (id, refusal) in news.refused {
            self.refuse(id, refusal, cx);
        }
        while let Some(batch) = self.stages[stage].take() {
            let jobs = u32::try_from(batch.len()).unwrap_or(u32::MAX);
            let worker = Worker { stage, batch, under_way: None, jobs, began: cx.now() };
            let free = self.workers.iter().position(Option::is_none);
            let number = free.unwrap_or_else(|| {
                self.workers.push(None);
                self.workers.len() - 1
            });
            self.workers[number] = Some(worker);
            self.work_on_next(number, cx);
        }
        let site = self.stages[stage].site();
        for (to, level) in news.shed {
            // Upstream of a stage lies dispatch.
            if to.is_none_or(|to| to == self.graph.dispatch()) {
                self.tell(Place::Dispatch, &Seen::Peer(PeerReport::Pressure { from: site, level }), cx);
            }
        }
    }

    /// A worker begins with the next job of its batch, or with the next batch.
    fn work_on_next(&mut self, number: usize, cx: &mut Cx<'_, Event>) {
        let now = cx.now();
        let Some(worker) = self.workers[number].as_mut() else { return };
        let stage = worker.stage;
        worker.under_way = worker.batch.pop_front();
        let Some(queued) = worker.under_way else {
            let (jobs, began) = (worker.jobs, worker.began);
            self.workers[number] = None;
            self.stages[stage].batch_done(now, jobs, began);
            if !self.stages[stage].blocked.is_empty() {
                self.try_blocked(stage, cx);
            }
            self.turn_stage(stage, cx);
            return;
        };
        self.stages[stage].started(now, &queued);
        let id = queued.offer.id;
        let Some(visit) = self.visits.get_mut(&id) else { return };
        visit.worker = Some(number);
        visit.started = now;
        visit.offered = queued.offered;
        if let Some(pass) = &mut visit.pass {
            self.dispatch.started(now, id, pass);
        }
        let skip = self.stages[stage].spec.drop_abandoned && visit.gone;
        let quality = self.stages[stage].quality.min(self.dispatch.quality);
        if skip {
            visit.steps.clear();
        } else if visit.steps.is_empty() {
            visit.steps = self.backend.steps(visit.route.kind, visit.asked.key, quality).into();
        }
        if visit.steps.is_empty() {
            visit.steps.push_back(Step { pool: None, demand: Duration::ZERO });
        }
        self.machine.start(now, id, visit.steps[0]);
    }

    /// The cores are done with a task.
    pub(super) fn done(&mut self, task: Task, cx: &mut Cx<'_, Event>) {
        match task {
            Task::Read(asked) => self.read(*asked, cx),
            Task::Refusal(refused) => self.send_refusal(*refused, cx),
            Task::Job(id) => self.step_done(id, cx),
        }
    }

    fn step_done(&mut self, id: JobId, cx: &mut Cx<'_, Event>) {
        let Some(visit) = self.visits.get_mut(&id) else { return };
        let Some(step) = visit.steps.pop_front() else { return };
        visit.cost += step.demand;
        let next = visit.steps.front().copied();
        self.machine.release(cx.now(), step);
        let latency = self.faults.latency();
        match next {
            Some(next) => self.machine.start(cx.now(), id, next),
            None if latency.is_zero() => self.job_done(id, cx),
            None => cx.plan(cx.now() + latency, Event::Waited(id)),
        }
    }

    /// All work on a job is done: booked first, answered second, as in the live stage.
    pub(super) fn job_done(&mut self, id: JobId, cx: &mut Cx<'_, Event>) {
        let Some(visit) = self.visits.get(&id) else { return };
        let Some(number) = visit.worker else { return };
        let Some((stage, queued)) = self.workers[number].as_mut().and_then(|w| Some((w.stage, w.under_way.take()?)))
        else {
            return;
        };
        let outcome = if visit.gone { Outcome::Abandoned } else { Outcome::Served };
        self.stages[stage].ended(cx.now(), &queued, visit.started, outcome, visit.cost);
        self.turn_stage(stage, cx);
        self.leave_dispatch(id, outcome, cx);
        if let Some(visit) = self.visits.remove(&id) {
            let response = self.backend.answer(&visit.asked.call);
            if let Some(entry) = visit.entry {
                entry.close(if response.status >= 500 { Ending::Failed } else { Ending::Served });
            }
            self.reply(visit.asked.conn, response, cx);
        }
        self.work_on_next(number, cx);
    }

    fn reply(&mut self, conn: ConnId, mut response: Response, cx: &mut Cx<'_, Event>) {
        let most = self.edge.connection_requests;
        let Some(open) = self.listener.conns.get_mut(&conn) else { return };
        open.busy = None;
        open.idle_since = cx.now();
        response.close |= !self.edge.keep_alive || (most > 0 && open.requests >= most);
        let (close, planned) = (response.close, std::mem::replace(&mut open.idle_planned, true));
        cx.reply(conn, response);
        if close {
            self.close(conn, cx);
        } else if !planned {
            cx.plan(cx.now() + self.edge.idle_timeout, Event::Idle(conn));
        }
        self.close_if_dead(conn, cx);
    }

    pub(super) fn look_at_idle(&mut self, conn: ConnId, cx: &mut Cx<'_, Event>) {
        let Some(open) = self.listener.conns.get_mut(&conn) else { return };
        let over = open.idle_since + self.edge.idle_timeout;
        if open.busy.is_some() || over > cx.now() {
            let again = if open.busy.is_some() { cx.now() + self.edge.idle_timeout } else { over };
            cx.plan(again, Event::Idle(conn));
            return;
        }
        cx.close(conn);
        self.close(conn, cx);
    }

    /// The client has closed a connection.
    pub(super) fn client_goes(&mut self, conn: ConnId, cx: &mut Cx<'_, Event>) {
        let Some(open) = self.listener.conns.get_mut(&conn) else { return };
        open.dead = true;
        let busy = open.busy;
        if let Some(visit) = busy.and_then(|id| self.visits.get_mut(&id)) {
            let id = visit.offer.id;
            visit.gone = true;
            visit.entry = None; // dropped: the books say that the client had gone
            if self.dispatch.holds(id) {
                self.dispatch.left(cx.now(), id);
                self.visits.remove(&id);
                self.turn_dispatch(cx);
            }
        }
        self.close_if_dead(conn, cx);
    }

    /// A connection whose client has gone is closed once the kernel does not keep it any more; work on its request goes on.
    fn close_if_dead(&mut self, conn: ConnId, cx: &mut Cx<'_, Event>) {
        let dead = self.listener.conns.get(&conn).is_some_and(|c| c.dead && !matches!(c.state, State::Queued));
        if dead {
            self.close(conn, cx);
        }
    }

    fn close(&mut self, conn: ConnId, cx: &mut Cx<'_, Event>) {
        let Some(closed) = self.listener.conns.remove(&conn) else { return };
        let State::Open(pass) = closed.state else { return };
        self.ledger.disconnected();
        if let Some((offer, pass)) = pass {
            self.accept.finish(cx.now(), &offer, pass, Outcome::Abandoned, None);
            self.turn_accept(cx);
            self.take_connections(cx);
        }
    }
}

fn turned_away() -> Response {
    let headers = vec![("x-refused", Reason::Connections.name().to_owned())];
    Response { headers, close: true, ..bare(503) }
}
