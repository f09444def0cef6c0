//! One request: from its head to an answer that is ready to be written.

use std::{
    convert::Infallible,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use controllers::{Class, Note, Offer, Outcome, Reason, Refusal, Tags, Timestamp, site::TurnedAway};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header, request::Parts};
use hyper::{
    body::{Body as _, Bytes, Incoming},
    upgrade::OnUpgrade,
};

mod sending;

use super::{
    admission::Admitted,
    backend::{Lease, Trouble},
    client::Client,
    headers, page,
    relay::{Job, Relayed},
    retry::Retries,
    state::{Proxy, Settings},
    tunnel::{self, Switch},
    upload::Upload,
    waiting_room::{self, Entry},
};
use live_service::edge::{ClientSource, HeadFault, NUMBER, fault_of_proxied};
use sending::Sending;
use service_core::{
    class::RequestFacts,
    own_headers::OwnHeaders,
    request::{LedgerEnding, RequestEnd},
};

/// A request under way.
struct Exchange<'a> {
    proxy: &'a Arc<Proxy>,
    settings: Arc<Settings>,
    client: &'a Arc<Client>,
    is_head: bool,
}

/// Answers one request. Dropped, it ends as abandoned.
pub(super) fn answer<'a>(
    proxy: &'a Arc<Proxy>,
    request: Request<Incoming>,
    client: &'a Arc<Client>,
) -> impl Future<Output = Result<Response<Relayed>, Infallible>> + Send + use<'a> {
    let (head, body) = request.into_parts();
    // Boxed: each function on its way would have room for it in this future, which is kept cold until the answer comes.
    answered(proxy, (Box::new(head), body), client)
}

async fn answered(
    proxy: &Arc<Proxy>,
    (head, body): (Box<Parts>, Incoming),
    client: &Arc<Client>,
) -> Result<Response<Relayed>, Infallible> {
    let entered = proxy.clock.now();
    let _stream = client.begin();
    let ambiguous = if client.is_multiplexed() {
        client.conn.stream_begins().await;
        false
    } else {
        client.conn.request_begins().await
    };
    let is_head = head.method == Method::HEAD;
    let exchange = Exchange { proxy, settings: proxy.settings(), client, is_head };
    let mut answer = exchange.run(head, body, entered, ambiguous).await;
    exchange.last(&mut answer);
    Ok(answer)
}

