//! The metrics of a service: its requests, its policies and stages, and the process.

use std::{
    fmt,
    net::TcpListener,
    sync::{Arc, Weak},
};

use prometheus_client::{collector::Collector, encoding::DescriptorEncoder, metrics::MetricType};
use spec::wire::{Gauges, StageGauges};

use crate::{
    control::Controlled,
    metrics::{self, Page},
    running::Running,
};

/// Answers readers until the runtime ends. Needs a runtime.
///
/// # Errors
/// If the socket cannot be watched.
pub(super) fn serve(listener: TcpListener, running: &Arc<Running>) -> std::io::Result<()> {
    metrics::serve(listener, "lab_serve", Figures(Arc::downgrade(running)))
}

/// The figures of a service, read at each request for them.
#[derive(Debug)]
struct Figures(Weak<Running>);

impl Collector for Figures {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let Some(running) = self.0.upgrade() else { return Ok(()) };
        let mut page = Page::new(encoder);
        let gauges = running.gauges();
        metrics::requests(&mut page, &gauges)?;
        let sits = |row: &&StageGauges| !row.policy_name.is_empty();
        metrics::policies(&mut page, &gauges.stages.iter().filter(sits).collect::<Vec<_>>())?;
        stages(&mut page, &gauges)?;
        page.number("panics", "Requests whose handler panicked", MetricType::Counter, gauges.panics as f64)?;
        metrics::process(&mut page, &gauges, "service")
    }
}

/// The stages with workers.
fn stages(page: &mut Page<'_>, gauges: &Gauges) -> fmt::Result {
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
