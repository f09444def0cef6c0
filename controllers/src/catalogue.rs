//! The list of policies and machines: names, parameters with unit, default and range, sources, and supported places.

use crate::{baseline, cataclysm, compose, deployed, headway, modern, resource, seda, sre};

mod policy_spec;
#[cfg(test)]
mod tests;

pub use crate::entry::{
    Bound, CompositionRole, CostBound, Entry, EntryKind, EntryLookup, Factory, Given, Make, Param, ParamDeclaration,
    ParamKind, ParamReader, ParamRow, Parameters, Preset, Problem, SampleKind, Sampling, Setting, Settings, Source,
    ValueSearch, name_hint, nearest, parse_time, shown_time,
};
pub use policy_spec::PolicySpec;

use crate::{Place, entry::OF_EVERY_ENTRY};

/// Why a host cannot have a bound.
const IN_VIRTUAL_TIME_ALONE: &str =
    "it knows what no policy can know: it can be an arm of a run in virtual time, and nothing else";

/// All entries, policies first.
static ALL: &[Entry] = &[
    baseline::NONE,
    baseline::FIXED_RATE,
    baseline::CONCURRENCY,
    baseline::QUEUE_LENGTH,
    baseline::RED,
    baseline::SESSIONS,
    baseline::CONNECTIONS,
    seda::SEDA,
    seda::DEGRADE,
    seda::PID,
    seda::MM1,
    seda::QUEUE_THRESHOLD,
    seda::CHEAPEST_FIRST,
    seda::CLASS_QUEUES,
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
    modern::DEADLINE,
    modern::FAIR_QUEUE,
    modern::DAGOR,
    modern::SATURATION,
    deployed::LIMIT_REQ,
    deployed::LIMIT_CONN,
    deployed::MAXCONN_QUEUE,
    deployed::ENVOY_GRADIENT,
    deployed::ADMISSION_CONTROL,
    deployed::ENVOY_BREAKERS,
    deployed::GRADIENT,
    deployed::BBR,
    deployed::FAILSAFE,
    deployed::GRPC_THROTTLE,
    deployed::FINAGLE_BUDGET,
    deployed::AWS_RETRY,
    deployed::CIRCUIT_BREAKER,
    cataclysm::SENTRY,
    cataclysm::NUCLEUS,
    headway::HEADWAY,
    compose::COMPOSE,
    resource::THREAD_POOL,
    resource::BATCHING,
    resource::MONITOR,
    sre::QUOTA_SERVER,
];

/// Policies under one head, for people who choose.
#[derive(Debug, Clone, Copy)]
pub struct Shelf {
    /// Head.
    pub title: &'static str,
    /// Policies, what to try first at the beginning.
    pub names: &'static [&'static str],
}

/// Shelves in their order: each policy of this crate is on one, no machine is on any.
pub const SHELVES: &[Shelf] = &[
    Shelf { title: "Start here", names: &["none", "headway", "concurrency", "gradient2", "compose"] },
    Shelf {
        title: "Limits that you set",
        names: &[
            "fixed-rate",
            "queue-length",
            "connections",
            "class-queues",
            "limit-req",
            "limit-conn",
            "maxconn-queue",
        ],
    },
    Shelf {
        title: "Adaptive: by response times, waiting or load",
        names: &[
            "aimd",
            "vegas",
            "gradient",
            "envoy-gradient",
            "bbr",
            "failsafe",
            "admission-control",
            "codel",
            "lifo",
            "deadline",
            "cheapest-first",
            "seda",
            "degrade",
        ],
    },
    Shelf {
        title: "By importance, customer or cost",
        names: &["fair-queue", "utilization", "dont-retry", "dagor", "quota", "sre", "sentry", "saturation"],
    },
    Shelf {
        title: "On the senders' side",
        names: &[
            "throttle",
            "retry-budget",
            "sre-client",
            "grpc-throttle",
            "finagle-budget",
            "aws-retry",
            "envoy-breakers",
            "circuit-breaker",
        ],
    },
    Shelf { title: "Research baselines", names: &["pid", "mm1", "queue-threshold", "red", "sessions"] },
];

/// A list of policies and machines: the entries of this crate, and those that a program adds.
///
/// ```
/// use controllers::{Catalogue, Settings};
///
/// let (entry, settings) = Catalogue::built_in().resolve("folly", &Settings::new()).unwrap();
/// assert_eq!((entry.name, settings.len()), ("codel", 1));
/// ```
#[derive(Debug, Clone)]
pub struct Catalogue {
    /// Entries in addition to those of this crate.
    extra: Vec<&'static Entry>,
}

static BUILT_IN: Catalogue = Catalogue { extra: Vec::new() };

