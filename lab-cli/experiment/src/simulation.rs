//! What only a run in virtual time needs to know: what things cost, the way to the service, what goes wrong when.

use std::{ops::RangeInclusive, path::Path, time::Duration};

use target_app::plant::{Fault, FaultKind, PlantSpec};
use workloads::sim::LinkSpec;

use super::{
    fields::Fields,
    named_file,
    plan::{App, CostChanges, Simulation, read_plant},
    problem::Problems,
    raw::Node,
};

/// Keys of `virtual`.
pub const KEYS: &[&str] = &["plant", "costs", "link", "faults", "only"];
/// Keys of `virtual.costs`.
pub const COSTS_KEYS: &[&str] = &["accept", "read", "refuse", "check", "idle", "connection", "memory"];
/// Keys of `virtual.link`.
pub const LINK_KEYS: &[&str] = &["delay", "jitter", "loss"];
/// Keys of each of `virtual.faults`.
pub const FAULT_KEYS: &[&str] = &["at", "for", "capacity", "latency", "service"];

const COSTS: RangeInclusive<Duration> = Duration::ZERO..=Duration::from_secs(10);
const TIMES: RangeInclusive<Duration> = Duration::ZERO..=Duration::from_secs(86_400);

/// Reads the section. `app`: what is simulated, where that could be read.
pub(super) fn simulation(node: Option<&Node>, app: Option<&App>, problems: &Problems) -> Simulation {
    let mut simulation = Simulation::default();
    let Some(fields) = node.and_then(|node| Fields::of(node, "virtual", KEYS, problems)) else { return simulation };
    if let Some(path) = fields.text("plant") {
        match read_plant_file(Path::new(&path)) {
            Ok(costs) => simulation.costs = costs,
            Err(message) => {
                let hint = "a file that lab calibrate has written (.yaml); its path is taken from the folder in which lab runs";
                fields.problem("plant", message, hint);
            }
        }
    }
    if let Some(costs) = fields.fields("costs", COSTS_KEYS) {
        simulation.said = cost_changes(&costs);
        simulation.said.apply(&mut simulation.costs);
    }
    simulation.only = fields.flag("only").unwrap_or(false);
    if let Some(link) = fields.fields("link", LINK_KEYS) {
        let standard = simulation.costs.link();
        simulation.link = Some(LinkSpec {
            delay: link.time("delay", TIMES).unwrap_or(standard.delay),
            jitter: link.time("jitter", TIMES).unwrap_or(standard.jitter),
            loss: link.number("loss", 0.0..=0.9).unwrap_or(0.0),
        });
    }
    simulation.faults = fields.list("faults").iter().filter_map(|node| fault(node, app, problems)).collect();
    simulation
}

/// Reads `costs`.
pub(super) fn cost_changes(fields: &Fields<'_>) -> CostChanges {
    let millis = |key: &str| fields.time(key, COSTS).map(|time| time.as_secs_f64() * 1e3);
    let bytes = |key: &str| fields.count(key, 0..=1_000_000_000_000).map(|bytes| bytes as f64);
    CostChanges {
        accept_ms: millis("accept"),
        read_ms: millis("read"),
        refuse_ms: millis("refuse"),
        check_ms: millis("check"),
        idle_ms: millis("idle"),
        connection_kb: bytes("connection").map(|bytes| bytes / 1e3),
        memory_mb: bytes("memory").map(|bytes| bytes / 1e6),
    }
}

fn fault(node: &Node, app: Option<&App>, problems: &Problems) -> Option<Fault> {
    let fields = Fields::of(node, "virtual.faults", FAULT_KEYS, problems)?;
    for key in ["at", "for"] {
        if fields.node(key).is_none() {
            fields.missing(key, "10s");
        }
    }
    let kind = match (fields.number("capacity", 0.0..=100.0), fields.time("latency", TIMES)) {
        (Some(share), None) => FaultKind::Capacity(share),
        (None, Some(wait)) => FaultKind::Latency(wait),
        _ => {
            let hint = "capacity: 0.2 (a share of its speed; 0 is a pause), or latency: 50ms (more for each request)";
            fields.problem("capacity", "one of capacity and latency is wanted", hint);
            return None;
        }
    };
    let service = fields.text("service");
    if let (Some(name), Some(app)) = (&service, app) {
        not_hit(name, app).into_iter().for_each(|(message, hint)| fields.problem("service", message, hint));
    }
    Some(Fault { at: fields.time("at", TIMES)?, lasts: fields.time("for", TIMES)?, kind, service })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_with_a_plant_is_said() {
        assert!(read_plant("cores: 0").is_err_and(|message| message.contains("cores")));
        assert!(read_plant("types: {login: {cpu_ms: -1}}").is_err_and(|message| message.contains("login.cpu_ms")));
        assert!(read_plant("cores: 1\nkores: 1").is_err_and(|message| message.contains("kores")));
        let looked = std::path::absolute("nowhere.yaml").expect("a folder").display().to_string();
        assert_eq!(read_plant_file(Path::new("nowhere.yaml")), Err(format!("nowhere.yaml: there is no {looked}")));
    }
}
