//! The gauges of a plant, the same as of a live target.

use std::time::Duration;

use controllers::{Timestamp, site::StageGauges};
use service_core::{ledger::Ledgers, tree::CRASHES};
use spec::wire::{Gauges, ReadRequests, ServerLedger};

use super::world::Plant;

impl Plant {
    /// The gauges of the sites with policies, dispatch first, and of dispatch's own workers: waiting, idle, blocked, and how often its
    /// queue was full.
    #[must_use]
    pub fn site_gauges(&self) -> (Vec<StageGauges>, [u64; 4]) {
        let stages = self.sites.stages.iter().map(|stage| stage.site.gauges());
        let workers = &self.sites.dispatchers;
        let [waiting, idle, blocked] = [workers.waiting(), workers.idle(), workers.blocked()].map(u64::from);
        (
            std::iter::once(self.sites.dispatch.gauges()).chain(stages).collect(),
            [waiting, idle, blocked, workers.full()],
        )
    }

    /// The current gauges.
    #[must_use]
    pub fn gauges(&self, now: Timestamp) -> Gauges {
        let books = self.ledgers.read();
        let [mut read, send] = Ledgers::rows(&books, &self.intake);
        let [ledger, _] = books;
        let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        read.counts.insert("checks_us".to_owned(), micros(self.checks.spent));
        read.counts.insert("cpu_us".to_owned(), micros(self.cpu.used()));
        if self.costs.restart_ms > 0.0 || self.faults.has_crashes() {
            read.counts.insert(CRASHES.to_owned(), self.crashes().many);
        }
        let mut system = StageGauges { name: "system".to_owned(), ..StageGauges::default() };
        self.sites.monitors.iter().for_each(|monitor| monitor.gauges(&mut system.policy));
        let rooms = self.requests.rooms.iter().flat_map(|rooms| rooms.gauges(now));
        let stages = [read].into_iter().chain(rooms).chain([self.gauges_of_dispatch()]);
        let stages = stages.chain(self.sites.stages.iter().map(|stage| stage.site.gauges()));
        Gauges {
            at_ms: now.as_secs_f64() * 1e3,
            policy: self.sites.chosen.entry.name.to_owned(),
            ledger,
            stages: stages.chain([send, self.sites.accept.gauges(), system]).collect(),
            cpu_s: self.cpu.used().as_secs_f64(),
            rss_bytes: (self.memory_kb() * 1e3) as u64,
            ..Gauges::default()
        }
    }

    /// The gauges of the gate at dispatch and of dispatch's workers.
    fn gauges_of_dispatch(&self) -> StageGauges {
        let workers = &self.sites.dispatchers;
        StageGauges { queue: workers.waiting(), idle: workers.idle(), ..self.sites.dispatch.gauges() }
    }

    /// The numbers of the requests that were read.
    #[must_use]
    pub fn requests(&self) -> ReadRequests {
        self.ledgers.users.requests()
    }

    /// The ledger of other services' calls.
    #[must_use]
    pub fn calls(&self) -> ServerLedger {
        self.ledgers.calls.read()
    }

    /// Policy events since the last call, as lines of the event stream.
    pub fn events(&mut self) -> Vec<std::sync::Arc<spec::wire::StreamedEvent>> {
        self.reader.drain()
    }
}
