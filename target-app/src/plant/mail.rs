//! Arashi in a plant.

use std::time::Duration;

use controllers::{Kind, random::mix};
use http::request::Parts;
use workloads::{
    persona::Call,
    sim::{Mailboxes, Response},
};

use super::{
    backend::{Backend, spread},
    costs::{PlantSpec, TypeCost, ms},
    machine::Step,
};
use crate::{
    graph::Graph,
    mail::{Arashi, Work},
    service::{Route, WorkError},
    spec::WorkSpec,
};

/// The pool of connections for reading, and that for changes.
const READERS: usize = 0;
const WRITERS: usize = 1;
/// What tells the draw of extra operations from the draws of the rest.
const OF_WORK: u64 = 4;

/// The web-mail service: pages from mailboxes in memory, costs from a plant file, and the live service's own work knob.
#[derive(Debug)]
pub(super) struct PlantMail {
    costs: Vec<TypeCost>,
    operation: Duration,
    work: Work,
    pools: [u32; 2],
    slowdown: Vec<f64>,
    boxes: Mailboxes,
}

impl PlantMail {
    pub(super) fn new(
        spec: &PlantSpec,
        connections: u32,
        work: &WorkSpec,
        folders: &[Vec<u32>],
    ) -> Result<Self, WorkError> {
        let graph = Arashi::stage_graph();
        let costs = graph.kinds().iter().map(|kind| spec.types.get(kind).copied().unwrap_or_default());
        let mut mail = Self {
            costs: costs.collect(),
            operation: ms(spec.operation_ms),
            work: Work::default(),
            pools: [connections, spec.writers],
            slowdown: spec.slowdown.clone(),
            boxes: Mailboxes::with_folders(folders.to_vec()),
        };
        mail.set_work(work)?;
        Ok(mail)
    }

    fn cost(&self, kind: Kind) -> TypeCost {
        self.costs.get(usize::from(kind.0)).copied().unwrap_or_default()
    }
}

impl Backend for PlantMail {
    fn graph(&self) -> Graph {
        Arashi::stage_graph()
    }

    fn pools(&self) -> Vec<u32> {
        self.pools.to_vec()
    }

    fn slowdown(&self) -> Vec<f64> {
        self.slowdown.clone()
    }

    fn route(&self, head: &Parts) -> Route {
        Arashi::route_of(head.uri.path())
    }

    fn steps(&mut self, kind: Kind, key: u64, _: f64) -> Vec<Step> {
        let cost = self.cost(kind);
        let varies = |time: f64, purpose: u64| ms(time * spread(cost.spread, mix(key ^ purpose)));
        let due = u32::try_from(self.work.due_by(usize::from(kind.0), key ^ OF_WORK)).unwrap_or(u32::MAX);
        let steps = [
            Step { pool: Some(READERS), demand: self.operation.saturating_mul(due) },
            Step { pool: Some(READERS), demand: varies(cost.read_ms, 1) },
            Step { pool: Some(WRITERS), demand: varies(cost.write_ms, 2) },
            Step { pool: None, demand: varies(cost.cpu_ms, 3) },
        ];
        steps.into_iter().filter(|step| !step.demand.is_zero()).collect()
    }

    fn answer(&mut self, call: &Call) -> Response {
        self.boxes.answer(call)
    }

    /// As the live service: a list or a message, without extra work.
    fn degrade(&mut self, kind: Kind, call: &Call, key: u64) -> Option<(Duration, Response)> {
        let route = Arashi::route_of(call.path.split('?').next().unwrap_or("/"));
        let name = Arashi::stage_graph();
        if !matches!(name.kind_name(route.kind), "list messages" | "show message") {
            return None;
        }
        let cost = self.cost(kind);
        let takes = ms((cost.read_ms + cost.cpu_ms) * spread(cost.spread, key));
        Some((takes, self.boxes.answer(call)))
    }

    fn set_work(&mut self, work: &WorkSpec) -> Result<(), WorkError> {
        Arashi::turn_knob(&self.work, work)
    }
}
