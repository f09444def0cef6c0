//! The control port: gauges, the event stream, and changes at run time. It has a thread and runtime of its own, so that
//! it answers when the service itself is overloaded, and requires its token: a port of this machine is open to every
//! user and every program on it, and requests here can stop the service.

use std::{convert::Infallible, io, net::SocketAddr, sync::Arc};

use http::{HeaderValue, Method, Request, Response, StatusCode, header, request::Parts};
use http_body_util::Either;
use hyper::body::{Body, Bytes, Frame, Incoming};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use service_core::request::LedgerEnding;
use spec::{EdgeSpec, token::Token, wire::Problems};

use crate::{
    authority::Host,
    clock::ServiceClock,
    edge::{Answered, Conn, Phase, Registry, read_body},
};

pub mod client;
mod controlled;
mod port;

pub(crate) use controlled::{ConfigForm, Controlled};
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
            Ok(body) => authorised(port, &head, &body),
            Err(status) => problem(status, "the body is too large or malformed, or broke off"),
        }
    };
    // After a refusal the connection closes: no body is waited for.
    let last = answer.status.is_client_error();
    let mut response = match answer.body {
        AnswerBody::Page(page) => {
            conn.enter(Phase::Writing);
            let page = Answered::new(page.into(), &method, None, LedgerEnding::Served, Arc::clone(conn));
            Response::new(Either::Left(page))
        }
        AnswerBody::Stream(source) => {
            Response::new(Either::Right(EventLines { next: Box::pin(line(source)), conn: Arc::clone(conn) }))
        }
    };
    *response.status_mut() = answer.status;
    response.headers_mut().extend(answer.headers);
    if last {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

/// The answer to an authorised request.
fn authorised(port: &Port, head: &Parts, body: &[u8]) -> ControlAnswer {
    let running = &port.running;
    let change_of = || value(head, body);
    let in_experiment = running.is_in_experiment();
    let paths = PATHS.iter().filter(|path| in_experiment || !path.of_experiments);
    let Some(path) = paths.clone().find(|path| path.name == head.uri.path()) else {
        let names: Vec<&str> = paths.map(|path| path.name).collect();
        return problem(StatusCode::NOT_FOUND, &format!("there are: {}", names.join(", ")));
    };
    match (head.method.clone(), path.name) {
        (Method::GET, "/gauges") => json(StatusCode::OK, &running.gauges()),
        (Method::GET, "/requests") => json(StatusCode::OK, &running.requests()),
        (Method::GET, "/policies") => json(StatusCode::OK, &running.policies()),
        (Method::GET, "/events") => stream(Source::Events(running.events().subscribe())),
        (Method::GET, "/reports") => match running.reports() {
            Some(reports) => stream(Source::Reports(reports.subscribe())),
            None => problem(StatusCode::CONFLICT, "nobody carries reports to and from this target"),
        },
        (Method::GET, "/config") => config(&**running, head),
        (Method::PUT, "/report") => change(change_of(), |report| {
            running.hear(report);
            Ok(())
        }),
        (Method::PUT, "/policy") => change(change_of(), |change| running.set_policy(&change)),
        (Method::PUT, "/machines") => change(change_of(), |change| running.set_machines(&change)),
        (Method::PUT, "/config") => change(change_of(), |whole: Value| running.configure(&whole)),
        (Method::PATCH, "/config") => change(change_of(), |part: Value| running.amend(&part)),
        (Method::PUT, "/callees") => change(change_of(), |change| running.set_callees(&change)),
        (Method::PUT, "/work") => change(change_of(), |work| running.set_work(&work)),
        (Method::PUT, "/hinder") => change(change_of(), |hinder| running.hinder(&hinder)),
        (Method::POST, "/renew-callers") => {
            running.renew_callers();
            json(StatusCode::OK, &Done { done: true })
        }
        (Method::POST, "/drain") => {
            running.drain();
            json(StatusCode::OK, &Done { done: true })
        }
        (Method::POST, "/stop") => {
            running.stop();
            json(StatusCode::OK, &Done { done: true })
        }
        (Method::POST, "/halt") => match running.halt() {
            Ok(halted) => json(StatusCode::OK, &halted),
            Err(problems) => json(StatusCode::CONFLICT, &Problems { problems }),
        },
        _ => problem(StatusCode::METHOD_NOT_ALLOWED, &format!("not with this method: {}", path.methods)),
    }
}

/// A path of the control port.
struct ControlPath {
    name: &'static str,
    methods: &'static str,
    /// It is there for experiments alone: faults, and what the lab reads to check its own counts.
    of_experiments: bool,
}

impl ControlPath {
    const fn of_all(name: &'static str, methods: &'static str) -> Self {
        Self { name, methods, of_experiments: false }
    }

    const fn of_experiments(name: &'static str, methods: &'static str) -> Self {
        Self { name, methods, of_experiments: true }
    }
}

static PATHS: [ControlPath; 16] = [
    ControlPath::of_all("/gauges", "GET"),
    ControlPath::of_experiments("/requests", "GET"),
    ControlPath::of_all("/events", "GET"),
    ControlPath::of_experiments("/reports", "GET"),
    ControlPath::of_experiments("/report", "PUT"),
    ControlPath::of_all("/policies", "GET"),
    ControlPath::of_all("/policy", "PUT"),
    ControlPath::of_experiments("/machines", "PUT"),
    ControlPath::of_all("/config", "GET, PUT, PATCH"),
    ControlPath::of_experiments("/callees", "PUT"),
    ControlPath::of_experiments("/work", "PUT"),
    ControlPath::of_experiments("/hinder", "PUT"),
    ControlPath::of_experiments("/renew-callers", "POST"),
    ControlPath::of_all("/drain", "POST"),
    ControlPath::of_all("/stop", "POST"),
    ControlPath::of_experiments("/halt", "POST"),
];

#[derive(Serialize)]
struct Done {
    done: bool,
}

/// A body: JSON where its head says so, else YAML, of which JSON is a part.
fn value(head: &Parts, body: &[u8]) -> Result<Value, String> {
    let read = serde_json::from_slice(body);
    if read.is_err() && !names_json(head, &header::CONTENT_TYPE) {
        return serde_yaml::from_slice(body).map_err(|error| error.without_snippet().to_string());
    }
    read.map_err(|error| format!("no JSON: {error}"))
}

fn names_json(head: &Parts, header: &header::HeaderName) -> bool {
    let mut values = head.headers.get_all(header).iter();
    values.any(|value| value.to_str().is_ok_and(|kinds| kinds.to_ascii_lowercase().contains("json")))
}

fn change<T: DeserializeOwned>(
    value: Result<Value, String>,
    apply: impl FnOnce(T) -> Result<(), Vec<String>>,
) -> ControlAnswer {
    match value.and_then(|value| serde_json::from_value(value).map_err(|error| error.to_string())) {
        Ok(wanted) => done(apply(wanted)),
        Err(error) => problem(StatusCode::BAD_REQUEST, &error),
    }
}

/// The settings in force: YAML, unless the request names JSON.
fn config(running: &dyn Controlled, head: &Parts) -> ControlAnswer {
    let wants_json = [header::ACCEPT, header::CONTENT_TYPE].iter().any(|header| names_json(head, header));
    let (form, kind) =
        if wants_json { (ConfigForm::Json, "application/json") } else { (ConfigForm::Yaml, "application/yaml") };
    match running.config(form) {
        Ok(text) => ControlAnswer {
            status: StatusCode::OK,
            headers: vec![(header::CONTENT_TYPE, HeaderValue::from_static(kind))],
            body: AnswerBody::Page(text.into_bytes()),
        },
        Err(problems) => json(StatusCode::BAD_REQUEST, &Problems { problems }),
    }
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

fn json(status: StatusCode, value: &impl Serialize) -> ControlAnswer {
    let (status, text) = match serde_json::to_vec(value) {
        Ok(text) => (status, text),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string().into_bytes()),
    };
    let kind = HeaderValue::from_static("application/json");
    ControlAnswer { status, headers: vec![(header::CONTENT_TYPE, kind)], body: AnswerBody::Page(text) }
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
struct EventLines {
    next: std::pin::Pin<Box<dyn Future<Output = (Option<Bytes>, Source)> + Send>>,
    conn: Arc<Conn>,
}

fn stream(source: Source) -> ControlAnswer {
    let kind = HeaderValue::from_static("application/jsonl");
    ControlAnswer {
        status: StatusCode::OK,
        headers: vec![(header::CONTENT_TYPE, kind)],
        body: AnswerBody::Stream(source),
    }
}

async fn line(mut source: Source) -> (Option<Bytes>, Source) {
    let text = match &mut source {
        Source::Events(events) => events.next().await.map(|event| serde_json::to_vec(&*event)),
        Source::Reports(reports) => reports.next().await.map(|report| serde_json::to_vec(&report)),
    };
    let line = text.map(|text| {
        let mut line = text.unwrap_or_default();
        line.push(b'\n');
        Bytes::from(line)
    });
    (line, source)
}

impl Body for EventLines {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let std::task::Poll::Ready((line, reader)) = self.next.as_mut().poll(cx) else {
            self.conn.enter(Phase::Working);
            return std::task::Poll::Pending;
        };
        self.conn.enter(Phase::Writing);
        self.next = Box::pin(self::line(reader));
        std::task::Poll::Ready(line.map(|line| Ok(Frame::data(line))))
    }
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
