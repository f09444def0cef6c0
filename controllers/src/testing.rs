//! For tests of policies, here and in other crates (feature `testing`): a bench that feeds one machine by hand, a tiny
//! plant that closes the loop in virtual time, and one operation model with invariants that holds for every policy.

mod bench;
pub mod model;
pub mod plant;
#[cfg(test)]
mod tests;

use std::time::Duration;

use crate::{
    Entry, Machine, Objective, Policy, Settings, Site, SiteId,
    catalogue::{Catalogue, Place, Setting},
};

pub use bench::MachineBench;

/// Settings from pairs.
pub fn settings<'a>(pairs: impl IntoIterator<Item = (&'a str, Setting)>) -> Settings {
    pairs.into_iter().map(|(key, setting)| (key.to_owned(), setting)).collect()
}

/// A site named `stage` whose 90th percentile of response times shall stay under `target`.
#[must_use]
pub fn site(place: Place, target: Duration) -> Site {
    let objective = Objective { percentile: 90.0, response_time: target };
    Site { id: SiteId(1), name: "stage".to_owned(), place, objective }
}

/// Builds a policy of the catalogue by any name that [`Catalogue::resolve`] takes.
///
/// # Panics
/// On unknown names, wrong settings, and entries that are no policies.
#[must_use]
pub fn policy(name: &str, settings: &Settings, target: Duration) -> Box<dyn Policy> {
    let (entry, settings) = Catalogue::resolve(name, settings).unwrap_or_else(|problem| panic!("{problem}"));
    let (values, site) = values_and_site(entry, &settings, target);
    entry.policy(&values, &site).unwrap_or_else(|| panic!("{name} is no policy"))
}

/// Builds a policy or machine of the catalogue as a machine.
///
/// # Panics
/// On unknown names and wrong settings.
#[must_use]
pub fn machine(name: &str, settings: &Settings, target: Duration) -> Box<dyn Machine> {
    let (entry, settings) = Catalogue::resolve(name, settings).unwrap_or_else(|problem| panic!("{problem}"));
    let (values, site) = values_and_site(entry, &settings, target);
    match entry.policy(&values, &site) {
        Some(policy) => policy,
        None => entry.machine(&values, &site).unwrap_or_else(|| panic!("{name} is neither policy nor machine")),
    }
}

fn values_and_site(entry: &Entry, settings: &Settings, target: Duration) -> (crate::catalogue::Values, Site) {
    let values = entry.check(settings).unwrap_or_else(|problems| panic!("{}: {problems:?}", entry.name));
    (values, site(entry.places[0], target))
}
