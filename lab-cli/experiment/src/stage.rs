//! Stages and emulated servers: of a target, and of each service of a tree.

use std::{ops::RangeInclusive, time::Duration};

use controllers::catalogue::parse_time;
use target_app::{
    spec::{Discipline, EmulatedSpec, OnRefuse, ServiceTime, StageSpec},
    synthetic::Law,
};

use super::{
    client::by_class,
    fields::{Fields, join},
    raw::{Node, Value},
    refusal::refusal,
};

const SERVICE: RangeInclusive<Duration> = Duration::from_micros(1)..=Duration::from_secs(60);
/// Most values of an empirical law.
const MOST_VALUES: usize = 10_000;

/// Emulated servers, of a target or of one of its services.
pub fn emulated(fields: &Fields<'_>, answer_bytes: u32) -> Option<EmulatedSpec> {
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

/// Queue, pool and batch of a stage.
pub fn stage(fields: &Fields<'_>, otherwise: &StageSpec) -> StageSpec {
    StageSpec {
        queue: fields.count("queue", 1..=1_000_000).map_or(otherwise.queue, |n| n as u32),
        workers: fields.count("workers", 1..=1024).map_or(otherwise.workers, |n| n as u32),
        batch: fields.count("batch", 1..=10_000).map_or(otherwise.batch, |n| n as u32),
        drop_abandoned: fields.flag("drop_abandoned").unwrap_or(otherwise.drop_abandoned),
        drop_expired: otherwise.drop_expired,
        on_refuse: on_refuse(fields).unwrap_or_else(|| otherwise.on_refuse.clone()),
        criticality: otherwise.criticality,
    }
}

fn on_refuse(fields: &Fields<'_>) -> Option<OnRefuse> {
    let refusal = refusal(fields.node("on_refuse")?);
    refusal.map_err(|(message, hint)| fields.problem("on_refuse", message, hint)).ok()
}
