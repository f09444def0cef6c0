//! The way of a request through a plant: accepted, read, dispatched, queued, worked on, answered. The live way is in
//! [`crate::app`] and [`crate::stage`].

use std::{collections::VecDeque, time::Duration};

use controllers::{
    Foresight, JobId, Kind, Note, Offer, Outcome, PeerReport, Seen, Timestamp,
    site::{Action, DispatchStep, Entered, Permit, RefusalAnswer, TurnedAway, WorkerStep},
};
use http::request::Parts;
use service_core::{
    calls::{CallContext, CallsResult},
    request::{self, LedgerEnding, RequestEnd},
};
use spec::{HealthChecks, plant::ms};
use workloads::{
    balance::LOAD_METRICS,
    sim::{Response, SimRequest},
};

use super::{
    backend::Draws,
    context::PlantContext,
    cpu::{Step, Task},
    event::{Event, TimerSite},
    in_flight::{InFlight, PlannedAnswer, Work, Worker, facts_of, head_of, is_check},
    listener::PendingRefusal,
    rooms::PlantEntry,
    world::{Plant, bare, reply_to},
};

impl Plant {
    /// The values that calls on behalf of a job carry on, and the number of the user who sent the request.
    pub(super) fn call_context(&self, id: JobId) -> Option<(CallContext, u64)> {
        let request = self.requests.in_flight.get(id)?;
        let tags = self.sites.stages[request.route.branch.0].spec.carried(request.offer.tags);
        Some((CallContext { tags, key: Some(request.asked.key), note: request.offer.note }, request.asked.user))
    }

    /// Takes a request that has been read whole.
    pub(super) fn read(&mut self, asked: Box<SimRequest>, cx: &mut dyn PlantContext) {
        let check = is_check(&asked.call);
        if check {
            self.books(asked.conn).checked();
            if self.checks.answered == HealthChecks::Outside {
                return self.reply(asked.conn, bare(200), cx);
            }
        }
        let entry = (!check).then(|| self.books(asked.conn).open(asked.number));
        let mut head = head_of(&asked.call);
        let turn = match self.at_the_door(&mut head, &asked, check, cx) {
            None => None,
            Some(PlantEntry::In(turn)) => Some(turn),
            Some(PlantEntry::Told(response, reason)) => {
                let ending = LedgerEnding::Refused(reason);
                let told = PendingRefusal { conn: asked.conn, response, entry, ending };
                return self.refuse(told, ms(self.costs.refuse_ms), cx);
            }
        };
        let route = self.backend.route(&head);
        let facts = facts_of(&head, &asked.call, asked.user, asked.left);
        let offer = if check {
            self.intake.check(&facts, route.kind, cx.now())
        } else {
            self.intake.request(&facts, route.kind, cx.now())
        };
        let id = offer.id;
        let gone = match self.listener.conns.get_mut(&asked.conn) {
            Some(conn) => {
                conn.busy = Some(id);
                conn.dead
            }
            None => true,
        };
        let draws = Draws { key: asked.key, user: asked.user };
        let request = InFlight {
            asked,
            offer,
            route,
            entry: entry.filter(|_| !gone),
            permit: None,
            steps: if check { VecDeque::new() } else { self.foreseen(&offer, route.kind, draws, cx.now()) },
            cost: Duration::ZERO,
            answer: PlannedAnswer::Full,
            readable: None,
            gone,
            check,
            work: None,
            calls: CallsResult::NONE,
        };
        if let (Some(turn), Some(rooms)) = (turn, &mut self.requests.rooms) {
            rooms.goes_in(id, turn);
        }
        self.requests.in_flight.insert(id, Box::new(request));
        match self.sites.dispatch.offer(cx.now(), offer, || id) {
            Entered::In(permit) => self.dispatched(id, permit, cx),
            Entered::Refused(away) => self.answer_refused(id, away, &RefusalAnswer::Reject, cx),
            Entered::Held => {}
        }
        if self.sites.dispatch.is_watched() {
            self.turn_dispatch(cx);
        }
    }

