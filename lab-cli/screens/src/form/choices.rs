//! Choices of a form: policies, machines and places, as the catalogue has them.

use std::collections::BTreeSet;

use analysis::live::Touch;
use controllers::{
    Entry, Place, Settings,
    catalogue::{EntryKind, PolicySpec},
};
use installed::catalogue;
use service_core::policies::Resolved;
use spec::wire::SetMachines;

/// The place of a policy unless a person says otherwise.
pub(super) const AS_USUAL: &str = "as usual";

/// Policies that can sit in a target, or with its users.
pub(super) fn policies() -> impl Iterator<Item = &'static Entry> {
    let has_place = |entry: &&Entry| entry.is_policy() && entry.places.iter().any(|place| *place != Place::Proxy);
    catalogue().entries().filter(has_place)
}

/// Machines that resize pools and batches, or watch a process.
pub(super) fn machines() -> impl Iterator<Item = &'static Entry> {
    catalogue()
        .entries()
        .filter(|entry| matches!(entry.kind, EntryKind::Machine(_)) && Resolved::live(&named(entry.name)).is_ok())
}

pub(super) fn named(name: &str) -> PolicySpec {
    PolicySpec { name: name.to_owned(), place: None, settings: Settings::new() }
}

/// The description of a place; empty for a stage or service.
pub(super) fn of_place(at: &str) -> &'static str {
    let all: [(&str, &str); 5] = [
        (AS_USUAL, "where it sits unless a file says otherwise"),
        ("accept", "the listener, and nowhere else"),
        ("single", "before the whole service, and nowhere else"),
        ("per-stage", "each stage by itself, and nowhere else"),
        ("client", "the users, before they send"),
    ];
    all.into_iter().find_map(|(name, about)| (name == at).then_some(about)).unwrap_or_default()
}

/// Places that are offered for a policy, the usual one first; of machines without an entry.
pub(super) fn offered(entry: Option<&Entry>, spots: &[String]) -> Vec<String> {
    let is_service = |spot: &&String| {
        spots.iter().any(|other| other.strip_prefix(spot.as_str()).is_some_and(|rest| rest.starts_with('/')))
    };
    let places: Vec<&str> = entry.iter().flat_map(|entry| entry.places).map(|place| place.scope()).collect();
    let client = Place::Client.scope();
    let mut offered = Vec::new();
    match spots.iter().find(is_service) {
        // Only of one target is it clear where the others are.
        Some(first) => {
            offered.extend((places.first() != Some(&client)).then(|| first.clone()));
            offered.extend(places.contains(&client).then(|| client.to_owned()));
            for spot in spots {
                offered.push(spot.clone());
                offered.extend((places.contains(&client) && is_service(&spot)).then(|| format!("{spot}/{client}")));
            }
        }
        None => {
            let elsewhere = places.iter().filter(|place| **place != Place::Proxy.scope());
            offered.push(AS_USUAL.to_owned());
            offered.extend(elsewhere.map(|&place| place.to_owned()));
            offered.extend(spots.iter().cloned());
        }
    }
    let mut seen = BTreeSet::new();
    offered.retain(|place| seen.insert(place.clone()));
    offered
}

pub(super) fn place(text: &str) -> Option<String> {
    (!text.is_empty() && text != AS_USUAL).then(|| text.to_owned())
}

/// The machines that are written, each as in a file.
pub(super) fn checked_machines(text: &str) -> Result<Vec<PolicySpec>, String> {
    let SetMachines { machines: written, .. } = serde_yaml::from_str(&format!("[{text}]"))
        .map_err(|_| "machines: names with commas between them, as in thread-pool, {batching: {max: 32}}".to_owned())?;
    for machine in &written {
        if catalogue().find(&machine.name).is_none_or(Entry::is_policy) {
            let known: Vec<&str> = machines().map(|entry| entry.name).collect();
            let near = analysis::text::suggestion(&machine.name, &known);
            return Err(format!("no machine is named {:?}; {near}", machine.name));
        }
        Resolved::live(machine).map_err(|unfit| unfit.to_string())?;
    }
    Ok(written)
}

pub(super) fn entry_of(policy: &PolicySpec) -> Option<&'static Entry> {
    catalogue().resolve(&policy.name, &policy.settings).ok().map(|(entry, _)| entry)
}

/// Checks a change against the catalogue. The target checks again what depends on its stages.
pub(super) fn checked(name: &str, settings: Settings, at: Option<String>) -> Result<Touch, String> {
    let unknown = || {
        let names: Vec<&str> = policies().map(|entry| entry.name).collect();
        let near = controllers::catalogue::nearest(name, names).map(|near| format!("; did you mean {near}?"));
        format!("there is no policy {name:?}{}", near.unwrap_or_default())
    };
    let known = catalogue().resolve(name, &Settings::new()).is_ok();
    let (entry, resolved) =
        catalogue().resolve(name, &settings).map_err(|problem| if known { problem.to_string() } else { unknown() })?;
    if !policies().any(|known| known.name == entry.name) {
        return Err(format!("{name} does not sit in a service: up and down show those that do"));
    }
    let PolicySpec { place, settings: own, .. } = PolicySpec::written(name, resolved);
    catalogue()
        .check(entry, place, &own)
        .map_err(|problems| problems.first().map_or_else(String::new, ToString::to_string))?;
    Ok(Touch::Policy { name: name.to_owned(), settings, at })
}
