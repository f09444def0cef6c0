//! A policy in a plan.

use serde::{Deserialize, Serialize};

use super::{Catalogue, Setting, Settings};
use crate::{Place, entry::SCOPE};

/// A policy or machine by its catalogue name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "Written")]
pub struct PolicySpec {
    /// Name in the catalogue.
    pub name: String,
    /// The place of its sites; `None`: the entry's default.
    pub place: Option<Place>,
    /// Its settings, unchecked.
    pub settings: Settings,
}

/// A policy as files and ports have it: the place may be among the settings, by its scope.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    name: String,
    #[serde(default)]
    place: Option<Place>,
    #[serde(default)]
    settings: Settings,
}

impl From<Written> for PolicySpec {
    fn from(Written { name, place, settings }: Written) -> Self {
        let written = Self::written(name, settings);
        Self { place: written.place.or(place), ..written }
    }
}

impl PolicySpec {
    /// A policy whose settings, as people write them, may name its place by the key `scope`. What is no scope stays among
    /// the settings, where [`Catalogue::check`] refuses it.
    #[must_use]
    pub fn written(name: impl Into<String>, mut settings: Settings) -> Self {
        let place = match settings.get(SCOPE) {
            Some(Setting::Text(scope)) => Place::ALL.into_iter().find(|place| place.scope() == scope),
            _ => None,
        };
        place.and_then(|_| settings.remove(SCOPE));
        Self { name: name.into(), place, settings }
    }

    /// True if the policy works at accept: it leaves connections to the kernel, so that overflows of the kernel's queue
    /// are its effect.
    #[must_use]
    pub fn works_at_accept(&self, catalogue: &Catalogue) -> bool {
        let place = self.place.or_else(|| Some(catalogue.find(&self.name)?.places[0]));
        place == Some(Place::Accept)
    }

    /// True if it holds requests at this place until a worker is free. False for what cannot be made.
    #[must_use]
    pub fn counts_workers(&self, catalogue: &Catalogue, place: Place) -> bool {
        let made =
            catalogue.find(&self.name).and_then(|entry| catalogue.check(entry, Some(place), &self.settings).ok());
        made.is_some_and(|made| made.counts_workers(place))
    }
}