impl Exchange<'_> {
    async fn run(
        &self,
        mut head: Box<Parts>,
        body: Incoming,
        entered: Timestamp,
        ambiguous: bool,
    ) -> Response<Relayed> {
        let spec = &self.settings.spec;
        let fault = fault_of_proxied(&head, ambiguous, &self.settings.edge, spec.headers.underscores);
        let fault = fault.map(|HeadFault { status, .. }| status);
        let comes_back = || headers::has_been_here(&head.headers).then_some(StatusCode::LOOP_DETECTED);
        if let Some(status) = fault.or_else(comes_back) {
            self.proxy.ledgers.users.malformed();
            let observation = self.proxy.observers.observe(&head, entered, spec.log);
            let job = Job { observation, ending: LedgerEnding::AtFault, ..Job::default() };
            return closing(self.page(page::failed(status), Box::new(job)));
        }
        headers::keep_trusted(&mut head.headers, &spec.headers);
        if self.is_check(&head) {
            self.proxy.ledgers.users.checked();
            if self.proxy.draining.load(Ordering::Relaxed) {
                return self.page(page::failed(StatusCode::SERVICE_UNAVAILABLE), Box::default());
            }
            let Ok(place) = Arc::clone(&self.settings.checks).try_acquire_owned() else {
                return self.page(page::failed(StatusCode::TOO_MANY_REQUESTS), Box::default());
            };
            let job = Box::new(Job { admitted: Some(Admitted::unasked()), check: Some(place), ..Job::default() });
            return self.forward(head, body, job, None).await;
        }
        let mut job = Box::new(Job {
            entry: Some(self.proxy.ledgers.users.open(OwnHeaders::of(&head.headers).number(&NUMBER))),
            observation: self.proxy.observers.observe(&head, entered, spec.log),
            ..Job::default()
        });
        let limit = self.settings.edge.body_bytes;
        if limit > 0 && body.size_hint().lower() > limit.into() {
            job.ending = LedgerEnding::AtFault;
            return closing(self.page(page::failed(StatusCode::PAYLOAD_TOO_LARGE), job));
        }
        if self.proxy.draining.load(Ordering::Relaxed) {
            return self.refused(&head, Refusal::new(Reason::Draining).into(), job);
        }
        if self.client.is_crowded() {
            return self.refused(&head, Refusal::new(Reason::Connections).into(), job);
        }
        if let most @ 1.. = spec.limits.requests_per_source {
            job.share = self.proxy.shares.take(ClientSource::of(self.client.peer()), most);
            if job.share.is_none() {
                return self.refused(&head, Refusal::new(Reason::Quota).into(), job);
            }
        }
        let cookies = match self.enter(&mut head) {
            None => Vec::new(),
            Some(Entry::Told(page, reason)) => {
                job.ending = LedgerEnding::Refused(reason);
                return self.page(page, job);
            }
            Some(Entry::In(turn)) => job.turn.insert(turn).take_cookies(),
        };
        let offer = self.offer(&head, entered);
        if let Some(observation) = &mut job.observation {
            observation.asked(offer.tags.class);
        }
        let tags = offer.tags;
        let mut answer = match self.decide(offer).await {
            Ok(admitted) => {
                job.admitted = Some(admitted);
                self.forward(head, body, job, Some(tags)).await
            }
            Err(away) => self.refused(&head, away, job),
        };
        waiting_room::put(cookies, answer.headers_mut());
        answer
    }

    /// True for what passes without the policy: the settings name it, and it asks for nothing else.
    fn is_check(&self, head: &Parts) -> bool {
        let path = &self.settings.spec.health_path;
        !path.is_empty()
            && head.uri.path() == path
            && head.uri.query().is_none()
            && [Method::GET, Method::HEAD].contains(&head.method)
            && !head.headers.contains_key(header::UPGRADE)
    }

    /// Asks the waiting room, if there is one.
    fn enter(&self, head: &mut Parts) -> Option<Entry> {
        let room = self.proxy.room.as_ref()?;
        let class = if room.has_types() { self.proxy.intake.class(&self.facts(head)) } else { Class::default() };
        Some(room.present(head, self.client, class.0))
    }

    /// Facts of the request's head, as far as its sender is believed.
    fn facts<'b>(&self, head: &'b Parts) -> RequestFacts<'b> {
        let peer = self.client.peer();
        if self.settings.spec.headers.trust_criticality {
            RequestFacts::of_head(head, peer, None)
        } else {
            RequestFacts::of_stranger(head, peer)
        }
    }

    /// The offer to the policy.
    fn offer(&self, head: &Parts, entered: Timestamp) -> Offer {
        let facts = self.facts(head);
        let kind = self.settings.spec.types.kind(head.uri.path(), self.settings.spec.seed);
        self.proxy.intake.request(&facts, kind, entered)
    }

    /// Asks the policy.
    async fn decide(&self, offer: Offer) -> Result<Admitted, TurnedAway> {
        let admission = &self.proxy.admission;
        if self.settings.spec.dry_run {
            return Ok(admission.ask_dry(offer));
        }
        admission.ask(offer, self.settings.spec.limits.held).await
    }

    /// Passes an admitted request on. Without tags it goes out once, whatever becomes of it.
    async fn forward(
        &self,
        mut head: Box<Parts>,
        body: Incoming,
        mut job: Box<Job>,
        tags: Option<Tags>,
    ) -> Response<Relayed> {
        let note = job.admitted.as_mut().and_then(Admitted::started);
        let upgrade = headers::upgrade(&head, &self.settings.spec.headers);
        let near = upgrade.is_some().then(|| head.extensions.remove::<OnUpgrade>()).flatten();
        let (upload, progress) = Upload::new(body, self.client, self.proxy.clock, &self.settings.edge);
        let sending = Sending { upload, progress: progress.clone() };
        let sent = match self.retries(tags).filter(|_| upgrade.is_none()) {
            None => self.send(head, sending, upgrade).await,
            // Boxed: it is rare and large, and this future is moved with each request.
            Some((retries, tags)) => {
                Box::pin(self.send_with_retries(retries, &head, sending, tags, &mut job.observation)).await
            }
        };
        (job.progress, job.outcome, job.ending) = (progress, Outcome::Failed, LedgerEnding::Failed);
        let mut answer = match sent {
            Ok((response, lease)) if response.status() == StatusCode::SWITCHING_PROTOCOLS => {
                self.switch(response, near, lease, job)
            }
            Ok((response, lease)) => self.relay(response, lease, job),
            Err(trouble) => self.unanswered(trouble, job),
        };
        if tags.is_some() && !self.settings.spec.dry_run {
            self.annotate(answer.headers_mut(), note);
        }
        answer
    }

    /// Puts the policy's note on an answer: that of this request so far, or else the one that the policy put on a reply last,
    /// since the head goes before the request ends. It takes the place of a backend's, which is further from the client.
    fn annotate(&self, headers: &mut HeaderMap, note: Option<Note>) {
        if let Some(Note(number)) = note.or_else(|| self.proxy.admission.gate.last_note()) {
            headers.insert(workloads::headers::NOTE, number.into());
        }
    }

    /// The retries of a request with these tags, if any are to be made: none in a dry run, in which nothing changes.
    fn retries(&self, tags: Option<Tags>) -> Option<(&Arc<Retries>, Tags)> {
        let retries = self.settings.retries.as_ref().filter(|_| !self.settings.spec.dry_run)?;
        Some((retries, tags?))
    }

    /// Passes a backend's answer on.
    fn relay(&self, response: Response<Incoming>, mut lease: Lease, mut job: Box<Job>) -> Response<Relayed> {
        if job.progress.as_ref().is_some_and(|progress| !progress.is_all()) {
            lease.detach(); // the rest of the request's body goes on beside the answer
        }
        let (mut head, body) = response.into_parts();
        let end = RequestEnd::Answered(head.status.as_u16());
        (job.outcome, job.ending) = (end.outcome(false), end.ending());
        job.answered(head.status, Some(&lease));
        job.lease = Some(lease);
        job.cost = self.cost(&head.headers);
        job.told = OwnHeaders::of(&head.headers).note();
        headers::to_client(&mut head, self.client, self.is_head || body.is_end_stream());
        let stall = self.settings.spec.timeouts.stall;
        let ahead = self.settings.spec.limits.answer_buffer;
        let body = if ahead > 0 && !self.is_head && !body.is_end_stream() {
            Relayed::ahead(body, stall, ahead, job, self.client)
        } else {
            Relayed::backend(body, stall, self.is_head, job, self.client)
        };
        Response::from_parts(head, body)
    }

    /// Joins both sides after a switch of protocols, which ends the request: what follows is no work that policies know.
    fn switch(
        &self,
        mut response: Response<Incoming>,
        near: Option<OnUpgrade>,
        mut lease: Lease,
        mut job: Box<Job>,
    ) -> Response<Relayed> {
        lease.detach(); // it hands the switched connection over
        let far = response.extensions_mut().remove::<OnUpgrade>();
        let (Some(client), Some(backend)) = (near, far) else {
            return self.page(page::failed(StatusCode::BAD_GATEWAY), job); // nobody asked for it
        };
        let (client_side, places) = (Arc::clone(self.client), (lease, job.share.take()));
        tunnel::open(Switch { client, backend }, client_side, places, self.settings.spec.timeouts.tunnel);
        (job.outcome, job.ending) = (Outcome::Served, LedgerEnding::Served);
        job.answered(response.status(), None);
        let (mut head, _) = response.into_parts();
        let protocol = head.headers.get(header::UPGRADE).cloned();
        headers::to_client(&mut head, self.client, true);
        head.headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
        protocol.into_iter().for_each(|protocol| drop(head.headers.insert(header::UPGRADE, protocol)));
        Response::from_parts(head, Relayed::page(Bytes::new(), true, job, self.client))
    }

    /// The CPU time of the request, where the backend says it.
    fn cost(&self, headers: &HeaderMap) -> Option<Duration> {
        let name = &self.settings.spec.headers.cost;
        if name.is_empty() {
            return None;
        }
        let millis: f64 = headers.get(name)?.to_str().ok()?.trim().parse().ok()?;
        Duration::try_from_secs_f64(millis / 1e3).ok()
    }

    /// The answer to a request that no backend answered.
    fn unanswered(&self, trouble: Trouble, mut job: Box<Job>) -> Response<Relayed> {
        if trouble == Trouble::TooLate {
            job.progress = None;
        }
        // A client whose own body broke off or was at fault gets that for an answer.
        let fault = job.progress.as_ref().and_then(|progress| progress.fault());
        if let Some(status) = fault {
            (job.outcome, job.ending) = (Outcome::Ignored, LedgerEnding::AtFault);
            return closing(self.page(page::failed(status), job));
        }
        match trouble {
            Trouble::Full => self.refused_late(Reason::Concurrency, job),
            Trouble::Withheld => self.refused_late(Reason::Throttled, job),
            Trouble::Unreachable => self.failed_as("unreachable", StatusCode::BAD_GATEWAY, job),
            Trouble::Broken => self.failed_as("broken_off", StatusCode::BAD_GATEWAY, job),
            Trouble::TooLate => self.failed_as("timeout", StatusCode::GATEWAY_TIMEOUT, job),
        }
    }

    fn failed_as(&self, reason: &'static str, status: StatusCode, mut job: Box<Job>) -> Response<Relayed> {
        job.unanswered(reason);
        self.page(page::failed(status), job)
    }

    /// The answer to an admitted request that did not go out.
    fn refused_late(&self, reason: Reason, mut job: Box<Job>) -> Response<Relayed> {
        let refusal = Refusal::new(reason);
        let end = RequestEnd::Refused(refusal);
        (job.outcome, job.ending) = (end.outcome(false), end.ending());
        self.page(self.settings.pages.refused(&end, refusal.retry, None), job)
    }

    fn refused(&self, head: &Parts, away: TurnedAway, mut job: Box<Job>) -> Response<Relayed> {
        let TurnedAway { refusal, note } = away;
        let end = self.settings.pages.end(refusal, head);
        let page = self.settings.pages.refused(&end, refusal.retry, note);
        job.ending = end.ending();
        self.page(page, job)
    }

    fn page(&self, page: Response<Bytes>, mut job: Box<Job>) -> Response<Relayed> {
        job.answered(page.status(), None);
        page.map(|page| Relayed::page(page, self.is_head, job, self.client))
    }

    /// Makes the last answer of a connection say so.
    fn last(&self, answer: &mut Response<Relayed>) {
        let ends = self.proxy.draining.load(Ordering::Relaxed) || self.client.is_used_up(&self.settings.edge);
        if ends {
            self.client.retire();
            if !self.client.is_multiplexed() {
                close(answer);
            }
        }
    }
}

/// Makes the connection end with this answer.
fn close(answer: &mut Response<Relayed>) {
    answer.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
}

/// An answer with which the connection ends.
fn closing(mut answer: Response<Relayed>) -> Response<Relayed> {
    close(&mut answer);
    answer
}
