//! The platform of a target that is several services: who adds and takes away their tasks.

use std::{collections::BTreeMap, ops::RangeInclusive, time::Duration};

use analysis::text::suggestion;
use spec::platform::{ApplicationSpec, PlatformSpec, SlaTierSpec};
use workloads::balance::Per;

use super::{
    fields::{Fields, join},
    keys::{Table, count, free, number, table, time},
    plan::TreeService,
    rate::per_second,
    raw::{Entry, Node, Value},
};

const TIMES: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(86_400);
const MINUTES: fn(u64) -> Duration = |minutes| Duration::from_secs(60 * minutes);

table! {
    /// Cataclysm's control plane ([tasks that come and go](#tasks-that-come-and-go)): nodes of one pool are the servers
    /// and sentries of applications, or free.
    pub(super) struct PlatformKeys as "Platform" for PlatformSpec {
        nodes: u32 = count(2..=100).filled().required(), "Size of the pool. Each service of an application may have a task on each node; a node is one task at a time";
        applications = free::<BTreeMap<String, ApplicationKeys>>().required(), "Applications, by the service that is their servers";
        period: Duration = time(TIMES).or(MINUTES(30)), "Time between two predictive invocations, which partition all servers anew";
        drop_share: f64 = number(0.001..=0.999).or(0.5).example("0.3"), "Share of refused requests above which an application gets servers at once";
        drop_window: Duration = time(TIMES).or(MINUTES(5)), "The window over which that share is computed; observations are kept in fifths of it";
        step: u32 = count(1..=100).or(1).example("2"), "Δ: the most servers added at once";
        apart: Duration = time(TIMES).or(MINUTES(5)), "δ: the shortest time between two such invocations";
        trend_limit: f64 = number(1.0..=100.0).or(2.0).example("3"), "A prediction is at most the present rate times this, and at least the present rate divided by it";
        high_cpu: f64 = number(0.001..=1.0).or(0.8).example("0.7"), "CPU share of a sentry above which it gets another one beside it";
        high_for: Duration = time(TIMES).or(Duration::from_secs(30)), "How long the CPU share must be above `high_cpu`";
        low_cpu: f64 = number(0.0..=1.0).or(0.2).example("0.1"), "CPU share below which a sentry is released, unless it is the last one";
        low_for: Duration = time(TIMES).or(MINUTES(5)).example("120s"), "How long the CPU share must be below `low_cpu`";
        ..PlatformSpec::default()
    }

    /// One application: its sentries and their servers.
    pub(super) struct ApplicationKeys as "Application" {
        sentries = free::<String>().required(), "The service of its sentries; it calls the servers";
        min_servers: u32 = count(1..=100).or(1), "Servers that it always has; it starts with these and one sentry";
        revenue = free::<Vec<f64>>().otherwise("[1]").example("[5, 2, 1]"), "What an admitted request earns, by class, the most important class first";
        sla = free::<Vec<SlaTierKeys>>().otherwise("1 s below 1000/s, 2 s below 10000/s, then 3 s").example("[{below: 100/s, response: 500ms}, {response: 1s}]"), "The contracted response times by arrival rate";
    }

    /// One tier of the contract.
    pub(super) struct SlaTierKeys as "SlaTier" {
        below = free::<String>().otherwise("any rate"), "The arrival rate at which the next tier begins";
        response: Option<Duration> = time(Duration::from_millis(1)..=Duration::from_secs(3600)).required(), "The response time of admitted requests";
    }
}

/// Reads `platform`; its services have a task for each node then.
pub(super) fn platform(fields: &Fields<'_>, services: &mut [TreeService]) -> Option<PlatformSpec> {
    let node = fields.node("platform")?;
    let inner = Fields::of_table::<PlatformKeys>(node, &fields.path("platform"), fields.problems())?;
    let keys = PlatformKeys::read(&inner);
    if inner.wanted("nodes", "11").is_none() || keys.nodes == 0 {
        return None;
    }
    let Some(Value::Table(entries)) = inner.node("applications").map(|node| &node.value) else {
        inner.missing("applications", "{back: {sentries: front, min_servers: 3}}");
        return None;
    };
    let one = |Entry { key, node, .. }: &Entry| {
        application(node, &join(&inner.path("applications"), key), key, &inner, services)
    };
    // All of them are read before a wrong one ends it: a person sees every problem at once.
    let applications: Vec<_> = entries.iter().map(one).collect();
    let applications: Vec<ApplicationSpec> = applications.into_iter().collect::<Option<_>>()?;
    unheard_of(&inner, &applications, services);
    for service in services.iter_mut() {
        let is_part = |of: &ApplicationSpec| [&of.sentries, &of.servers].contains(&&service.name);
        if applications.iter().any(is_part) {
            service.spec.tasks = keys.nodes;
        }
    }
    let spec = PlatformSpec { applications, ..keys };
    if let Err(error) = spec.check() {
        // The other keys have the names of the settings.
        let key = match error.place {
            "sentries" => "low_cpu",
            "revenue" | "sla" | "min_servers" => "applications",
            place => place,
        };
        return inner.wrong(key, error.requirement, "see `platform` in docs/experiments.md");
    }
    Some(spec)
}

