//! The parts that settings name, and what cannot go together.

use super::shares::SharesParams;
use crate::{
    Entry, Place,
    entry::{CompositionRole, Factory, Param, ParamKind, ParamReader, Parameters, Problem, SCOPE, Setting, Settings},
};

/// The name of the entry.
pub(super) const NAME: &str = "compose";

/// A part that was checked.
#[derive(Debug, Clone)]
pub(super) struct Read {
    pub(super) entry: &'static Entry,
    pub(super) factory: Factory,
}

/// The parts that were named.
#[derive(Debug, Clone)]
pub(super) struct Parts {
    pub(super) limit: Option<Read>,
    pub(super) select: Option<Read>,
    pub(super) queue: Option<Read>,
    pub(super) shares: SharesParams,
}

/// The keys of parts, with their meanings.
const KEYS: [(&str, &[CompositionRole], &str); 3] = [
    (
        "limit",
        &[CompositionRole::Limit, CompositionRole::Inflow],
        "the owner of the number of jobs inside: a policy's name, or {name: {settings}}",
    ),
    ("select", &[CompositionRole::Select], "the selector of who is refused: a policy's name, or {name: {settings}}"),
    ("queue", &[CompositionRole::Queue], "the discipline of who is next: a policy's name, or {name: {settings}}"),
];

/// Reads the parts. If there is no problem, the result has every part that is named.
pub(super) fn parts(reader: &mut ParamReader<'_>) -> Parts {
    for (name, _, about) in KEYS {
        reader.declare(Param {
            name,
            about,
            kind: ParamKind::Part,
            unit: "",
            range: "a policy with this role".to_owned(),
            bounds: None,
            default: Err("none"),
            source: "the lab's own",
        });
    }
    let shares = SharesParams::read(reader);
    let unknown = reader.unknown_keys();
    reader.compose(Vec::new(), unknown);
    let mut problems = Vec::new();
    let [limit, select, queue] = KEYS.map(|(key, roles, _)| {
        let setting = reader.setting(key)?;
        let part = part(reader, key, setting, &mut problems)?;
        problems.extend(misfit(reader, key, roles, &part));
        Some(part)
    });
    let parts = Parts { limit, select, queue, shares };
    problems.extend(parts.clashes());
    if reader.setting("limit").is_none() && !parts.shares.is_empty() {
        problems.push(Problem::new("shares", "there is no limit that they could be of: name one, as limit: gradient2"));
    }
    if parts.limit.is_some() && parts.queue.is_some() {
        reader.make_room();
    }
    reader.compose(parts.all().map(|(_, part)| part.factory.clone()).collect(), problems);
    parts
}

/// The part that a setting names.
fn part(reader: &ParamReader<'_>, key: &str, setting: &Setting, problems: &mut Vec<Problem>) -> Option<Read> {
    let none = Settings::new();
    let (name, settings) = match setting {
        Setting::Text(name) => (name, &none),
        Setting::Map(map) if map.len() == 1 => match map.first_key_value()? {
            (name, Setting::Map(settings)) => (name, settings),
            (name, Setting::Text(nothing)) if nothing.is_empty() => (name, &none),
            (name, other) => {
                let message = format!("expected settings of {name}, got {other}: {{{name}: {{key: value}}}}");
                problems.push(Problem::new(key, message));
                return None;
            }
        },
        Setting::Map(map) if map.len() > 1 => {
            let names: Vec<&str> = map.keys().map(String::as_str).collect();
            problems.push(Problem::new(key, format!("expected one policy, got {}: {}", map.len(), names.join(", "))));
            return None;
        }
        other => {
            let message = format!("expected a policy, got {other}: gradient2, or {{gradient2: {{limit_max: 500}}}}");
            problems.push(Problem::new(key, message));
            return None;
        }
    };
    let (entry, settings) = match reader.known().entry(name, settings) {
        Ok(found) => found,
        Err(problem) => {
            problems.push(Problem::new(key, format!("{name}: {}", problem.message)));
            return None;
        }
    };
    if settings.contains_key(SCOPE) {
        let message = "a part sits where the composition sits: write scope beside limit, select and queue";
        problems.push(Problem::new(format!("{key}.{name}.scope"), message));
        return None;
    }
    // A place that the part does not support is a problem of its own, with the reason.
    let place = Some(reader.place()).filter(|place| entry.places.contains(place));
    match entry.check_among(place, &settings, reader.known()) {
        Ok(factory) => Some(Read { entry, factory }),
        Err(wrong) => {
            let nested = |wrong: Problem| Problem { key: format!("{key}.{name}.{}", wrong.key), ..wrong };
            problems.extend(wrong.into_iter().map(nested));
            None
        }
    }
}

