//! The way of a request through a live service: gate, dispatch, stage, and back.

mod dispatchers;
#[cfg(test)]
mod interleavings;
mod job;
mod sites;

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use controllers::{
    JobId, Kind, Note, Offer, Outcome, Reason, Refusal, Timestamp,
    site::{RefusalAnswer, TurnedAway},
};
use http::{HeaderValue, Response, StatusCode, header, request::Parts, uri::PathAndQuery};
use tokio::sync::oneshot;
use workloads::balance::LOAD_METRICS;

pub use dispatchers::Dispatchers;
pub use sites::Sites;

use crate::{
    calls::Callers,
    clock::ServiceClock,
    fault_injection::FaultInjection,
    security_headers,
    service::{Bytes, Handled, PageBody, Request, Service},
    signals::Probe,
    stage::{AdmissionResult, GatePermit, StageWork as _, lock},
};
use service_core::{
    class::RequestFacts,
    ledger::Ledgers,
    load_report::LoadMeter,
    request::{self, Intake, LedgerEnding, RequestEnd},
};
use spec::{
    EdgeSpec, HealthChecks,
    services::{TaskSpec, WireCosts},
};

/// A live service as requests meet it.
#[derive(Debug)]
pub struct LiveApp {
    /// The part that knows what requests mean.
    pub service: Arc<dyn Service>,
    /// The clock of all sites.
    pub clock: ServiceClock,
    /// The gates, dispatch and the stages.
    pub sites: Sites<Job>,
    /// The counts of requests and connections by how they ended.
    pub ledgers: Ledgers,
    /// The source of identities and tags, with the counts by attempt.
    pub intake: Intake,
    /// The limits of connections and requests.
    pub edge: EdgeSpec,
    /// The place that answers health checks.
    pub health: HealthChecks,
    /// True once the service refuses all new requests, before it stops.
    pub draining: AtomicBool,
    /// The calls to other services for each request.
    pub(crate) callers: Option<Callers>,
    /// The emulated cost of accepting, reading and refusing.
    pub(crate) wire: WireCosts,
    /// Faults that an operator injects.
    pub(crate) fault_injection: FaultInjection,
    answers: AnswerParts,
}

/// What answers are made of.
#[derive(Debug)]
struct AnswerParts {
    /// The pages of refusals, by reason.
    pages: BTreeMap<Reason, Bytes>,
    /// What says how busy the service is, if anybody chooses by that.
    load: Option<LoadReporter>,
}

/// Reports the load of a task on its answers.
#[derive(Debug)]
struct LoadReporter {
    meter: Mutex<LoadMeter>,
    probe: Arc<dyn Probe>,
}

/// The result of a job.
#[derive(Debug)]
enum JobReply {
    /// A stage worked on it, or held it and refused it. `note`: from the policies here to the sender's policy.
    Handled { handled: Handled, note: Option<Note> },
    /// No stage took it.
    NotTaken(Box<NotTaken>),
}

/// A request that no stage took.
#[derive(Debug)]
struct NotTaken {
    request: Option<Request>,
    permit: GatePermit,
    away: TurnedAway,
    answer: RefusalAnswer,
}

/// A request on its way through a stage.
#[derive(Debug)]
pub struct Job {
    app: Arc<LiveApp>,
    offer: Offer,
    request: Option<Request>,
    answer: Option<Handled>,
    cost: Option<Duration>,
    told: Option<Note>,
    reply: oneshot::Sender<JobReply>,
    permit: GatePermit,
    /// The index of its stage among the branches.
    branch: usize,
}

/// An answer, and how the ledger counts it.
#[derive(Debug)]
pub struct AppAnswer {
    /// The answer that the client gets.
    pub response: Response<PageBody>,
    /// How the request ended.
    pub ending: LedgerEnding,
}

impl AppAnswer {
    /// Adds to an answer the headers that its end requires, and the note for the sender's policy.
    fn new(mut response: Response<PageBody>, end: &RequestEnd, note: Option<Note>) -> Self {
        request::put_headers(end, note, response.headers_mut());
        Self { response, ending: end.ending() }
    }

    /// The service's own answer.
    fn of_service(response: Response<PageBody>, note: Option<Note>) -> Self {
        let end = RequestEnd::Answered(response.status().as_u16());
        Self::new(response, &end, note)
    }
}

