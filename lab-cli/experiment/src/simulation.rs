//! Keys for runs in virtual time alone: what things cost, the way to the service, what goes wrong when.

use std::{ops::RangeInclusive, time::Duration};

use spec::fault::{Fault, FaultKind};
use workloads::sim::LinkSpec;

use super::{
    costs::CostChanges,
    fields::Fields,
    keys::{Table, count, flag, free, number, table, table_of, table_or_default, text, time},
    named_file,
    plan::{AppPlan, Simulation, read_plant},
    problem::Problems,
    raw::Node,
};

const SYN_RETRIES: RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_secs(60);
const TIMES: RangeInclusive<Duration> = Duration::ZERO..=Duration::from_secs(86_400);

table! {
    /// For runs [in virtual time](#in-virtual-time).
    pub(super) struct SimulationKeys as "Simulation" {
        plant: Option<String> = text().otherwise("measured on the machine of [fidelity](fidelity.md)").example("plant.yaml"), "The plant: a file of costs written by `lab calibrate`";
        costs: CostChanges = table_or_default::<CostChanges>(), "Costs that differ from the plant file";
        link: Option<LinkKeys> = table_of::<LinkKeys>(), "The network between users and service";
        faults = free::<Vec<FaultKeys>>(), "Faults: what goes wrong, and when";
        only: bool = flag().or(false), "Refuse a live run: it would not be what the experiment is about";
    }

    /// The network between users and service.
    pub(super) struct LinkKeys as "Link" {
        delay: Option<Duration> = time(TIMES).otherwise("the plant's"), "One-way delay";
        jitter: Option<Duration> = time(TIMES).otherwise("the plant's").example("2ms"), "Largest additional delay, drawn uniformly";
        loss: f64 = number(0.0..=0.9).or(0.0).example("0.01"), "Share of messages that are lost and sent again";
        syn_retry: Duration = time(SYN_RETRIES).or(LinkSpec::default().syn_retry), "Wait before the first repetition of a SYN; it doubles each time. Systems before 2011: `3s` (RFC 1122)";
    }

    /// One of `capacity`, `ramp`, `latency`, `errors` and `crash`.
    pub(super) struct FaultKeys as "Fault" {
        at: Option<Duration> = time(TIMES).wanted("10s"), "Beginning, from the start of the run";
        lasts: Option<Duration> = time(TIMES).wanted("10s").key("for"), "Duration";
        capacity: Option<f64> = number(0.0..=100.0), "Speed of the cores, as a share of the usual one; 0 is a pause";
        ramp: Option<RampKeys> = table_of::<RampKeys>().example("{from: 0.3, to: 1}"), "Speed of the cores that changes along a line, in a hundred steps: a warm-up";
        latency: Option<Duration> = time(TIMES), "Additional time of every request, without work";
        errors: Option<f64> = number(0.0..=1.0).example("0.3"), "Share of requests that are answered 500 as soon as a worker takes them, without work; attempts fail independently";
        crash: bool = flag().or(false), "The process dies: its connections break and its work is lost; after `for` another process takes its place. In a tree, senders leave the task out meanwhile, and a live run does the same with the processes of its tasks";
        service: Option<String> = text().otherwise("all").example("back"), "The service of a tree that it affects, by name";
        task: Option<u32> = count(0..=999).otherwise("all"), "The only task of that service that it affects, by number from 0";
    }

    /// Shares of the usual speed.
    pub(super) struct RampKeys as "Ramp" {
        from: Option<f64> = number(0.0..=100.0).wanted("0.3"), "At the start of the fault";
        to: Option<f64> = number(0.0..=100.0).wanted("1"), "At its end";
    }
}

/// Reads the section. `app`: what is simulated, where that could be read.
pub(super) fn simulation(node: Option<&Node>, app: Option<&AppPlan>, problems: &Problems) -> Simulation {
    let mut simulation = Simulation::default();
    let fields = node.and_then(|node| Fields::of_table::<SimulationKeys>(node, "virtual", problems));
    let Some(fields) = fields else { return simulation };
    let keys = SimulationKeys::read(&fields);
    if let Some(path) = keys.plant.and_then(|_| fields.file("plant")) {
        match named_file::read(&path, read_plant) {
            Ok(costs) => (simulation.costs, simulation.from_file) = (costs, true),
            Err(message) => {
                let hint =
                    "a file that lab calibrate has written (.yaml); its path is taken from the folder of this file";
                fields.problem("plant", message, hint);
            }
        }
    }
    simulation.said = keys.costs;
    simulation.said.apply(&mut simulation.costs);
    simulation.only = keys.only;
    if let Some(LinkKeys { delay, jitter, loss, syn_retry }) = keys.link {
        let standard = simulation.costs.link();
        let (delay, jitter) = (delay.unwrap_or(standard.delay), jitter.unwrap_or(standard.jitter));
        simulation.link = Some(LinkSpec { delay, jitter, loss, syn_retry });
    }
    simulation.faults = fields.list("faults").iter().filter_map(|node| fault(node, app, problems)).collect();
    simulation
}

