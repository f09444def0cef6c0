//! The export of a proxy: its figures, and the times of its requests, to a collector of OpenTelemetry.

use std::sync::Arc;

use live_service::metrics::otlp::{ExportSpec, FigureExport};
use opentelemetry::{
    KeyValue,
    metrics::{Histogram, Meter},
};
use spec::proxy::OtlpSpec;

use super::{
    error::ProxyError,
    metrics::rows,
    observe::{TimesReader, buckets},
    running::RunningProxy,
};

/// The times of requests, as they are exported.
#[derive(Debug)]
struct ExportedTimes {
    whole: Histogram<f64>,
    to_head: Histogram<f64>,
}

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

/// Begins to export. Needs a runtime.
///
/// # Errors
/// An address that is no URL.
pub(super) fn export(
    running: &Arc<RunningProxy>,
    OtlpSpec { to, every }: &OtlpSpec,
) -> Result<FigureExport, ProxyError> {
    let spec = ExportSpec { program: "lab-proxy", prefix: "lab_proxy", to, every: *every };
    let weak = Arc::downgrade(running);
    let read = move || weak.upgrade().map_or_else(Vec::new, |running| rows(&running));
    let wrong = |(key, message)| ProxyError::setting(key, message);
    let (export, meter) = FigureExport::start(&spec, running.proxy.clock, read).map_err(wrong)?;
    running.proxy.observers.times().exported.get_or_init(|| Box::new(ExportedTimes::of(&meter)));
    Ok(export)
}
