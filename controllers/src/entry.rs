//! An entry of the catalogue: one policy or machine with its name, source, places, parameters and constructor.

use std::{fmt, time::Duration};

use crate::{Machine, Place, Policy, Site};

mod param;
mod param_row;
mod param_types;
mod preset;
mod setting;
mod time;

pub use param::{Make, Param, ParamReader, Parameters};
pub use param_row::ParamRow;
pub use param_types::ParamKind;
pub use preset::{Given, Preset};
pub use setting::{Problem, Setting, Settings};
pub use time::parse_time;

pub(crate) use param::{Declared, params};
pub(crate) use param_types::{
    CLASS_TIMES, Choice, Count, Flag, Number, ParamType, STAGE_TIMES, Table, Time, choice, count, customer_numbers,
    flag, ms, number, s, time, time_or, us,
};
pub(crate) use setting::nearest;

/// The publication of an algorithm.
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
    /// The kind of sample.
    pub what: SampleKind,
    /// The time between samples.
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
}

/// Checked settings of one entry: creates its policies or machines.
#[derive(Clone)]
pub struct Factory {
    settings: Settings,
    params: Vec<Param>,
    make: Makes,
}

#[derive(Clone)]
enum Makes {
    Policies(Make<dyn Policy>),
    Machines(Make<dyn Machine>),
}

impl fmt::Debug for Factory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Factory").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl Factory {
    /// Creates a policy for a site; `None`: the entry is a machine.
    #[must_use]
    pub fn policy(&self, site: &Site) -> Option<Box<dyn Policy>> {
        match &self.make {
            Makes::Policies(make) => Some(make(site)),
            Makes::Machines(_) => None,
        }
    }

    /// Creates a machine for a site; `None`: the entry is a policy.
    #[must_use]
    pub fn machine(&self, site: &Site) -> Option<Box<dyn Machine>> {
        match &self.make {
            Makes::Machines(make) => Some(make(site)),
            Makes::Policies(_) => None,
        }
    }

    /// A parameter's setting, or its default. `None`: no parameter has this name, or it has no default.
    #[must_use]
    pub fn setting(&self, name: &str) -> Option<&Setting> {
        let declared = || self.params.iter().find(|param| param.name == name)?.default.as_ref().ok();
        self.settings.get(name).or_else(declared)
    }

    /// The stages that settings name, each with its parameter. The host checks that they exist.
    pub fn stages(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let by_stage = self.params.iter().filter(|param| param.kind == ParamKind::StageTimes);
        by_stage.flat_map(|param| {
            let stages = match self.settings.get(param.name) {
                Some(Setting::Map(stages)) => Some(stages.keys()),
                _ => None,
            };
            stages.into_iter().flatten().map(|stage| (param.name, stage.as_str()))
        })
    }
}

/// Keys of every entry that are not parameters.
pub(crate) const OF_EVERY_ENTRY: [&str; 2] = ["preset", "scope"];

impl Entry {
    /// Checks settings against the parameters: every problem at once. Every entry has the keys `preset` and `scope`: a
    /// preset sets defaults, which the other keys override; a scope selects the place.
    ///
    /// # Errors
    /// Unknown keys (with a suggestion), wrong types, values out of range, presets and places that do not exist.
    pub fn check(&self, settings: &Settings) -> Result<Factory, Vec<Problem>> {
        let mut problems = Vec::new();
        let preset = self.preset(settings).map_err(|problem| problems.push(problem)).ok().flatten();
        if let Err(problem) = self.place(settings) {
            problems.push(problem);
        }
        let mut merged = preset.map(Preset::settings).unwrap_or_default();
        let written = settings.iter().filter(|(key, _)| !OF_EVERY_ENTRY.contains(&key.as_str()));
        merged.extend(written.map(|(key, setting)| (key.clone(), setting.clone())));
        let mut reader = ParamReader::new(&merged, problems);
        let make = self.read(&mut reader);
        let ParamReader { params, problems, .. } = reader;
        if problems.is_empty() { Ok(Factory { settings: merged, params, make }) } else { Err(problems) }
    }

    /// The parameters.
    #[must_use]
    pub fn params(&self) -> Vec<Param> {
        let settings = Settings::new();
        let mut reader = ParamReader::new(&settings, Vec::new());
        self.read(&mut reader);
        reader.params
    }

    fn read(&self, reader: &mut ParamReader<'_>) -> Makes {
        match self.kind {
            EntryKind::Policy(make) | EntryKind::Discipline(make) => Makes::Policies(make(reader)),
            EntryKind::Machine(make) => Makes::Machines(make(reader)),
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
                names => format!("{setting} is no preset of {}; there are: {}", self.name, names.join(", ")),
            };
            Problem::new("preset", message)
        })
    }

    /// True for a queue discipline.
    #[must_use]
    pub fn keeps_queue(&self) -> bool {
        matches!(self.kind, EntryKind::Discipline(_))
    }

    /// True for a policy or a queue discipline, false for a machine.
    #[must_use]
    pub fn is_policy(&self) -> bool {
        !matches!(self.kind, EntryKind::Machine(_))
    }
}