    /// Asks the waiting room, if there is one; health checks do not wait.
    fn at_the_door(
        &mut self,
        head: &mut Parts,
        asked: &SimRequest,
        check: bool,
        cx: &mut dyn PlantContext,
    ) -> Option<PlantEntry> {
        let rooms = self.requests.rooms.as_mut().filter(|_| !check)?;
        let class = self.intake.class(&facts_of(head, &asked.call, asked.user, asked.left));
        Some(rooms.present(cx.now(), head, asked.user, (asked.call.class.0, class.0)))
    }

    /// For a bound, draws the work before the gate is asked: no policy may know it before it begins.
    fn foreseen(&mut self, offer: &Offer, kind: Kind, draws: Draws, now: Timestamp) -> VecDeque<Step> {
        if !self.sites.foresees {
            return VecDeque::new();
        }
        let steps = self.backend.steps(kind, offer.tags.class, draws, 1.0);
        let work: Duration = steps.iter().map(|step| step.demand).sum();
        // On the plant's own servers, which may be slower than others.
        let foresight = Foresight::Work { id: offer.id, time: self.cpu.time(work) };
        self.sites.dispatch.observe(now, &Seen::Foreseen(foresight));
        steps.into()
    }

    pub(super) fn turn_dispatch(&mut self, cx: &mut dyn PlantContext) {
        let mut wants = self.sites.collect(TimerSite::Dispatch, &self.meter(), cx);
        for want in wants.drain(..) {
            match want {
                Action::Admit(id, permit) => self.dispatched(id, Some(permit), cx),
                Action::Refuse(id, away) => self.answer_refused(id, away, &RefusalAnswer::Reject, cx),
                Action::Tell(report) => cx.report(report),
                _ => {}
            }
        }
        self.sites.buffers.push(wants);
    }

    fn dispatched(&mut self, id: JobId, permit: Option<Permit>, cx: &mut dyn PlantContext) {
        if let Some(request) = self.requests.in_flight.get_mut(id) {
            request.permit = permit;
            if request.check {
                self.leave_dispatch(id, Outcome::Ignored, None, cx);
                return self.turn_back(id, bare(200), &RequestEnd::Answered(200), Duration::ZERO, cx);
            }
            self.sites.dispatchers.offer(id, id);
            self.turn_dispatchers(cx);
        }
    }

    /// Lets the workers of dispatch take jobs to their stages.
    pub(super) fn turn_dispatchers(&mut self, cx: &mut dyn PlantContext) {
        loop {
            match self.sites.dispatchers.poll() {
                DispatchStep::Offer(id) => self.offer_to_stage(id, cx),
                DispatchStep::Answer(id, away, answer) => self.answer_refused(id, away, &answer, cx),
                DispatchStep::WakeAt(at) => {
                    if self.sites.retry_planned != Some(at) {
                        self.sites.retry_planned = Some(at);
                        cx.plan(at, Event::Retry);
                    }
                    return;
                }
                DispatchStep::Idle => return,
            }
        }
    }

    fn offer_to_stage(&mut self, id: JobId, cx: &mut dyn PlantContext) {
        let Some(request) = self.requests.in_flight.get(id) else { return self.sites.dispatchers.taken(id, 0) };
        let (now, stage) = (cx.now(), request.route.branch.0);
        let offer = Offer { tags: self.sites.stages[stage].spec.carried(request.offer.tags), ..request.offer };
        match self.sites.stages[stage].site.offer(now, offer, id) {
            Ok(()) => self.sites.dispatchers.taken(id, stage),
            Err((_, away)) => {
                let on_refuse = &self.sites.stages[stage].spec.on_refuse;
                self.sites.dispatchers.refused(now, id, id, stage, away, on_refuse);
            }
        }
        // The answer to a job comes before its stage's next actions.
        while let Some((id, away, answer)) = self.sites.dispatchers.poll_answer() {
            self.answer_refused(id, away, &answer, cx);
        }
        self.turn_stage(stage, cx);
    }

