//! What only a run in virtual time needs to know: what things cost, the way to the service, what goes wrong when.

use std::{collections::BTreeMap, ops::RangeInclusive, path::Path, time::Duration};

use serde::{Deserialize, Serialize, de::IgnoredAny};
use target_app::{
    plant::{Fault, FaultKind, PlantSpec},
    tree::WireCosts,
};
use workloads::sim::LinkSpec;

use super::{
    fields::Fields,
    keys::{Table, flag, free, number, size, table, table_of, table_or_default, text, time},
    named_file,
    plan::App,
    problem::Problems,
    raw::Node,
};

/// The numbers that come with the program, measured on the machine that `docs/fidelity.md` names.
const ARASHI: &str = include_str!("../../../experiments/plants/arashi.yaml");

const COSTS: RangeInclusive<Duration> = Duration::ZERO..=Duration::from_secs(10);
const MEMORY: RangeInclusive<u64> = 0..=1_000_000_000_000;
const TIMES: RangeInclusive<Duration> = Duration::ZERO..=Duration::from_secs(86_400);

table! {
    /// What only a run in virtual time needs to know.
    pub(super) struct SimulationKeys as "Simulation" {
        plant: Option<String> = text().otherwise("measured on the machine of [fidelity](fidelity.md)"), "What things cost: a file that `lab calibrate` has written";
        costs: CostKeys = table_or_default(), "What things cost, where it is not as in the plant file";
        link: Option<LinkKeys> = table_of(), "The way between users and service";
        faults = free::<Vec<FaultKeys>>(), "What goes wrong, and when";
        only: bool = flag().or(false), "A live run is refused: it would not be what the experiment is about";
    }

    /// The way between users and service.
    pub(super) struct LinkKeys as "Link" {
        delay: Option<Duration> = time(TIMES).otherwise("the plant's"), "One way";
        jitter: Option<Duration> = time(TIMES).otherwise("the plant's"), "Up to this much longer, uniformly";
        loss: f64 = number(0.0..=0.9).or(0.0), "Share of messages that are lost and sent again";
    }

    /// Something goes wrong for a while: either `capacity` or `latency`.
    pub(super) struct FaultKeys as "Fault" {
        at: Option<Duration> = time(TIMES).wanted("10s"), "From the start of the run";
        r#for: Option<Duration> = time(TIMES).wanted("10s"), "How long";
        capacity: Option<f64> = number(0.0..=100.0), "The cores work at this share of their speed; 0 is a pause";
        latency: Option<Duration> = time(TIMES), "Every request takes this much longer";
        service: Option<String> = text().otherwise("all"), "The only service of a tree that it hits, by its name";
    }

    /// What things cost, where it is not as in the plant file: times of a whole core.
    pub(super) struct CostKeys as "Costs" {
        accept: Option<Duration> = time(COSTS), "To take a connection";
        read: Option<Duration> = time(COSTS), "To read a request, whatever becomes of it";
        refuse: Option<Duration> = time(COSTS), "To refuse one that was read";
        check: Option<Duration> = time(COSTS), "To answer a health check, after reading it";
        idle: Option<Duration> = time(COSTS), "To have a connection open, for each second";
        connection: Option<u64> = size(MEMORY), "Memory of an open connection: `40k`";
        memory: Option<u64> = size(MEMORY), "Memory that there is: `512m`; without it nobody asks how much is in use";
    }
}

/// What a run in virtual time takes beside the rest of the experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Simulation {
    /// What things cost.
    pub costs: PlantSpec,
    /// What the experiment itself says of it.
    #[serde(skip)]
    said: CostChanges,
    /// The way between users and service; `None`: as in the plant file.
    pub link: Option<LinkSpec>,
    /// What goes wrong.
    pub faults: Vec<Fault>,
    /// A live run would not be what the experiment is about.
    pub only: bool,
}

