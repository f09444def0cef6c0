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
use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, text::encode},
    registry::Registry,
};
use tokio::sync::Semaphore;

mod figure;
mod gauges;
pub mod otlp;
mod page;

pub use figure::ProgramFigure;
pub use gauges::{policies, process, requests, site};
#[cfg(feature = "otel")]
pub use page::MetricFamily;
pub use page::MetricsPage;

/// Readers at once.
const READERS: usize = 8;
/// The time that a reader has for its request and the answer.
const LIMIT: Duration = Duration::from_secs(10);

/// Answers readers with the figures that `read` returns, until the runtime ends. Needs a runtime.
///
/// # Errors
/// If the socket cannot be watched.
pub fn publish(
    listener: TcpListener,
    prefix: &str,
    read: impl Fn() -> Vec<ProgramFigure> + Send + Sync + 'static,
) -> std::io::Result<()> {
    serve(listener, prefix, move |page| ProgramFigure::write_all(&read(), page))
}

/// Figures, written anew for each reader.
struct Figures<F>(F);

impl<F> fmt::Debug for Figures<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Figures").finish_non_exhaustive()
    }
}

impl<F: Fn(&mut MetricsPage<'_>) -> fmt::Result + Send + Sync + 'static> Collector for Figures<F> {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        (self.0)(&mut MetricsPage::new(encoder))
    }
}

/// Answers readers with the figures that `write` writes, until the runtime ends. `prefix`: what the names of the metrics begin with.
/// Needs a runtime.
///
/// # Errors
/// If the socket cannot be watched.
pub fn serve(
    listener: TcpListener,
    prefix: &str,
    write: impl Fn(&mut MetricsPage<'_>) -> fmt::Result + Send + Sync + 'static,
) -> std::io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let mut registry = Registry::with_prefix(prefix);
    registry.register_collector(Box::new(Figures(write)));
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
