//! Metrics for Prometheus, read-only and without a token, at an address of their own: OpenMetrics text at `/metrics`.

use std::{
    convert::Infallible,
    fmt,
    net::TcpListener,
    sync::{Arc, Weak},
    time::Duration,
};

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
    encoding::{DescriptorEncoder, EncodeMetric, text::encode},
    metrics::{MetricType, exemplar::Exemplar},
    registry::Registry,
};
use tokio::sync::Semaphore;

use super::{
    observe::{CLASSES, Times},
    running::RunningProxy,
};
use crate::control::{Controlled, wire::Gauges};

/// Readers at once.
const READERS: usize = 8;
/// The time that a reader has for its request and the answer.
const LIMIT: Duration = Duration::from_secs(10);

/// Answers readers until the runtime ends.
///
/// # Errors
/// If the socket cannot be watched.
pub(super) fn serve(listener: TcpListener, running: &Arc<RunningProxy>) -> std::io::Result<()> {
    running.proxy.observers.times.get_or_init(Times::new);
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let mut registry = Registry::with_prefix("lab_proxy");
    registry.register_collector(Box::new(Figures(Arc::downgrade(running))));
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

/// The figures of a proxy, read at each request for them.
#[derive(Debug)]
struct Figures(Weak<RunningProxy>);

impl Collector for Figures {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let Some(running) = self.0.upgrade() else { return Ok(()) };
        let mut page = Page(encoder);
        let gauges = running.gauges();
        requests(&mut page, &gauges)?;
        policy(&mut page, &gauges)?;
        backends(&mut page, &running)?;
        page.number(
            "log_lines_lost",
            "Lines of the log that were lost",
            MetricType::Counter,
            running.proxy.observers.lost_lines() as f64,
        )?;
        page.number("cpu_seconds", "CPU time of the proxy", MetricType::Counter, gauges.cpu_s)?;
        page.number("resident_memory_bytes", "Memory of the proxy", MetricType::Gauge, gauges.rss_bytes as f64)?;
        page.number("open_fds", "Open descriptors of the proxy", MetricType::Gauge, gauges.open_files.into())?;
        running.proxy.observers.times.get().map_or(Ok(()), |times| page.times(times))
    }
}

/// Requests and connections, from the ledger.
fn requests(page: &mut Page<'_>, gauges: &Gauges) -> fmt::Result {
    use MetricType::{Counter, Gauge};
    let ledger = &gauges.ledger;
    let ended = [("served", ledger.served), ("error", ledger.errors), ("client_gone", ledger.client_gone)];
    let refused: u64 = ledger.refused.values().sum();
    let ended =
        ended.into_iter().chain([("refused", refused)]).map(|(name, count)| ([("outcome", name)], count as f64));
    page.family("requests", "Requests that have ended, by outcome", Counter, ended)?;
    let reasons = ledger.refused.iter().map(|(reason, &count)| ([("reason", reason.as_str())], count as f64));
    page.family("refused", "Refused requests, by reason", Counter, reasons)?;
    for (name, help, kind, count) in [
        ("requests_read", "Requests whose head was read whole", Counter, ledger.requests_read),
        ("requests_in_flight", "Requests that have not ended", Gauge, ledger.in_flight),
        ("malformed", "Request heads that were no acceptable HTTP", Counter, ledger.malformed),
        ("health_checks", "Health checks, which no policy is asked about", Counter, ledger.checks),
        ("connections_accepted", "Connections of clients", Counter, ledger.connections_accepted),
        ("connections_refused", "Connections refused or closed by a limit", Counter, ledger.connections_refused),
        ("connections_open", "Open connections of clients", Gauge, ledger.connections_open),
        ("accept_errors", "Connections that could not be accepted", Counter, ledger.accept_errors),
    ] {
        page.number(name, help, kind, count as f64)?;
    }
    Ok(())
}

