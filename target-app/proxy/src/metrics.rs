//! The metrics of a proxy: those of any service, its backends, retries and times, and what a dry run would have done.

use std::{
    fmt,
    net::TcpListener,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use live_service::{
    control::Controlled,
    metrics::{self, MetricsPage},
};
use prometheus_client::metrics::MetricType;
use spec::wire::{Gauges, StageGauges};

use super::{
    observe::{CLASSES, Times},
    running::RunningProxy,
};

/// Answers readers until the runtime ends. Needs a runtime.
///
/// # Errors
/// If the socket cannot be watched.
pub(super) fn serve(listener: TcpListener, running: &Arc<RunningProxy>) -> std::io::Result<()> {
    running.proxy.observers.times();
    let running = Arc::downgrade(running);
    metrics::serve(listener, "lab_proxy", move |page| running.upgrade().map_or(Ok(()), |running| write(page, &running)))
}

/// The figures that an export has: all but the times, which it gets request by request.
#[cfg(feature = "otel")]
pub(super) fn rows(running: &RunningProxy) -> Vec<metrics::MetricFamily> {
    let mut rows = Vec::new();
    let _ = write(&mut MetricsPage::of_rows(&mut rows), running); // rows can always be written
    rows
}

fn write(page: &mut MetricsPage<'_>, running: &RunningProxy) -> fmt::Result {
    let gauges = running.gauges();
    metrics::requests(page, &gauges)?;
    policies(page, &gauges)?;
    running.proxy.room.iter().try_for_each(|room| room.metrics(page))?;
    backends(page, running)?;
    retries(page, running)?;
    let lost = running.proxy.observers.lost_lines() as f64;
    page.number("log_lines_lost", "Lines of the log that were lost", MetricType::Counter, lost)?;
    let ended = running.proxy.takers.ended() as f64;
    let help = "Requests that were ended since their clients took or sent too little";
    page.number("slow_clients_ended", help, MetricType::Counter, ended)?;
    metrics::process(page, &gauges, "proxy")?;
    times(page, running.proxy.observers.times())
}

/// Metrics of the policies: that of requests, and that of connections if there is one.
fn policies(page: &mut MetricsPage<'_>, gauges: &Gauges) -> fmt::Result {
    use MetricType::Counter;
    let sits = |row: &&StageGauges| row.name == "proxy" || (row.name == "accept" && row.policy_name != "none");
    let stages: Vec<&StageGauges> = gauges.stages.iter().filter(sits).collect();
    metrics::policies(page, &stages)?;
    let Some(stage) = stages.first() else { return Ok(()) };
    let would = stage.counts.iter().filter_map(|(name, &count)| Some((name.strip_prefix("would_refuse_")?, count)));
    let would = would.map(|(reason, count)| ([("reason", reason)], count as f64));
    page.family("would_refuse", "Requests that a dry run let pass although the policy refused them", Counter, would)?;
    let held = stage.counts.get("would_hold").map(|&count| ([metrics::site(stage)], count as f64));
    page.family("would_hold", "Requests that a dry run let pass although the policy held them", Counter, held)
}

/// Metrics of backends.
fn backends(page: &mut MetricsPage<'_>, running: &RunningProxy) -> fmt::Result {
    use MetricType::{Counter, Gauge};
    let settings = running.proxy.settings();
    let all = || settings.backends.iter().zip(&settings.spec.to);
    let sum = |count: &AtomicU64| count.load(Ordering::Relaxed) as f64;
    let rows = all().map(|(backend, url)| ([("backend", url.as_str())], sum(&backend.counts.requests)));
    page.family("backend_requests", "Requests and attempts that a backend was chosen for", Counter, rows)?;
    let rows = all().map(|(backend, url)| ([("backend", url.as_str())], sum(&backend.counts.failures)));
    let help = "Those of them without a connection or a whole answer, or with 502 or 504";
    page.family("backend_failures", help, Counter, rows)?;
    let rows = all().flat_map(|(backend, url)| {
        backend.checks().map(|(outcome, count)| ([("backend", url.as_str()), ("outcome", outcome)], count as f64))
    });
    page.family("backend_checks", "Checks of a backend's health by this proxy", Counter, rows)?;
    let rows = all().map(|(backend, url)| ([("backend", url.as_str())], backend.open().into()));
    page.family("backend_connections", "Open connections to a backend", Gauge, rows)?;
    let clock = running.proxy.clock;
    let rows =
        all().map(|(backend, url)| ([("backend", url.as_str())], f64::from(u8::from(!backend.is_ejected(clock)))));
    page.family("backend_up", "1: the backend gets requests; 0: it is left out", Gauge, rows)
}

/// Attempts after the first, once there are settings for them.
fn retries(page: &mut MetricsPage<'_>, running: &RunningProxy) -> fmt::Result {
    let is_on = running.proxy.settings().retries.is_some();
    let rows =
        running.proxy.retry_counts.rows().filter(|_| is_on).map(|(end, count)| ([("outcome", end)], count as f64));
    page.family("retries", "Attempts of requests after the first, by outcome", MetricType::Counter, rows)
}

/// Requests by class, and times of requests, seconds.
fn times(page: &mut MetricsPage<'_>, times: &Times) -> fmt::Result {
    let rows: Vec<_> = times.by_class().map(|(class, outcome, count)| (class.to_string(), outcome, count)).collect();
    let rows =
        rows.iter().map(|(class, outcome, count)| ([("class", class.as_str()), ("outcome", *outcome)], *count as f64));
    let help = "Requests that the policy was asked about and that have ended, by their class";
    page.family("class_requests", help, MetricType::Counter, rows)?;
    let help = "From a request's head to the end of its answer, by the class of the status";
    let rows = CLASSES.iter().zip(&times.whole).map(|(class, histogram)| (("code", *class), histogram));
    page.histograms("request_seconds", help, rows)?;
    page.histogram("response_head_seconds", "From a request's head to the head of a backend's answer", &times.to_head)
}
