//! The part of a target that is several services, with their autoscalers.

use std::{collections::BTreeMap, ops::RangeInclusive, time::Duration};

use analysis::text::suggestion;
use controllers::{Class, catalogue::PolicySpec};
use spec::{
    StageSpec,
    autoscale::AutoscaleSpec,
    services::{ServiceSpec, Slow},
};
use workloads::balance::{Balancer, Per};

use super::{
    calls::{CallOrName, call},
    client::criticality_of_all,
    costs::CostChanges,
    fields::{Fields, join},
    keys::{Table, count, first_of, flag, free, keys_of, names, number, table, time},
    plan::{Tree, TreeService},
    platform::{PlatformKeys, platform},
    policy::policy,
    problem::Problems,
    raw::{Entry, Node, Value},
    stage::{EmulatedKeys, PoolKeys, emulated, stage},
};

pub(super) const BALANCERS: &[(&str, Balancer)] = &[
    ("round-robin", Balancer::RoundRobin),
    ("random", Balancer::Random),
    ("least-loaded", Balancer::LeastLoaded),
    ("utilization", Balancer::Utilization),
];

table! {
    /// Keys of a target that is several services.
    pub(super) struct TreeKeys as "Tree" {
        services = free::<BTreeMap<String, ServiceKeys>>().shared().example("{back: {service: 10ms}}"), "Services by name, callers before the services that they call";
        platform = free::<PlatformKeys>().shared().example("{nodes: 8, applications: {back: {sentries: front}}}"), "Cataclysm's control plane adds and removes tasks";
        entry = free::<serde_json::Value>().otherwise("the first").shared(), "The service that users ask, or one by class: `{0: proxy, 1: back}`";
    }

    /// One service of `app: tree` ([several services](#several-services)); what is not given is as in `target`.
    pub(super) struct ServiceKeys as "Service" for ServiceSpec {
        emulated = keys_of::<EmulatedKeys>("");
        tasks: u32 = count(1..=1000).or(1), "Number of equal tasks";
        balancer: Balancer = first_of(BALANCERS), "Which task gets a request. Least loaded: the task with the fewest requests that this sender waits for. Utilization: [weighted round robin](#balancing-by-utilization) by what tasks report on their answers, for `per: request`. Live there is no balancer process: the sender chooses. A user whose request goes to another task than the one before closes its connection and opens another; callers keep connections to all tasks";
        per: Per = first_of(&[("request", Per::Request), ("connection", Per::Connection)]), "What is balanced: each request (as by a proxy that costs nothing), or each connection";
        slow = free::<SlowKeys>(), "The first tasks are slower than the others";
        subset: u32 = count(1..=1_000_000).or(0).otherwise("all").example("30"), "Tasks of this service that each task which calls it sends to, as dealt out by deterministic subsetting (chapter 20): every task then has as many callers as another. Users together send to all";
        cap: u32 = count(1..=1_000_000).or(0).otherwise("none").example("20"), "Most requests in flight at a task, for `per: request`: if all tasks are at it, the balancer refuses at once (`concurrency`; the row `service/balancer`). Each sender counts its own: users together, and each task that calls. Live, the users' balancer is in the generator: its refusals are counted as read and refused by the service, no task reads them, and a user that would begin again at once waits 1 ms";
        autoscale = free::<AutoscaleKeys>().example("{max: 10, start: 60s}"), "An autoscaler starts and drains tasks, in virtual time alone. [Tasks that come and go](#tasks-that-come-and-go)";
        calls = free::<Vec<CallOrName>>(), "Calls to services below for each request, after the service's own work, while its worker waits: names, or tables";
        fan_out: bool = flag().or(false), "Make all calls at once instead of one after the other";
        costs = free::<CostChanges>(), "As `virtual.costs`, for this service. Live as well: they occupy one of the emulated servers, before its work or in between (longer on a slow task), `accept` before a connection's first request is read, and come on top of the real costs. `police_batch`, `police_threshold`, `idle`, `connection`, `request`, `memory` and `restart` are for virtual time alone; `lab check` says so";
        cpu_allotment: Option<f64> = number(0.01..=64.0), "Number of processors. Live, policies see the CPU time of the task's process as a share of them, in place of the emulated servers' share. In virtual time there is no process: policies see the emulated servers' share, and `lab check` says so";
        pool = keys_of::<PoolKeys>("").otherwise("as in `target`");
        criticality = free::<String>().example("SHEDDABLE"), "Importance of requests for this service's policies and in its own calls, whatever they stated";
        ..ServiceSpec::default()
    }

    /// The first tasks of a service, slower than the others.
    pub(super) struct SlowKeys as "Slow" {
        tasks = free::<u32>().otherwise(1), "How many tasks are slow, at most all";
        speed: f64 = number(0.001..=1000.0).or(0.2), "Their speed, relative to the others";
    }
}

