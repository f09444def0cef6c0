//! The one list of policies and machines: names, parameters with unit, default and range, sources, and where each may sit.

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{Machine, Policy, Site};

mod entries;
mod param;

pub use param::{Param, ParamKind, Values, parse_time};

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
    /// Which: `cpu`, `memory`, `stage`.
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
    /// Checks settings against the parameters: every problem at once.
    ///
    /// # Errors
    /// Unknown keys (with a suggestion), wrong types, values out of range.
    pub fn check(&self, settings: &Settings) -> Result<Values, Vec<Problem>> {
        Values::check(self.params, settings)
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
}
