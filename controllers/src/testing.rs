//! Support for tests of policies, here and in other crates (feature `testing`): a bench for one machine, a small
//! closed-loop plant in virtual time, and an operation model with the invariants of every policy.

mod bench;
pub mod model;
pub mod plant;
#[cfg(test)]
mod tests;

use std::time::Duration;

use crate::{
    Catalogue, Entry, Machine, Objective, Place, Policy, Settings, Site, SiteId,
    entry::{EntryKind, Factory, Setting, Source},
};

pub use bench::MachineBench;

/// Settings from pairs.
pub fn settings<'a>(pairs: impl IntoIterator<Item = (&'a str, Setting)>) -> Settings {
    pairs.into_iter().map(|(key, setting)| (key.to_owned(), setting)).collect()
}

/// An entry that is in no catalogue: a policy or machine of the test's own, for any place.
#[must_use]
pub const fn entry(kind: EntryKind) -> Entry {
    Entry {
        name: "test",
        about: "",
        caution: "",
        source: Source { title: "", place: "" },
        deviations: &[],
        places: &Place::ALL,
        presets: &[],
        samples: &[],
        roles: &[],
        kind,
    }
}

/// A site named `stage` with an objective of `target` for the 90th percentile of response times.
#[must_use]
pub fn site(place: Place, target: Duration) -> Site {
    let objective = Objective { percentile: 90.0, response_time: target };
    Site { id: SiteId(1), name: "stage".to_owned(), place, objective }
}

/// Creates a policy of the catalogue by any name that [`Catalogue::resolve`] accepts.
///
/// # Panics
/// On unknown names, wrong settings, and entries that are not policies.
#[must_use]
pub fn policy(name: &str, settings: &Settings, target: Duration) -> Box<dyn Policy> {
    let (factory, site) = factory_and_site(name, settings, target);
    factory.policy(&site).unwrap_or_else(|| panic!("{name} is no policy"))
}

/// Creates a policy or machine of the catalogue as a machine.
///
/// # Panics
/// On unknown names and wrong settings.
#[must_use]
pub fn machine(name: &str, settings: &Settings, target: Duration) -> Box<dyn Machine> {
    let (factory, site) = factory_and_site(name, settings, target);
    match factory.policy(&site) {
        Some(policy) => policy,
        None => factory.machine(&site).unwrap_or_else(|| panic!("{name} is neither policy nor machine")),
    }
}

fn factory_and_site(name: &str, settings: &Settings, target: Duration) -> (Factory, Site) {
    let catalogue = Catalogue::built_in();
    let (entry, settings) = catalogue.resolve(name, settings).unwrap_or_else(|problem| panic!("{problem}"));
    let factory =
        catalogue.check(entry, None, &settings).unwrap_or_else(|problems| panic!("{}: {problems:?}", entry.name));
    (factory, site(entry.places[0], target))
}

/// Typed parameters from valid settings.
#[cfg(test)]
pub(crate) fn params<P: crate::entry::Parameters>(settings: &Settings) -> P {
    crate::entry::ParamReader::read_all(settings).unwrap_or_else(|problems| panic!("{problems:?}"))
}
