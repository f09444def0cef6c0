//! A request's way through the graph: dispatch, its stage, and back.

mod dispatchers;
mod job;

use std::{
    borrow::Cow,
    collections::BTreeMap,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use controllers::{
    JobId, Kind, Note, Offer, Outcome, Reason, Refusal, Timestamp,
    site::{RefusalAnswer, TurnedAway},
};
use http::{HeaderValue, Response, StatusCode, header, request::Parts, uri::PathAndQuery};
use tokio::sync::oneshot;

pub use dispatchers::Dispatchers;
pub use job::Job;
use job::{NotTaken, Reply};

use crate::{
    calls::Callers,
    class::{Ranks, Shown},
    clock::Clock,
    graph::Graph,
    hindrance::Hindrance,
    ledger::{Ending, Ledger},
    request::{self, End},
    security_headers,
    service::{Bytes, Page, Request, Service},
    spec::{EdgeSpec, Health},
    stage::{Decided, Door, Stage, Work as _},
    tree::WireCosts,
};

/// Everything that a request meets.
#[derive(Debug)]
pub struct App {
    /// What it is about.
    pub service: Arc<dyn Service>,
    /// The stages' names and links.
    pub graph: Graph,
    /// The books of users' requests.
    pub ledger: Arc<Ledger>,
    /// Of other services' calls: theirs is another side to agree with.
    pub calls_ledger: Arc<Ledger>,
    /// The clock.
    pub clock: Clock,
    /// Limits at the wire.
    pub edge: EdgeSpec,
    /// The seat at dispatch.
    pub dispatch: Arc<Door>,
    /// The seat at accept.
    pub accept: Arc<Door>,
    /// The service's own stages.
    pub stages: Vec<Arc<Stage<Job>>>,
    /// The workers of dispatch, of which back-pressure holds some.
    pub dispatchers: Arc<Dispatchers>,
    /// Who is in which class, and how important requests are.
    pub ranks: Ranks,
    /// Who answers health checks.
    pub health: Health,
    /// Requests of a service that is going away are refused.
    pub draining: AtomicBool,
    /// What it asks of other services for each request.
    pub(crate) callers: Option<Callers>,
    /// What connections, reading and refusing cost the service, where that is emulated.
    pub(crate) wire: WireCosts,
    /// What a person has put in the way of requests.
    pub(crate) hindrance: Hindrance,
    /// First attempts, seconds, thirds, and all that came after those.
    attempts: [AtomicU64; 4],
    pages: BTreeMap<Reason, Bytes>,
    next_id: AtomicU64,
}

/// An answer, and how the books see it.
#[derive(Debug)]
pub struct Answer {
    /// What the client gets.
    pub response: Response<Page>,
    /// How the request ended.
    pub ending: Ending,
}

impl Answer {
    /// Puts on an answer what its end requires, and what it tells the sender's policy.
    fn new(mut response: Response<Page>, end: &End, note: Option<Note>) -> Self {
        for (name, value) in request::headers(end, note) {
            // Only the address of another node could be unfit, and that was checked at the start.
            let value = match value {
                Cow::Borrowed(value) => Some(HeaderValue::from_static(value)),
                Cow::Owned(value) => HeaderValue::try_from(value).ok(),
            };
            value.into_iter().for_each(|value| drop(response.headers_mut().insert(name, value)));
        }
        Self { response, ending: end.ending() }
    }

    /// The service's own answer.
    fn of_service(response: Response<Page>, note: Option<Note>) -> Self {
        let end = End::Answered(response.status().as_u16());
        Self::new(response, &end, note)
    }
}

/// Parts of an [`App`] that are made before it.
#[derive(Debug)]
pub struct Parted {
    /// See [`App`].
    pub service: Arc<dyn Service>,
    /// See [`App`].
    pub graph: Graph,
    /// See [`App`].
    pub clock: Clock,
    /// See [`App`].
    pub edge: EdgeSpec,
    /// See [`App`].
    pub dispatch: Arc<Door>,
    /// See [`App`].
    pub accept: Arc<Door>,
    /// See [`App`].
    pub stages: Vec<Arc<Stage<Job>>>,
    /// See [`App`].
    pub dispatchers: Arc<Dispatchers>,
    /// See [`App`].
    pub ranks: Ranks,
    /// See [`App`].
    pub(crate) callers: Option<Callers>,
    /// See [`App`].
    pub(crate) wire: WireCosts,
    /// See [`App`].
    pub health: Health,
}

impl App {
    /// Puts the parts together.
    #[must_use]
    pub fn new(parts: Parted) -> Arc<Self> {
        let Parted { service, graph, clock, edge, dispatch, accept, stages, dispatchers, ranks, callers, wire, health } =
            parts;
        let pages = Reason::ALL.into_iter().map(|reason| (reason, service.refused_page(reason))).collect();
        Arc::new(Self {
            service,
            graph,
            ledger: Arc::default(),
            calls_ledger: Arc::default(),
            clock,
            edge,
            dispatch,
            accept,
            stages,
            dispatchers,
            ranks,
            health,
            draining: AtomicBool::new(false),
            callers,
            wire,
            hindrance: Hindrance::new(clock),
            attempts: Default::default(),
            pages,
            next_id: AtomicU64::new(0),
        })
    }

    /// A fresh identity.
    #[must_use]
    pub fn job_id(&self) -> JobId {
        JobId(self.next_id.fetch_add(1, Ordering::Relaxed))
    }

    /// Requests by the number of their attempt: 0, 1, 2, and 3 or more.
    #[must_use]
    pub fn attempts(&self) -> [u64; 4] {
        std::array::from_fn(|attempt| self.attempts[attempt].load(Ordering::Relaxed))
    }

    /// Takes a request through the graph. Dropped before it is done, the client has gone: work that a stage has taken on
    /// is still done, and its end is told to the seats.
    pub async fn answer(self: &Arc<Self>, head: Parts, body: Bytes, entered: Timestamp, peer: SocketAddr) -> Answer {
        if self.draining.load(Ordering::Relaxed) {
            return self.refused(Refusal::new(Reason::Draining));
        }
        self.hindrance.delayed().await;
        let route = self.service.route(&head);
        let tags = request::tags(&self.ranks, &Shown { head: &head, peer }, route.kind, entered);
        self.attempts[request::attempt_row(&tags)].fetch_add(1, Ordering::Relaxed);
        let id = self.job_id();
        let offer = Offer { id, tags, entered, note: request::note(&head) };
        let request = Request { id, entered, tags, route, head, body, peer };
        match self.dispatch(request, offer).await {
            Some(Reply::Handled { handled: Ok(response), note }) => Answer::of_service(response, note),
            Some(Reply::Handled { handled: Err(refusal), note }) => self.turned_away(End::Refused(refusal), note).await,
            Some(Reply::NotTaken(not_taken)) => self.not_taken(*not_taken).await,
            None => self.failed(StatusCode::INTERNAL_SERVER_ERROR), // the handler panicked
        }
    }

    /// Answers a health check, which is in no ledger of requests.
    pub async fn check(self: &Arc<Self>, head: &Parts, entered: Timestamp, peer: SocketAddr) -> Answer {
        self.ledger.checked();
        if self.draining.load(Ordering::Relaxed) {
            return self.refused(Refusal::new(Reason::Draining));
        }
        if self.health == Health::Inside {
            let tags = request::tags(&self.ranks, &Shown { head, peer }, Kind::default(), entered);
            match self.dispatch.enter(Offer { id: self.job_id(), tags, entered, note: None }).await {
                Ok(pass) => pass.end(Outcome::Ignored),
                Err(TurnedAway { refusal, note }) => return self.turned_away(End::Refused(refusal), note).await,
            }
        }
        Answer::of_service(page_of(StatusCode::OK, Bytes::from_static(b"ok\n")), None)
    }

    /// The dispatch stage: asks the policy, and takes the request to the stage that it belongs to. What became of it; `None` if its
    /// handler panicked.
    async fn dispatch(self: &Arc<Self>, mut request: Request, offer: Offer) -> Option<Reply> {
        let branch = request.route.branch.0;
        // From its stage on the request may carry other tags than the policy at dispatch is told.
        let tags = self.stages.get(branch).map_or(offer.tags, |stage| stage.spec().carried(offer.tags));
        request.tags = tags;
        let (sender, reply) = oneshot::channel();
        let mut job = Some(Job::new(self, request, Offer { tags, ..offer }, sender, branch));
        let decided = self.dispatch.offer(offer, || {
            let job = job.take();
            Box::new(|decided| go_on(job, decided))
        });
        decided.into_iter().for_each(|decided| go_on(job.take(), decided));
        let mut waits = MayWait { app: Some(self), id: offer.id };
        let reply = reply.await;
        waits.app = None;
        reply.ok()
    }

    /// Answers a request that no stage took.
    async fn not_taken(&self, not_taken: NotTaken) -> Answer {
        let NotTaken { request, pass, away: TurnedAway { refusal, note }, answer } = not_taken;
        let degraded = match (&answer, &request) {
            (RefusalAnswer::Degrade, Some(request)) => self.service.degrade(request).await,
            _ => None,
        };
        let path = request.as_ref().and_then(|request| request.head.uri.path_and_query());
        let status = degraded.as_ref().map(|response| response.status().as_u16());
        let end = End::not_taken(refusal, &answer, path.map_or("/", PathAndQuery::as_str), status);
        let note = request::note_of_reply(pass.end_unserved(end.outcome(false)), note);
        match degraded {
            Some(response) => Answer::new(response, &end, note),
            None => self.turned_away(end, note).await,
        }
    }

    /// Spends emulated time, if there is any.
    pub(crate) async fn spend(&self, time: Duration) {
        if !time.is_zero() {
            self.service.spend(time).await;
        }
    }

    /// Answers a request that ends without the service's own answer, at the cost of a refusal.
    async fn turned_away(&self, end: End, note: Option<Note>) -> Answer {
        if end.costs_a_refusal() {
            self.spend(self.wire.refuse).await;
        }
        self.unserved(&end, note)
    }

    /// The answer to a refusal.
    #[must_use]
    pub fn refused(&self, refusal: Refusal) -> Answer {
        self.unserved(&End::Refused(refusal), None)
    }

    /// An answer that no handler made. The page of a refusal is made at the start: only the head is put together here.
    fn unserved(&self, end: &End, note: Option<Note>) -> Answer {
        let status = StatusCode::from_u16(end.status()).unwrap_or(StatusCode::SERVICE_UNAVAILABLE);
        let page = match end {
            End::Refused(refusal) => self.pages.get(&refusal.reason).cloned().unwrap_or_default(),
            End::Redirected { .. } => Bytes::new(),
            End::Answered(_) | End::Degraded(_) => self.service.error_page(status),
        };
        Answer::new(page_of(status, page), end, note)
    }

    /// An answer that has nothing in it but a head.
    #[must_use]
    pub fn nothing(&self) -> Answer {
        let mut response = Response::new(Bytes::new().into());
        *response.status_mut() = StatusCode::NO_CONTENT;
        security_headers::add_to(response.headers_mut());
        Answer::of_service(response, None)
    }

    /// The page of an error that no handler made.
    #[must_use]
    pub fn failed(&self, status: StatusCode) -> Answer {
        self.unserved(&End::Answered(status.as_u16()), None)
    }
}

/// The gate at dispatch has decided about a job.
fn go_on(job: Option<Job>, decided: Decided) {
    match (job, decided) {
        (Some(job), Ok(pass)) => job.let_in(pass),
        (Some(job), Err(away)) => job.refuse(away),
        (None, _) => {}
    }
}

/// A job that may be held, or wait for a worker of dispatch: its client may go away meanwhile.
struct MayWait<'a> {
    app: Option<&'a Arc<App>>,
    id: JobId,
}

impl Drop for MayWait<'_> {
    fn drop(&mut self) {
        if let Some(app) = self.app {
            app.dispatch.leave(self.id);
            app.dispatchers.leave(self.id);
        }
    }
}

fn page_of(status: StatusCode, page: Bytes) -> Response<Page> {
    let mut response = Response::new(page.into());
    *response.status_mut() = status;
    security_headers::add_to(response.headers_mut());
    response.headers_mut().insert(header::CONTENT_TYPE, HTML);
    response
}

const HTML: HeaderValue = HeaderValue::from_static("text/html; charset=utf-8");