/// Reads `services` and `entry`.
pub fn tree(fields: &Fields<'_>, otherwise: &StageSpec) -> Option<Tree> {
    let problems = fields.problems();
    let node = fields.wanted("services", "{front: {service: 1ms, calls: [back]}, back: {service: 10ms}}")?;
    let Value::Table(entries) = &node.value else {
        let hint = "write {front: {service: 1ms, calls: [back]}}";
        return fields.wrong("services", "expected a table of services", hint);
    };
    let names: Vec<&str> = entries.iter().map(|entry| entry.key.as_str()).collect();
    let mut services = Vec::new();
    for (number, Entry { key, place, node }) in entries.iter().enumerate() {
        let path = join("target.services", key);
        if key.is_empty() || !key.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_') {
            problems.add(place, &path, "is not a valid service name", "letters, digits, - and _");
        }
        let Some(inner) = Fields::of_table::<ServiceKeys>(node, &path, problems) else { continue };
        services.extend(one(&inner, key, &names[number + 1..], otherwise));
    }
    if services.len() < entries.len() || services.is_empty() {
        return None;
    }
    let platform = platform(fields, &mut services);
    if let (Some(_), Some(of)) = (&platform, services.iter().find(|service| service.autoscale.is_some())) {
        let message = format!("{} has an autoscaler: two would add and take away tasks", of.name);
        fields.problem("platform", message, "leave one of them out");
    }
    let entries = entry(fields, &names)?;
    let applications = || platform.iter().flat_map(|platform| &platform.applications);
    for (_, asked) in &entries {
        if let Some(application) = applications().find(|application| application.servers == *asked) {
            let message = format!("users who ask {asked} do not hear of its tasks");
            fields.problem("entry", message, format!("let them ask its sentries: {}", application.sentries));
        }
    }
    Some(Tree { entries, services, platform })
}

fn one(fields: &Fields<'_>, name: &str, after: &[&str], otherwise: &StageSpec) -> Option<TreeService> {
    let mut spec = ServiceSpec { name: name.to_owned(), ..ServiceKeys::read(fields) };
    spec.slow = fields.fields("slow", &names::<SlowKeys>()).map(|slow| Slow {
        tasks: slow.count("tasks", 0..=u64::from(spec.tasks)).map_or(1, |n| n as u32),
        speed: SlowKeys::read(&slow).speed,
    });
    if let Some((message, hint)) = deaf(spec.balancer, spec.per) {
        fields.problem("balancer", message, hint);
    }
    autoscale(fields, &mut spec);
    spec.calls = fields.list("calls").iter().filter_map(|node| call(node, fields, after)).collect();
    let criticality = criticality_of_all(fields, "criticality");
    Some(TreeService {
        spec,
        emulated: emulated(fields, 0)?,
        stage: StageSpec { criticality, ..stage(fields, otherwise) },
        costs: fields.table::<CostChanges>("costs").unwrap_or_default(),
    })
}

/// Reason for which such a balancer hears no reports, and what to write.
pub(super) fn deaf(balancer: Balancer, per: Per) -> Option<(&'static str, &'static str)> {
    let why = "whoever chooses for a connection sees no answer, and answers report the utilization";
    (balancer.hears_reports() && per == Per::Connection).then_some((why, "write per: request"))
}