impl LiveApp {
    /// The app of an open service, with its sites. Needs a runtime.
    pub(crate) fn new(
        task: &TaskSpec,
        service: Arc<dyn Service>,
        sites: Sites<Job>,
        intake: Intake,
        callers: Option<Callers>,
        (clock, probe): (ServiceClock, Arc<dyn Probe>),
    ) -> Arc<Self> {
        let pages = Reason::ALL.into_iter().map(|reason| (reason, service.refused_page(reason))).collect();
        let load = task.reports_load.then(|| LoadReporter { meter: Mutex::new(LoadMeter::new(clock.now())), probe });
        Arc::new(Self {
            service,
            clock,
            sites,
            ledgers: Ledgers::default(),
            intake,
            edge: task.target.edge.clone(),
            health: task.target.health,
            draining: AtomicBool::new(false),
            callers,
            wire: task.wire.at_speed(task.speed),
            fault_injection: FaultInjection::new(clock),
            answers: AnswerParts { pages, load },
        })
    }

    /// Takes a request through gate, dispatch and stage. The caller drops the future when the client goes away; a stage still finishes
    /// the work that it has begun, and the policies are told how the request ended.
    pub async fn answer(self: &Arc<Self>, head: Parts, body: Bytes, entered: Timestamp, peer: SocketAddr) -> AppAnswer {
        let mut answer = self.own_answer(head, body, entered, peer).await;
        if let Some(LoadReporter { meter, probe }) = &self.answers.load {
            // Lock first, clock second: a period never ends before it begins.
            let mut meter = lock(meter);
            let report = meter.answered(self.clock.now(), answer.response.status().as_u16(), &**probe);
            let value = report.and_then(|report| HeaderValue::try_from(report.to_string()).ok());
            value.into_iter().for_each(|value| drop(answer.response.headers_mut().insert(LOAD_METRICS, value)));
        }
        answer
    }

    async fn own_answer(self: &Arc<Self>, head: Parts, body: Bytes, entered: Timestamp, peer: SocketAddr) -> AppAnswer {
        if self.draining.load(Ordering::Relaxed) {
            return self.refused(Refusal::new(Reason::Draining));
        }
        self.fault_injection.delayed().await;
        let route = self.service.route(&head);
        let offer = self.intake.request(&self.facts(&head, peer), route.kind, entered);
        let Offer { id, tags, .. } = offer;
        let request = Request { id, entered, tags, route, head, body, peer };
        match self.dispatch(request, offer).await {
            Some(JobReply::Handled { handled: Ok(response), note }) => AppAnswer::of_service(response, note),
            Some(JobReply::Handled { handled: Err(refusal), note }) => {
                self.turned_away(RequestEnd::Refused(refusal), note).await
            }
            Some(JobReply::NotTaken(not_taken)) => self.not_taken(*not_taken).await,
            None => self.failed(StatusCode::INTERNAL_SERVER_ERROR), // the handler panicked
        }
    }

    /// The page of a refusal: made at the start, but for the reasons that policies outside of `controllers` name.
    fn refused_page(&self, reason: Reason) -> Bytes {
        self.answers.pages.get(&reason).cloned().unwrap_or_else(|| self.service.refused_page(reason))
    }