fn fault(node: &Node, app: Option<&AppPlan>, problems: &Problems) -> Option<Fault> {
    let fields = Fields::of_table::<FaultKeys>(node, "virtual.faults", problems)?;
    let FaultKeys { at, lasts, capacity, ramp, latency, errors, crash, service, task } = FaultKeys::read(&fields);
    let ramp = ramp.and_then(|RampKeys { from, to }| Some(FaultKind::Ramp { from: from?, to: to? }));
    let kinds = [
        capacity.map(FaultKind::Capacity),
        ramp,
        latency.map(FaultKind::Latency),
        errors.map(FaultKind::Errors),
        crash.then_some(FaultKind::Crash),
    ];
    let written = ["capacity", "ramp", "latency", "errors"].iter().filter(|key| fields.node(key).is_some()).count();
    if written + usize::from(crash) != 1 {
        let hint = "capacity: 0.2 (a share of its speed; 0 is a pause), ramp: {from: 0.3, to: 1} (the same along a line), \
                    latency: 50ms (more for each request), errors: 0.3 (a share that fails), or crash: true (the process dies)";
        return fields.wrong("capacity", "expected one of capacity, ramp, latency, errors and crash", hint);
    }
    let kind = kinds.into_iter().flatten().next()?;
    let fault = Fault { at: at?, lasts: lasts?, kind, service, task };
    if let Some((key, message, hint)) = app.and_then(|app| not_hit(&fault, app)) {
        fields.problem(key, message, hint);
    }
    Some(fault)
}

/// Fault that hits nothing, or not as it is meant: the key, the reason, and what to write.
fn not_hit(fault: &Fault, app: &AppPlan) -> Option<(&'static str, String, String)> {
    let (service, task) = (fault.service.as_ref(), fault.task);
    let AppPlan::Tree(tree) = app else {
        let hint = "leave it out: a fault hits this target anyway; services by name are those of target.app: tree";
        let name = service.map(|name| ("service", format!("there is one service alone, and none called {name:?}")));
        let number = task.map(|task| ("task", format!("there is one process alone, and no task {task}")));
        return name.or(number).map(|(key, message)| (key, message, hint.to_owned()));
    };
    if tree.adapts() && fault.kind == FaultKind::Crash {
        let message = "tasks that a platform or an autoscaler starts and drains do not crash".to_owned();
        return Some(("crash", message, "leave out the fault, or what starts and drains them".to_owned()));
    }
    let names: Vec<&str> = tree.services.iter().map(|service| service.name.as_str()).collect();
    let names = || format!("one of {}", names.join(", "));
    match (service, task) {
        (None, Some(_)) => Some(("task", "the task of which service?".to_owned(), format!("service: {}", names()))),
        (Some(name), task) => match tree.services.iter().find(|service| service.name == *name) {
            None => Some(("service", format!("there is no service {name:?}"), names())),
            Some(found) => task.filter(|task| *task >= found.tasks).map(|task| {
                let last = found.tasks.saturating_sub(1);
                ("task", format!("{name} has no task {task}"), format!("a number from 0 to {last}"))
            }),
        },
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn what_is_wrong_with_a_plant_is_said() {
        assert!(read_plant("cores: 0").is_err_and(|message| message.contains("cores")));
        assert!(read_plant("types: {login: {cpu_ms: -1}}").is_err_and(|message| message.contains("login.cpu_ms")));
        assert!(read_plant("cores: 1\nkores: 1").is_err_and(|message| message.contains("kores")));
        let looked = std::path::absolute("nowhere.yaml").expect("a folder").display().to_string();
        assert_eq!(
            named_file::read(Path::new("nowhere.yaml"), read_plant),
            Err(format!("nowhere.yaml: there is no {looked}"))
        );
    }
}
