//! Settings of an entry checked against its parameters.

use super::{
    Bound, Entry, EntryKind, EntryLookup, Factory, Param, ParamReader, Preset, Problem, Setting, Settings,
    factory::Makes,
};
use crate::Place;

/// A catalogue without entries.
#[derive(Debug)]
pub(super) struct Nothing;

impl EntryLookup for Nothing {
    fn entry(&self, name: &str, _: &Settings) -> Result<(&'static Entry, Settings), Problem> {
        Err(Problem::new(name, "parts of a composition are looked up in a catalogue: check it with Catalogue::check"))
    }
}

/// Keys of every entry that are not parameters.
pub(crate) const OF_EVERY_ENTRY: [&str; 2] = ["preset", SCOPE];

/// The key of a place where settings are written.
pub(crate) const SCOPE: &str = "scope";

impl Entry {
    /// Checks settings against the parameters, at the entry's first place: every problem at once. Every entry has the key
    /// `preset`, which sets defaults that the other keys override.
    ///
    /// # Errors
    /// Unknown keys (with a suggestion), wrong types, values out of range, presets that do not exist; a composition,
    /// whose parts only a catalogue knows ([`crate::Catalogue::check`]).
    pub fn check(&self, settings: &Settings) -> Result<Factory, Vec<Problem>> {
        self.check_among(None, settings, &Nothing)
    }

    /// The same, at a place, for an entry whose settings may name other entries, which `known` looks up.
    ///
    /// # Errors
    /// As [`Entry::check`], and a place that the entry does not support.
    pub fn check_among(
        &self,
        place: Option<Place>,
        settings: &Settings,
        known: &dyn EntryLookup,
    ) -> Result<Factory, Vec<Problem>> {
        let mut problems = Vec::new();
        let preset = self.preset(settings).map_err(|problem| problems.push(problem)).ok().flatten();
        let placed = match settings.get(SCOPE) {
            Some(Setting::Text(scope)) if self.places.iter().any(|place| place.scope() == scope) => {
                Err(Problem::new(SCOPE, "is no setting: PolicySpec::written takes the place out of them"))
            }
            Some(written) => Err(self.no_scope(written)),
            None => self.place(place),
        };
        let place = placed.unwrap_or_else(|problem| {
            problems.push(problem);
            self.places[0]
        });
        let mut merged = preset.map(Preset::settings).unwrap_or_default();
        let written = settings.iter().filter(|(key, _)| !OF_EVERY_ENTRY.contains(&key.as_str()));
        merged.extend(written.map(|(key, setting)| (key.clone(), setting.clone())));
        let mut reader = ParamReader::new(&merged, problems, known, place);
        let make = self.read(&mut reader);
        let ParamReader { params, problems, parts, makes_room, .. } = reader;
        if !problems.is_empty() {
            return Err(problems);
        }
        let keeps_queue = self.keeps_queue() || parts.iter().any(Factory::keeps_queue);
        Ok(Factory { settings: merged, params, make, parts, keeps_queue, makes_room })
    }

    /// The parameters.
    #[must_use]
    pub fn params(&self) -> Vec<Param> {
        let settings = Settings::new();
        let mut reader = ParamReader::new(&settings, Vec::new(), &Nothing, self.places[0]);
        self.read(&mut reader);
        reader.params
    }

    fn read(&self, reader: &mut ParamReader<'_>) -> Makes {
        match self.kind {
            EntryKind::Policy(make) | EntryKind::Discipline(make) => Makes::Policies(make(reader)),
            EntryKind::Machine(make) => Makes::Machines(make(reader)),
            EntryKind::Bound(Bound::Costs(costs)) => Makes::Policies((costs.make)(reader)),
            EntryKind::Bound(Bound::Means) => Makes::Nothing,
            EntryKind::Bound(Bound::BestValue(search)) => {
                search.declare(reader);
                Makes::Nothing
            }
        }
    }
}
