//! Flows: the jobs of one class, customer or user, among which a policy shares.

use crate::{Criticality, Tags};

/// Attribute by which jobs belong to a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FlowBy {
    Class,
    Customer,
    Criticality,
    Kind,
    User,
}

/// Jobs with one value of the attribute: a level of criticality is named, all others are numbered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FlowKey {
    Number(u64),
    Level(Criticality),
}

impl FlowBy {
    /// Flow of a job.
    pub(crate) fn flow(self, tags: &Tags) -> FlowKey {
        match self {
            Self::Class => FlowKey::Number(tags.class.0.into()),
            Self::Customer => FlowKey::Number(tags.customer.into()),
            Self::Criticality => FlowKey::Level(tags.criticality),
            Self::Kind => FlowKey::Number(tags.kind.0.into()),
            Self::User => FlowKey::Number(tags.user),
        }
    }

    /// Says of names that none of its flows can have what they should be.
    pub(crate) fn unknown<'a>(self, mut names: impl Iterator<Item = &'a FlowKey>) -> Option<String> {
        let (by, names_are) = match self {
            Self::Criticality => ("criticality", "levels: CRITICAL_PLUS, CRITICAL, SHEDDABLE_PLUS, SHEDDABLE"),
            Self::Class => ("class", "classes, 0 to 255"),
            Self::Customer => ("customer", "customers' numbers"),
            Self::Kind => ("kind", "types of requests, by their numbers"),
            Self::User => ("user", "users' numbers"),
        };
        let other = names.find(|name| matches!(name, FlowKey::Level(_)) != (self == Self::Criticality))?;
        Some(format!("{other}: by {by} the keys are {names_are}"))
    }
}

impl FlowKey {
    /// Reads the key of a table.
    pub(crate) fn named(text: &str) -> Option<Self> {
        Criticality::named(text).map(Self::Level).or_else(|| text.parse().ok().map(Self::Number))
    }
}

impl std::fmt::Display for FlowKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Level(level) => f.write_str(level.name()),
        }
    }
}
