//! The part of an experiment that says what is measured.

use std::{collections::BTreeMap, ops::RangeInclusive, time::Duration};

use analysis::text::suggestion;
use controllers::catalogue::parse_time;
use target_app::{
    spec::{
        ChecksumSpec, ClassRule, Discipline, Durability, EdgeSpec, EmulatedSpec, Health, OnRefuse, ServiceTime,
        StageSpec,
    },
    synthetic::Law,
};

use super::{
    arms,
    client::{by_class, criticality_by_class, criticality_of_all},
    fields::{Fields, count_in, join},
    plan::{App, Arashi, Mail, Target, Work},
    problem::Problems,
    raw::{Node, Value},
    refusal::refusal,
    users::rate,
};

/// Keys of `target`.
pub const KEYS: &[&str] = &[
    "app",
    "mail",
    "database",
    "capacity",
    "work",
    "connections",
    "session",
    "search",
    "durability",
    "stale",
    "rounds",
    "fixed_rounds",
    "reads",
    "answer",
    "service",
    "servers",
    "discipline",
    "degradable",
    "class_work",
    "services",
    "entry",
    "queue",
    "workers",
    "batch",
    "on_refuse",
    "drop_abandoned",
    "stages",
    "machines",
    "class",
    "criticality",
    "health",
    "backlog",
    "keep_alive",
    "idle_timeout",
    "connection_requests",
    "hosts",
];
/// Those of the web mail alone.
const ARASHI_KEYS: &[&str] =
    &["mail", "database", "capacity", "work", "connections", "session", "search", "durability", "stale"];
const CHECKSUM_KEYS: &[&str] = &["rounds", "fixed_rounds", "reads", "answer"];
const EMULATED_KEYS: &[&str] = &["answer", "service", "servers", "discipline", "degradable", "class_work"];
const TREE_KEYS: &[&str] = &["services", "entry"];
/// Keys of `target.mail`.
pub const MAIL_KEYS: &[&str] = &["folders", "seed", "accounts", "inbox"];
/// Keys of one of `target.stages`.
pub const STAGE_KEYS: &[&str] = &["queue", "workers", "batch", "on_refuse", "drop_abandoned", "criticality"];
/// Keys of `target.class`.
pub const CLASS_KEYS: &[&str] = &["header", "cookie", "address", "path"];

const IDLE: RangeInclusive<Duration> = Duration::from_millis(100)..=Duration::from_secs(3600);
const SERVICE: RangeInclusive<Duration> = Duration::from_micros(1)..=Duration::from_secs(60);
/// Most values of an empirical law.
const MOST_VALUES: usize = 10_000;

/// Reads `target`.
pub fn target(node: &Node, problems: &Problems) -> Option<Target> {
    let fields = Fields::of(node, "target", KEYS, problems)?;
    let stage_defaults = stage(&fields, &StageSpec::default());
    let app = app(&fields, &stage_defaults);
    let graph = app.as_ref().map(App::graph);
    let known: Option<Vec<&str>> = graph.as_ref().map(|graph| graph.sized().collect());
    let mut stages = BTreeMap::new();
    if let Some(Node { value: Value::Table(entries), .. }) = fields.node("stages") {
        for entry in entries {
            let path = join("target.stages", &entry.key);
            if let Some(known) = known.as_ref().filter(|known| !known.contains(&entry.key.as_str())) {
                problems.add(&entry.place, &path, "there is no such stage", suggestion(&entry.key, known));
            }
            if let Some(fields) = Fields::of(&entry.node, &path, STAGE_KEYS, problems) {
                let criticality = criticality_of_all(&fields);
                stages.insert(entry.key.clone(), StageSpec { criticality, ..stage(&fields, &stage_defaults) });
            }
        }
    } else if fields.node("stages").is_some() {
        fields.problem("stages", "a table is wanted here", "write {search: {workers: 1}}");
    }
    // All of them are read before a wrong app ends it: a person sees every problem at once.
    let reports = matches!(app, Some(App::Tree(_)));
    let machines = fields.list("machines").iter().filter_map(|node| arms::machine(node, reports, problems)).collect();
    let class = class(&fields);
    let criticality = criticality_by_class(&fields);
    let health = fields.choice("health", &[("outside", Health::Outside), ("inside", Health::Inside)]);
    let health = health.unwrap_or_default();
    let backlog = fields.count("backlog", 1..=65_535).map(|n| n as u32);
    let keep_alive = fields.flag("keep_alive").unwrap_or(true);
    let usual = EdgeSpec::default();
    let idle_timeout = fields.time("idle_timeout", IDLE).unwrap_or(usual.idle_timeout);
    let connection_requests =
        fields.count("connection_requests", 0..=1_000_000_000).map_or(usual.connection_requests, |n| n as u32);
    let hosts = hosts(&fields);
    Some(Target {
        app: app?,
        stage_defaults,
        stages,
        machines,
        class,
        criticality,
        health,
        backlog,
        keep_alive,
        idle_timeout,
        connection_requests,
        hosts,
    })
}

