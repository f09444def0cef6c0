//! The list of policies and machines: names, parameters with unit, default and range, sources, and supported places.

use crate::{baseline, modern, resource, seda, sre};

mod policy_spec;
#[cfg(test)]
mod tests;

pub use crate::entry::{
    Entry, EntryKind, Factory, Given, Param, ParamKind, ParamReader, ParamRow, Preset, Problem, SampleKind, Sampling,
    Setting, Settings, Source, parse_time,
};
pub use policy_spec::PolicySpec;

use crate::entry::nearest;

/// All entries, policies first.
static ALL: &[Entry] = &[
    baseline::NONE,
    baseline::FIXED_RATE,
    baseline::CONCURRENCY,
    baseline::QUEUE_LENGTH,
    baseline::CONNECTIONS,
    seda::SEDA,
    seda::DEGRADE,
    seda::PID,
    seda::MM1,
    seda::QUEUE_THRESHOLD,
    sre::THROTTLE,
    sre::RETRY_BUDGET,
    sre::SRE_CLIENT,
    sre::UTILIZATION,
    sre::DONT_RETRY,
    sre::QUOTA,
    sre::SRE,
    modern::AIMD,
    modern::VEGAS,
    modern::GRADIENT2,
    modern::CODEL,
    modern::LIFO,
    modern::DAGOR,
    resource::THREAD_POOL,
    resource::BATCHING,
    resource::MONITOR,
    sre::QUOTA_SERVER,
];

/// Access to the list.
#[derive(Debug)]
pub struct Catalogue;

impl Catalogue {
    /// All entries, policies first.
    #[must_use]
    pub fn entries() -> &'static [Entry] {
        ALL
    }

    /// Finds an entry by name.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Entry> {
        Self::entries().iter().find(|entry| entry.name == name)
    }

    /// Finds an entry by its name, or by the name of a preset that only one entry has (`usits03-as-coded` means
    /// `seda: {preset: usits03-as-coded}`). Returns the settings with that preset added.
    ///
    /// # Errors
    /// An unknown name (with a suggestion), or an ambiguous one.
    pub fn resolve(name: &str, settings: &Settings) -> Result<(&'static Entry, Settings), Problem> {
        if let Some(entry) = Self::find(name) {
            return Ok((entry, settings.clone()));
        }
        let of_preset = |entry: &&Entry| entry.presets.iter().any(|preset| preset.name == name);
        let owners: Vec<_> = Self::entries().iter().filter(of_preset).collect();
        let problem = |message: String| Problem::new(name, message);
        match owners.as_slice() {
            [entry] => {
                let mut settings = settings.clone();
                settings.entry("preset".to_owned()).or_insert_with(|| Setting::Text(name.to_owned()));
                Ok((entry, settings))
            }
            [] => Err(problem(match nearest(name, &Self::names()) {
                Some(near) => format!("there is no such policy; did you mean {near}?"),
                None => format!("there is no such policy; there are: {}", Self::names().join(", ")),
            })),
            [first, ..] => {
                Err(problem(format!("more than one policy has this preset: write {}: {{preset: {name}}}", first.name)))
            }
        }
    }

    /// Every name that [`Catalogue::resolve`] accepts.
    #[must_use]
    pub fn names() -> Vec<&'static str> {
        let all = || Self::entries().iter().flat_map(|entry| entry.presets.iter().map(|preset| preset.name));
        let alone = |name: &&str| all().filter(|other| other == name).count() == 1 && Self::find(name).is_none();
        Self::entries().iter().map(|entry| entry.name).chain(all().filter(alone)).collect()
    }
}