/// With the plant that comes with the program.
impl Default for Simulation {
    fn default() -> Self {
        let costs = read_plant(ARASHI).expect("the plant file that comes with the program can be read: a test does");
        Self { costs, said: CostChanges::default(), link: None, faults: Vec::new(), only: false }
    }
}

impl Simulation {
    /// What things cost an emulated server: nothing but what the experiment says. A plant file is about real ones.
    pub fn emulated_costs(&self) -> PlantSpec {
        let mut costs = PlantSpec { accept_ms: 0.0, read_ms: 0.0, refuse_ms: 0.0, ..self.costs.clone() };
        self.said.apply(&mut costs);
        costs
    }

    /// What a live run leaves out of it, if it says how the way and the machine are to be.
    pub fn live_caution(&self) -> Option<String> {
        let said = [("virtual.link", self.link.is_some()), ("virtual.faults", !self.faults.is_empty())];
        let keys: Vec<&str> = said.into_iter().filter_map(|(key, said)| said.then_some(key)).collect();
        let keys = keys.join(", ");
        (!keys.is_empty()).then(|| format!("{keys}: for virtual time alone (--virtual), a live run does not apply it"))
    }

    /// The way between users and service.
    pub fn link(&self) -> LinkSpec {
        self.link.unwrap_or_else(|| self.costs.link())
    }
}

/// Reads the section. `app`: what is simulated, where that could be read.
pub(super) fn simulation(node: Option<&Node>, app: Option<&App>, problems: &Problems) -> Simulation {
    let mut simulation = Simulation::default();
    let fields = node.and_then(|node| Fields::of_table::<SimulationKeys>(node, "virtual", problems));
    let Some(fields) = fields else { return simulation };
    let keys = SimulationKeys::read(&fields);
    if let Some(path) = keys.plant {
        match read_plant_file(Path::new(&path)) {
            Ok(costs) => simulation.costs = costs,
            Err(message) => {
                let hint = "a file that lab calibrate has written (.yaml); its path is taken from the folder in which lab runs";
                fields.problem("plant", message, hint);
            }
        }
    }
    simulation.said = keys.costs.changes();
    simulation.said.apply(&mut simulation.costs);
    simulation.only = keys.only;
    if let Some(LinkKeys { delay, jitter, loss }) = keys.link {
        let standard = simulation.costs.link();
        let (delay, jitter) = (delay.unwrap_or(standard.delay), jitter.unwrap_or(standard.jitter));
        simulation.link = Some(LinkSpec { delay, jitter, loss });
    }
    simulation.faults = fields.list("faults").iter().filter_map(|node| fault(node, app, problems)).collect();
    simulation
}

/// Costs by the experiment's own word instead of the plant's, milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct CostChanges {
    /// To take a connection.
    pub accept_ms: Option<f64>,
    /// To read a request.
    pub read_ms: Option<f64>,
    /// To refuse one.
    pub refuse_ms: Option<f64>,
    /// To answer a health check.
    pub check_ms: Option<f64>,
    /// To have a connection open, for each second.
    pub idle_ms: Option<f64>,
    /// Memory of an open connection, thousands of bytes.
    pub connection_kb: Option<f64>,
    /// Memory that there is, millions of bytes.
    pub memory_mb: Option<f64>,
}

impl CostChanges {
    /// Makes them.
    pub fn apply(&self, costs: &mut PlantSpec) {
        costs.accept_ms = self.accept_ms.unwrap_or(costs.accept_ms);
        costs.read_ms = self.read_ms.unwrap_or(costs.read_ms);
        costs.refuse_ms = self.refuse_ms.unwrap_or(costs.refuse_ms);
        costs.check_ms = self.check_ms.unwrap_or(costs.check_ms);
        costs.idle_ms = self.idle_ms.unwrap_or(costs.idle_ms);
        costs.connection_kb = self.connection_kb.unwrap_or(costs.connection_kb);
        costs.memory_mb = self.memory_mb.unwrap_or(costs.memory_mb);
    }
}

