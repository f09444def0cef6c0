//! Metrics for Prometheus, read-only and without a token, at an address of their own: OpenMetrics text at `/metrics`.

use std::{convert::Infallible, fmt, net::TcpListener, sync::Arc, time::Duration};

use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::{
    body::{Bytes, Incoming},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use prometheus_client::{collector::Collector, encoding::text::encode, registry::Registry};
use tokio::sync::Semaphore;

mod gauges;
mod page;

pub(crate) use gauges::{labels, policies, process, requests};
pub(crate) use page::Page;
#[cfg(feature = "otel")]
pub(crate) use page::Row;

/// Readers at once.
const READERS: usize = 8;
/// The time that a reader has for its request and the answer.
const LIMIT: Duration = Duration::from_secs(10);

/// Answers readers with these figures until the runtime ends. `prefix`: what the names of the metrics begin with. Needs a
/// runtime.
///
/// # Errors
/// If the socket cannot be watched.
pub(crate) fn serve(listener: TcpListener, prefix: &str, figures: impl Collector) -> std::io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let mut registry = Registry::with_prefix(prefix);
    registry.register_collector(Box::new(figures));
    let registry = Arc::new(registry);
    tokio::spawn(async move {
        let places = Arc::new(Semaphore::new(READERS));
        loop {
            let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
            let Ok((stream, _)) = listener.accept().await else {
                tokio::time::sleep(Duration::from_millis(20)).await; // out of descriptors: some will be freed
                continue;
            };
            let registry = Arc::clone(&registry);
            tokio::spawn(async move {
                let _place = place;
                let service = service_fn(|request| {
                    let answer = answer(&registry, &request);
                    async { Ok::<_, Infallible>(answer) }
                });
                let mut http = http1::Builder::new();
                http.keep_alive(false).max_buf_size(16 * 1024).header_read_timeout(None);
                let _ = tokio::time::timeout(LIMIT, http.serve_connection(TokioIo::new(stream), service)).await;
            });
        }
    });
    Ok(())
}

fn answer(registry: &Registry, request: &Request<Incoming>) -> Response<Full<Bytes>> {
    let (status, kind, text) = match (request.method(), request.uri().path()) {
        (&Method::GET | &Method::HEAD, "/metrics") => {
            let mut text = String::new();
            match encode(&mut text, registry) {
                Ok(()) => (StatusCode::OK, "application/openmetrics-text; version=1.0.0; charset=utf-8", text),
                Err(fmt::Error) => (StatusCode::INTERNAL_SERVER_ERROR, "text/plain", String::new()),
            }
        }
        (_, "/metrics") => {
            (StatusCode::METHOD_NOT_ALLOWED, "text/plain", "only GET: nothing changes here\n".to_owned())
        }
        _ => (StatusCode::NOT_FOUND, "text/plain", "there is: /metrics\n".to_owned()),
    };
    let mut response = Response::new(Full::new(text.into()));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    if status == StatusCode::METHOD_NOT_ALLOWED {
        response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
    }
    response
}
