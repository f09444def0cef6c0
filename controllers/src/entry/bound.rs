//! Entries that know what no policy can know: arms that policies are compared with, in virtual time alone.

use super::{Entry, EntryKind, Make, Param, ParamDeclaration, ParamKind, ParamReader, count};
use crate::Policy;

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

/// The source of a search's parameters.
const OWN: &str = "the lab's choice";

impl ValueSearch {
    /// Declares the search's own parameters. Settings beside them are those of the policy.
    pub(super) fn declare(&self, reader: &mut ParamReader<'_>) {
        reader.declare(Param {
            name: "of",
            about: "the policy whose value is looked for",
            kind: ParamKind::Part,
            unit: "",
            range: format!("a policy with the parameter {}", self.parameter),
            bounds: None,
            default: Ok(self.of.into()),
            source: OWN,
        });
        let most = ParamDeclaration {
            kind: count(1..=65_536, self.most),
            about: "the highest value that is tried",
            source: OWN,
        };
        reader.take("most", most);
    }
}

impl Entry {
    /// What it knows beforehand; `None`: it is a policy or machine.
    #[must_use]
    pub fn bound(&self) -> Option<&Bound> {
        match &self.kind {
            EntryKind::Bound(bound) => Some(bound),
            EntryKind::Policy(_) | EntryKind::Discipline(_) | EntryKind::Machine(_) => None,
        }
    }
}
