//! A request's way through a plant: taken, read, dispatched, queued, worked on, answered. The live way is in
//! [`crate::app`] and [`crate::stage`].

use std::{collections::VecDeque, time::Duration};

use controllers::{
    JobId, Kind, Note, Offer, Outcome, PeerReport, Reason, Refusal, RetryHint, Seen, Tags, Timestamp,
    site::{Action, DispatchStep, Entered, Permit, Queued, RefusalAnswer, TurnedAway, WorkerStep, outcome_of_refusal},
};
use http::request::Parts;
use workloads::{
    client::NOTE,
    sim::{Response, SimRequest},
};

use super::{
    around::Around,
    costs::ms,
    listener::Refused,
    machine::{Step, Task},
    sites::Place,
    visit::{Errand, Visit, head_of, is_check, peer_of},
    world::{Event, Plant, bare},
};
use crate::{calls::CallsEnded, class::Shown, ledger::Ending, spec::Health};

/// A stage's worker with a batch.
#[derive(Debug)]
pub(super) struct Worker {
    stage: usize,
    batch: VecDeque<Queued<JobId>>,
    under_way: Option<Queued<JobId>>,
    jobs: u32,
    began: Timestamp,
}

impl Plant {
    /// What calls on behalf of a job carry on.
    pub(super) fn errand(&self, id: JobId) -> Option<Errand> {
        let visit = self.visits.get(&id)?;
        let tags = self.stages[visit.route.branch.0].spec.carried(visit.offer.tags);
        Some(Errand { tags, key: visit.asked.key, user: visit.asked.user, note: visit.offer.note })
    }

    pub(super) fn offer(&mut self, tags: Tags, entered: Timestamp) -> Offer {
        let id = JobId(self.next_id);
        self.next_id += 1;
        Offer { id, tags, entered, note: None }
    }

    /// What the head of a user's request says of it.
    pub(super) fn tags(&self, head: &Parts, user: u64, kind: Kind, now: Timestamp) -> Tags {
        crate::app::tags(&self.ranks, &Shown { head, peer: peer_of(user) }, kind, now)
    }

