//! An entry of the catalogue: one policy or machine with its name, source, places, parameters and constructor.

use crate::{Machine, Place, Policy};

mod bound;
mod declaration;
mod factory;
mod param;
mod param_row;
mod param_types;
mod preset;
mod role;
mod setting;
mod time;

pub use crate::policy::{SampleKind, Sampling};
pub use bound::{Bound, CostBound, ValueSearch};
pub use declaration::{Make, Param, ParamDeclaration};
pub use factory::Factory;
pub use param::{EntryLookup, ParamReader, Parameters};
pub use param_row::ParamRow;
pub use param_types::ParamKind;
pub use preset::{Given, Preset};
pub use role::CompositionRole;
pub use setting::{Problem, Setting, Settings, name_hint, nearest};
pub use time::{parse_time, shown_time};

pub(crate) use param::params;
pub use param_types::{
    CLASS_TIMES, Choice, Count, Flag, Number, OptionalTime, ParamTable, ParamType, STAGE_TIMES, Time, choice,
    class_numbers, count, customer_numbers, flag, ms, number, s, time, time_or, us,
};

/// The publication of an algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Source {
    /// Short title and year.
    pub title: &'static str,
    /// Section, figure or file.
    pub place: &'static str,
}

/// One policy, machine or bound of the catalogue.
#[derive(Debug)]
pub struct Entry {
    /// The name used in files and flags.
    pub name: &'static str,
    /// A description of one line.
    pub about: &'static str,
    /// The conditions under which it fails.
    pub caution: &'static str,
    /// The publication that it implements.
    pub source: Source,
    /// Differences between this code and the source, one sentence each.
    pub deviations: &'static [&'static str],
    /// The places where it can be installed; the first is the default.
    pub places: &'static [Place],
    /// Named sets of defaults, selected by the key `preset`; the first has the declared defaults. Empty: the declared
    /// ones only.
    pub presets: &'static [Preset],
    /// The load samples that it needs.
    pub samples: &'static [Sampling],
    /// The roles that the entry can have in a composition; empty: it cannot be a part of one.
    pub roles: &'static [CompositionRole],
    /// Its kind, with the function that reads its parameters.
    pub kind: EntryKind,
}

/// The kind of an entry. The function reads the parameters, and returns a constructor for sites.
#[derive(Debug, Clone, Copy)]
pub enum EntryKind {
    /// A policy that decides on arrivals at once.
    Policy(fn(&mut ParamReader<'_>) -> Make<dyn Policy>),
    /// A queue discipline: a policy that holds every job, and releases jobs as workers become free.
    Discipline(fn(&mut ParamReader<'_>) -> Make<dyn Policy>),
    /// A machine that only resizes or signals.
    Machine(fn(&mut ParamReader<'_>) -> Make<dyn Machine>),
    /// An arm that knows what no policy can know, for runs in virtual time alone.
    Bound(Bound),
}

use factory::Makes;

/// A catalogue without entries.
#[derive(Debug)]
struct Nothing;

impl EntryLookup for Nothing {
    fn entry(&self, name: &str, _: &Settings) -> Result<(&'static Entry, Settings), Problem> {
        Err(Problem::new(name, "parts of a composition are looked up in a catalogue: check it with Catalogue::check"))
    }
}

/// Keys of every entry that are not parameters.
pub(crate) const OF_EVERY_ENTRY: [&str; 2] = ["preset", "scope"];

impl Entry {
    /// Checks settings against the parameters: every problem at once. Every entry has the keys `preset` and `scope`: a
    /// preset sets defaults, which the other keys override; a scope selects the place.
    ///
    /// # Errors
    /// Unknown keys (with a suggestion), wrong types, values out of range, presets and places that do not exist; a
    /// composition, whose parts only a catalogue knows ([`crate::Catalogue::check`]).
    pub fn check(&self, settings: &Settings) -> Result<Factory, Vec<Problem>> {
        self.check_among(settings, &Nothing)
    }

    /// The same, for an entry whose settings may name other entries, which `known` looks up.
    ///
    /// # Errors
    /// As [`Entry::check`].
    pub fn check_among(&self, settings: &Settings, known: &dyn EntryLookup) -> Result<Factory, Vec<Problem>> {
        let mut problems = Vec::new();
        let preset = self.preset(settings).map_err(|problem| problems.push(problem)).ok().flatten();
        let place = self.place(settings).unwrap_or_else(|problem| {
            problems.push(problem);
            self.places[0]
        });
        let mut merged = preset.map(Preset::settings).unwrap_or_default();
        let written = settings.iter().filter(|(key, _)| !OF_EVERY_ENTRY.contains(&key.as_str()));
        merged.extend(written.map(|(key, setting)| (key.clone(), setting.clone())));
        let mut reader = ParamReader::new(&merged, problems, known, place);
        let make = self.read(&mut reader);
        let ParamReader { params, problems, parts, .. } = reader;
        if !problems.is_empty() {
            return Err(problems);
        }
        let keeps_queue = self.keeps_queue() || parts.iter().any(Factory::keeps_queue);
        Ok(Factory { settings: merged, params, make, parts, keeps_queue })
    }

    /// The parameters.
    #[must_use]
    pub fn params(&self) -> Vec<Param> {
        let settings = Settings::new();
        let mut reader = ParamReader::new(&settings, Vec::new(), &Nothing, self.places[0]);
        self.read(&mut reader);
        reader.params
    }

    fn read(&self, reader: &mut ParamReader<'_>) -> Makes {
        match self.kind {
            EntryKind::Policy(make) | EntryKind::Discipline(make) => Makes::Policies(make(reader)),
            EntryKind::Machine(make) => Makes::Machines(make(reader)),
            EntryKind::Bound(Bound::Costs(costs)) => Makes::Policies((costs.make)(reader)),
            EntryKind::Bound(Bound::Means) => Makes::Nothing,
            EntryKind::Bound(Bound::BestValue(search)) => {
                search.declare(reader);
                Makes::Nothing
            }
        }
    }

    /// The place that the key `scope` selects, or the entry's first place.
    ///
    /// # Errors
    /// A scope that does not exist, or that the entry does not support.
    pub fn place(&self, settings: &Settings) -> Result<Place, Problem> {
        let Some(setting) = settings.get("scope") else { return Ok(self.places[0]) };
        let found = match setting {
            Setting::Text(word) => self.places.iter().find(|place| place.scope() == word),
            _ => None,
        };
        found.copied().ok_or_else(|| {
            let scopes: Vec<_> = self.places.iter().map(|place| place.scope()).collect();
            let message = format!("{setting} cannot be the scope of {}; it may be: {}", self.name, scopes.join(", "));
            Problem::new("scope", message)
        })
    }

    /// The preset that the key `preset` selects; `None`: the key is absent.
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
                names => format!("{setting} is not a preset of {}; there are: {}", self.name, names.join(", ")),
            };
            Problem::new("preset", message)
        })
    }

    /// True for a queue discipline.
    #[must_use]
    pub fn keeps_queue(&self) -> bool {
        matches!(self.kind, EntryKind::Discipline(_))
    }

    /// True for a policy or a queue discipline, false for a machine, and for a bound, which no live host can have.
    #[must_use]
    pub fn is_policy(&self) -> bool {
        matches!(self.kind, EntryKind::Policy(_) | EntryKind::Discipline(_))
    }
}
