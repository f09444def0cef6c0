//! `lab policies`: the catalogue.

use std::fmt::Write;

use analysis::text::suggestion;
use controllers::{
    Catalogue, Entry, Settings,
    catalogue::{ParamRow, Preset},
};
use serde::Serialize;

use super::print_as;
use crate::{
    args,
    exit::{CommandResult, Failure},
};

pub fn policies(args: &args::PoliciesArgs) -> CommandResult {
    let entries: Vec<(&Entry, Option<&Preset>)> = match &args.name {
        None => Catalogue::entries().iter().map(|entry| (entry, None)).collect(),
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
    let unknown =
        |_| Failure::usage(format!("there is no policy called {name:?}; {}", suggestion(name, &Catalogue::names())));
    let (entry, settings) = Catalogue::resolve(name, &Settings::new()).map_err(unknown)?;
    Ok((entry, entry.preset(&settings).map_err(unknown)?))
}

/// One entry, for scripts.
#[derive(Debug, Serialize)]
struct Shown {
    name: &'static str,
    decides: bool,
    about: &'static str,
    caution: &'static str,
    source: String,
    deviations: &'static [&'static str],
    scopes: Vec<&'static str>,
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
            about: entry.about,
            caution: entry.caution,
            source: format!("{}, {}", entry.source.title, entry.source.place),
            deviations: entry.deviations,
            scopes: entry.places.iter().map(|place| place.scope()).collect(),
            presets: entry.presets.iter().map(preset).collect(),
            parameters: entry.rows(chosen),
        }
    }
}

fn list() -> String {
    let entries = Catalogue::entries();
    let width = entries.iter().map(|entry| entry.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (title, deciding) in [("Policies (arms of an experiment)", true), ("Machines (target.machines)", false)] {
        let of_kind: Vec<_> = entries.iter().filter(|entry| entry.is_policy() == deciding).collect();
        if of_kind.is_empty() {
            continue;
        }
        let _ = writeln!(text, "{title}");
        for entry in of_kind {
            let _ = writeln!(text, "  {:width$}  {}", entry.name, entry.about);
        }
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
