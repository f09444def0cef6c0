//! Figures of a waiting room: a row of gauges, and metrics.

use std::{
    fmt,
    sync::atomic::{AtomicU64, Ordering},
};

use controllers::{
    site::StageGauges,
    webq::{CheckCounts, ReplicaCounts, RoomCounts, RoomFigures, Subunits},
};
use live_service::{metrics::MetricsPage, stage::lock};
use prometheus_client::metrics::MetricType;
use service_core::waiting_room::tokens::row;

use super::Room;

impl Room {
    fn read(&self) -> (RoomFigures, RoomCounts, CheckCounts) {
        let machine = lock(&self.machine);
        (machine.figures(self.clock.wall()), machine.counts(), machine.check_counts())
    }

    /// The row of gauges.
    pub(crate) fn gauges(&self) -> StageGauges {
        let (figures, counts, check) = self.read();
        let mut row = row("waiting room", &figures, &counts, &check);
        row.counts.extend(self.reports());
        row
    }

    /// Counts of other replicas' reports; nothing without any.
    fn reports(&self) -> Vec<(String, u64)> {
        let Some(replicas) = &self.replicas else { return Vec::new() };
        let ReplicaCounts { taken, old, refused } = lock(&self.machine).replica_counts();
        let count = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let datagrams = &replicas.counts;
        [
            ("reports_taken", taken),
            ("reports_old", old),
            ("reports_refused", refused + count(&datagrams.refused)),
            ("reports_unsent", count(&datagrams.unsent)),
        ]
        .map(|(name, count)| (name.to_owned(), count))
        .into()
    }

    /// The metrics for Prometheus.
    pub(crate) fn metrics(&self, page: &mut MetricsPage<'_>) -> fmt::Result {
        use MetricType::{Counter, Gauge};
        let (figures, counts, check) = self.read();
        let rows = |all: &'static str| move |(name, count): (&'static str, u64)| ([(all, name)], count as f64);
        let requests = counts.requests().map(rows("outcome"));
        page.family(
            "waiting_room_requests",
            "Requests at the waiting room, by what became of them",
            Counter,
            requests,
        )?;
        let refusals = counts.refusals().map(rows("reason"));
        let help = "Tokens that did not let their bearers in, by reason";
        page.family("waiting_room_tokens_refused", help, Counter, refusals)?;
        let help = "Tokens that let their bearers in, in their turn";
        page.number("waiting_room_tokens_admitted", help, Counter, check.admitted as f64)?;
        let capacity =
            figures.capacity.known().map(|capacity| ([("state", figures.capacity.name())], capacity.as_f64()));
        let help = "Requests of hardness 1 that the service takes a second";
        page.family("waiting_room_capacity", help, Gauge, capacity)?;
        let reports = self.reports();
        let rows = reports
            .iter()
            .map(|(name, count)| ([("outcome", name.strip_prefix("reports_").unwrap_or(name))], *count as f64));
        page.family("waiting_room_reports", "Reports of other replicas, and own ones unsent", Counter, rows)?;
        for (name, help, value) in [
            ("waiting_room_queue", "Promised requests of hardness 1 to come", figures.queued.as_f64()),
            ("waiting_room_longest_wait_seconds", "Until the last promised turn", figures.longest_wait_s.into()),
            ("waiting_room_share", "This replica's share of the capacity", share(&figures)),
            ("waiting_room_tokens_remembered", "Used tokens that are remembered", figures.remembered as f64),
        ] {
            page.number(name, help, Gauge, value)?;
        }
        Ok(())
    }
}

fn share(figures: &RoomFigures) -> f64 {
    figures.share.map_or(0.0, Subunits::as_f64)
}
