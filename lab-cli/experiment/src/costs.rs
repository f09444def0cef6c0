//! Costs of requests and connections where they are not the plant's.

use std::{ops::RangeInclusive, time::Duration};

use serde::{Deserialize, Serialize};
use spec::{plant::PlantSpec, services::WireCosts};

use super::keys::{DurationText, KeyKind, size, table, time};

const MEMORY: RangeInclusive<u64> = 0..=1_000_000_000_000;
const RESTART: RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_secs(3600);

table! {
    /// CPU times of a whole core, and memory. Nothing costs anything at an emulated server unless it is given here.
    #[derive(Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
    pub struct CostChanges as "Costs" {
        accept_ms: Option<f64> = cost().key("accept"), "CPU time to accept a connection";
        read_ms: Option<f64> = cost().key("read"), "CPU time to read a request, also one that is refused";
        refuse_ms: Option<f64> = cost().key("refuse"), "CPU time to refuse a request, after reading it";
        police_batch_ms: Option<f64> = cost().key("police_batch"), "CPU time to police a request in a batch after reading it, where `sentry` is the policy at dispatch: one at a time on each core, in the order of arrival";
        police_threshold_ms: Option<f64> = cost().key("police_threshold"), "The same while a threshold decides";
        check_ms: Option<f64> = cost().key("check"), "CPU time to answer a health check, after reading it";
        idle_ms: Option<f64> = cost().key("idle").example("1us"), "CPU time per second of an open connection";
        connection_kb: Option<f64> = size(MEMORY).map(|bytes| bytes as f64 / 1e3).key("connection"), "Memory of an open connection";
        request_kb: #[serde(default, skip_serializing_if = "Option::is_none")] Option<f64> = size(MEMORY).map(|bytes| bytes as f64 / 1e3).key("request"), "Memory of a request from its reading to its answer, queued or in service";
        memory_mb: Option<f64> = size(MEMORY).map(|bytes| bytes as f64 / 1e6).key("memory"), "Memory of the process; without it memory is not modelled";
        restart_ms: #[serde(default, skip_serializing_if = "Option::is_none")] Option<f64> = time(RESTART).map(ms).key("restart"), "A process whose memory exceeds `memory` crashes: its connections break, its work is lost, and senders leave it out. After this time it is back, and empty. Without it no process crashes";
    }
}

fn cost() -> KeyKind<Option<f64>, DurationText> {
    time(Duration::ZERO..=Duration::from_secs(10)).map(ms)
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

impl CostChanges {
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Makes them.
    pub fn apply(&self, costs: &mut PlantSpec) {
        costs.accept_ms = self.accept_ms.unwrap_or(costs.accept_ms);
        costs.read_ms = self.read_ms.unwrap_or(costs.read_ms);
        costs.refuse_ms = self.refuse_ms.unwrap_or(costs.refuse_ms);
        costs.police_batch_ms = self.police_batch_ms.unwrap_or(costs.police_batch_ms);
        costs.police_threshold_ms = self.police_threshold_ms.unwrap_or(costs.police_threshold_ms);
        costs.check_ms = self.check_ms.unwrap_or(costs.check_ms);
        costs.idle_ms = self.idle_ms.unwrap_or(costs.idle_ms);
        costs.connection_kb = self.connection_kb.unwrap_or(costs.connection_kb);
        costs.request_kb = self.request_kb.unwrap_or(costs.request_kb);
        costs.memory_mb = self.memory_mb.unwrap_or(costs.memory_mb);
        costs.restart_ms = self.restart_ms.unwrap_or(costs.restart_ms);
    }

    /// Costs that a live task of emulated service times spends as well.
    pub fn wire(&self) -> WireCosts {
        let time = |ms: Option<f64>| Duration::from_secs_f64(ms.unwrap_or(0.0) / 1e3);
        WireCosts {
            accept: time(self.accept_ms),
            read: time(self.read_ms),
            refuse: time(self.refuse_ms),
            check: time(self.check_ms),
        }
    }

    /// The keys of those that a live task does not spend.
    pub fn virtual_only(&self) -> Vec<&'static str> {
        let all = [
            ("police_batch", self.police_batch_ms),
            ("police_threshold", self.police_threshold_ms),
            ("idle", self.idle_ms),
            ("connection", self.connection_kb),
            ("request", self.request_kb),
            ("memory", self.memory_mb),
            ("restart", self.restart_ms),
        ];
        all.into_iter().filter(|(_, cost)| cost.is_some_and(|cost| cost > 0.0)).map(|(key, _)| key).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_live_task_spends_and_what_it_does_not() {
        let costs =
            CostChanges { read_ms: Some(0.2), idle_ms: Some(1.0), memory_mb: Some(0.0), ..CostChanges::default() };
        let WireCosts { accept, read, refuse, check } = costs.wire();
        assert_eq!([accept, read, refuse, check].map(|time| time.as_micros()), [0, 200, 0, 0]);
        assert_eq!(costs.virtual_only(), ["idle"]);
    }
}
