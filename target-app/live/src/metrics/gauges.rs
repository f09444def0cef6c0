//! The metrics that are read off the gauges of the control port, the same for a service and a proxy.

use std::fmt;

use prometheus_client::metrics::MetricType;
use spec::wire::{Gauges, StageGauges};

use super::MetricsPage;

/// Requests and connections, from the ledger.
pub fn requests(page: &mut MetricsPage<'_>, gauges: &Gauges) -> fmt::Result {
    use MetricType::{Counter, Gauge};
    let ledger = &gauges.ledger;
    let ended = [
        ("served", ledger.served),
        ("error", ledger.errors),
        ("client_error", ledger.at_fault),
        ("client_gone", ledger.client_gone),
    ];
    let refused: u64 = ledger.refused.values().sum();
    let ended =
        ended.into_iter().chain([("refused", refused)]).map(|(name, count)| ([("outcome", name)], count as f64));
    page.family("requests", "Requests that have ended, by outcome", Counter, ended)?;
    let reasons = ledger.refused.iter().map(|(reason, &count)| ([("reason", reason.as_str())], count as f64));
    page.family("refused", "Refused requests, by reason", Counter, reasons)?;
    for (name, help, kind, count) in [
        (
            "requests_read",
            "Requests whose head was read whole, without malformed ones and health checks",
            Counter,
            ledger.requests_read,
        ),
        ("requests_in_flight", "Requests that have not ended", Gauge, ledger.in_flight),
        ("malformed", "Heads that were no acceptable HTTP, or did not come in time", Counter, ledger.malformed),
        ("health_checks", "Clients' health checks, which no policy is asked about", Counter, ledger.checks),
        ("connections_accepted", "Connections of clients that were served", Counter, ledger.connections_accepted),
        ("connections_refused", "Connections turned away by a limit", Counter, ledger.connections_refused),
        (
            "connections_evicted",
            "Accepted connections closed to make room for others",
            Counter,
            ledger.connections_evicted,
        ),
        ("connections_open", "Open connections of clients", Gauge, ledger.connections_open),
        ("accept_errors", "Connections that could not be accepted", Counter, ledger.accept_errors),
    ] {
        page.number(name, help, kind, count as f64)?;
    }
    Ok(())
}

/// What the policies of these stages do.
pub fn policies(page: &mut MetricsPage<'_>, stages: &[&StageGauges]) -> fmt::Result {
    use MetricType::{Counter, Gauge};
    type Count = fn(&StageGauges) -> u64;
    let counts: [(_, _, _, Count); 4] = [
        ("policy_offered", "Requests that the policy was asked about", Counter, |stage| stage.offered),
        ("policy_admitted", "Requests that the policy admitted", Counter, |stage| stage.admitted),
        ("policy_refused", "Requests that the policy refused, in a dry run too", Counter, |stage| stage.refused),
        ("policy_held", "Requests that the policy holds", Gauge, |stage| stage.queue.into()),
    ];
    for (name, help, kind, count) in counts {
        page.family(name, help, kind, stages.iter().map(|stage| ([site(stage)], count(stage) as f64)))?;
    }
    let in_force = stages.iter().map(|stage| (named(stage), 1.0));
    page.family("policy_info", "The policy in force, always 1", Gauge, in_force)?;
    let own = stages.iter().flat_map(|stage| {
        let [policy, site] = named(stage);
        stage.policy.iter().map(move |(gauge, &value)| ([policy, site, ("gauge", gauge.as_str())], value))
    });
    page.family("policy_gauge", "The policy's own gauges, in the unit of their names", Gauge, own)
}

/// The labels of a policy: its name, and where it sits.
fn named(stage: &StageGauges) -> [(&str, &str); 2] {
    [("policy", &stage.policy_name), site(stage)]
}

/// The label of counts that go on when the policy is replaced: where it sits.
pub fn site(stage: &StageGauges) -> (&str, &str) {
    ("stage", &stage.name)
}

/// The process itself; `of`: what it is.
pub fn process(page: &mut MetricsPage<'_>, gauges: &Gauges, of: &str) -> fmt::Result {
    use MetricType::{Counter, Gauge};
    page.number("cpu_seconds", &format!("CPU time of the {of}"), Counter, gauges.cpu_s)?;
    page.number("resident_memory_bytes", &format!("Memory of the {of}"), Gauge, gauges.rss_bytes as f64)?;
    page.number("open_fds", &format!("Open descriptors of the {of}"), Gauge, gauges.open_files.into())
}
