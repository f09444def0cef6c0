//! `lab policies`: the catalogue, in an order for people: what to try first, then by what a policy goes by.

use std::fmt::Write;

use controllers::{
    Entry, Settings,
    catalogue::{ParamRow, Preset, SHELVES, name_hint},
};
use installed::catalogue;
use serde::Serialize;

use super::stdout::print_as;
use crate::{
    args,
    exit::{CommandResult, Failure},
};

pub fn policies(args: &args::PoliciesArgs) -> CommandResult {
    let entries: Vec<(&Entry, Option<&Preset>)> = match &args.name {
        None => catalogue().entries().map(|entry| (entry, None)).collect(),
        Some(name) => vec![find(name)?],
    };
    let shown: Vec<Shown> = entries.iter().map(|(entry, preset)| Shown::of(entry, *preset)).collect();
    print_as(args.output, &shown, || match args.name {
        None => list(),
        Some(_) => entries.iter().map(|(entry, preset)| whole(entry, *preset)).collect(),
    })
}

/// The policy of that name, or that of a preset, with the preset.
fn find(name: &str) -> Result<(&'static Entry, Option<&'static Preset>), Failure> {
    let names: Vec<&str> = catalogue().bounds().map(|(entry, _)| entry.name).chain(catalogue().names()).collect();
    let unknown = |_| Failure::usage(format!("there is no policy called {name:?}; {}", name_hint(name, &names)));
    if let Some((bound, _)) = catalogue().bounds().find(|(entry, _)| entry.name == name) {
        return Ok((bound, None));
    }
    let (entry, settings) = catalogue().resolve(name, &Settings::new()).map_err(unknown)?;
    Ok((entry, entry.preset(&settings).map_err(unknown)?))
}

/// One entry, for scripts.
#[derive(Debug, Serialize)]
struct Shown {
    name: &'static str,
    decides: bool,
    /// It knows what no policy can know, in virtual time alone.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    bound: bool,
    about: &'static str,
    caution: &'static str,
    source: String,
    deviations: &'static [&'static str],
    scopes: Vec<&'static str>,
    /// Keys of a composition that take it.
    parts: Vec<&'static str>,
    presets: Vec<ShownPreset>,
    parameters: Vec<ParamRow>,
}

#[derive(Debug, Serialize)]
struct ShownPreset {
    name: &'static str,
    about: &'static str,
    parameters: Vec<ParamRow>,
}

impl Shown {
    /// `chosen`: whose defaults the parameters have.
    fn of(entry: &Entry, chosen: Option<&Preset>) -> Self {
        let preset = |preset: &Preset| ShownPreset {
            name: preset.name,
            about: preset.about,
            parameters: entry.rows(Some(preset)),
        };
        Self {
            name: entry.name,
            decides: entry.is_policy(),
            bound: entry.bound().is_some(),
            about: entry.about,
            caution: entry.caution,
            source: format!("{}, {}", entry.source.title, entry.source.place),
            deviations: entry.deviations,
            scopes: entry.places.iter().map(|place| place.scope()).collect(),
            parts: entry.roles.iter().map(|role| role.key()).collect(),
            presets: entry.presets.iter().map(preset).collect(),
            parameters: entry.rows(chosen),
        }
    }
}

const MACHINES: &str = "Machines (target.machines)";
const BOUNDS: &str = "Bounds (arms of an experiment in virtual time)";

/// The part of the list where an entry is.
fn title_of(entry: &Entry) -> &'static str {
    match entry.bound() {
        Some(_) => BOUNDS,
        None if entry.is_policy() => {
            SHELVES.iter().find(|shelf| shelf.names.contains(&entry.name)).map_or(OWN, |shelf| shelf.title)
        }
        None => MACHINES,
    }
}

