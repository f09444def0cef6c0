//! A plant of a service that is not the lab's.

use controllers::{
    Class, Kind,
    random::{lognormal_factor, mix},
};
use http::request::Parts;
use service_core::{route::Route, synthetic::emulated_graph};
use spec::{
    graph::{Branch, Graph},
    measured_service::{MeasuredService, RequestCost},
    plant::ms,
};

use super::{
    backend::{Backend, Draws},
    cpu::Step,
    synthetic::places,
};

/// A service that is not the lab's, in virtual time.
#[derive(Debug)]
pub(super) struct PlantService {
    service: MeasuredService,
    seed: u64,
}

impl PlantService {
    pub(super) fn new(service: &MeasuredService, seed: u64) -> Self {
        Self { service: service.clone(), seed }
    }
}

impl Backend for PlantService {
    fn graph(&self) -> Graph {
        let kinds: Vec<String> =
            self.service.requests.iter().map(|request| format!("{} {}", request.method, request.path)).collect();
        let kinds: Vec<&str> = kinds.iter().map(String::as_str).collect();
        // The stage has the same name as that of emulated services.
        let branches = emulated_graph();
        let branches: Vec<_> = branches.branches().map(|(_, node)| (node.name.as_str(), node.role)).collect();
        Graph::new(&kinds, &branches)
    }

    fn pools(&self) -> Vec<u32> {
        vec![places(self.service.discipline, self.service.servers)]
    }

    fn slowdown(&self) -> Vec<f64> {
        self.service.slowdown.clone()
    }

    fn route(&self, head: &Parts) -> Route {
        let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
        let known = |request: &RequestCost| request.path == path && request.method == head.method.as_str();
        let found = self.service.requests.iter().position(known).unwrap_or(0);
        Route { kind: Kind(u16::try_from(found).unwrap_or_default()), branch: Branch(0) }
    }

    fn steps(&mut self, kind: Kind, _: Class, Draws { key, .. }: Draws, _: f64) -> Vec<Step> {
        let Some(cost) = self.service.requests.get(usize::from(kind.0)) else { return Vec::new() };
        let demand = ms(cost.ms * lognormal_factor(cost.spread, mix(self.seed ^ key)));
        vec![Step { pool: Some(0), demand }]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn service() -> MeasuredService {
        let cost = |path: &str, ms: f64| RequestCost {
            method: "GET".to_owned(),
            path: path.to_owned(),
            ms,
            spread: 0.0,
            weight: 1.0,
        };
        let requests = vec![cost("/a", 10.0), cost("/b?x=1", 50.0)];
        MeasuredService { servers: 4, discipline: spec::Discipline::Fifo, slowdown: Vec::new(), requests }
    }

    #[test]
    fn a_request_takes_the_time_of_its_path_and_another_that_of_the_first() {
        let mut plant = PlantService::new(&service(), 1);
        let mut demand = |path: &str| {
            let head = http::Request::get(path).body(()).expect("a request").into_parts().0;
            let kind = plant.route(&head).kind;
            plant.steps(kind, Class(0), Draws { key: 7, user: 0 }, 1.0)[0].demand.as_millis()
        };
        assert_eq!([demand("/a"), demand("/b?x=1"), demand("/b"), demand("/nowhere")], [10, 50, 10, 10]);
    }
}
