//! The one list of policies and machines: names, parameters with unit, default and range, sources, and where each may sit.

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{Machine, Policy, Site, modern::DISCIPLINES};

mod entries;
mod param;
mod policy_spec;
mod preset;
mod row;
#[cfg(test)]
mod tests;

pub use param::{Param, ParamKind, TimesBy, Values, parse_time};
pub use policy_spec::PolicySpec;
pub use preset::{Given, Preset};
pub use row::Row;

pub(crate) use param::joined;
use param::{nearest, shown};

/// Settings as a person wrote them, before they are checked: the shape of a YAML or JSON mapping.
pub type Settings = BTreeMap<String, Setting>;

/// One value as it was written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Setting {
    /// `true`, `false`.
    Flag(bool),
    /// `12`, `0.7`.
    Number(f64),
    /// `20ms`, `per-stage`.
    Text(String),
    /// `{list messages: 5s}`.
    Map(Settings),
}

impl From<bool> for Setting {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

impl From<f64> for Setting {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<u32> for Setting {
    fn from(number: u32) -> Self {
        Self::Number(number.into())
    }
}

impl From<&str> for Setting {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

/// What is wrong with a setting, and the way out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {message}")]
pub struct Problem {
    /// The setting, dotted: `targets.search`.
    pub key: String,
    /// What is wrong, and what would be right.
    pub message: String,
}

/// Where a policy may sit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// At accept: a connection, of which only the address is known.
    Accept,
    /// One seat for the whole service, at dispatch; jobs end when they leave the service.
    Single,
    /// A seat at the entry of each stage.
    Stage,
    /// On the sender's side.
    Client,
    /// In a proxy before a service.
    Proxy,
}

impl Place {
    /// Every place.
    pub const ALL: [Self; 5] = [Self::Accept, Self::Single, Self::Stage, Self::Client, Self::Proxy];

    /// The word for it as a `scope` in files.
    #[must_use]
    pub const fn scope(self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::Single => "single",
            Self::Stage => "per-stage",
            Self::Client => "client",
            Self::Proxy => "proxy",
        }
    }
}

/// Where an idea was published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Source {
    /// Short title and year.
    pub title: &'static str,
    /// Section, figure or file.
    pub place: &'static str,
}

/// A load sample that a machine needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sampling {
    /// Which: `cpu`, `memory`, `stage`, `ready`.
    pub what: SampleKind,
    /// How often.
    pub period: Duration,
}

/// Kinds of load samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SampleKind {
    /// [`crate::LoadSample::Cpu`].
    Cpu,
    /// [`crate::LoadSample::Memory`].
    Memory,
    /// [`crate::LoadSample::Stage`].
    Stage,
    /// [`crate::LoadSample::Ready`].
    Ready,
}

/// One policy or machine of the catalogue.
#[derive(Debug)]
pub struct Entry {
    /// The name used in files and flags.
    pub name: &'static str,
    /// One line.
    pub about: &'static str,
    /// When not to use it.
    pub caution: &'static str,
    /// Where it comes from.
    pub source: Source,
    /// Where this code differs from the source, one sentence each.
    pub deviations: &'static [&'static str],
    /// Where it may sit; the first is the default.
    pub places: &'static [Place],
    /// Its parameters.
    pub params: &'static [Param],
    /// Named sets of defaults, chosen by the key `preset`; the first is what `params` declares. Empty: there is but one.
    pub presets: &'static [Preset],
    /// What is wrong between values that are each allowed.
    pub clashes: fn(&Values) -> Vec<Problem>,
    /// Load samples that it needs.
    pub samples: &'static [Sampling],
    /// Makes one.
    pub make: Make,
}

/// How an entry is made from checked values.
#[derive(Debug, Clone, Copy)]
pub enum Make {
    /// Decides on arrivals.
    Policy(fn(&Values, &Site) -> Box<dyn Policy>),
    /// Only resizes or signals.
    Machine(fn(&Values, &Site) -> Box<dyn Machine>),
}

impl Entry {
    /// Checks settings against the parameters: every problem at once. The keys `preset` and `scope` are understood for
    /// every entry: a preset sets defaults, which the other keys override; a scope chooses the place.
    ///
    /// # Errors
    /// Unknown keys (with a suggestion), wrong types, values out of range, presets and places that do not exist.
    pub fn check(&self, settings: &Settings) -> Result<Values, Vec<Problem>> {
        let mut problems = Vec::new();
        let preset = self.preset(settings).map_err(|problem| problems.push(problem)).ok().flatten();
        if let Err(problem) = self.place(settings) {
            problems.push(problem);
        }
        let mut merged = preset.map(Preset::settings).unwrap_or_default();
        merged.extend(settings.iter().filter(|(key, _)| !OF_EVERY_ENTRY.contains(&key.as_str())).map(cloned));
        let values = Values::check(self.params, &merged).map_err(|more| problems.extend(more)).unwrap_or_default();
        if problems.is_empty() {
            problems.extend((self.clashes)(&values));
        }
        if problems.is_empty() { Ok(values) } else { Err(problems) }
    }

