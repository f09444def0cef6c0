//! A policy in a plan.

use serde::{Deserialize, Serialize};

use super::{Catalogue, Settings};
use crate::Place;

/// A policy or machine by its catalogue name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicySpec {
    /// Name in the catalogue.
    pub name: String,
    /// The place of its sites; `None`: the entry's default.
    #[serde(default)]
    pub place: Option<Place>,
    /// Its settings, unchecked.
    #[serde(default)]
    pub settings: Settings,
}

impl PolicySpec {
    /// True if the policy works at accept: it leaves connections to the kernel, so that overflows of the kernel's queue
    /// are its effect.
    #[must_use]
    pub fn works_at_accept(&self, catalogue: &Catalogue) -> bool {
        let place = self.place.or_else(|| catalogue.find(&self.name)?.place(&self.settings).ok());
        place == Some(Place::Accept)
    }
}
