//! A request's way through the graph: dispatch, its stage, and back.

mod dispatchers;
mod job;

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use controllers::{
    Criticality, JobId, Kind, Note, Offer, Outcome, Reason, Refusal, RetryHint, Tags, Timestamp,
    site::{self, TurnedAway, outcome_of_refusal},
};
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header, request::Parts};
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
    /// The same, which tells the sender's policy this.
    fn noted(mut self, note: Option<Note>) -> Self {
        if let Some(Note(number)) = note {
            self.response.headers_mut().insert(NOTE, HeaderValue::from(number));
        }
        self
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
        let tags = tags(&self.ranks, &self.shown(&head, peer), route.kind, entered);
        self.attempts[usize::from(tags.attempt.min(3))].fetch_add(1, Ordering::Relaxed);
        let id = self.job_id();
        let offer = Offer { id, tags, entered, note: note(&head) };
        let request = Request { id, entered, tags, route, head, body, peer };
        let reply = self.dispatch(request, offer).await;
        match reply {
            Some(Reply::Handled { handled: Ok(response), note }) => handled(response).noted(note),
            // Its own work was done: what was refused is a call on its behalf.
            Some(Reply::Handled { handled: Err(refusal), note }) if refusal.reason == Reason::Callee => {
                self.refused(TurnedAway { refusal, note })
            }
            Some(Reply::Handled { handled: Err(refusal), note }) => {
                self.turned_away(TurnedAway { refusal, note }).await
            }
            Some(Reply::NotTaken(not_taken)) => self.not_taken(*not_taken).await,
            None => self.failed(StatusCode::INTERNAL_SERVER_ERROR), // the handler panicked
        }
    }

    fn shown<'a>(&self, head: &'a Parts, peer: SocketAddr) -> Shown<'a> {
        Shown { head, peer, session: self.service.session(head) }
    }

    /// Answers a health check, which is in no ledger of requests.
    pub async fn check(self: &Arc<Self>, head: &Parts, entered: Timestamp, peer: SocketAddr) -> Answer {
        self.ledger.checked();
        if self.draining.load(Ordering::Relaxed) {
            return self.refused(Refusal::new(Reason::Draining));
        }
        if self.health == Health::Inside {
            let tags = tags(&self.ranks, &self.shown(head, peer), Kind::default(), entered);
            match self.dispatch.enter(Offer { id: self.job_id(), tags, entered, note: None }).await {
                Ok(pass) => pass.end(Outcome::Ignored),
                Err(away) => return self.turned_away(away).await,
            }
        }
        handled(page_of(StatusCode::OK, Bytes::from_static(b"ok\n")))
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

    /// Answers a request that no stage took, as the stage upstream chooses (USITS'03, section 2.3).
    async fn not_taken(&self, not_taken: NotTaken) -> Answer {
        let NotTaken { request, pass, away: TurnedAway { refusal, note }, answer } = not_taken;
        let answer = match (&answer, request) {
            (site::RefusalAnswer::Redirect(node), Some(request)) => Some(redirect(node, &request, refusal.reason)),
            (site::RefusalAnswer::Degrade, Some(request)) => self.service.degrade(&request).await.map(handled),
            _ => None,
        };
        // The sender meets the policy here first.
        let note = pass.end_unserved(outcome_of_refusal(refusal, answer.is_some())).or(note);
        let Some(answer) = answer else { return self.turned_away(TurnedAway { refusal, note }).await };
        if matches!(answer.ending, Ending::Refused(_)) {
            self.spend(self.wire.refuse).await;
        }
        answer.noted(note)
    }

    /// Spends emulated time, if there is any.
    pub(crate) async fn spend(&self, time: Duration) {
        if !time.is_zero() {
            self.service.spend(time).await;
        }
    }

    /// A refusal, at what it costs.
    async fn turned_away(&self, away: TurnedAway) -> Answer {
        self.spend(self.wire.refuse).await;
        self.refused(away)
    }

    /// The page of a refusal: made at the start, only the head is put together here.
    #[must_use]
    pub fn refused(&self, away: impl Into<TurnedAway>) -> Answer {
        let TurnedAway { refusal, note } = away.into();
        let page = self.pages.get(&refusal.reason).cloned().unwrap_or_default();
        let mut response = page_of(StatusCode::SERVICE_UNAVAILABLE, page);
        let headers = response.headers_mut();
        headers.insert(REFUSED, HeaderValue::from_static(refusal.reason.name()));
        advise(headers, refusal.retry);
        Answer { response, ending: Ending::Refused(refusal.reason) }.noted(note)
    }

    /// An answer that has nothing in it but a head.
    #[must_use]
    pub fn nothing(&self) -> Answer {
        let mut response = Response::new(Bytes::new().into());
        *response.status_mut() = StatusCode::NO_CONTENT;
        security_headers::add_to(response.headers_mut());
        handled(response)
    }

    /// The page of an error that no handler made.
    #[must_use]
    pub fn failed(&self, status: StatusCode) -> Answer {
        let ending = if status.is_server_error() { Ending::Failed } else { Ending::Served };
        Answer { response: page_of(status, self.service.error_page(status)), ending }
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

fn handled(response: Response<Page>) -> Answer {
    let ending = if response.status().is_server_error() { Ending::Failed } else { Ending::Served };
    Answer { response, ending }
}

fn redirect(node: &str, request: &Request, reason: Reason) -> Answer {
    let path = request.head.uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
    let target = format!("{}{path}", node.trim_end_matches('/'));
    let mut response = page_of(StatusCode::TEMPORARY_REDIRECT, Bytes::new());
    if let Ok(location) = HeaderValue::try_from(target) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    response.headers_mut().insert(REFUSED, HeaderValue::from_static(reason.name()));
    Answer { response, ending: Ending::Refused(reason) }
}

/// What is known of a request of this type when it arrives.
pub(crate) fn tags(ranks: &Ranks, shown: &Shown<'_>, kind: Kind, entered: Timestamp) -> Tags {
    let waits: Option<u64> = number(shown.head, &TIMEOUT);
    let deadline = waits.map(|millis| entered + Duration::from_millis(millis));
    let said = text(shown.head, &CRITICALITY).and_then(Criticality::named);
    let user = number(shown.head, &USER).unwrap_or_else(|| shown.user());
    ranks.ranked(Tags { kind, user, deadline, ..said_of_itself(shown.head) }, said, shown)
}

/// What the sender's policy put on a request.
pub(crate) fn note(head: &Parts) -> Option<Note> {
    workloads::client::note(head.headers.get(NOTE)?.as_bytes())
}

/// What a request's head says of who sends it: a header that is missing or malformed means the default.
fn said_of_itself(head: &Parts) -> Tags {
    Tags {
        attempt: number(head, &ATTEMPT).unwrap_or_default(),
        customer: number(head, &CUSTOMER).unwrap_or_default(),
        ..Tags::default()
    }
}

fn advise(headers: &mut HeaderMap, retry: RetryHint) {
    match retry {
        RetryHint::Unsaid => {}
        RetryHint::After(wait) => {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(wait.as_secs_f64().ceil().max(1.0) as u64));
        }
        RetryHint::Never => drop(headers.insert(RETRY, HeaderValue::from_static("never"))),
    }
}

fn page_of(status: StatusCode, page: Bytes) -> Response<Page> {
    let mut response = Response::new(page.into());
    *response.status_mut() = status;
    security_headers::add_to(response.headers_mut());
    response.headers_mut().insert(header::CONTENT_TYPE, HTML);
    response
}

fn text<'a>(head: &'a Parts, name: &HeaderName) -> Option<&'a str> {
    Some(head.headers.get(name)?.to_str().ok()?.trim())
}