    /// The place that the key `scope` chooses, or the first of this entry's places.
    ///
    /// # Errors
    /// A scope that does not exist, or in which this entry may not sit.
    pub fn place(&self, settings: &Settings) -> Result<Place, Problem> {
        let Some(setting) = settings.get("scope") else { return Ok(self.places[0]) };
        let found = match setting {
            Setting::Text(word) => self.places.iter().find(|place| place.scope() == word),
            _ => None,
        };
        found.copied().ok_or_else(|| {
            let scopes: Vec<_> = self.places.iter().map(|place| place.scope()).collect();
            let message =
                format!("{} cannot be the scope of {}; it may be: {}", shown(setting), self.name, scopes.join(", "));
            Problem { key: "scope".to_owned(), message }
        })
    }

    /// The preset that the key `preset` chooses; `None` if none is named.
    ///
    /// # Errors
    /// A preset that does not exist.
    pub fn preset(&self, settings: &Settings) -> Result<Option<&'static Preset>, Problem> {
        let Some(setting) = settings.get("preset") else { return Ok(None) };
        let found = match setting {
            Setting::Text(word) => self.presets.iter().find(|preset| preset.name == word),
            _ => None,
        };
        found.map(Some).ok_or_else(|| {
            let names: Vec<_> = self.presets.iter().map(|preset| preset.name).collect();
            let message = match names.as_slice() {
                [] => format!("{} has no presets", self.name),
                names => format!("{} is no preset of {}; there are: {}", shown(setting), self.name, names.join(", ")),
            };
            Problem { key: "preset".to_owned(), message }
        })
    }

    /// True for a queue discipline: it holds every job, and lets in as there is room.
    #[must_use]
    pub fn keeps_queue(&self) -> bool {
        DISCIPLINES.contains(&self.name)
    }

    /// True if this entry decides on arrivals, false if it is a machine that only resizes or signals.
    #[must_use]
    pub fn is_policy(&self) -> bool {
        matches!(self.make, Make::Policy(_))
    }

    /// Builds the policy; `None` if this entry is a machine that decides nothing.
    #[must_use]
    pub fn policy(&self, values: &Values, site: &Site) -> Option<Box<dyn Policy>> {
        match self.make {
            Make::Policy(make) => Some(make(values, site)),
            Make::Machine(_) => None,
        }
    }

    /// Builds the machine; `None` if this entry is a policy.
    #[must_use]
    pub fn machine(&self, values: &Values, site: &Site) -> Option<Box<dyn Machine>> {
        match self.make {
            Make::Machine(make) => Some(make(values, site)),
            Make::Policy(_) => None,
        }
    }
}

/// For entries whose parameters do not depend on each other.
pub(crate) const NO_CLASHES: fn(&Values) -> Vec<Problem> = |_| Vec::new();

/// Keys that are no parameters, and that every entry understands.
const OF_EVERY_ENTRY: [&str; 2] = ["preset", "scope"];

fn cloned((key, setting): (&String, &Setting)) -> (String, Setting) {
    (key.clone(), setting.clone())
}

/// Looks up the list.
#[derive(Debug)]
pub struct Catalogue;

impl Catalogue {
    /// All entries, policies first.
    #[must_use]
    pub fn entries() -> &'static [Entry] {
        entries::ALL
    }

    /// The entry of that name.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Entry> {
        Self::entries().iter().find(|entry| entry.name == name)
    }

    /// The entry meant by a name as a person writes it: an entry's name, or a preset's name that only one entry has
    /// (`usits03-as-coded` means `seda: {preset: usits03-as-coded}`). The settings come back with that preset filled in.
    ///
    /// # Errors
    /// A name that means nothing (with a suggestion) or more than one thing.
    pub fn resolve(name: &str, settings: &Settings) -> Result<(&'static Entry, Settings), Problem> {
        if let Some(entry) = Self::find(name) {
            return Ok((entry, settings.clone()));
        }
        let of_preset = |entry: &&Entry| entry.presets.iter().any(|preset| preset.name == name);
        let owners: Vec<_> = Self::entries().iter().filter(of_preset).collect();
        let problem = |message| Problem { key: name.to_owned(), message };
        match owners.as_slice() {
            [entry] => {
                let mut settings = settings.clone();
                settings.entry("preset".to_owned()).or_insert_with(|| Setting::Text(name.to_owned()));
                Ok((entry, settings))
            }
            [] => Err(problem(match nearest(name, &Self::names()) {
                Some(near) => format!("there is no such policy; did you mean {near}?"),
                None => format!("there is no such policy; there are: {}", Self::names().join(", ")),
            })),
            [first, ..] => {
                Err(problem(format!("more than one policy has this preset: write {}: {{preset: {name}}}", first.name)))
            }
        }
    }

    /// Every name that [`Catalogue::resolve`] takes.
    #[must_use]
    pub fn names() -> Vec<&'static str> {
        let all = || Self::entries().iter().flat_map(|entry| entry.presets.iter().map(|preset| preset.name));
        let alone = |name: &&str| all().filter(|other| other == name).count() == 1 && Self::find(name).is_none();
        Self::entries().iter().map(|entry| entry.name).chain(all().filter(alone)).collect()
    }
}
