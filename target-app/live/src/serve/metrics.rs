//! The metrics of a service: its requests, its policies and stages, and the process.

use std::{fmt, net::TcpListener, sync::Arc};

use prometheus_client::metrics::MetricType;
use spec::wire::{Gauges, StageGauges};

use crate::{
    control::Controlled,
    metrics::{self, MetricsPage},
    running::Running,
};

/// Answers readers until the runtime ends. Needs a runtime.
///
/// # Errors
/// If the socket cannot be watched.
pub(super) fn serve(listener: TcpListener, running: &Arc<Running>) -> std::io::Result<()> {
    let running = Arc::downgrade(running);
    metrics::serve(listener, "lab_serve", move |page| running.upgrade().map_or(Ok(()), |running| write(page, &running)))
}

fn write(page: &mut MetricsPage<'_>, running: &Running) -> fmt::Result {
    let gauges = running.gauges();
    metrics::requests(page, &gauges)?;
    let sits = |row: &&StageGauges| !row.policy_name.is_empty();
    metrics::policies(page, &gauges.stages.iter().filter(sits).collect::<Vec<_>>())?;
    stages(page, &gauges)?;
    page.number("panics", "Requests whose handler panicked", MetricType::Counter, gauges.panics as f64)?;
    metrics::process(page, &gauges, "service")
}

/// The stages with workers.
fn stages(page: &mut MetricsPage<'_>, gauges: &Gauges) -> fmt::Result {
    use MetricType::{Counter, Gauge};
    type Count = fn(&StageGauges) -> f64;
    let counts: [(_, _, _, Count); 5] = [
        ("stage_queue", "Requests that wait", Gauge, |stage| stage.queue.into()),
        ("stage_workers", "Workers", Gauge, |stage| stage.workers.into()),
        ("stage_idle_workers", "Workers without a request", Gauge, |stage| stage.idle.into()),
        ("stage_completed", "Finished requests", Counter, |stage| stage.completed as f64),
        ("stage_busy_seconds", "Busy time of the workers", Counter, |stage| stage.busy_ms / 1e3),
    ];
    let staffed: Vec<&StageGauges> = gauges.stages.iter().filter(|stage| stage.workers > 0).collect();
    for (name, help, kind, count) in counts {
        let rows = staffed.iter().map(|stage| ([("stage", stage.name.as_str())], count(stage)));
        page.family(name, help, kind, rows)?;
    }
    Ok(())
}
