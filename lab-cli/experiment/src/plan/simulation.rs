//! Settings of runs in virtual time alone: what things cost, the way to the service, what goes wrong when.

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize, de::IgnoredAny};
use spec::{
    fault::{Fault, FaultKind},
    plant::PlantSpec,
    services::WireCosts,
};
use workloads::sim::LinkSpec;

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

/// Costs by the experiment's own word instead of the plant's, milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct CostChanges {
    /// Cost of accepting a connection.
    pub accept_ms: Option<f64>,
    /// Cost of reading a request.
    pub read_ms: Option<f64>,
    /// Cost of refusing one.
    pub refuse_ms: Option<f64>,
    /// Cost of policing a request by batches.
    pub police_batch_ms: Option<f64>,
    /// Cost of policing one by a threshold.
    pub police_threshold_ms: Option<f64>,
    /// Cost of answering a health check.
    pub check_ms: Option<f64>,
    /// Cost of an open connection, for each second.
    pub idle_ms: Option<f64>,
    /// Memory of an open connection, thousands of bytes.
    pub connection_kb: Option<f64>,
    /// Memory of a request, thousands of bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_kb: Option<f64>,
    /// Memory that there is, millions of bytes.
    pub memory_mb: Option<f64>,
    /// Time from a crash by memory to the restart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restart_ms: Option<f64>,
}

impl CostChanges {
    fn is_none(&self) -> bool {
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

const NO_PLANT: &str = "this is no plant: it has none of a plant's keys (cores, types, …)";

/// Reads the text of a plant file.
///
/// # Errors
/// What is wrong with it.
pub fn read_plant(text: &str) -> Result<PlantSpec, String> {
    // Only what is a plant is quoted: a path may be anything's.
    let found: BTreeMap<String, IgnoredAny> = serde_yaml::from_str(text).map_err(|_| NO_PLANT)?;
    let known = serde_json::to_value(PlantSpec::default()).map_err(|error| error.to_string())?;
    if !found.keys().any(|key| known.get(key).is_some()) {
        return Err(NO_PLANT.to_owned());
    }
    let costs: PlantSpec = serde_yaml::from_str(text).map_err(|error| error.without_snippet().to_string())?;
    costs.check().map_err(|error| error.to_string())?;
    Ok(costs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plant_that_comes_with_the_program_names_every_request_type() {
        let costs = Simulation::default().costs;
        for kind in service_core::mail::KINDS.iter().filter(|kind| **kind != "other") {
            assert!(costs.types.contains_key(*kind), "{kind}");
        }
    }

    #[test]
    fn what_a_live_task_spends_and_what_it_does_not() {
        let costs =
            CostChanges { read_ms: Some(0.2), idle_ms: Some(1.0), memory_mb: Some(0.0), ..CostChanges::default() };
        let WireCosts { accept, read, refuse, check } = costs.wire();
        assert_eq!([accept, read, refuse, check].map(|time| time.as_micros()), [0, 200, 0, 0]);
        assert_eq!(costs.virtual_only(), ["idle"]);
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