/// `front`, or by class `{0: proxy, 1: back}`; without it, the first service.
fn entry(fields: &Fields<'_>, names: &[&str]) -> Option<Vec<(Option<Class>, String)>> {
    let known = |name: &str, node: &Node| {
        let known = names.contains(&name);
        if !known {
            let message = format!("there is no service called {name:?}");
            fields.problems().add(&node.place, &fields.path("entry"), message, suggestion(name, names));
        }
        known.then(|| name.to_owned())
    };
    match fields.node("entry") {
        None => Some(vec![(None, (*names.first()?).to_owned())]),
        Some(node) => match &node.value {
            Value::Text(name) => Some(vec![(None, known(name, node)?)]),
            Value::Table(entries) => {
                let one = |Entry { key, node, .. }: &Entry| match (key.parse(), &node.value) {
                    (Ok(class), Value::Text(name)) => Some((Some(Class(class)), known(name, node)?)),
                    _ => fields.wrong("entry", "expected classes with services", "write {0: proxy, 1: back}"),
                };
                entries.iter().map(one).collect()
            }
            other => fields.wrong("entry", other.unexpected(), "write front, or {0: proxy, 1: back}"),
        },
    }
}

/// Reads `services` of an arm: `{back: {utilization: {cpu: true}}}`.
pub fn policies(node: &Node, path: &str, tree: Option<&Tree>, problems: &Problems) -> BTreeMap<String, PolicySpec> {
    let mut found = BTreeMap::new();
    let Value::Table(entries) = &node.value else {
        problems.add(&node.place, path, node.value.unexpected(), "write {back: utilization}");
        return found;
    };
    let known: Vec<&str> = tree.iter().flat_map(|tree| &tree.services).map(|service| service.name.as_str()).collect();
    for Entry { key, place, node } in entries {
        if !known.contains(&key.as_str()) {
            problems.add(place, &join(path, key), "there is no such service", suggestion(key, &known));
        }
        if let Some(policy) = policy(node, &join(path, key), problems) {
            found.insert(key.clone(), policy);
        }
    }
    found
}

const TIMES: RangeInclusive<Duration> = Duration::ZERO..=Duration::from_secs(86_400);
const PERIODS: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(3600);

table! {
    /// Kubernetes' law ([tasks that come and go](#tasks-that-come-and-go)) on the mean CPU use of tasks: wanted are
    /// `tasks x use / utilization` of them, rounded up. Defaults are those of Kubernetes.
    pub(super) struct AutoscaleKeys as "Autoscale" {
        max: Option<u32> = count(2..=1000).wanted("10"), "Most tasks; `tasks` is their number at the start";
        min: u32 = count(1..=1000).or(1), "Fewest tasks";
        utilization: f64 = number(0.01..=1.0).or(0.8).example("0.7"), "CPU use to aim at, as a share of a task's servers";
        tolerance: f64 = number(0.0..=1.0).or(0.1), "Relative deviation from it that changes nothing";
        period: Duration = time(PERIODS).or(Duration::from_secs(15)), "Time between two looks";
        down: Duration = time(TIMES).or(Duration::from_secs(300)).example("60s"), "Their number goes down to the highest that was wanted within this time";
        start: Option<Duration> = time(TIMES).wanted("60s"), "Time from the decision until a new task takes requests";
    }
}

/// Reads `autoscale`; the service has the largest number of tasks then.
pub(super) fn autoscale(fields: &Fields<'_>, service: &mut ServiceSpec) {
    let Some(keys) = fields.table::<AutoscaleKeys>("autoscale") else { return };
    let AutoscaleKeys { max, min, utilization, tolerance, period, down, start } = keys;
    if service.per != Per::Request {
        fields.problem("per", "whoever stays connected to a task hears of no others", "per: request");
    }
    if service.subset > 0 {
        fields.problem("subset", "belongs to services whose tasks stay the same", "leave it out, or autoscale");
    }
    let (Some(max), Some(start)) = (max, start) else { return };
    let first = service.tasks.max(min);
    if first > max {
        fields.problem("tasks", format!("{first} tasks to begin with are more than max: {max}"), "at most max");
    }
    service.tasks = max;
    service.autoscale = Some(AutoscaleSpec { min, first, utilization, tolerance, period, down, start });
}
