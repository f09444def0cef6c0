//! The control port: gauges, the event stream, and changes at run time. It has a thread and runtime of its own, so that
//! it answers when the service itself is overloaded, and requires its token: a port of this machine is open to every
//! user and every program on it, and requests here can stop the service.

use std::{convert::Infallible, io, net::SocketAddr, sync::Arc};

use futures_util::stream::{BoxStream, StreamExt as _, unfold};
use http::{HeaderValue, Method, Request, Response, StatusCode, header, request::Parts};
use http_body_util::{Either, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use service_core::request::LedgerEnding;
use spec::{EdgeSpec, token::Token, wire::Problems};

use crate::{
    authority::Host,
    clock::ServiceClock,
    edge::{Answered, Conn, ConnPhase, Registry, read_body},
};

pub mod client;
mod controlled;
mod port;

pub use controlled::{ConfigForm, Controlled};
pub(crate) use port::serve;

/// The state that the tasks of all connections share.
#[derive(Debug)]
struct Port {
    running: Arc<dyn Controlled>,
    token: Token,
    limits: EdgeSpec,
    clock: ServiceClock,
    registry: Arc<Registry>,
}

type Answer = Response<Either<Answered, EventLines>>;

/// True if the control port may listen at this address.
#[must_use]
pub fn is_private(address: SocketAddr) -> bool {
    address.ip().is_loopback()
}

/// Answers one request. Only a request for a loopback name, not from a page in a browser, and with the token, is
/// carried out.
async fn answer(port: &Port, request: Request<Incoming>, conn: &Arc<Conn>) -> Answer {
    let ambiguous = conn.request_begins().await;
    let (head, body) = request.into_parts();
    let method = head.method.clone();
    let answer = if ambiguous {
        problem(StatusCode::BAD_REQUEST, "where this request ends is not clear")
    } else if !is_ours(&head) {
        problem(StatusCode::FORBIDDEN, "the control port answers to loopback names, and not to web pages")
    } else if !has_token(&head, &port.token) {
        let mut answer = problem(
            StatusCode::UNAUTHORIZED,
            "the control port wants its token, as `Authorization: Bearer TOKEN`: it is in the ready line of the service, \
             or in the file that it was given",
        );
        answer.headers.push((header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer")));
        answer
    } else {
        match read_body(body, &port.limits, conn).await {
            Ok(body) => ControlRequest { running: &*port.running, head: &head, body: &body }.answer(),
            Err(status) => problem(status, "the body is too large or malformed, or broke off"),
        }
    };
    // After a refusal the connection closes: no body is waited for.
    let last = answer.status.is_client_error();
    let mut response = match answer.body {
        AnswerBody::Page(page) => {
            conn.enter(ConnPhase::Writing);
            let page = Answered::new(page.into(), &method, None, LedgerEnding::Served, Arc::clone(conn));
            Response::new(Either::Left(page))
        }
        AnswerBody::Stream(source) => Response::new(Either::Right(lines(source, conn))),
    };
    *response.status_mut() = answer.status;
    response.headers_mut().extend(answer.headers);
    if last {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

/// The process behind the port.
type Process = dyn Controlled;

/// An authorised request.
struct ControlRequest<'a> {
    running: &'a Process,
    head: &'a Parts,
    body: &'a [u8],
}

/// A path of the control port with one of its methods.
struct ControlRoute {
    method: Method,
    path: &'static str,
    /// It is there for experiments alone: faults, and what the lab reads to check its own counts.
    of_experiments: bool,
    answer: fn(&ControlRequest<'_>) -> ControlAnswer,
}

impl ControlRoute {
    const fn of_all(method: Method, path: &'static str, answer: fn(&ControlRequest<'_>) -> ControlAnswer) -> Self {
        Self { method, path, of_experiments: false, answer }
    }

    const fn of_experiments(
        method: Method,
        path: &'static str,
        answer: fn(&ControlRequest<'_>) -> ControlAnswer,
    ) -> Self {
        Self { method, path, of_experiments: true, answer }
    }
}

static ROUTES: [ControlRoute; 18] = [
    ControlRoute::of_all(Method::GET, "/gauges", |call| ok(&call.running.gauges())),
    ControlRoute::of_experiments(Method::GET, "/requests", |call| ok(&call.running.requests())),
    ControlRoute::of_all(Method::GET, "/events", |call| stream(Source::Events(call.running.events().subscribe()))),
    ControlRoute::of_experiments(Method::GET, "/reports", |call| match call.running.reports() {
        Some(reports) => stream(Source::Reports(reports.subscribe())),
        None => problem(StatusCode::CONFLICT, "nobody carries reports to and from this target"),
    }),
    ControlRoute::of_experiments(Method::PUT, "/report", |call| {
        call.change(|running, report| {
            running.hear(report);
            Ok(())
        })
    }),
    ControlRoute::of_all(Method::GET, "/policies", |call| ok(&call.running.policies())),
    ControlRoute::of_all(Method::PUT, "/policy", |call| call.change(|running, change| running.set_policy(&change))),
    ControlRoute::of_experiments(Method::PUT, "/machines", |call| call.change(|running, to| running.set_machines(&to))),
    ControlRoute::of_all(Method::GET, "/config", config),
    ControlRoute::of_all(Method::PUT, "/config", |call| call.change(|running, whole: Value| running.configure(&whole))),
    ControlRoute::of_all(Method::PATCH, "/config", |call| call.change(|running, part: Value| running.amend(&part))),
    ControlRoute::of_experiments(Method::PUT, "/callees", |call| call.change(|running, to| running.set_callees(&to))),
    ControlRoute::of_experiments(Method::PUT, "/work", |call| call.change(|running, work| running.set_work(&work))),
    ControlRoute::of_experiments(Method::PUT, "/hinder", |call| call.change(|running, hinder| running.hinder(&hinder))),
    ControlRoute::of_experiments(Method::POST, "/renew-callers", |call| call.order(Controlled::renew_callers)),
    ControlRoute::of_all(Method::POST, "/drain", |call| call.order(Controlled::drain)),
    ControlRoute::of_all(Method::POST, "/stop", |call| call.order(Controlled::stop)),
    ControlRoute::of_experiments(Method::POST, "/halt", |call| match call.running.halt() {
        Ok(halted) => ok(&halted),
        Err(problems) => json(StatusCode::CONFLICT, &Problems { problems }),
    }),
];

impl ControlRequest<'_> {
    fn answer(&self) -> ControlAnswer {
        let in_experiment = self.running.is_in_experiment();
        let routes = || ROUTES.iter().filter(move |route| in_experiment || !route.of_experiments);
        let here: Vec<&ControlRoute> = routes().filter(|route| route.path == self.head.uri.path()).collect();
        if here.is_empty() {
            let mut paths: Vec<&str> = routes().map(|route| route.path).collect();
            paths.dedup();
            return problem(StatusCode::NOT_FOUND, &format!("there are: {}", paths.join(", ")));
        }
        match here.iter().find(|route| route.method == self.head.method) {
            Some(route) => (route.answer)(self),
            None => {
                let methods: Vec<&str> = here.iter().map(|route| route.method.as_str()).collect();
                let message = format!("not with this method: {}", methods.join(", "));
                problem(StatusCode::METHOD_NOT_ALLOWED, &message)
            }
        }
    }

    /// The body: JSON where the head says so, else YAML, of which JSON is a part.
    fn value(&self) -> Result<Value, String> {
        let read = serde_json::from_slice(self.body);
        if read.is_err() && !names_json(self.head, &header::CONTENT_TYPE) {
            return serde_yaml::from_slice(self.body).map_err(|error| error.without_snippet().to_string());
        }
        read.map_err(|error| format!("no JSON: {error}"))
    }

    fn order(&self, order: fn(&Process)) -> ControlAnswer {
        order(self.running);
        done(Ok(()))
    }

    fn change<T: DeserializeOwned>(&self, apply: impl FnOnce(&Process, T) -> Result<(), Vec<String>>) -> ControlAnswer {
        match self.value().and_then(|value| serde_json::from_value(value).map_err(|error| error.to_string())) {
            Ok(wanted) => done(apply(self.running, wanted)),
            Err(error) => problem(StatusCode::BAD_REQUEST, &error),
        }
    }
}

#[derive(Serialize)]
struct Done {
    done: bool,
}

/// The settings in force: YAML, unless the request names JSON.
fn config(call: &ControlRequest<'_>) -> ControlAnswer {
    let wants_json = [header::ACCEPT, header::CONTENT_TYPE].iter().any(|header| names_json(call.head, header));
    let (form, kind) =
        if wants_json { (ConfigForm::Json, "application/json") } else { (ConfigForm::Yaml, "application/yaml") };
    match call.running.config(form) {
        Ok(text) => answered(kind, AnswerBody::Page(text.into_bytes())),
        Err(problems) => json(StatusCode::BAD_REQUEST, &Problems { problems }),
    }
}

fn names_json(head: &Parts, header: &header::HeaderName) -> bool {
    let mut values = head.headers.get_all(header).iter();
    values.any(|value| value.to_str().is_ok_and(|kinds| kinds.to_ascii_lowercase().contains("json")))
}

fn done(result: Result<(), Vec<String>>) -> ControlAnswer {
    match result {
        Ok(()) => json(StatusCode::OK, &Done { done: true }),
        Err(problems) => json(StatusCode::BAD_REQUEST, &Problems { problems }),
    }
}

/// True if the request does not come from a page in a browser. A page could reach a loopback port: it names its origin,
/// or uses a foreign name that leads here.
fn is_ours(head: &Parts) -> bool {
    let mut hosts = head.headers.get_all(header::HOST).iter();
    let (Some(host), None) = (hosts.next(), hosts.next()) else { return false };
    let loopback = host.to_str().ok().and_then(Host::of).is_some_and(Host::is_loopback);
    let from_a_page = head.headers.contains_key(header::ORIGIN)
        || head.headers.get("sec-fetch-site").is_some_and(|site| site != "none" && site != "same-origin");
    loopback && !from_a_page
}

fn has_token(head: &Parts, token: &Token) -> bool {
    let shown = head.headers.get(header::AUTHORIZATION).map(HeaderValue::as_bytes);
    shown.and_then(|shown| shown.strip_prefix(b"Bearer ")).is_some_and(|shown| token.matches(shown))
}

/// An answer.
struct ControlAnswer {
    status: StatusCode,
    headers: Vec<(header::HeaderName, HeaderValue)>,
    body: AnswerBody,
}

enum AnswerBody {
    Page(Vec<u8>),
    Stream(Source),
}

fn ok(value: &impl Serialize) -> ControlAnswer {
    json(StatusCode::OK, value)
}

fn json(status: StatusCode, value: &impl Serialize) -> ControlAnswer {
    let (status, text) = match serde_json::to_vec(value) {
        Ok(text) => (status, text),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string().into_bytes()),
    };
    ControlAnswer { status, ..answered("application/json", AnswerBody::Page(text)) }
}

fn answered(kind: &'static str, body: AnswerBody) -> ControlAnswer {
    let headers = vec![(header::CONTENT_TYPE, HeaderValue::from_static(kind))];
    ControlAnswer { status: StatusCode::OK, headers, body }
}

fn problem(status: StatusCode, message: &str) -> ControlAnswer {
    json(status, &Problems { problems: vec![message.to_owned()] })
}

/// The source of a stream.
enum Source {
    Events(service_core::events::EventReader),
    Reports(crate::reports::ReportReader),
}

/// A stream as a body, one event or report per line. Between lines the connection counts as working, so the client has
/// no deadline.
type EventLines = StreamBody<BoxStream<'static, Result<Frame<Bytes>, Infallible>>>;

fn stream(source: Source) -> ControlAnswer {
    answered("application/jsonl", AnswerBody::Stream(source))
}

fn lines(source: Source, conn: &Arc<Conn>) -> EventLines {
    let next = |(mut source, conn): (Source, Arc<Conn>)| async move {
        conn.enter(ConnPhase::Working);
        let text = match &mut source {
            Source::Events(events) => events.next().await.map(|event| serde_json::to_vec(&*event)),
            Source::Reports(reports) => reports.next().await.map(|report| serde_json::to_vec(&report)),
        };
        conn.enter(ConnPhase::Writing);
        let line = [text?.unwrap_or_default(), b"\n".to_vec()].concat();
        Some((Ok(Frame::data(line.into())), (source, conn)))
    };
    StreamBody::new(unfold((source, Arc::clone(conn)), next).boxed())
}

/// Opens the control port.
///
/// # Errors
/// If the address is not a loopback one, or cannot be bound.
pub(crate) fn listen(address: SocketAddr) -> io::Result<std::net::TcpListener> {
    if !is_private(address) {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("{address} is not a loopback address; 127.0.0.1:0 is one"),
        ));
    }
    let listener = std::net::TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}