fn hosts(fields: &Fields<'_>) -> Vec<String> {
    let name = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "-.".contains(c));
    let mut hosts = Vec::new();
    for node in fields.list("hosts") {
        match &node.value {
            Value::Text(text) if name(text) => hosts.push(text.clone()),
            other => fields.problem("hosts", format!("not {}", other.shown()), "write [mail.example]"),
        }
    }
    hosts
}

fn app(fields: &Fields<'_>, stage_defaults: &StageSpec) -> Option<App> {
    #[derive(Clone, Copy)]
    enum Kind {
        Arashi,
        Checksum,
        Emulated,
        Tree,
    }
    let words =
        [("arashi", Kind::Arashi), ("checksum", Kind::Checksum), ("emulated", Kind::Emulated), ("tree", Kind::Tree)];
    if fields.node("app").is_none() {
        fields.missing("app", "arashi");
    }
    let kind = fields.choice("app", &words)?;
    // Keys of another app are slips, not silently ignored.
    let own: &[&str] = match kind {
        Kind::Arashi => ARASHI_KEYS,
        Kind::Checksum => CHECKSUM_KEYS,
        Kind::Emulated => EMULATED_KEYS,
        Kind::Tree => TREE_KEYS,
    };
    let all = [ARASHI_KEYS, CHECKSUM_KEYS, EMULATED_KEYS, TREE_KEYS].concat();
    for key in all.into_iter().collect::<std::collections::BTreeSet<_>>() {
        if !own.contains(&key) && fields.node(key).is_some() {
            fields.problem(key, "does not belong to this app", format!("it has: {}", own.join(", ")));
        }
    }
    Some(match kind {
        Kind::Arashi => App::Arashi(arashi(fields)),
        Kind::Checksum => App::Checksum(ChecksumSpec {
            rounds: fields.count("rounds", 1..=100_000).map_or(50, |n| n as u32),
            fixed_rounds: fields.count("fixed_rounds", 0..=100_000).map_or(0, |n| n as u32),
            reads: fields.count("reads", 1..=100_000).map_or(100, |n| n as u32),
            answer_bytes: answer_bytes(fields, 8192),
        }),
        Kind::Emulated => App::Emulated(emulated(fields, answer_bytes(fields, 1024))?),
        Kind::Tree => App::Tree(super::tree::tree(fields, stage_defaults)?),
    })
}

fn arashi(fields: &Fields<'_>) -> Arashi {
    let mail = fields.fields("mail", MAIL_KEYS);
    if let Some(mail) = &mail {
        mail.choice("folders", &[("generated", ())]);
    }
    fields.choice("database", &[("sqlite", ())]);
    let work = match (fields.node("capacity"), fields.number("work", 0.0..=1e6)) {
        (Some(_), Some(_)) => {
            fields.problem("work", "capacity and work are two ways to set one knob", "keep one of them");
            Work::Operations(0.0)
        }
        (Some(node), None) => match rate(node) {
            Some(super::plan::Rate::PerSecond(rate)) if (1.0..=100_000.0).contains(&rate) => Work::Capacity(rate),
            _ => {
                fields.problem("capacity", format!("not {}", node.value.shown()), "write 100/s, from 1/s to 100000/s");
                Work::Operations(0.0)
            }
        },
        (None, operations) => Work::Operations(operations.unwrap_or(0.0)),
    };
    Arashi {
        mail: Mail {
            seed: mail.as_ref().and_then(|mail| mail.count("seed", 0..=(1 << 53))).unwrap_or(7),
            accounts: mail.as_ref().and_then(|mail| mail.count("accounts", 1..=100_000)).map_or(100, |n| n as u32),
            inbox: mail.as_ref().and_then(|mail| mail.count("inbox", 1..=1_000_000)).map(|n| n as u32),
        },
        work,
        connections: fields.count("connections", 1..=256).map_or(4, |n| n as u32),
        session_in_links: fields.choice("session", &[("cookie", false), ("link", true)]).unwrap_or(false),
        full_text: fields.choice("search", &[("substring", false), ("full-text", true)]).unwrap_or(false),
        durability: fields
            .choice("durability", &[("normal", Durability::Normal), ("full", Durability::Full)])
            .unwrap_or_default(),
        stale: fields.time("stale", Duration::ZERO..=Duration::from_secs(86_400)).unwrap_or_default(),
    }
}

