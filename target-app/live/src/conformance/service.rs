//! A service of two stages whose requests state their costs, live and in a plant.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use controllers::{Class, Kind, Place, Timestamp, site::Probe};
use http::{Response, request::Parts};
use plant::{
    Step,
    backend::{Backend, Draws},
};
use service_core::{policies::Resolved, route::Route};
use spec::graph::{Branch, Graph, Role};
use workloads::{persona::Call, sim};

use crate::{
    clock::ServiceClock,
    service::{At, Boxed, Bytes, Handled, PageBody, Request, Service, StatedCost},
};

/// The number of stages: two, or one where the policy keeps the queue of the stage that it precedes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stages(usize);

impl Stages {
    pub(super) fn of(chosen: &Resolved) -> Self {
        Self(if chosen.place == Place::Single && chosen.entry.keeps_queue() { 1 } else { 2 })
    }

    pub(super) fn graph(self) -> Graph {
        Graph::new(&["fast", "slow"], &[("fast", Role::Dynamic), ("slow", Role::Dynamic)][..self.0])
    }

    fn route(self, head: &Parts) -> Route {
        let slow = usize::from(head.uri.path() == "/slow");
        Route { kind: Kind(u16::try_from(slow).unwrap_or_default()), branch: Branch(slow.min(self.0 - 1)) }
    }
}

/// The number of cores.
pub(super) const CORES: u32 = 64;

#[derive(Debug)]
pub(super) struct Live {
    pub(super) clock: ServiceClock,
    used: Arc<Used>,
    stages: Stages,
}

impl Live {
    pub(super) fn new(clock: ServiceClock, stages: Stages) -> Self {
        Self { clock, used: Arc::default(), stages }
    }
}

/// The nanoseconds of work that has begun, as a plant counts them.
#[derive(Debug, Default)]
struct Used(AtomicU64);

impl Probe for Used {
    fn cpu_time(&self) -> Duration {
        Duration::from_nanos(self.0.load(Ordering::Relaxed))
    }

    fn cpus(&self) -> f64 {
        f64::from(CORES)
    }

    fn memory_share(&self) -> f64 {
        0.0
    }
}

impl Service for Live {
    fn graph(&self) -> Graph {
        self.stages.graph()
    }

    fn route(&self, head: &Parts) -> Route {
        self.stages.route(head)
    }

    fn handle<'a>(&'a self, request: Request, at: At<'a>) -> Boxed<'a, Handled> {
        let nanos = request.draw().unwrap_or_default();
        Box::pin(async move {
            self.used.0.fetch_add(nanos, Ordering::Relaxed);
            self.clock.sleep_until(at.started + Duration::from_nanos(nanos)).await;
            let mut response: Response<PageBody> = Response::new(Bytes::new().into());
            response.extensions_mut().insert(StatedCost(Duration::from_nanos(nanos)));
            Ok(response)
        })
    }

    fn is_emulated(&self) -> bool {
        true
    }

    fn probe(&self) -> Arc<dyn Probe> {
        Arc::clone(&self.used) as _
    }

    fn degrade<'a>(&'a self, _: &'a Request) -> Boxed<'a, Option<Response<PageBody>>> {
        Box::pin(std::future::ready(Some(Response::new(Bytes::new().into()))))
    }
}

#[derive(Debug)]
pub(super) struct InPlant(pub(super) Stages);

impl Backend for InPlant {
    fn graph(&self) -> Graph {
        self.0.graph()
    }

    fn pools(&self) -> Vec<u32> {
        Vec::new()
    }

    fn route(&self, head: &Parts) -> Route {
        self.0.route(head)
    }

    fn steps(&mut self, _: Kind, _: Class, Draws { key, .. }: Draws, _: f64) -> Vec<Step> {
        vec![Step { pool: None, demand: Duration::from_nanos(key) }]
    }

    fn answer(&mut self, _: &Call, _: Option<&str>, _: Timestamp) -> sim::Response {
        sim::Response { status: 200, ..sim::Response::default() }
    }

    fn degrade(&mut self, _: Kind, _: &Call, _: u64, _: Timestamp) -> Option<(Duration, sim::Response)> {
        Some((Duration::ZERO, sim::Response { status: 200, ..sim::Response::default() }))
    }
}
