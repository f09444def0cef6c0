//! The control port: gauges, the event stream, and changes while running. On a thread and runtime of its own, so that it
//! answers when the service itself is overloaded.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    io,
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use http::{HeaderValue, Method, Request, Response, StatusCode, header, request::Parts};
use http_body_util::{BodyExt, Either, Full, Limited};
use hyper::{
    body::{Body, Bytes, Frame, Incoming},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde::{Serialize, de::DeserializeOwned};

use crate::running::Running;

pub mod client;
pub mod events;
pub mod reports;
pub mod wire;

/// Largest body that a change may have.
const BODY_BYTES: usize = 256 * 1024;

type Answered = Either<Full<Bytes>, EventLines>;

/// Serves the control port until the runtime ends. Only what comes over loopback, under a loopback name, and not from a
/// page in a browser, is listened to.
pub(crate) async fn serve(listener: tokio::net::TcpListener, running: Arc<Running>) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(20)).await; // out of descriptors: some will come back
            continue;
        };
        let running = Arc::clone(&running);
        tokio::spawn(async move {
            let service = service_fn(|request| {
                let running = Arc::clone(&running);
                async move { Ok::<_, Infallible>(answer(&running, request).await) }
            });
            let mut http = http1::Builder::new();
            http.timer(TokioTimer::new()).header_read_timeout(Duration::from_secs(60));
            let _ = http.serve_connection(TokioIo::new(stream), service).await; // a broken connection is the client's loss
        });
    }
}

/// True if the control port may listen there.
#[must_use]
pub fn is_private(address: SocketAddr) -> bool {
    address.ip().is_loopback()
}

async fn answer(running: &Arc<Running>, request: Request<Incoming>) -> Response<Answered> {
    let (head, body) = request.into_parts();
    if !is_ours(&head) {
        return problem(StatusCode::FORBIDDEN, "the control port answers to loopback names, and not to web pages");
    }
    match (head.method.clone(), head.uri.path()) {
        (Method::GET, "/gauges") => json(StatusCode::OK, &running.gauges()),
        (Method::GET, "/requests") => json(StatusCode::OK, &running.requests()),
        (Method::GET, "/policies") => json(StatusCode::OK, &running.policies()),
        (Method::GET, "/events") => stream(Source::Events(running.events().subscribe())),
        (Method::GET, "/reports") => match running.reports() {
            Some(reports) => stream(Source::Reports(reports.subscribe())),
            None => problem(StatusCode::CONFLICT, "nobody carries reports to and from this target"),
        },
        (Method::PUT, "/report") => {
            change(body, |report| {
                running.hear(report);
                Ok(())
            })
            .await
        }
        (Method::PUT, "/policy") => change(body, |change| running.set_policy(&change)).await,
        (Method::PUT, "/work") => change(body, |work| running.set_work(&work)).await,
        (Method::PUT, "/hinder") => change(body, |hinder| running.hinder(&hinder)).await,
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
        (_, path) if PATHS.contains(&path) => problem(StatusCode::METHOD_NOT_ALLOWED, "not with this method"),
        _ => problem(StatusCode::NOT_FOUND, &format!("there are: {}", PATHS.join(", "))),
    }
}

const PATHS: [&str; 12] = [
    "/gauges",
    "/requests",
    "/events",
    "/reports",
    "/report",
    "/policies",
    "/policy",
    "/work",
    "/hinder",
    "/renew-callers",
    "/drain",
    "/stop",
];

#[derive(Serialize)]
struct Done {
    done: bool,
}

/// Everything that is wrong with a request to the control port.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, serde::Deserialize)]
pub struct Problems {
    /// Each with the key that it is about.
    pub problems: Vec<String>,
}

async fn change<T: DeserializeOwned>(
    body: Incoming,
    apply: impl FnOnce(T) -> Result<(), Vec<String>>,
) -> Response<Answered> {
    let Ok(body) = Limited::new(body, BODY_BYTES).collect().await else {
        return problem(StatusCode::PAYLOAD_TOO_LARGE, "the body is too large, or broke off");
    };
    let wanted = match serde_json::from_slice(&body.to_bytes()) {
        Ok(wanted) => wanted,
        Err(error) => return problem(StatusCode::BAD_REQUEST, &error.to_string()),
    };
    match apply(wanted) {
        Ok(()) => json(StatusCode::OK, &Done { done: true }),
        Err(problems) => json(StatusCode::BAD_REQUEST, &Problems { problems }),
    }
}

/// A page in a browser could reach a loopback port: it says where it comes from, or was led here under a foreign name.
fn is_ours(head: &Parts) -> bool {
    let host = head.headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let name = match host.parse::<SocketAddr>() {
        Ok(address) => return address.ip().is_loopback() && !head.headers.contains_key(header::ORIGIN),
        Err(_) => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    let loopback = name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    loopback && !head.headers.contains_key(header::ORIGIN)
}

fn json(status: StatusCode, value: &impl Serialize) -> Response<Answered> {
    let (status, text) = match serde_json::to_vec(value) {
        Ok(text) => (status, text),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string().into_bytes()),
    };
    let mut response = Response::new(Either::Left(Full::new(Bytes::from(text))));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

fn problem(status: StatusCode, message: &str) -> Response<Answered> {
    json(status, &Problems { problems: vec![message.to_owned()] })
}

/// The catalogue as the control port shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, serde::Deserialize)]
pub struct Policies {
    /// By site: the policy that sits there.
    pub sites: BTreeMap<String, String>,
    /// Names that `PUT /policy` takes.
    pub names: Vec<String>,
}

/// What is streamed.
enum Source {
    Events(events::Reader),
    Reports(reports::ReportReader),
}

/// A stream as a body, a line an event or report.
struct EventLines {
    next: std::pin::Pin<Box<dyn Future<Output = (Option<Bytes>, Source)> + Send>>,
}

fn stream(source: Source) -> Response<Answered> {
    let mut response = Response::new(Either::Right(EventLines { next: Box::pin(line(source)) }));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/jsonl"));
    response
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
        let (line, reader) = std::task::ready!(self.next.as_mut().poll(cx));
        self.next = Box::pin(self::line(reader));
        std::task::Poll::Ready(line.map(|line| Ok(Frame::data(line))))
    }
}

/// Opens the control port.
///
/// # Errors
/// The address is not a loopback one, or cannot be had.
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
