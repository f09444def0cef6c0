//! The export, by OTLP over HTTP. The names and labels are those that Prometheus
//! reads.

use std::{
    sync::{Arc, Mutex, Weak},
    time::Duration,
};

use async_trait::async_trait;
use controllers::Timestamp;
use opentelemetry::{
    Key, KeyValue,
    metrics::{AsyncInstrument, Histogram, Meter, MeterProvider as _},
};
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{MetricExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::{
    Resource,
    metrics::{PeriodicReader, SdkMeterProvider},
};
use prometheus_client::metrics::MetricType;
use tokio::runtime::Handle;

use crate::{
    clock::ServiceClock,
    metrics::Row,
    proxy::{
        error::ProxyError,
        metrics::rows,
        observe::{TimesReader, buckets},
        running::RunningProxy,
        spec::OtlpSpec,
    },
    stage::lock,
};

/// The export. Ended by [`Export::end`], which sends what is left.
#[derive(Debug)]
pub(in crate::proxy) struct Export {
    provider: SdkMeterProvider,
}

/// The times of requests, as they are exported.
#[derive(Debug)]
struct ExportedTimes {
    whole: Histogram<f64>,
    to_head: Histogram<f64>,
}

/// The time for one export, and for the last one.
const LIMIT: Duration = Duration::from_secs(5);
/// The least time between two exports.
const LEAST: Duration = Duration::from_secs(1);
/// How old figures may be that are read once for all instruments of an export.
const FRESH: Duration = Duration::from_millis(500);

impl ExportedTimes {
    fn of(meter: &Meter) -> Self {
        let histogram = |name, help| {
            meter.f64_histogram(name).with_unit("s").with_description(help).with_boundaries(buckets().collect()).build()
        };
        let whole = "From a request's head to the end of its answer, by the class of the status";
        let to_head = "From a request's head to the head of a backend's answer";
        Self {
            whole: histogram("lab_proxy_request_seconds", whole),
            to_head: histogram("lab_proxy_response_head_seconds", to_head),
        }
    }
}

impl TimesReader for ExportedTimes {
    fn ended(&self, class: &'static str, seconds: f64) {
        self.whole.record(seconds, &[KeyValue::new("code", class)]);
    }

    fn answered(&self, seconds: f64) {
        self.to_head.record(seconds, &[]);
    }
}

/// The figures of a proxy, read once for all instruments of an export.
#[derive(Debug)]
struct Figures {
    running: Weak<RunningProxy>,
    clock: ServiceClock,
    last: Mutex<(Option<Timestamp>, Arc<[Row]>)>,
}

impl Figures {
    fn rows(&self) -> Arc<[Row]> {
        let Some(running) = self.running.upgrade() else { return Arc::default() };
        let mut last = lock(&self.last);
        let now = self.clock.now();
        if last.0.is_none_or(|at| now.since(at) > FRESH) {
            *last = (Some(now), rows(&running).into());
        }
        Arc::clone(&last.1)
    }

    fn observe(&self, name: &str, instrument: &dyn AsyncInstrument<f64>) {
        for row in self.rows().iter().filter(|row| row.name == name) {
            for (labels, value) in &row.values {
                let labels: Vec<_> =
                    labels.iter().map(|(key, value)| KeyValue::new(key.clone(), value.clone())).collect();
                instrument.observe(*value, &labels);
            }
        }
    }
}

impl Export {
    /// Begins to export. Needs a runtime.
    ///
    /// # Errors
    /// An address that is no URL.
    pub(in crate::proxy) fn start(
        running: &Arc<RunningProxy>,
        OtlpSpec { to, every }: &OtlpSpec,
    ) -> Result<Self, ProxyError> {
        let wrong = |message: String| ProxyError::setting("otlp.to", message);
        let uri: http::Uri =
            to.parse().map_err(|_| wrong(format!("{to:?} is no URL; http://127.0.0.1:4318 is one")))?;
        if !matches!(uri.scheme_str(), Some("http" | "https")) || uri.authority().is_none() {
            return Err(wrong(format!("{to:?} is no URL; http://127.0.0.1:4318 is one")));
        }
        if *every < LEAST {
            return Err(ProxyError::setting("otlp.every", format!("{every:?} is too often: 1s is the least")));
        }
        let endpoint =
            if uri.path() == "/" { format!("{}/v1/metrics", to.trim_end_matches('/')) } else { to.to_owned() };
        let client = Sender::new().map_err(|error| wrong(error.to_string()))?;
        let exporter = MetricExporter::builder().with_http().with_http_client(client).with_endpoint(endpoint);
        let exporter = exporter.with_timeout(LIMIT).build().map_err(|error| wrong(error.to_string()))?;
        let reader = PeriodicReader::builder(exporter).with_interval(*every).build();
        let resource = resource();
        let provider = SdkMeterProvider::builder().with_reader(reader).with_resource(resource).build();
        let meter = provider.meter("lab");
        let clock = running.proxy.clock;
        let figures =
            Arc::new(Figures { running: Arc::downgrade(running), clock, last: Mutex::new((None, Arc::default())) });
        rows(running).into_iter().for_each(|row| instrument(&meter, row, &figures));
        running.proxy.observers.times().exported.get_or_init(|| Box::new(ExportedTimes::of(&meter)));
        Ok(Self { provider })
    }

    /// Sends what is left, and ends.
    pub(in crate::proxy) async fn end(self) {
        // On a thread of its own: it waits, and the export needs this runtime.
        let end = tokio::task::spawn_blocking(move || self.provider.shutdown_with_timeout(LIMIT));
        let _ = tokio::time::timeout(LIMIT, end).await; // a collector that is gone keeps nobody
    }
}

/// What is said of the exporter: as the environment has it (`OTEL_SERVICE_NAME`, `OTEL_RESOURCE_ATTRIBUTES`).
fn resource() -> Resource {
    let given = Resource::builder().build();
    let name = given.get(&Key::from_static_str("service.name"));
    if name.is_some_and(|name| !name.as_str().starts_with("unknown_service")) {
        return given;
    }
    Resource::builder().with_service_name("lab-proxy").build()
}

fn instrument(meter: &Meter, row: Row, figures: &Arc<Figures>) {
    let (figures, name) = (Arc::clone(figures), format!("lab_proxy_{}", row.name));
    let callback = move |instrument: &dyn AsyncInstrument<f64>| figures.observe(&row.name, instrument);
    match row.kind {
        MetricType::Counter => {
            meter.f64_observable_counter(name).with_description(row.help).with_callback(callback).build();
        }
        _ => {
            meter.f64_observable_gauge(name).with_description(row.help).with_callback(callback).build();
        }
    }
}

/// Sends on the proxy's runtime: the reader of metrics has a thread without one.
#[derive(Debug)]
struct Sender {
    runtime: Handle,
    client: reqwest::Client,
}

impl Sender {
    fn new() -> reqwest::Result<Self> {
        // The first one of a process counts.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder().timeout(LIMIT).no_proxy().build()?;
        Ok(Self { runtime: Handle::current(), client })
    }
}

#[async_trait]
impl HttpClient for Sender {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let client = self.client.clone();
        let sent = self.runtime.spawn(async move {
            let answer = client.execute(request.try_into()?).await?;
            let status = answer.status();
            Ok::<_, reqwest::Error>((status, answer.bytes().await?))
        });
        let (status, body) = sent.await??;
        let mut response = Response::new(body);
        *response.status_mut() = status;
        Ok(response)
    }
}