fn answer_bytes(fields: &Fields<'_>, otherwise: u32) -> u32 {
    fields.count("answer", 0..=1_000_000).map_or(otherwise, |n| n as u32)
}

/// Emulated servers, of a target or of one of its services.
pub(super) fn emulated(fields: &Fields<'_>, answer_bytes: u32) -> Option<EmulatedSpec> {
    // All of them are read before a law that makes no sense ends it.
    let service = service(fields);
    let words = [("fifo", Discipline::Fifo), ("processor-sharing", Discipline::ProcessorSharing)];
    let servers = fields.count("servers", 1..=1024).map_or(1, |n| n as u32);
    let discipline = fields.choice("discipline", &words).unwrap_or(Discipline::Fifo);
    let degradable = fields.number("degradable", 0.0..=1.0).unwrap_or(0.0);
    let class_work = by_class(fields, "class_work", "{2: 5}", times).into_iter().collect();
    Some(EmulatedSpec { service: service?, servers, discipline, answer_bytes, degradable, class_work })
}

/// How many times the usual work.
fn times(node: &Node) -> Result<f64, (String, String)> {
    match &node.value {
        Value::Number(times) if (0.001..=1000.0).contains(times) => Ok(*times),
        other => Err((format!("not {}", other.shown()), "a number between 0.001 and 1000".to_owned())),
    }
}

fn service(fields: &Fields<'_>) -> Option<ServiceTime> {
    let law = service_law(fields)?;
    Law::new(&law).map_err(|error| fields.problem("service", error.to_string(), "")).ok()?;
    Some(law)
}

fn service_law(fields: &Fields<'_>) -> Option<ServiceTime> {
    let example = "service: 10ms, or {exponential: 10ms}, {lognormal: {median: 10ms, sigma: 1}}, \
                   {pareto: {min: 5ms, alpha: 2}}, {uniform: {min: 5ms, max: 15ms}}, \
                   {bimodal: {short: 5ms, long: 100ms, long_share: 0.05}}, {empirical: [5ms, 7ms, 90ms]}";
    let Some(node) = fields.node("service") else {
        fields.missing("service", "10ms");
        return None;
    };
    match &node.value {
        Value::Text(text) => match parse_time(text).filter(|time| SERVICE.contains(time)) {
            Some(time) => Some(ServiceTime::Constant(time)),
            None => {
                fields.problem("service", format!("{text:?} is no service time"), example);
                None
            }
        },
        Value::Table(entries) if entries.len() == 1 => law(fields, &entries[0].key, &entries[0].node, example),
        other => {
            fields.problem("service", format!("not {}", other.shown()), example);
            None
        }
    }
}