    /// Answers a request that the gate at dispatch or its stage refuses.
    fn answer_refused(&mut self, id: JobId, away: TurnedAway, answer: &RefusalAnswer, cx: &mut dyn PlantContext) {
        let Some(request) = self.requests.in_flight.get(id) else { return };
        let (kind, call, key) = (request.route.kind, &request.asked.call, request.asked.key);
        let degraded = match answer {
            RefusalAnswer::Degrade => self.backend.degrade(kind, call, key, cx.now()),
            RefusalAnswer::Reject | RefusalAnswer::Redirect(_) => None,
        };
        let TurnedAway { refusal, note } = away;
        let status = degraded.as_ref().map(|(_, response)| response.status);
        let end = RequestEnd::not_taken(refusal, answer, &request.asked.call.path, status);
        let note = request::note_of_reply(self.leave_dispatch(id, end.outcome(false), None, cx), note);
        let (cost, response) = degraded.unwrap_or_else(|| (Duration::ZERO, bare(end.status())));
        self.turn_back(id, reply_to(response, &end, note), &end, cost, cx);
    }

    /// Tries blocked jobs again when that is due.
    pub(super) fn retry_blocked(&mut self, cx: &mut dyn PlantContext) {
        self.sites.retry_planned = None;
        self.sites.dispatchers.offer_blocked_again(cx.now());
        self.turn_dispatchers(cx);
    }

    /// Sends an answer; `cost`: its cost in addition to the work, if it is no refusal.
    fn turn_back(
        &mut self,
        id: JobId,
        response: Response,
        end: &RequestEnd,
        cost: Duration,
        cx: &mut dyn PlantContext,
    ) {
        let Some(request) = self.requests.in_flight.remove(id) else { return };
        self.faults.crashes.lost -= usize::from(matches!(request.answer, PlannedAnswer::Lost));
        if let Some(rooms) = &mut self.requests.rooms {
            rooms.ended(cx.now(), id, end.ending() == LedgerEnding::Served);
        }
        let cost = if end.costs_a_refusal() { ms(self.costs.refuse_ms) } else { cost };
        let refused = PendingRefusal { conn: request.asked.conn, response, entry: request.entry, ending: end.ending() };
        self.refuse(refused, cost, cx);
    }

    fn refuse(&mut self, refused: PendingRefusal, cost: Duration, cx: &mut dyn PlantContext) {
        if cost.is_zero() {
            self.send_refusal(refused, cx);
        } else {
            self.cpu.run(cx.now(), Task::Refusal(Box::new(refused)), cost);
        }
    }

    fn send_refusal(&mut self, mut refused: PendingRefusal, cx: &mut dyn PlantContext) {
        if let Some(entry) = refused.entry {
            entry.close(refused.ending);
        }
        if self.requests.load.is_some() {
            let (reading, status) = (self.meter(), refused.response.status);
            let load = self.requests.load.as_mut();
            let report = load.and_then(|load| load.answered(cx.now(), status, &reading));
            refused.response.headers.extend(report.map(|report| (LOAD_METRICS, report.to_string())));
        }
        self.reply(refused.conn, refused.response, cx);
    }

    /// Removes a job from the gate at dispatch, if it was admitted there. Returns the note for its reply.
    pub(super) fn leave_dispatch(
        &mut self,
        id: JobId,
        outcome: Outcome,
        cost: Option<Duration>,
        cx: &mut dyn PlantContext,
    ) -> Option<Note> {
        let request = self.requests.in_flight.get_mut(id)?;
        let (permit, told) = (request.permit.take()?, request.calls.note);
        let note = self.sites.dispatch.ended(cx.now(), permit, outcome, cost, told);
        self.turn_dispatch(cx);
        note
    }

    pub(super) fn turn_stage(&mut self, stage: usize, cx: &mut dyn PlantContext) {
        let mut wants = self.sites.collect(TimerSite::Stage(stage), &self.meter(), cx);
        for want in wants.drain(..) {
            match want {
                Action::Refuse(id, away) => self.answer_refused(id, away, &RefusalAnswer::Reject, cx),
                // Workers run once the task that woke them has finished, as live tasks do.
                Action::Start(_) => self.requests.woken_stages.push_back(stage),
                Action::Shed(to, level) if to.is_none_or(|to| to == self.sites.graph().dispatch()) => {
                    // Dispatch is upstream of a stage.
                    let from = self.sites.stages[stage].site.id();
                    self.tell(TimerSite::Dispatch, &Seen::Peer(PeerReport::Pressure { from, level }), cx);
                }
                Action::Tell(report) => cx.report(report),
                _ => {}
            }
        }
        self.sites.buffers.push(wants);
        self.turn_dispatchers(cx);
    }