impl CostChanges {
    /// Those that a live task of emulated service times spends as well.
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
        let all = [("idle", self.idle_ms), ("connection", self.connection_kb), ("memory", self.memory_mb)];
        all.into_iter().filter(|(_, cost)| cost.is_some_and(|cost| cost > 0.0)).map(|(key, _)| key).collect()
    }
}

impl CostKeys {
    /// The same in the units of a plant file.
    pub(super) fn changes(&self) -> CostChanges {
        let millis = |time: Option<Duration>| time.map(|time| time.as_secs_f64() * 1e3);
        CostChanges {
            accept_ms: millis(self.accept),
            read_ms: millis(self.read),
            refuse_ms: millis(self.refuse),
            check_ms: millis(self.check),
            idle_ms: millis(self.idle),
            connection_kb: self.connection.map(|bytes| bytes as f64 / 1e3),
            memory_mb: self.memory.map(|bytes| bytes as f64 / 1e6),
        }
    }
}

fn fault(node: &Node, app: Option<&App>, problems: &Problems) -> Option<Fault> {
    let fields = Fields::of_table::<FaultKeys>(node, "virtual.faults", problems)?;
    let FaultKeys { at, r#for: lasts, capacity, latency, service } = FaultKeys::read(&fields);
    let kind = match (capacity, latency) {
        (Some(share), None) => FaultKind::Capacity(share),
        (None, Some(wait)) => FaultKind::Latency(wait),
        _ => {
            let hint = "capacity: 0.2 (a share of its speed; 0 is a pause), or latency: 50ms (more for each request)";
            fields.problem("capacity", "one of capacity and latency is wanted", hint);
            return None;
        }
    };
    if let (Some(name), Some(app)) = (&service, app) {
        not_hit(name, app).into_iter().for_each(|(message, hint)| fields.problem("service", message, hint));
    }
    Some(Fault { at: at?, lasts: lasts?, kind, service })
}

/// Why a fault cannot hit the service of that name, and what to write.
fn not_hit(name: &str, app: &App) -> Option<(String, String)> {
    let App::Tree(tree) = app else {
        let hint = "leave it out: a fault hits this target anyway; services by name are those of target.app: tree";
        return Some((format!("there is one service alone, and none called {name:?}"), hint.to_owned()));
    };
    let names: Vec<&str> = tree.services.iter().map(|service| service.name.as_str()).collect();
    (!names.contains(&name)).then(|| (format!("there is no service {name:?}"), format!("one of {}", names.join(", "))))
}

/// Reads a plant file.
///
/// # Errors
/// What is wrong with it.
pub fn read_plant_file(path: &Path) -> Result<PlantSpec, String> {
    read_plant(&named_file::text(path)?).map_err(|message| format!("{}: {message}", path.display()))
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
        for kind in target_app::mail::KINDS.iter().filter(|kind| **kind != "other") {
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
        assert_eq!(simulation.live_caution(), None);
        let fault =
            Fault { at: Duration::ZERO, lasts: Duration::from_secs(1), kind: FaultKind::Capacity(0.5), service: None };
        simulation.faults.push(fault);
        assert!(
            simulation.live_caution().is_some_and(|said| said.starts_with("virtual.faults: for virtual time alone"))
        );
        simulation.link = Some(LinkSpec::default());
        assert!(simulation.live_caution().is_some_and(|said| said.starts_with("virtual.link, virtual.faults: ")));
    }

    #[test]
    fn what_is_wrong_with_a_plant_is_said() {
        assert!(read_plant("cores: 0").is_err_and(|message| message.contains("cores")));
        assert!(read_plant("types: {login: {cpu_ms: -1}}").is_err_and(|message| message.contains("login.cpu_ms")));
        assert!(read_plant("cores: 1\nkores: 1").is_err_and(|message| message.contains("kores")));
        let looked = std::path::absolute("nowhere.yaml").expect("a folder").display().to_string();
        assert_eq!(read_plant_file(Path::new("nowhere.yaml")), Err(format!("nowhere.yaml: there is no {looked}")));
    }
}
