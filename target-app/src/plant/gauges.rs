//! What can be seen of a plant: the same gauges as of a live target.

use controllers::{Timestamp, site::StageGauges};

use super::world::Plant;
use crate::control::wire::{Gauges, ReadRequests, ServerLedger};

impl Plant {
    /// Everything that can be seen now.
    #[must_use]
    pub fn gauges(&self, now: Timestamp) -> Gauges {
        let (ledger, calls) = (self.ledger.read(), self.calls_ledger.read());
        let sent = |books: &ServerLedger| books.served + books.errors + books.refused.values().sum::<u64>();
        let micros = |time: std::time::Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let attempts = self.attempts.iter().enumerate();
        let attempts = attempts.map(|(attempt, count)| (format!("attempt_{attempt}"), *count));
        let beside = [
            ("checks".to_owned(), ledger.checks),
            ("checks_us".to_owned(), micros(self.spent_on_checks)),
            ("cpu_us".to_owned(), micros(self.machine.used())),
        ];
        let read = StageGauges {
            name: "read".to_owned(),
            completed: ledger.requests_read + calls.requests_read,
            counts: attempts.chain(beside).collect(),
            ..StageGauges::default()
        };
        let send = StageGauges {
            name: "send".to_owned(),
            completed: sent(&ledger) + sent(&calls),
            counts: [("degraded".to_owned(), ledger.degraded + calls.degraded)].into(),
            ..StageGauges::default()
        };
        let mut system = StageGauges { name: "system".to_owned(), ..StageGauges::default() };
        self.monitors.iter().for_each(|monitor| monitor.gauges(&mut system.policy));
        let stages = [read, self.dispatch.gauges()].into_iter();
        let stages = stages.chain(self.stages.iter().map(|stage| stage.site.gauges()));
        Gauges {
            at_ms: now.as_secs_f64() * 1e3,
            policy: self.chosen.entry.name.to_owned(),
            ledger,
            stages: stages.chain([send, self.accept.gauges(), system]).collect(),
            cpu_s: self.machine.used().as_secs_f64(),
            ..Gauges::default()
        }
    }

    /// Which requests were read, by number.
    #[must_use]
    pub fn requests(&self) -> ReadRequests {
        self.ledger.requests()
    }

    /// The books of other services' calls.
    #[must_use]
    pub fn calls(&self) -> ServerLedger {
        self.calls_ledger.read()
    }

    /// Policy events since the last call, as lines of the event stream.
    pub fn events(&mut self) -> Vec<std::sync::Arc<crate::control::wire::StreamedEvent>> {
        self.reader.drain()
    }
}
