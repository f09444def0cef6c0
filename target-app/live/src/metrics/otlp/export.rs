//! The export, by OTLP over HTTP. The names and labels are those that Prometheus reads.

use std::{
    fmt,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use controllers::Timestamp;
use opentelemetry::{
    Key, KeyValue,
    metrics::{AsyncInstrument, Meter, MeterProvider as _},
};
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{MetricExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::{
    Resource,
    metrics::{PeriodicReader, SdkMeterProvider},
};
use prometheus_client::metrics::MetricType;
use tokio::runtime::Handle;

use super::{ExportProblem, ExportSpec, FigureExport};
use crate::{
    clock::ServiceClock,
    metrics::{MetricFamily, MetricsPage, ProgramFigure},
    stage::lock,
};

/// The time for one export, and for the last one.
const LIMIT: Duration = Duration::from_secs(5);
/// The least time between two exports.
const LEAST: Duration = Duration::from_secs(1);
/// How old figures may be that are read once for all instruments of an export.
const FRESH: Duration = Duration::from_millis(500);

/// The figures of a program, read once for all instruments of an export.
struct Figures {
    read: Box<dyn Fn() -> Vec<MetricFamily> + Send + Sync>,
    clock: ServiceClock,
    last: Mutex<(Option<Timestamp>, Arc<[MetricFamily]>)>,
}

impl fmt::Debug for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Figures").field("last", &self.last).finish_non_exhaustive()
    }
}

impl Figures {
    fn rows(&self) -> Arc<[MetricFamily]> {
        let mut last = lock(&self.last);
        let now = self.clock.now();
        if last.0.is_none_or(|at| now.since(at) > FRESH) {
            *last = (Some(now), (self.read)().into());
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

impl FigureExport {
    /// Begins to export the rows that `read` returns. Needs a runtime. The meter is for further instruments.
    ///
    /// # Errors
    /// An address that is no URL, or exports that come too often.
    pub fn start(
        spec: &ExportSpec<'_>,
        clock: ServiceClock,
        read: impl Fn() -> Vec<MetricFamily> + Send + Sync + 'static,
    ) -> Result<(Self, Meter), ExportProblem> {
        let ExportSpec { program, prefix, to, every } = *spec;
        let wrong = |message: String| ("otlp.to", message);
        let uri: http::Uri =
            to.parse().map_err(|_| wrong(format!("{to:?} is no URL; http://127.0.0.1:4318 is one")))?;
        if !matches!(uri.scheme_str(), Some("http" | "https")) || uri.authority().is_none() {
            return Err(wrong(format!("{to:?} is no URL; http://127.0.0.1:4318 is one")));
        }
        if every < LEAST {
            return Err(("otlp.every", format!("{every:?} is too often: 1s is the least")));
        }
        let endpoint =
            if uri.path() == "/" { format!("{}/v1/metrics", to.trim_end_matches('/')) } else { to.to_owned() };
        let client = Sender::new().map_err(|error| wrong(error.to_string()))?;
        let exporter = MetricExporter::builder().with_http().with_http_client(client).with_endpoint(endpoint);
        let exporter = exporter.with_timeout(LIMIT).build().map_err(|error| wrong(error.to_string()))?;
        let reader = PeriodicReader::builder(exporter).with_interval(every).build();
        let provider = SdkMeterProvider::builder().with_reader(reader).with_resource(resource(program)).build();
        let meter = provider.meter("lab");
        let rows = read();
        let figures = Arc::new(Figures { read: Box::new(read), clock, last: Mutex::new((None, Arc::default())) });
        rows.into_iter().for_each(|row| instrument(&meter, prefix, row, &figures));
        Ok((Self { provider }, meter))
    }

    /// The same for the figures of another program.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn of_figures(
        spec: &ExportSpec<'_>,
        read: impl Fn() -> Vec<ProgramFigure> + Send + Sync + 'static,
    ) -> Result<Self, ExportProblem> {
        let rows = move || {
            let mut rows = Vec::new();
            let _ = ProgramFigure::write_all(&read(), &mut MetricsPage::of_rows(&mut rows)); // rows can always be written
            rows
        };
        Self::start(spec, ServiceClock::start(), rows).map(|(export, _)| export)
    }

    /// Sends what is left, and ends.
    pub async fn end(self) {
        // On a thread of its own: it waits, and the export needs this runtime.
        let end = tokio::task::spawn_blocking(move || self.provider.shutdown_with_timeout(LIMIT));
        let _ = tokio::time::timeout(LIMIT, end).await; // a collector that is gone keeps nobody
    }
}

/// What is said of the exporter: as the environment has it (`OTEL_SERVICE_NAME`, `OTEL_RESOURCE_ATTRIBUTES`).
fn resource(program: &'static str) -> Resource {
    let given = Resource::builder().build();
    let name = given.get(&Key::from_static_str("service.name"));
    if name.is_some_and(|name| !name.as_str().starts_with("unknown_service")) {
        return given;
    }
    Resource::builder().with_service_name(program).build()
}

fn instrument(meter: &Meter, prefix: &str, row: MetricFamily, figures: &Arc<Figures>) {
    let (figures, name) = (Arc::clone(figures), format!("{prefix}_{}", row.name));
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

/// Sends on the program's runtime: the reader of metrics has a thread without one.
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