fn list() -> String {
    let entries = catalogue().entries();
    let width = entries.clone().map(|entry| entry.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    let _ = writeln!(text, "Policies (arms of an experiment)");
    for title in SHELVES.iter().map(|shelf| shelf.title).chain([OWN, MACHINES, BOUNDS]) {
        let mut of_kind: Vec<_> = entries.clone().filter(|entry| title_of(entry) == title).collect();
        if of_kind.is_empty() {
            continue;
        }
        let place =
            |entry: &&Entry| SHELVES.iter().find_map(|shelf| shelf.names.iter().position(|name| *name == entry.name));
        of_kind.sort_by_key(place);
        let head = if [MACHINES, BOUNDS].contains(&title) { title.to_owned() } else { format!(" {title}") };
        let _ = writeln!(text, "{head}");
        for entry in of_kind {
            let _ = writeln!(text, "  {:width$}  {}", entry.name, entry.about);
        }
    }
    let _ = writeln!(text, "Parts of a composition (compose: {{limit: …, select: …, queue: …}})");
    for key in ["limit", "select", "queue"] {
        let plays = |entry: &&Entry| entry.roles.iter().any(|role| role.key() == key);
        let names: Vec<&str> = entries.clone().filter(plays).map(|entry| entry.name).collect();
        let _ = writeln!(text, "  {key:width$}  {}", names.join(", "));
    }
    text.push_str("lab policies NAME shows parameters, source and cautions.\n");
    text
}

fn whole(entry: &Entry, chosen: Option<&Preset>) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "{}: {}", entry.name, entry.about);
    let _ = writeln!(text, "Source: {}, {}", entry.source.title, entry.source.place);
    let scopes: Vec<&str> = entry.places.iter().map(|place| place.scope()).collect();
    let _ = writeln!(text, "Scope:  {} (the first unless `scope` says otherwise)", scopes.join(", "));
    for role in entry.roles {
        let _ = writeln!(text, "Part:   {} of a composition: {}", role.key(), role.about());
    }
    if !entry.caution.is_empty() {
        let _ = writeln!(text, "Mind:   {}", entry.caution);
    }
    for deviation in entry.deviations {
        let _ = writeln!(text, "Differs: {deviation}");
    }
    for preset in entry.presets {
        let _ = writeln!(text, "Preset {}: {}", preset.name, preset.about);
    }
    let rows = entry.rows(chosen);
    if rows.is_empty() {
        text.push_str("It has no parameters.\n");
        return text;
    }
    let name = rows.iter().map(|row| row.name.len()).max().unwrap_or(0);
    let default = rows.iter().map(|row| row.default.chars().count() + row.unit.chars().count() + 1).max().unwrap_or(0);
    let of = chosen.map_or_else(String::new, |preset| format!(" of {}", preset.name));
    let _ = writeln!(text, "Parameters (name, default{of}, range)");
    for row in rows {
        let value = if row.unit.is_empty() { row.default.clone() } else { format!("{} {}", row.default, row.unit) };
        let _ = writeln!(text, "  {:name$}  {value:default$}  {}", row.name, row.range);
        let _ = writeln!(text, "  {:name$}  {}", "", row.about);
        let _ = writeln!(text, "  {:name$}  [{}]", "", row.source);
    }
    text
}

/// Policies that are worth a try before any service.
pub const FIRST: [&str; 3] = ["headway", "concurrency", "gradient2"];

/// Head of those that are on no shelf.
const OWN: &str = "Your own";

#[cfg(test)]
mod tests {
    use controllers::Catalogue;

    use super::*;

    #[test]
    fn every_policy_of_the_catalogue_is_on_one_shelf() {
        let of_catalogue: Vec<&str> =
            Catalogue::built_in().entries().filter(|entry| entry.is_policy()).map(|entry| entry.name).collect();
        for name in &of_catalogue {
            let shelves = SHELVES.iter().filter(|shelf| shelf.names.contains(name)).count();
            assert_eq!(shelves, 1, "{name}");
        }
        let placed = SHELVES.iter().flat_map(|shelf| shelf.names).chain(&FIRST);
        placed.for_each(|name| assert!(of_catalogue.contains(name), "{name}"));
    }
}
