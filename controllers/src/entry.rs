//! An entry of the catalogue: one policy or machine with its name, source, places, parameters and constructor.

use std::fmt;

use crate::{Machine, Place, Policy};

mod bound;
mod check;
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
pub use declaration::{Make, Param, ParamDeclaration};
pub use factory::Factory;
pub use param::Parameters;
pub use param_row::ParamRow;
pub use param_types::ParamKind;
pub use preset::{Given, Preset};
pub use role::CompositionRole;
pub use setting::{Problem, Setting, Settings, name_hint, nearest};
pub use time::{parse_time, shown_time};

pub(crate) use check::{OF_EVERY_ENTRY, SCOPE};
pub(crate) use param::params;
pub(crate) use param_types::flow_numbers;
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

/// What an entry knows beforehand.
#[derive(Debug, Clone, Copy)]
pub enum Bound {
    /// What each request will cost.
    Costs(CostBound),
    /// Which value of a policy's parameter serves most requests in time, on the seeds of the run.
    BestValue(ValueSearch),
    /// What requests cost in the mean, by class, and every arrival: no policy is run, and in an open loop alone the host computes
    /// the most that a policy which does not know single costs could serve in time.
    Means,
}

/// A policy at dispatch that is told of each request what it will cost, before the request is offered
/// ([`Seen::Foreseen`](crate::Seen::Foreseen)).
#[derive(Debug, Clone, Copy)]
pub struct CostBound {
    /// Reads the parameters, and returns a constructor for sites.
    pub make: fn(&mut ParamReader<'_>) -> Make<dyn Policy>,
    /// True if it knows every arrival as well. In an open loop, where arrivals do not depend on answers, no policy is
    /// run then: the host computes the most that any policy could serve in time.
    pub knows_arrivals: bool,
}

/// A search for the value of one parameter, which is a count: before the first arm it is tried on every seed of the run.
#[derive(Debug, Clone, Copy)]
pub struct ValueSearch {
    /// The policy with the parameter, unless the setting `of` names another that has it.
    pub of: &'static str,
    /// The parameter.
    pub parameter: &'static str,
    /// The highest value that is tried, unless the setting `most` gives another.
    pub most: u32,
}

/// Looks up entries that settings name.
pub trait EntryLookup: fmt::Debug {
    /// The entry of this name, or of a preset of this name, which is then among the settings.
    ///
    /// # Errors
    /// An unknown or ambiguous name.
    fn entry(&self, name: &str, settings: &Settings) -> Result<(&'static Entry, Settings), Problem>;
}

/// Reads settings, and collects the declared parameters and the problems.
#[derive(Debug)]
pub struct ParamReader<'a> {
    settings: &'a Settings,
    known: &'a dyn EntryLookup,
    place: Place,
    /// The parts of a composition.
    parts: Vec<Factory>,
    makes_room: bool,
    params: Vec<Param>,
    problems: Vec<Problem>,
}

impl Entry {
    /// The place that was asked for, if any, or the entry's first place.
    ///
    /// # Errors
    /// A place that the entry does not support.
    pub fn place(&self, asked: Option<Place>) -> Result<Place, Problem> {
        let Some(asked) = asked else { return Ok(self.places[0]) };
        if self.places.contains(&asked) { Ok(asked) } else { Err(self.no_scope(format_args!("{:?}", asked.scope()))) }
    }

    /// The problem of a scope that is not among the entry's.
    fn no_scope(&self, scope: impl fmt::Display) -> Problem {
        let scopes: Vec<_> = self.places.iter().map(|place| place.scope()).collect();
        let message = format!("{scope} cannot be the scope of {}; it may be: {}", self.name, scopes.join(", "));
        Problem::new("scope", message)
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

    /// What it knows beforehand; `None`: it is a policy or machine.
    #[must_use]
    pub fn bound(&self) -> Option<&Bound> {
        match &self.kind {
            EntryKind::Bound(bound) => Some(bound),
            EntryKind::Policy(_) | EntryKind::Discipline(_) | EntryKind::Machine(_) => None,
        }
    }
}