/// Why this part cannot be what the key says.
fn misfit(reader: &ParamReader<'_>, key: &str, roles: &[CompositionRole], part: &Read) -> Option<Problem> {
    let name = part.entry.name;
    if !part.entry.roles.iter().any(|role| roles.contains(role)) {
        let other = reader.setting("limit").filter(|_| key != "limit");
        let message = match (part.entry.roles, other) {
            _ if part.entry.bound().is_some() => {
                format!("{name} knows what no policy can know: it is an arm, and no part")
            }
            _ if !part.entry.is_policy() => format!("{name} decides about no job: put it under machines"),
            ([CompositionRole::Limit | CompositionRole::Inflow], Some(_)) => format!(
                "{name} owns what comes in, and so does the limit: two owners take each other's refusals for their own signal"
            ),
            ([], _) if name == NAME => "a composition has no parts that are compositions".to_owned(),
            ([], _) => format!("{name} has no role in a composition: use it by itself (see lab policies)"),
            ([role, ..], _) => format!("{name} {}: write {}: {name}", role.about(), role.key()),
        };
        return Some(Problem::new(key, message));
    }
    let place = reader.place();
    if part.entry.places.contains(&place) {
        return None;
    }
    let scopes: Vec<&str> = part.entry.places.iter().map(|place| place.scope()).collect();
    let scopes = scopes.join(", ");
    let message = if key == "queue" && place == Place::Client {
        format!("there is no queue at scope {} that {name} could keep; its scope may be: {scopes}", place.scope())
    } else {
        format!("{name} cannot sit at scope {}; its scope may be: {scopes}", place.scope())
    };
    Some(Problem::new(key, message))
}

impl Parts {
    /// The named parts by their keys.
    fn all(&self) -> impl Iterator<Item = (&'static str, &Read)> {
        let all = [("limit", &self.limit), ("select", &self.select), ("queue", &self.queue)];
        all.into_iter().filter_map(|(key, part)| Some((key, part.as_ref()?)))
    }

    /// Problems of parts that are valid alone but not together.
    fn clashes(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        if let (Some(limit), Some(queue)) = (&self.limit, &self.queue)
            && !limit.entry.roles.contains(&CompositionRole::Limit)
            && limit.entry.roles.contains(&CompositionRole::Inflow)
        {
            let (limit, queue) = (limit.entry.name, queue.entry.name);
            let message = format!(
                "{limit} bounds what comes in, and {queue} lets jobs in as others end: before a queue only a limit of the jobs inside can stand (aimd, concurrency, gradient2, vegas)"
            );
            problems.push(Problem::new("limit", message));
        }
        problems.extend(self.unfit_shares().map(|message| Problem::new("shares", message)));
        let all: Vec<_> = self.all().collect();
        for (at, (key, part)) in all.iter().enumerate() {
            for sampling in part.entry.samples {
                let differs = |other: &&(&str, &Read)| {
                    other.1.entry.samples.iter().any(|o| o.what == sampling.what && o.period != sampling.period)
                };
                if let Some((_, other)) = all[..at].iter().find(differs) {
                    let (name, other) = (part.entry.name, other.entry.name);
                    let message = format!("{name} and {other} need the same load samples at different times");
                    problems.push(Problem::new(*key, message));
                }
            }
        }
        problems
    }

    /// Reason why the limit cannot be divided so.
    fn unfit_shares(&self) -> Option<String> {
        let is_limit = |limit: &&Read| limit.entry.roles.contains(&CompositionRole::Limit);
        let (inflow, queue) = (self.limit.as_ref().filter(|limit| !is_limit(limit)), &self.queue);
        match (self.shares.is_empty(), inflow, queue) {
            (true, ..) => None,
            (_, Some(Read { entry, .. }), _) => Some(format!(
                "a share is of the number inside, which {} does not own: take aimd, concurrency, gradient2 or vegas for the limit",
                entry.name
            )),
            (_, _, Some(Read { entry, .. })) => Some(format!(
                "behind a limit with shares nobody waits, and {} makes them wait: before a queue shares are the weights of \
                 fair-queue, queue: {{fair-queue: {{by: class, weights: {{1: 4}}}}}}",
                entry.name
            )),
            _ => self.shares.wrong(),
        }
    }
}