    /// Lets idle workers take jobs in stages with a queue.
    pub(super) fn start_workers(&mut self, cx: &mut dyn PlantContext) {
        while let Some(stage) = self.requests.woken_stages.pop_front() {
            while self.start_worker(stage, cx) {}
        }
    }

    /// Lets an idle worker take a batch. False if there is no job, no worker, or no room where tokens are generated.
    pub(super) fn start_worker(&mut self, stage: usize, cx: &mut dyn PlantContext) -> bool {
        if self.batch.as_ref().is_some_and(|batch| !batch.takes()) {
            return false;
        }
        let WorkerStep::Batch(batch) = self.sites.stages[stage].site.take() else { return false };
        let jobs = u32::try_from(batch.len()).unwrap_or(u32::MAX);
        let worker = Worker { stage, batch, under_way: None, jobs, began: cx.now() };
        let number = self.requests.hire(worker);
        self.sites.dispatchers.room(stage);
        self.turn_dispatchers(cx);
        self.work_on_next(number, cx);
        true
    }

    /// Lets a worker begin with the next job of its batch, or with the next batch.
    fn work_on_next(&mut self, number: usize, cx: &mut dyn PlantContext) {
        let now = cx.now();
        let Some(worker) = self.requests.workers[number].as_mut() else { return };
        let stage = worker.stage;
        worker.under_way = worker.batch.pop_front();
        let Some(queued) = worker.under_way else {
            let (jobs, began) = (worker.jobs, worker.began);
            self.requests.workers[number] = None;
            self.sites.stages[stage].site.batch_done(now, jobs, began);
            self.turn_stage(stage, cx);
            self.start_worker(stage, cx); // the worker itself, before others that were woken
            return;
        };
        let expired = self.sites.stages[stage].site.started(now, &queued);
        let id = queued.offer.id;
        let Some(request) = self.requests.in_flight.get_mut(id) else { return };
        request.work = Some(Work { worker: number, began: now, is_calling: false });
        let is_lost = matches!(request.answer, PlannedAnswer::Lost);
        let skip = self.sites.stages[stage].spec.drop_abandoned && request.gone || expired.is_some() || is_lost;
        if let (Some(permit), false) = (&mut request.permit, skip) {
            self.sites.dispatch.started(now, permit);
        }
        let quality = self.sites.stages[stage].site.quality().min(self.sites.dispatch.quality());
        if skip {
            request.steps.clear();
            if !is_lost {
                request.answer = expired.map_or(PlannedAnswer::Full, PlannedAnswer::Refused);
            }
        } else if self.faults.now(now).fails(request.asked.key, request.offer.tags.attempt) {
            request.steps.clear();
            request.answer = PlannedAnswer::Failed;
        } else if request.steps.is_empty() {
            let (kind, call) = (request.route.kind, &request.asked.call);
            let draws = Draws { key: request.asked.key, user: request.asked.user };
            let class = request.offer.tags.class;
            let less = if quality < 1.0 { self.backend.less((kind, class), call, draws, quality, now) } else { None };
            let steps = less.map(|less| {
                request.answer = PlannedAnswer::Less(less.how);
                less.steps
            });
            request.steps = steps.unwrap_or_else(|| self.backend.steps(kind, class, draws, quality)).into();
        }
        if request.steps.is_empty() {
            request.steps.push_back(Step { pool: None, demand: Duration::ZERO });
        }
        let draws = Draws { key: request.asked.key, user: request.asked.user };
        let tokens = self.backend.tokens(draws).filter(|_| !request.steps[0].demand.is_zero());
        match self.batch.as_mut().zip(tokens) {
            Some((batch, tokens)) => batch.add(id, tokens),
            None => self.cpu.start(now, id, request.steps[0]),
        }
    }

    /// Takes a task that the cores have finished.
    pub(super) fn done(&mut self, task: Task, cx: &mut dyn PlantContext) {
        match task {
            Task::Read(asked) => self.police(asked, cx),
            Task::Policing(asked) => self.policed(asked, cx),
            Task::Refusal(refused) => self.send_refusal(*refused, cx),
            Task::Job(id) => self.step_done(id, cx),
            Task::Batch => self.end_step_of_batch(cx),
            Task::Upkeep => {}
        }
    }