fn number<N: std::str::FromStr>(head: &Parts, name: &HeaderName) -> Option<N> {
    text(head, name)?.parse().ok()
}

const HTML: HeaderValue = HeaderValue::from_static("text/html; charset=utf-8");
/// Carries the reason of a refusal.
pub const REFUSED: HeaderName = HeaderName::from_static("x-refused");
/// `never` with a refusal that is not to be retried: "overloaded; don't retry" (Google SRE, chapter 21).
pub const RETRY: HeaderName = HeaderName::from_static("x-retry");
/// What a policy tells that of the sender, a number.
pub const NOTE: HeaderName = HeaderName::from_static(workloads::client::NOTE);
/// Says that an answer is less than was asked for (`reduced`, `newest 25%`), or older (`stale`).
pub const DEGRADED: HeaderName = HeaderName::from_static("x-degraded");
pub(crate) static ATTEMPT: HeaderName = HeaderName::from_static("x-attempt");
/// For how many milliseconds from now on the sender waits.
static TIMEOUT: HeaderName = HeaderName::from_static("x-timeout-ms");
/// One of the names of [`Criticality`].
static CRITICALITY: HeaderName = HeaderName::from_static("x-criticality");
/// Who asks, a number.
pub(crate) static USER: HeaderName = HeaderName::from_static("x-user");
/// Who pays, a number.
static CUSTOMER: HeaderName = HeaderName::from_static("x-customer");

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn tags(headers: &[(&str, &str)]) -> Tags {
        let mut request = http::Request::builder();
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let head = request.body(()).unwrap().into_parts().0;
        let shown = Shown { head: &head, peer: "127.0.0.1:1".parse().unwrap(), session: Some(0) };
        super::tags(&Ranks::default(), &shown, Kind(0), Timestamp::ZERO)
    }

    #[test]
    fn headers_say_criticality_customer_and_attempt() {
        let said = tags(&[("X-Criticality", " SHEDDABLE_PLUS"), ("X-Customer", "4000000000"), ("X-Attempt", "2")]);
        assert_eq!((said.criticality, said.customer, said.attempt), (Criticality::SheddablePlus, 4_000_000_000, 2));
    }

    #[test]
    fn a_user_is_who_the_request_says_else_its_session_else_its_address() {
        let user = |header: Option<&str>, session, peer: &str| {
            let mut request = http::Request::builder();
            if let Some(number) = header {
                request = request.header("X-User", number);
            }
            let head = request.body(()).unwrap().into_parts().0;
            let shown = Shown { head: &head, peer: peer.parse().unwrap(), session };
            super::tags(&Ranks::default(), &shown, Kind(0), Timestamp::ZERO).user
        };
        assert_eq!(user(Some("18446744073709551615"), Some(7), "127.0.0.1:1"), u64::MAX);
        assert_eq!(user(Some("-1"), Some(7), "127.0.0.1:1"), 7, "malformed");
        assert_eq!(user(None, Some(7), "127.0.0.1:1"), 7);
        let one = user(None, None, "127.0.0.1:1");
        assert_eq!(user(None, None, "127.0.0.1:2"), one, "a port is no user");
        assert_eq!(user(None, None, "[::ffff:127.0.0.1]:2"), one, "the same address");
        assert_ne!(user(None, None, "127.0.0.2:1"), one);
        assert_ne!(user(None, None, "[::1]:1"), user(None, None, "[1::1]:1"));
    }

    #[test]
    fn missing_and_malformed_headers_mean_the_defaults() {
        assert_eq!(tags(&[]), Tags::default());
        let wrong = [("X-Criticality", "sheddable"), ("X-Customer", "-1"), ("X-Attempt", "256")];
        assert_eq!(tags(&wrong), Tags::default());
    }

    #[test]
    fn advice_on_retrying_is_a_header() {
        let advice = |retry| {
            let mut headers = HeaderMap::new();
            advise(&mut headers, retry);
            let value = |name: &str| headers.get(name).map(|value| value.to_str().unwrap().to_owned());
            (value("retry-after"), value("x-retry"))
        };
        assert_eq!(advice(RetryHint::Unsaid), (None, None));
        assert_eq!(advice(RetryHint::After(Duration::from_millis(1200))), (Some("2".to_owned()), None));
        assert_eq!(advice(RetryHint::Never), (None, Some("never".to_owned())));
    }
}