    fn facts<'a>(&self, head: &'a Parts, peer: SocketAddr) -> RequestFacts<'a> {
        RequestFacts::of_head(head, peer, self.service.session(head))
    }

    /// Answers a health check, which no ledger counts as a request.
    pub async fn check(self: &Arc<Self>, head: &Parts, entered: Timestamp, peer: SocketAddr) -> AppAnswer {
        self.ledgers.users.checked();
        if self.draining.load(Ordering::Relaxed) {
            return self.refused(Refusal::new(Reason::Draining));
        }
        if self.health == HealthChecks::Inside {
            let offer = self.intake.check(&self.facts(head, peer), Kind::default(), entered);
            match self.sites.dispatch.enter(offer).await {
                Ok(permit) => _ = permit.end(Outcome::Ignored),
                Err(TurnedAway { refusal, note }) => return self.turned_away(RequestEnd::Refused(refusal), note).await,
            }
        }
        AppAnswer::of_service(page_of(StatusCode::OK, Bytes::from_static(b"ok\n")), None)
    }

    /// Offers the request to the gate, then to the stage that its route names. Returns the result; `None` if the
    /// handler panicked.
    async fn dispatch(self: &Arc<Self>, mut request: Request, offer: Offer) -> Option<JobReply> {
        let branch = request.route.branch.0;
        // From its stage on the request may carry other tags than those for the policy at dispatch.
        let tags = self.sites.stages.get(branch).map_or(offer.tags, |stage| stage.spec().carried(offer.tags));
        request.tags = tags;
        let (sender, reply) = oneshot::channel();
        let mut job = Some(Job::new(self, request, Offer { tags, ..offer }, sender, branch));
        let decided = self.sites.dispatch.offer(offer, || {
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
    async fn not_taken(&self, not_taken: NotTaken) -> AppAnswer {
        let NotTaken { request, permit, away: TurnedAway { refusal, note }, answer } = not_taken;
        let degraded = match (&answer, &request) {
            (RefusalAnswer::Degrade, Some(request)) => self.service.degrade(request).await,
            _ => None,
        };
        let path = request.as_ref().and_then(|request| request.head.uri.path_and_query());
        let status = degraded.as_ref().map(|response| response.status().as_u16());
        let end = RequestEnd::not_taken(refusal, &answer, path.map_or("/", PathAndQuery::as_str), status);
        let note = request::note_of_reply(permit.end(end.outcome(false)), note);
        match degraded {
            Some(response) => AppAnswer::new(response, &end, note),
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
    async fn turned_away(&self, end: RequestEnd, note: Option<Note>) -> AppAnswer {
        if end.costs_a_refusal() {
            self.spend(self.wire.refuse).await;
        }
        self.error_response(&end, note)
    }

    /// The answer to a refusal.
    #[must_use]
    pub fn refused(&self, refusal: Refusal) -> AppAnswer {
        self.error_response(&RequestEnd::Refused(refusal), None)
    }

    /// An answer that no handler made. The page of a refusal is made at the start: only the head is composed here.
    fn error_response(&self, end: &RequestEnd, note: Option<Note>) -> AppAnswer {
        let status = StatusCode::from_u16(end.status()).unwrap_or(StatusCode::SERVICE_UNAVAILABLE);
        let page = match end {
            RequestEnd::Refused(refusal) => self.refused_page(refusal.reason),
            RequestEnd::Redirected { .. } => Bytes::new(),
            RequestEnd::Answered(_) | RequestEnd::Degraded(_) => self.service.error_page(status),
        };
        AppAnswer::new(page_of(status, page), end, note)
    }

    /// An answer with an empty body.
    #[must_use]
    pub fn nothing(&self) -> AppAnswer {
        let mut response = Response::new(Bytes::new().into());
        *response.status_mut() = StatusCode::NO_CONTENT;
        security_headers::add_to(response.headers_mut());
        AppAnswer::of_service(response, None)
    }

    /// The page of an error that no handler made.
    #[must_use]
    pub fn failed(&self, status: StatusCode) -> AppAnswer {
        self.error_response(&RequestEnd::Answered(status.as_u16()), None)
    }
}

/// Continues a job after the decision of the gate at dispatch.
fn go_on(job: Option<Job>, decided: AdmissionResult) {
    match (job, decided) {
        (Some(job), Ok(permit)) => job.let_in(permit),
        (Some(job), Err(away)) => job.refuse(away),
        (None, _) => {}
    }
}

/// A job that may be held, or wait for a worker of dispatch: removed if its client goes away meanwhile.
struct MayWait<'a> {
    app: Option<&'a Arc<LiveApp>>,
    id: JobId,
}

impl Drop for MayWait<'_> {
    fn drop(&mut self) {
        if let Some(app) = self.app {
            app.sites.dispatch.leave(self.id);
            app.sites.dispatchers.leave(self.id);
        }
    }
}

fn page_of(status: StatusCode, page: Bytes) -> Response<PageBody> {
    let mut response = Response::new(page.into());
    *response.status_mut() = status;
    security_headers::add_to(response.headers_mut());
    response.headers_mut().insert(header::CONTENT_TYPE, HTML);
    response
}

const HTML: HeaderValue = HeaderValue::from_static("text/html; charset=utf-8");