impl Catalogue {
    /// The entries of this crate.
    #[must_use]
    pub fn built_in() -> &'static Self {
        &BUILT_IN
    }

    /// The entries of this crate and these.
    ///
    /// # Errors
    /// All problems of the new entries at once: a name that is taken, an entry without a place, a parameter with the
    /// name of a key that every entry has.
    pub fn with(extra: &'static [Entry]) -> Result<Self, Vec<Problem>> {
        BUILT_IN.clone().and(extra)
    }

    /// These entries in addition.
    ///
    /// # Errors
    /// As [`Catalogue::with`].
    pub fn and(mut self, extra: &'static [Entry]) -> Result<Self, Vec<Problem>> {
        let mut problems = Vec::new();
        for entry in extra {
            problems.extend(self.unfit(entry));
            self.extra.push(entry);
        }
        if problems.is_empty() { Ok(self) } else { Err(problems) }
    }

    fn unfit(&self, entry: &Entry) -> Vec<Problem> {
        let problem = |message: String| Problem::new(entry.name, message);
        let mut problems = Vec::new();
        let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if !entry.name.starts_with(|c: char| c.is_ascii_lowercase()) || !entry.name.chars().all(is_name) {
            let message = "this is not a valid name of an entry: small letters, digits and hyphens, a letter first";
            problems.push(Problem::new(format!("{:?}", entry.name), message));
        }
        if self.names().contains(&entry.name) || self.find(entry.name).is_some() {
            problems.push(problem("there is an entry or a preset of this name already: give it another".to_owned()));
        }
        let taken = entry.presets.iter().filter(|preset| self.find(preset.name).is_some());
        problems.extend(taken.map(|preset| problem(format!("its preset {} has the name of an entry", preset.name))));
        if entry.places.is_empty() {
            problems.push(problem("it names no place, so that it can be installed nowhere".to_owned()));
            return problems;
        }
        let params = entry.params();
        for (at, param) in params.iter().enumerate() {
            if OF_EVERY_ENTRY.contains(&param.name) {
                problems.push(problem(format!("its parameter {} hides a key that every entry has", param.name)));
            }
            if params[..at].iter().any(|other| other.name == param.name) {
                problems.push(problem(format!("it has two parameters called {}", param.name)));
            }
        }
        for preset in entry.presets.iter().map(Some).chain([None]) {
            let settings = preset.map(Preset::settings).unwrap_or_default();
            if let Err(wrong) = entry.check(&settings) {
                let of =
                    preset.map_or_else(|| "its defaults".to_owned(), |preset| format!("its preset {}", preset.name));
                problems.extend(wrong.into_iter().map(|wrong| problem(format!("{of}: {wrong}"))));
            }
        }
        problems
    }

    /// All entries: those of this crate first, policies before machines. Bounds are among them.
    pub fn entries(&self) -> impl Iterator<Item = &'static Entry> + Clone {
        ALL.iter().chain(self.extra.iter().copied())
    }

    /// The entries that know what no policy can know.
    pub fn bounds(&self) -> impl Iterator<Item = (&'static Entry, &'static Bound)> {
        self.entries().filter_map(|entry| Some((entry, entry.bound()?)))
    }

    /// Finds an entry by name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&'static Entry> {
        self.entries().find(|entry| entry.name == name)
    }

    /// Checks settings of an entry at a place (`None`: its first): [`Entry::check`], with other entries that the settings
    /// may name.
    ///
    /// # Errors
    /// As [`Entry::check`], a place that the entry does not support, and the problems of a composition's parts.
    pub fn check(&self, entry: &Entry, place: Option<Place>, settings: &Settings) -> Result<Factory, Vec<Problem>> {
        entry.check_among(place, settings, self)
    }

    /// Finds a policy or machine by its name, or by the name of a preset that only one entry has (`usits03-as-coded` means
    /// `seda: {preset: usits03-as-coded}`). Returns the settings with that preset added.
    ///
    /// # Errors
    /// An unknown name (with a suggestion), or an ambiguous one; a bound, which is an arm and no policy that a host can
    /// have.
    pub fn resolve(&self, name: &str, settings: &Settings) -> Result<(&'static Entry, Settings), Problem> {
        let problem = |message: String| Problem::new(name, message);
        match self.find(name) {
            Some(entry) if entry.bound().is_some() => return Err(problem(IN_VIRTUAL_TIME_ALONE.to_owned())),
            Some(entry) => return Ok((entry, settings.clone())),
            None => {}
        }
        let of_preset = |entry: &&'static Entry| entry.presets.iter().any(|preset| preset.name == name);
        let owners: Vec<_> = self.entries().filter(of_preset).collect();
        match owners.as_slice() {
            [entry] => {
                let mut settings = settings.clone();
                settings.entry("preset".to_owned()).or_insert_with(|| Setting::Text(name.to_owned()));
                Ok((entry, settings))
            }
            [] => Err(problem(format!("there is no such policy; {}", name_hint(name, &self.names())))),
            [first, ..] => {
                Err(problem(format!("more than one policy has this preset: write {}: {{preset: {name}}}", first.name)))
            }
        }
    }

    /// Every name that [`Catalogue::resolve`] accepts.
    #[must_use]
    pub fn names(&self) -> Vec<&'static str> {
        self.names_where(|entry| entry.bound().is_none())
    }

    /// Those of [`Catalogue::names`] that decide about jobs.
    #[must_use]
    pub fn policy_names(&self) -> Vec<&'static str> {
        self.names_where(|entry| entry.bound().is_none() && entry.is_policy())
    }

    /// Those of [`Catalogue::names`] that decide about no job.
    #[must_use]
    pub fn machine_names(&self) -> Vec<&'static str> {
        self.names_where(|entry| entry.bound().is_none() && !entry.is_policy())
    }

    /// The names of some entries, and after them those presets of theirs that no other entry has.
    fn names_where(&self, keep: impl Fn(&Entry) -> bool) -> Vec<&'static str> {
        let presets = |entry: &'static Entry| entry.presets.iter().map(|preset| preset.name);
        let alone = |name: &&str| {
            let owners = self.entries().flat_map(presets).filter(|other| other == name).count();
            owners == 1 && self.find(name).is_none()
        };
        let kept = || self.entries().filter(|&entry| keep(entry));
        kept().map(|entry| entry.name).chain(kept().flat_map(presets).filter(alone)).collect()
    }
}

impl EntryLookup for Catalogue {
    fn entry(&self, name: &str, settings: &Settings) -> Result<(&'static Entry, Settings), Problem> {
        self.resolve(name, settings)
    }
}