/// Notes who calls a service of an application and would not hear of its tasks: all but the sentries of those servers.
fn unheard_of(fields: &Fields<'_>, applications: &[ApplicationSpec], services: &[TreeService]) {
    for ApplicationSpec { sentries, servers, .. } in applications {
        for service in services.iter().filter(|service| service.name != *sentries) {
            for call in service.calls.iter().filter(|call| [sentries, servers].contains(&&call.to)) {
                let message =
                    format!("{} calls {}, and only users and sentries hear of its tasks", service.name, call.to);
                fields.problem(
                    "applications",
                    message,
                    format!("let users ask {sentries}, and it alone call {servers}"),
                );
            }
        }
    }
}

fn application(
    node: &Node,
    path: &str,
    servers: &str,
    of: &Fields<'_>,
    services: &[TreeService],
) -> Option<ApplicationSpec> {
    let problems = of.problems();
    let fields = Fields::of_table::<ApplicationKeys>(node, path, problems)?;
    let keys = ApplicationKeys::read(&fields);
    let names: Vec<&str> = services.iter().map(|service| service.name.as_str()).collect();
    fields.wanted("sentries", "front")?;
    let sentries = fields.text("sentries")?;
    for name in [servers, &sentries] {
        if !names.contains(&name) {
            let message = format!("there is no service called {name:?}");
            return problems.wrong(&node.place, path, message, suggestion(name, &names));
        }
    }
    let guards = services.iter().find(|service| service.name == sentries)?;
    if !guards.calls.iter().any(|call| call.to == servers) {
        return fields.wrong("sentries", format!("{sentries} does not call {servers}"), format!("calls: [{servers}]"));
    }
    for service in services.iter().filter(|service| [servers, &sentries].contains(&service.name.as_str())) {
        if service.per != Per::Request {
            problems.add(&node.place, path, format!("{} balances connections", service.name), "per: request");
        }
    }
    Some(ApplicationSpec {
        sentries,
        servers: servers.to_owned(),
        min_servers: keys.min_servers,
        revenue: revenue(&fields)?,
        sla: sla(&fields, path)?,
    })
}

fn revenue(fields: &Fields<'_>) -> Option<Vec<f64>> {
    if fields.node("revenue").is_none() {
        return Some(vec![1.0]);
    }
    let number = |node: &Node| if let Value::Number(number) = node.value { Some(number) } else { None };
    let revenue: Option<Vec<f64>> = fields.list("revenue").iter().map(number).collect();
    if revenue.is_none() {
        fields.problem("revenue", "expected numbers", "write [5, 2, 1]");
    }
    revenue
}

fn sla(fields: &Fields<'_>, path: &str) -> Option<Vec<SlaTierSpec>> {
    if fields.node("sla").is_none() {
        // Table 1 of the paper.
        let tier = |below_per_s, secs| SlaTierSpec { below_per_s, response: Duration::from_secs(secs) };
        return Some(vec![tier(Some(1000.0), 1), tier(Some(10_000.0), 2), tier(None, 3)]);
    }
    let tier = |node: &Node| {
        let tier = Fields::of_table::<SlaTierKeys>(node, &join(path, "sla"), fields.problems())?;
        let response = SlaTierKeys::read(&tier).response;
        tier.wanted("response", "1s");
        let below_per_s = per_second(&tier, "below", 0.0..=f64::MAX, "write 1000/s");
        if below_per_s.is_none() && tier.node("below").is_some() {
            return None;
        }
        Some(SlaTierSpec { below_per_s, response: response? })
    };
    fields.list("sla").iter().map(tier).collect()
}
