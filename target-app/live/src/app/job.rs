//! A request on its way through a stage.

use std::{sync::Arc, time::Duration};

use controllers::{
    Note, Offer, Outcome, Refusal,
    site::{RefusalAnswer, TurnedAway},
};
use http::Response;
use service_core::{
    calls::CallsResult,
    request::{self, RequestEnd},
};
use tokio::sync::oneshot;

use super::{Job, JobReply, LiveApp, NotTaken, dispatchers::Dispatched};
use crate::{
    service::{At, Boxed, Handled, PageBody, Request, StatedCost, metered, rest_of},
    stage::{GatePermit, StageWork},
};

impl StageWork for Job {
    fn offer(&self) -> Offer {
        self.offer
    }

    fn gone(&self) -> bool {
        self.reply.is_closed()
    }

    fn run<'a>(&'a mut self, mut at: At<'a>) -> Boxed<'a, Outcome> {
        Box::pin(async move {
            self.permit.started();
            let Some(request) = self.request.take() else { return Outcome::Failed };
            let draw = request.draw();
            let service = &self.app.service;
            if self.app.fault_injection.may_work(service.is_emulated()).await {
                // Emulated servers compute in ideal time: the fault stops them too.
                (at.offered, at.started) = (self.app.clock.now(), self.app.clock.now());
            }
            at.quality = at.quality.min(self.app.sites.dispatch.quality());
            at.speed = self.app.fault_injection.speed();
            let work = service.handle(request, at);
            let (handled, spent) = if service.is_emulated() {
                (work.await, None)
            } else {
                let (handled, spent) = metered(work).await;
                (handled, Some(spent))
            };
            let stated = handled.as_ref().ok().and_then(|answer| answer.extensions().get::<StatedCost>());
            self.cost = stated.map(|cost| cost.0).or(spent);
            let handled = match handled {
                Ok(response) => self.with_calls(response, draw).await,
                refused => refused,
            };
            let outcome = end_of(&handled).outcome(false);
            self.answer = Some(handled);
            outcome
        })
    }

    fn expire(&mut self, refusal: Refusal) -> Outcome {
        self.answer = Some(Err(refusal));
        RequestEnd::Refused(refusal).outcome(false)
    }

    fn cost(&self) -> Option<Duration> {
        self.cost
    }

    fn told(&self) -> Option<Note> {
        self.told
    }

    fn deliver(self, note: Option<Note>) {
        let Self { answer, cost, told, mut reply, permit, .. } = self;
        // Without an answer, the handler panicked.
        let end = answer.as_ref().map_or(RequestEnd::Answered(500), end_of);
        let note = request::note_of_reply(permit.end_served(end.outcome(reply.is_closed()), cost, told), note);
        let Some(mut handled) = answer else { return };
        let Some(rest) = rest_of(&mut handled) else {
            let _ = reply.send(JobReply::Handled { handled, note }); // the client may have gone this very moment: the ledger counts that
            return;
        };
        tokio::spawn(async move {
            tokio::select! {
                handled = rest => drop(reply.send(JobReply::Handled { handled, note })),
                () = reply.closed() => {} // no receiver
            }
        });
    }

    fn refuse(self, away: TurnedAway) {
        let TurnedAway { refusal, note } = away;
        let note = request::note_of_reply(self.permit.end(RequestEnd::Refused(refusal).outcome(false)), note);
        let _ = self.reply.send(JobReply::Handled { handled: Err(refusal), note });
    }
}

impl Dispatched for Job {
    fn branch(&self) -> usize {
        self.branch
    }

    /// Tells the waiting task that no stage takes the job; that task answers.
    fn not_taken(self, away: TurnedAway, answer: RefusalAnswer) {
        let Self { request, permit, reply, .. } = self;
        let _ = reply.send(JobReply::NotTaken(Box::new(NotTaken { request, permit, away, answer })));
    }
}

impl Job {
    /// A request for the stage with this index among the branches. Its answer goes to `reply`.
    pub(super) fn new(
        app: &Arc<LiveApp>,
        request: Request,
        offer: Offer,
        reply: oneshot::Sender<JobReply>,
        branch: usize,
    ) -> Self {
        let (app, request, permit) = (Arc::clone(app), Some(request), GatePermit::none());
        Self { app, offer, request, answer: None, cost: None, told: None, reply, permit, branch }
    }

    /// Notes that the gate at dispatch has admitted it.
    pub(super) fn let_in(mut self, permit: GatePermit) {
        self.permit = permit;
        let app = Arc::clone(&self.app);
        app.sites.dispatchers.offer(self);
    }

    /// Makes the calls on behalf of the job, whose own work is done: its worker waits for them.
    async fn with_calls(&mut self, response: Response<PageBody>, draw: Option<u64>) -> Handled {
        let app = Arc::clone(&self.app);
        let (Some(callers), Some(stage)) = (&app.callers, app.sites.stages.get(self.branch)) else {
            return Ok(response);
        };
        let in_vain = stage.spec().drop_abandoned && self.reply.is_closed();
        if in_vain || response.status().is_server_error() {
            return Ok(response);
        }
        let CallsResult { ended, note } =
            stage.wait_downstream(callers.make(self.offer.tags, draw, self.offer.note)).await;
        self.told = note;
        match ended.end_of_request() {
            None => Ok(response),
            Some(RequestEnd::Refused(refusal)) => Err(refusal),
            Some(end) => Ok(self.app.error_response(&end, None).response),
        }
    }
}

fn end_of(handled: &Handled) -> RequestEnd {
    match handled {
        Ok(response) => RequestEnd::Answered(response.status().as_u16()),
        Err(refusal) => RequestEnd::Refused(*refusal),
    }
}
