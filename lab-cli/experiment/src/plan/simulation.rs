//! Settings of runs in virtual time alone: what things cost, the way to the service, what goes wrong when.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize, de::IgnoredAny};
use spec::{
    fault::{Fault, FaultKind},
    plant::PlantSpec,
};
use workloads::sim::LinkSpec;

use crate::costs::CostChanges;

/// The numbers that come with the program, measured on the machine that `docs/fidelity.md` names.
const ARASHI: &str = include_str!("../../library/plants/arashi.yaml");

/// Settings of a run in virtual time beside the rest of the experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Simulation {
    /// Costs of requests and connections.
    pub costs: PlantSpec,
    /// The costs are those of a plant file that the experiment names.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub from_file: bool,
    /// The experiment's own changes of the costs.
    #[serde(default, skip_serializing_if = "CostChanges::is_none")]
    pub(crate) said: CostChanges,
    /// The way between users and service; `None`: as in the plant file.
    pub link: Option<LinkSpec>,
    /// Faults in the order of the file.
    pub faults: Vec<Fault>,
    /// A live run would not be what the experiment is about.
    pub only: bool,
}

/// The plant that comes with the program.
impl Default for Simulation {
    fn default() -> Self {
        let costs = read_plant(ARASHI).expect("the plant file that comes with the program can be read: a test does");
        Self { costs, from_file: false, said: CostChanges::default(), link: None, faults: Vec::new(), only: false }
    }
}

impl Simulation {
    /// Costs of an emulated server: nothing but what the experiment says. A plant file is about real ones.
    pub fn emulated_costs(&self) -> PlantSpec {
        let mut costs = PlantSpec { accept_ms: 0.0, read_ms: 0.0, refuse_ms: 0.0, ..self.costs.clone() };
        self.said.apply(&mut costs);
        costs
    }

    /// The faults that a live run does too: the crashes of a tree's tasks, which are processes.
    pub fn live_faults(&self, is_tree: bool) -> impl Iterator<Item = &Fault> {
        self.faults.iter().filter(move |fault| is_tree && fault.kind == FaultKind::Crash)
    }

    /// Caution that a live run leaves it out, if it says how the way and the machine are to be.
    pub fn live_caution(&self, is_tree: bool) -> Option<String> {
        let left_out = self.live_faults(is_tree).count() < self.faults.len();
        let said = [("virtual.link", self.link.is_some()), ("virtual.faults", left_out)];
        let keys: Vec<&str> = said.into_iter().filter_map(|(key, said)| said.then_some(key)).collect();
        let keys = keys.join(", ");
        (!keys.is_empty()).then(|| format!("{keys}: for virtual time alone (--virtual), a live run does not apply it"))
    }

    /// The way between users and service.
    pub fn link(&self) -> LinkSpec {
        self.link.unwrap_or_else(|| self.costs.link())
    }
}

const NO_PLANT: &str = "this is no plant: it has none of a plant's keys (cores, types, …)";

/// Reads the text of a plant file.
///
/// # Errors
/// What is wrong with it.
pub fn read_plant(text: &str) -> Result<PlantSpec, String> {
    // Only what is a plant is quoted: a path may be anything's.
    let found: BTreeMap<String, IgnoredAny> = serde_yaml::from_str(text).map_err(|_| NO_PLANT)?;
    let known = serde_json::to_value(PlantSpec::default()).map_err(|error| error.to_string())?;
    // What lab calibrate measures of a service is in no plant by default.
    if !found.keys().any(|key| key == "service" || known.get(key).is_some()) {
        return Err(NO_PLANT.to_owned());
    }
    let costs: PlantSpec = serde_yaml::from_str(text).map_err(|error| error.without_snippet().to_string())?;
    costs.check().map_err(|error| error.to_string())?;
    Ok(costs)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_plant_that_comes_with_the_program_names_every_request_type() {
        let costs = Simulation::default().costs;
        for kind in service_core::mail::KINDS.iter().filter(|kind| **kind != "other") {
            assert!(costs.types.contains_key(*kind), "{kind}");
        }
    }

    #[test]
    fn a_plant_written_by_hand_has_what_somebody_wrote() {
        let read = read_plant("service: {servers: 4, requests: [{path: /, ms: 30}], slowdown: [1]}");
        assert_eq!(read.map(|plant| plant.service.map(|service| service.servers)), Ok(Some(4)));
        assert_eq!(read_plant("arms: [none]").map(drop), Err(NO_PLANT.to_owned()));
    }

    #[test]
    fn a_live_run_says_what_it_leaves_out() {
        let mut simulation = Simulation::default();
        assert_eq!(simulation.live_caution(false), None);
        let fault = Fault {
            at: Duration::ZERO,
            lasts: Duration::from_secs(1),
            kind: FaultKind::Capacity(0.5),
            service: None,
            task: None,
        };
        let alone = |simulation: &Simulation, is_tree, said: &str| {
            simulation.live_caution(is_tree).is_some_and(|caution| caution.starts_with(said))
        };
        simulation.faults = vec![Fault { kind: FaultKind::Crash, ..fault.clone() }];
        assert_eq!((simulation.live_caution(true), simulation.live_faults(true).count()), (None, 1));
        assert!(alone(&simulation, false, "virtual.faults: for virtual time alone"), "of one process the target is");
        simulation.faults.push(fault);
        assert!(alone(&simulation, true, "virtual.faults: for virtual time alone"));
        simulation.link = Some(LinkSpec::default());
        assert!(alone(&simulation, true, "virtual.link, virtual.faults: "));
    }
}