    pub(super) fn step_done(&mut self, id: JobId, cx: &mut dyn PlantContext) {
        let Some(request) = self.requests.in_flight.get_mut(id) else { return };
        let Some(step) = request.steps.pop_front() else { return };
        // In the time of the plant's own servers, which may be slower than others.
        request.cost += self.cpu.time(step.demand);
        let (next, failed) = (request.steps.front().copied(), matches!(request.answer, PlannedAnswer::Failed));
        self.cpu.release(cx.now(), step);
        let latency = if failed { Duration::ZERO } else { self.faults.now(cx.now()).wait };
        match next {
            Some(next) => self.cpu.start(cx.now(), id, next),
            None if latency.is_zero() => self.worked(id, cx),
            None => cx.plan(cx.now() + latency, Event::Waited(id)),
        }
    }

    /// Ends the service's own work on a job. Calls to other services come next; its worker waits for them.
    pub(super) fn worked(&mut self, id: JobId, cx: &mut dyn PlantContext) {
        let Some(request) = self.requests.in_flight.get_mut(id) else { return };
        let (stage, gone) = (request.route.branch.0, request.gone);
        let ended = matches!(request.answer, PlannedAnswer::Refused(_) | PlannedAnswer::Failed | PlannedAnswer::Lost);
        let dropped = ended || gone && self.sites.stages[stage].spec.drop_abandoned;
        if !dropped && cx.calls(id) {
            request.work.iter_mut().for_each(|work| work.is_calling = true);
            self.sites.stages[stage].site.waits_downstream(1);
            return;
        }
        self.job_done(id, cx);
    }

    /// Takes the end of the calls that a job waited for.
    pub(super) fn calls_ended(&mut self, id: JobId, calls: CallsResult, cx: &mut dyn PlantContext) {
        let Some(request) = self.requests.in_flight.get_mut(id) else { return };
        request.calls = calls;
        let stage = request.route.branch.0;
        self.sites.stages[stage].site.waits_downstream(-1);
        self.job_done(id, cx);
        self.settle(cx);
    }

    /// Ends all work on a job: counted first, answered second, as in the live stage.
    pub(super) fn job_done(&mut self, id: JobId, cx: &mut dyn PlantContext) {
        let Some(request) = self.requests.in_flight.get(id) else { return };
        let Some(Work { worker: number, began: started, .. }) = request.work else { return };
        let Some((stage, queued)) =
            self.requests.workers[number].as_mut().and_then(|w| Some((w.stage, w.under_way.take()?)))
        else {
            return;
        };
        let (end, cost) = match request.answer {
            PlannedAnswer::Refused(refusal) => (Some(RequestEnd::Refused(refusal)), None),
            PlannedAnswer::Lost => (Some(RequestEnd::Answered(500)), None),
            PlannedAnswer::Failed => (Some(RequestEnd::Answered(500)), Some(request.cost)),
            PlannedAnswer::Full | PlannedAnswer::Less(_) => (request.calls.ended.end_of_request(), Some(request.cost)),
        };
        // Calls aside, a plant's services always have an answer.
        let outcome = end.as_ref().unwrap_or(&RequestEnd::Answered(200)).outcome(request.gone);
        let told = request.calls.note;
        let note = self.sites.stages[stage].site.ended(cx.now(), &queued, started, outcome, cost, told);
        self.turn_stage(stage, cx);
        let note = request::note_of_reply(self.leave_dispatch(id, outcome, cost, cx), note);
        if let Some(request) = self.requests.in_flight.get(id) {
            let mut response = match &end {
                None => self.backend.answer(&request.asked.call, request.answer.less(), cx.now()),
                Some(end) => bare(end.status()),
            };
            response.ahead = request.readable.map_or(Duration::ZERO, |readable| cx.now().since(readable));
            let end = end.unwrap_or(RequestEnd::Answered(response.status));
            self.turn_back(id, reply_to(response, &end, note), &end, Duration::ZERO, cx);
        }
        self.work_on_next(number, cx);
    }
}