    /// A request has been read whole.
    pub(super) fn read(&mut self, asked: SimRequest, cx: &mut dyn Around) {
        let check = is_check(&asked.call);
        if check {
            self.books(asked.conn).checked();
            if self.health == Health::Outside {
                return self.reply(asked.conn, bare(200), cx);
            }
        }
        let entry = (!check).then(|| self.books(asked.conn).open(asked.number));
        let head = head_of(&asked.call);
        let route = self.backend.route(&head);
        let tags = self.tags(&head, asked.user, route.kind, cx.now());
        self.attempts[usize::from(tags.attempt.min(3))] += u64::from(!check);
        let offer = Offer { note: crate::app::note(&head), ..self.offer(tags, cx.now()) };
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
            entry: entry.filter(|_| !gone),
            permit: None,
            offered: cx.now(),
            started: cx.now(),
            steps: if check { VecDeque::new() } else { self.foreseen(&offer, route.kind, key) },
            cost: Duration::ZERO,
            less: None,
            gone,
            check,
            worker: None,
            calls: CallsEnded::Answered,
            told: None,
        };
        self.visits.insert(id, visit);
        match self.dispatch.offer(cx.now(), offer, || id) {
            Entered::In(permit) => self.dispatched(id, permit, cx),
            Entered::Refused(away) => self.refuse(id, away, cx),
            Entered::Held => {}
        }
        if self.dispatch.is_watched() {
            self.turn_dispatch(cx);
        }
    }

    /// With an oracle, the work is drawn before it is asked: nobody else may know it before it begins.
    fn foreseen(&mut self, offer: &Offer, kind: Kind, key: u64) -> VecDeque<Step> {
        let Some(foresight) = &self.foresight else { return VecDeque::new() };
        let steps = self.backend.steps(kind, offer.tags.class, key, 1.0);
        let work: Duration = steps.iter().map(|step| step.demand).sum();
        // On its own servers, which may be slower than others.
        foresight.tell(offer.id, work.div_f64(self.speed));
        steps.into()
    }

    pub(super) fn turn_dispatch(&mut self, cx: &mut dyn Around) {
        let mut wants = self.collect(Place::Dispatch, cx);
        for want in wants.drain(..) {
            match want {
                Action::Admit(id, permit) => self.dispatched(id, Some(permit), cx),
                Action::Refuse(id, away) => self.refuse(id, away, cx),
                Action::Tell(report) => cx.report(report),
                _ => {}
            }
        }
        self.buffers.push(wants);
    }

    fn dispatched(&mut self, id: JobId, permit: Option<Permit>, cx: &mut dyn Around) {
        if let Some(visit) = self.visits.get_mut(&id) {
            visit.permit = permit;
            if visit.check {
                self.leave_dispatch(id, Outcome::Ignored, None, cx);
                return self.turn_back(id, bare(200), Ending::Served, Duration::ZERO, cx);
            }
            self.dispatchers.offer(id, id);
            self.turn_dispatchers(cx);
        }
    }

    /// The workers of dispatch take jobs to their stages.
    pub(super) fn turn_dispatchers(&mut self, cx: &mut dyn Around) {
        loop {
            match self.dispatchers.poll() {
                DispatchStep::Offer(id) => self.offer_to_stage(id, cx),
                DispatchStep::Answer(id, away, answer) => self.answer_refused(id, away, answer, cx),
                DispatchStep::WakeAt(at) => {
                    if self.retry_planned != Some(at) {
                        self.retry_planned = Some(at);
                        cx.plan(at, Event::Retry);
                    }
                    return;
                }
                DispatchStep::Idle => return,
            }
        }
    }

    fn offer_to_stage(&mut self, id: JobId, cx: &mut dyn Around) {
        let Some(visit) = self.visits.get(&id) else { return self.dispatchers.taken(id, 0) };
        let (now, stage) = (cx.now(), visit.route.branch.0);
        let offer = Offer { tags: self.stages[stage].spec.carried(visit.offer.tags), ..visit.offer };
        match self.stages[stage].site.offer(now, offer, id) {
            Ok(()) => self.dispatchers.taken(id, stage),
            Err((_, away)) => {
                let on_refuse = &self.stages[stage].spec.on_refuse;
                self.dispatchers.refused(now, id, id, stage, away, on_refuse);
            }
        }
        // What became of this job comes before what its stage does next.
        while let Some((id, away, answer)) = self.dispatchers.poll_answer() {
            self.answer_refused(id, away, answer, cx);
        }
        self.turn_stage(stage, cx);
    }

    /// Answers a request that no stage takes, as the stage upstream chooses (USITS'03, section 2.3).
    fn answer_refused(&mut self, id: JobId, away: TurnedAway, answer: RefusalAnswer, cx: &mut dyn Around) {
        let Some(visit) = self.visits.get(&id) else { return };
        let TurnedAway { refusal, note } = away;
        let (kind, key) = (visit.route.kind, visit.asked.key);
        match answer {
            RefusalAnswer::Redirect(node) => {
                let location = format!("{}{}", node.trim_end_matches('/'), visit.asked.call.path);
                let headers = vec![("location", location), ("x-refused", refusal.reason.name().to_owned())];
                let response = Response { headers, ..bare(307) };
                let note = self.leave_dispatch(id, Outcome::Ignored, None, cx).or(note);
                let response = noted(response, note);
                self.turn_back(id, response, Ending::Refused(refusal.reason), ms(self.costs.refuse_ms), cx);
                return;
            }
            RefusalAnswer::Degrade => {
                if let Some((cost, response)) = self.backend.degrade(kind, &visit.asked.call, key, cx.now()) {
                    let note = self.leave_dispatch(id, Outcome::Ignored, None, cx).or(note);
                    self.turn_back(id, noted(response, note), Ending::Served, cost, cx);
                    return;
                }
            }
            RefusalAnswer::Reject => {}
        }
        self.refuse(id, away, cx);
    }

    /// Blocked jobs are due to be tried again.
    pub(super) fn retry_blocked(&mut self, cx: &mut dyn Around) {
        self.retry_planned = None;
        self.dispatchers.retry(cx.now());
        self.turn_dispatchers(cx);
    }

    /// Tells the client that its request is refused.
    fn refuse(&mut self, id: JobId, away: TurnedAway, cx: &mut dyn Around) {
        let TurnedAway { refusal, note } = away;
        // The sender meets the seat at dispatch first.
        let note = self.leave_dispatch(id, outcome_of_refusal(refusal, false), None, cx).or(note);
        let response = noted(refused(refusal), note);
        self.turn_back(id, response, Ending::Refused(refusal.reason), ms(self.costs.refuse_ms), cx);
    }

    /// Sends an answer that no stage has worked on.
    fn turn_back(&mut self, id: JobId, response: Response, ending: Ending, cost: Duration, cx: &mut dyn Around) {
        let Some(visit) = self.visits.remove(&id) else { return };
        let refused = Refused { conn: visit.asked.conn, response, entry: visit.entry, ending };
        if cost.is_zero() {
            self.send_refusal(refused, cx);
        } else {
            self.machine.run(cx.now(), Task::Refusal(Box::new(refused)), cost);
        }
    }

    fn send_refusal(&mut self, refused: Refused, cx: &mut dyn Around) {
        if let Some(entry) = refused.entry {
            entry.close(refused.ending);
        }
        self.reply(refused.conn, refused.response, cx);
    }

    /// A job leaves the seat at dispatch, if it had been let in there. Says what its reply is to tell beside the answer.
    pub(super) fn leave_dispatch(
        &mut self,
        id: JobId,
        outcome: Outcome,
        cost: Option<Duration>,
        cx: &mut dyn Around,
    ) -> Option<Note> {
        let visit = self.visits.get_mut(&id)?;
        let (permit, told) = (visit.permit.take()?, visit.told);
        let note = self.dispatch.ended(cx.now(), permit, outcome, cost, told);
        self.turn_dispatch(cx);
        note
    }

    pub(super) fn turn_stage(&mut self, stage: usize, cx: &mut dyn Around) {
        let mut wants = self.collect(Place::Stage(stage), cx);
        for want in wants.drain(..) {
            match want {
                Action::Refuse(id, away) => self.refuse(id, away, cx),
                // Workers run once whoever woke them is done, as tasks do.
                Action::Start(_) => self.woken_stages.push_back(stage),
                Action::Shed(to, level) if to.is_none_or(|to| to == self.graph.dispatch()) => {
                    // Upstream of a stage lies dispatch.
                    let from = self.stages[stage].site.id();
                    self.tell(Place::Dispatch, &Seen::Peer(PeerReport::Pressure { from, level }), cx);
                }
                Action::Tell(report) => cx.report(report),
                _ => {}
            }
        }
        self.buffers.push(wants);
        self.turn_dispatchers(cx);
    }

    /// Idle workers of stages where there is work take it.
    pub(super) fn start_workers(&mut self, cx: &mut dyn Around) {
        while let Some(stage) = self.woken_stages.pop_front() {
            while self.start_worker(stage, cx) {}
        }
    }

    /// An idle worker takes a batch. False if there is none, or no worker.
    fn start_worker(&mut self, stage: usize, cx: &mut dyn Around) -> bool {
        let WorkerStep::Batch(batch) = self.stages[stage].site.take() else { return false };
        let jobs = u32::try_from(batch.len()).unwrap_or(u32::MAX);
        let worker = Worker { stage, batch, under_way: None, jobs, began: cx.now() };
        let free = self.workers.iter().position(Option::is_none);
        let number = free.unwrap_or_else(|| {
            self.workers.push(None);
            self.workers.len() - 1
        });
        self.workers[number] = Some(worker);
        self.dispatchers.room(stage);
        self.turn_dispatchers(cx);
        self.work_on_next(number, cx);
        true
    }

    /// A worker begins with the next job of its batch, or with the next batch.
    fn work_on_next(&mut self, number: usize, cx: &mut dyn Around) {
        let now = cx.now();
        let Some(worker) = self.workers[number].as_mut() else { return };
        let stage = worker.stage;
        worker.under_way = worker.batch.pop_front();
        let Some(queued) = worker.under_way else {
            let (jobs, began) = (worker.jobs, worker.began);
            self.workers[number] = None;
            self.stages[stage].site.batch_done(now, jobs, began);
            self.turn_stage(stage, cx);
            self.start_worker(stage, cx); // the worker itself, before others that were woken
            return;
        };
        self.stages[stage].site.started(now, &queued);
        let id = queued.offer.id;
        let Some(visit) = self.visits.get_mut(&id) else { return };
        visit.worker = Some(number);
        visit.started = now;
        visit.offered = queued.offered;
        if let Some(permit) = &mut visit.permit {
            self.dispatch.started(now, permit);
        }
        let skip = self.stages[stage].spec.drop_abandoned && visit.gone;
        let quality = self.stages[stage].site.quality().min(self.dispatch.quality());
        if skip {
            visit.steps.clear();
        } else if visit.steps.is_empty() {
            let (kind, key, call) = (visit.route.kind, visit.asked.key, &visit.asked.call);
            let class = visit.offer.tags.class;
            let less = if quality < 1.0 { self.backend.less(kind, call, key, quality, now) } else { None };
            let steps = less.map(|less| {
                visit.less = Some(less.how);
                less.steps
            });
            visit.steps = steps.unwrap_or_else(|| self.backend.steps(kind, class, key, quality)).into();
        }
        if visit.steps.is_empty() {
            visit.steps.push_back(Step { pool: None, demand: Duration::ZERO });
        }
        self.machine.start(now, id, visit.steps[0]);
    }

    /// The cores are done with a task.
    pub(super) fn done(&mut self, task: Task, cx: &mut dyn Around) {
        match task {
            Task::Read(asked) => self.read(*asked, cx),
            Task::Refusal(refused) => self.send_refusal(*refused, cx),
            Task::Job(id) => self.step_done(id, cx),
            Task::Upkeep => {}
        }
    }

    fn step_done(&mut self, id: JobId, cx: &mut dyn Around) {
        let Some(visit) = self.visits.get_mut(&id) else { return };
        let Some(step) = visit.steps.pop_front() else { return };
        // The time of its own servers, which may be slower than others.
        visit.cost += step.demand.div_f64(self.speed);
        let next = visit.steps.front().copied();
        self.machine.release(cx.now(), step);
        let latency = self.faults.latency();
        match next {
            Some(next) => self.machine.start(cx.now(), id, next),
            None if latency.is_zero() => self.worked(id, cx),
            None => cx.plan(cx.now() + latency, Event::Waited(id)),
        }
    }

    /// What the service does itself for a job is done. Calls to other services come next; its worker waits for them.
    pub(super) fn worked(&mut self, id: JobId, cx: &mut dyn Around) {
        let Some((stage, gone)) = self.visits.get(&id).map(|visit| (visit.route.branch.0, visit.gone)) else { return };
        let dropped = gone && self.stages[stage].spec.drop_abandoned;
        if !dropped && cx.calls(id) {
            self.stages[stage].site.waits_downstream(1);
            return;
        }
        self.job_done(id, cx);
    }

    /// The calls that a job waited for have ended so; `told`: what the last reply told.
    pub(super) fn calls_ended(&mut self, id: JobId, ended: CallsEnded, told: Option<Note>, cx: &mut dyn Around) {
        let Some(visit) = self.visits.get_mut(&id) else { return };
        visit.calls = ended;
        visit.told = told;
        let stage = visit.route.branch.0;
        self.stages[stage].site.waits_downstream(-1);
        self.job_done(id, cx);
        self.come_to_rest(cx);
    }

    /// All work on a job is done: booked first, answered second, as in the live stage.
    pub(super) fn job_done(&mut self, id: JobId, cx: &mut dyn Around) {
        let Some(visit) = self.visits.get(&id) else { return };
        let Some(number) = visit.worker else { return };
        let Some((stage, queued)) = self.workers[number].as_mut().and_then(|w| Some((w.stage, w.under_way.take()?)))
        else {
            return;
        };
        let outcome = match visit.calls {
            _ if visit.gone => Outcome::Abandoned,
            CallsEnded::Answered => Outcome::Served,
            CallsEnded::Refused(hint) => Outcome::Overloaded { retry: hint != RetryHint::Never },
            CallsEnded::Failed => Outcome::Failed,
        };
        let (cost, told) = (visit.cost, visit.told);
        let note = self.stages[stage].site.ended(cx.now(), &queued, visit.started, outcome, Some(cost), told);
        self.turn_stage(stage, cx);
        let note = self.leave_dispatch(id, outcome, Some(cost), cx).or(note);
        if let Some(visit) = self.visits.remove(&id) {
            let (response, ending) = match visit.calls {
                CallsEnded::Answered => {
                    let response = self.backend.answer(&visit.asked.call, visit.less.as_deref(), cx.now());
                    let ending = if response.status >= 500 { Ending::Failed } else { Ending::Served };
                    (response, ending)
                }
                CallsEnded::Refused(retry) => {
                    (refused(Refusal { reason: Reason::Callee, retry }), Ending::Refused(Reason::Callee))
                }
                CallsEnded::Failed => (bare(502), Ending::Failed),
            };
            if let Some(entry) = visit.entry {
                entry.close(ending);
            }
            self.reply(visit.asked.conn, noted(response, note), cx);
        }
        self.work_on_next(number, cx);
    }
}

/// The same, which tells the sender's policy this.
fn noted(mut response: Response, note: Option<Note>) -> Response {
    response.headers.extend(note.map(|Note(number)| (NOTE, number.to_string())));
    response
}

/// The page of a refusal, as the live service's.
fn refused(refusal: Refusal) -> Response {
    let mut headers = vec![("x-refused", refusal.reason.name().to_owned())];
    match refusal.retry {
        RetryHint::After(wait) => {
            headers.push(("retry-after", format!("{}", wait.as_secs_f64().ceil().max(1.0) as u64)));
        }
        RetryHint::Never => headers.push(("x-retry", "never".to_owned())),
        RetryHint::Unsaid => {}
    }
    Response { headers, ..bare(503) }
}
