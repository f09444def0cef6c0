//! The synthetic services in a plant.

use std::time::Duration;

use controllers::{Class, JobId, Kind, Timestamp};
use http::request::Parts;
use service_core::{
    request::DEGRADED,
    route::Route,
    synthetic::{CHEAPEST, Law, checksum_graph},
};
use spec::{
    ChecksumSpec, Discipline,
    graph::Graph,
    plant::{PlantSpec, ms},
};
use workloads::{persona::Call, sim::Response};

use super::{
    backend::{Backend, DegradedWork, Draws},
    cpu::Step,
};

/// Emulated service times on servers that are the plant's cores.
#[derive(Debug)]
pub(super) struct PlantEmulated {
    pub(super) law: Law,
    pub(super) graph: Graph,
    pub(super) servers: u32,
    pub(super) discipline: Discipline,
    pub(super) seed: u64,
}

impl Backend for PlantEmulated {
    fn graph(&self) -> Graph {
        self.graph.clone()
    }

    fn route(&self, head: &Parts) -> Route {
        self.law.route(head.uri.path())
    }

    /// First come, first served: a job in progress holds a server.
    fn pools(&self) -> Vec<u32> {
        vec![places(self.discipline, self.servers)]
    }

    fn steps(&mut self, kind: Kind, class: Class, Draws { key, .. }: Draws, quality: f64) -> Vec<Step> {
        vec![Step { pool: Some(0), demand: self.law.draw_at(self.seed, JobId(key), (kind, class), quality) }]
    }

    /// As the live service: less work, and the answer says how much of it was done.
    fn less(
        &mut self,
        (kind, class): (Kind, Class),
        _: &Call,
        draws: Draws,
        quality: f64,
        _: Timestamp,
    ) -> Option<DegradedWork> {
        let how = self.law.mark(quality)?;
        Some(DegradedWork { steps: self.steps(kind, class, draws, quality), how })
    }

    /// As the live service: the page at once, marked.
    fn degrade(&mut self, _: Kind, _: &Call, _: u64, _: Timestamp) -> Option<(Duration, Response)> {
        let headers = vec![(DEGRADED, CHEAPEST.to_owned())];
        Some((Duration::ZERO, Response { status: 200, headers, ..Response::default() }))
    }
}

/// The jobs that have a server at once.
pub(super) fn places(discipline: Discipline, servers: u32) -> u32 {
    match discipline {
        Discipline::Fifo => servers,
        Discipline::ProcessorSharing => u32::MAX,
    }
}

/// The checksum service: each read has the same cost.
#[derive(Debug)]
pub(super) struct PlantChecksum {
    spec: ChecksumSpec,
    read: Duration,
}

impl PlantChecksum {
    pub(super) fn new(costs: &PlantSpec, spec: &ChecksumSpec) -> Self {
        Self { spec: spec.clone(), read: ms(costs.checksum_read_ms) }
    }
}

impl Backend for PlantChecksum {
    fn graph(&self) -> Graph {
        checksum_graph()
    }

    fn steps(&mut self, _: Kind, _: Class, _: Draws, quality: f64) -> Vec<Step> {
        let ChecksumSpec { rounds, fixed_rounds, reads, .. } = self.spec;
        let all = rounds.saturating_mul(self.spec.reads_at(quality)).saturating_add(fixed_rounds.saturating_mul(reads));
        vec![Step { pool: None, demand: self.read.saturating_mul(all) }]
    }
}