fn law(fields: &Fields<'_>, name: &str, node: &Node, example: &str) -> Option<ServiceTime> {
    let path = join(&fields.path("service"), name);
    let of = |keys: &[&str]| Fields::of(node, &path, keys, fields.problems());
    match name {
        "exponential" => match &node.value {
            Value::Text(text) if parse_time(text).is_some_and(|time| SERVICE.contains(&time)) => {
                Some(ServiceTime::Exponential { mean: parse_time(text)? })
            }
            _ => Some(ServiceTime::Exponential { mean: of(&["mean"])?.time("mean", SERVICE)? }),
        },
        "lognormal" => {
            let inner = of(&["median", "sigma"])?;
            Some(ServiceTime::Lognormal {
                median: inner.time("median", SERVICE)?,
                sigma: inner.number("sigma", 0.0..=5.0)?,
            })
        }
        "pareto" => {
            let inner = of(&["min", "alpha"])?;
            Some(ServiceTime::Pareto { min: inner.time("min", SERVICE)?, alpha: inner.number("alpha", 1.01..=100.0)? })
        }
        "uniform" => {
            let inner = of(&["min", "max"])?;
            Some(ServiceTime::Uniform { min: inner.time("min", SERVICE)?, max: inner.time("max", SERVICE)? })
        }
        "bimodal" => {
            let inner = of(&["short", "long", "long_share"])?;
            Some(ServiceTime::Bimodal {
                short: inner.time("short", SERVICE)?,
                long: inner.time("long", SERVICE)?,
                long_share: inner.number("long_share", 0.0..=1.0)?,
            })
        }
        "empirical" => match &node.value {
            Value::List(nodes) if nodes.len() <= MOST_VALUES => {
                let one = |node: &Node| match &node.value {
                    Value::Text(text) => parse_time(text).filter(|time| SERVICE.contains(time)),
                    _ => None,
                };
                let times: Option<Vec<_>> = nodes.iter().map(one).collect();
                if times.is_none() {
                    fields.problem("service", "not all of these are service times", example);
                }
                times.map(ServiceTime::Empirical)
            }
            _ => {
                fields.problem("service", format!("a list of up to {MOST_VALUES} times is wanted here"), example);
                None
            }
        },
        _ => {
            fields.problem("service", format!("{name:?} is no law of service times"), example);
            None
        }
    }
}

pub(super) fn stage(fields: &Fields<'_>, otherwise: &StageSpec) -> StageSpec {
    StageSpec {
        queue: fields.count("queue", 1..=1_000_000).map_or(otherwise.queue, |n| n as u32),
        workers: fields.count("workers", 1..=1024).map_or(otherwise.workers, |n| n as u32),
        batch: fields.count("batch", 1..=10_000).map_or(otherwise.batch, |n| n as u32),
        drop_abandoned: fields.flag("drop_abandoned").unwrap_or(otherwise.drop_abandoned),
        on_refuse: on_refuse(fields).unwrap_or_else(|| otherwise.on_refuse.clone()),
        criticality: otherwise.criticality,
    }
}

fn on_refuse(fields: &Fields<'_>) -> Option<OnRefuse> {
    let refusal = refusal(fields.node("on_refuse")?);
    refusal.map_err(|(message, hint)| fields.problem("on_refuse", message, hint)).ok()
}

fn class(fields: &Fields<'_>) -> ClassRule {
    let Some(inner) = fields.fields("class", CLASS_KEYS) else { return ClassRule::None };
    let given: Vec<&str> = CLASS_KEYS.iter().copied().filter(|key| inner.node(key).is_some()).collect();
    let [key] = given[..] else {
        fields.problem("class", "one of header, cookie, address and path is wanted", "write {header: User-Class}");
        return ClassRule::None;
    };
    let rule = match key {
        "header" => inner.text(key).map(ClassRule::Header),
        "cookie" => inner.text(key).map(ClassRule::Cookie),
        "address" => classes_by(&inner, key).map(ClassRule::Address),
        _ => classes_by(&inner, key).map(ClassRule::Path),
    };
    let Some(rule) = rule else { return ClassRule::None };
    for bad in rule.read().err().unwrap_or_default() {
        inner.problem(key, bad.message, "");
    }
    rule
}

/// `{127.1.0.0/16: 1, 127.0.0.0/8: 0}`: the first that fits counts.
fn classes_by(fields: &Fields<'_>, key: &str) -> Option<Vec<(String, u8)>> {
    let example = if key == "path" { "{/search: 1, /: 0}" } else { "{127.1.0.0/16: 1, 127.0.0.0/8: 0}" };
    let Value::Table(entries) = &fields.node(key)?.value else {
        fields.problem(key, "a table of classes is wanted here", format!("write {example}"));
        return None;
    };
    let class = |node: &Node| count_in(node, 0..=255).ok().map(|class| class as u8);
    let rules: Option<Vec<_>> = entries.iter().map(|entry| Some((entry.key.clone(), class(&entry.node)?))).collect();
    if rules.is_none() {
        fields.problem(key, "a class is a whole number from 0 to 255", format!("write {example}"));
    }
    rules
}