/// What the policy does, by the gauges of its gate.
fn policy(page: &mut Page<'_>, gauges: &Gauges) -> fmt::Result {
    use MetricType::{Counter, Gauge};
    let Some(gate) = gauges.stages.iter().find(|row| !row.policy_name.is_empty()) else { return Ok(()) };
    let labels = || [("policy", gate.policy_name.as_str())];
    for (name, help, kind, count) in [
        ("policy_offered", "Requests that the policy was asked about", Counter, gate.offered),
        ("policy_admitted", "Requests that the policy admitted", Counter, gate.admitted),
        ("policy_refused", "Requests that the policy refused, in a dry run too", Counter, gate.refused),
        ("policy_held", "Requests that the policy holds", Gauge, gate.queue.into()),
    ] {
        page.family(name, help, kind, [(labels(), count as f64)])?;
    }
    let own = gate.policy.iter().map(|(gauge, &value)| ([labels()[0], ("gauge", gauge.as_str())], value));
    page.family("policy_gauge", "The policy's own gauges, in the unit of their names", Gauge, own)?;
    let would = gate.counts.iter().filter_map(|(name, &count)| Some((name.strip_prefix("would_refuse_")?, count)));
    let would = would.map(|(reason, count)| ([("reason", reason)], count as f64));
    page.family("would_refuse", "Requests that a dry run let pass although the policy refused them", Counter, would)?;
    let held = gate.counts.get("would_hold").map(|&count| (labels(), count as f64));
    page.family("would_hold", "Requests that a dry run let pass although the policy held them", Counter, held)
}

/// What backends do.
fn backends(page: &mut Page<'_>, running: &RunningProxy) -> fmt::Result {
    use MetricType::{Counter, Gauge};
    let settings = running.proxy.settings();
    let all = || settings.backends.iter().zip(&settings.spec.to);
    let sum = |count: &std::sync::atomic::AtomicU64| count.load(std::sync::atomic::Ordering::Relaxed) as f64;
    let rows = all().map(|(backend, url)| ([("backend", url.as_str())], sum(&backend.requests)));
    page.family("backend_requests", "Requests that were sent to a backend", Counter, rows)?;
    let rows = all().map(|(backend, url)| ([("backend", url.as_str())], sum(&backend.failures)));
    page.family("backend_failures", "Requests to a backend without a whole answer", Counter, rows)?;
    let rows = all().map(|(backend, url)| ([("backend", url.as_str())], backend.open().into()));
    page.family("backend_connections", "Open connections to a backend", Gauge, rows)?;
    let clock = running.proxy.clock;
    let rows =
        all().map(|(backend, url)| ([("backend", url.as_str())], f64::from(u8::from(!backend.is_ejected(clock)))));
    page.family("backend_up", "1: the backend gets requests; 0: it is left out", Gauge, rows)
}

/// The text that is being written.
struct Page<'a>(DescriptorEncoder<'a>);

impl Page<'_> {
    fn number(&mut self, name: &str, help: &str, kind: MetricType, value: f64) -> fmt::Result {
        let mut encoder = self.0.encode_descriptor(name, help, None, kind)?;
        match kind {
            MetricType::Counter => encoder.encode_counter(&value, None::<&Exemplar<Vec<(&str, &str)>, f64>>),
            _ => encoder.encode_gauge(&value),
        }
    }

    /// One metric with labels; nothing where there is no row.
    fn family<'l, const N: usize>(
        &mut self,
        name: &str,
        help: &str,
        kind: MetricType,
        rows: impl IntoIterator<Item = ([(&'l str, &'l str); N], f64)>,
    ) -> fmt::Result {
        let mut rows = rows.into_iter().peekable();
        if rows.peek().is_none() {
            return Ok(());
        }
        let mut encoder = self.0.encode_descriptor(name, help, None, kind)?;
        for (labels, value) in rows {
            let mut encoder = encoder.encode_family(&labels)?;
            match kind {
                MetricType::Counter => encoder.encode_counter(&value, None::<&Exemplar<Vec<(&str, &str)>, f64>>)?,
                _ => encoder.encode_gauge(&value)?,
            }
        }
        Ok(())
    }

    fn times(&mut self, times: &Times) -> fmt::Result {
        let help = "From a request's head to the end of its answer, by the class of the status";
        let mut encoder = self.0.encode_descriptor("request_seconds", help, None, MetricType::Histogram)?;
        for (class, histogram) in CLASSES.iter().zip(&times.whole) {
            histogram.encode(encoder.encode_family(&[("code", *class)])?)?;
        }
        let help = "From a request's head to the head of a backend's answer";
        let encoder = self.0.encode_descriptor("response_head_seconds", help, None, MetricType::Histogram)?;
        times.to_head.encode(encoder)
    }
}
