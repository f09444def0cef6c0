//! The policy of a layer: a name of the catalogue or an entry, with its settings.

use std::time::Duration;

use controllers::{
    Catalogue, Entry, Settings,
    catalogue::{Factory, PolicySpec, Setting},
};

use crate::BuildError;

/// A policy with its settings, not checked yet: a name, an entry, or one of the builders in [`crate::policies`].
#[derive(Debug, Clone)]
pub struct PolicyChoice {
    source: PolicySource,
    among: &'static Catalogue,
    settings: Settings,
}

/// The source of the policy.
#[derive(Debug, Clone)]
enum PolicySource {
    /// By its name, or that of a preset, in the catalogue.
    Name(String),
    /// An entry, which need not be in the catalogue.
    Entry(&'static Entry),
}

impl PolicyChoice {
    /// A policy or preset by its name in the catalogue.
    #[must_use]
    pub fn named(name: impl Into<String>) -> Self {
        Self { source: PolicySource::Name(name.into()), among: Catalogue::built_in(), settings: Settings::new() }
    }

    /// A policy by its entry, which need not be in the catalogue.
    #[must_use]
    pub fn entry(entry: &'static Entry) -> Self {
        Self { source: PolicySource::Entry(entry), among: Catalogue::built_in(), settings: Settings::new() }
    }

    /// Looks up names in this catalogue: of the policy, and of those that its settings name. Default:
    /// [`Catalogue::built_in`].
    #[must_use]
    pub fn among(mut self, catalogue: &'static Catalogue) -> Self {
        self.among = catalogue;
        self
    }

    /// Sets a parameter.
    #[must_use]
    pub fn set(mut self, key: impl Into<String>, value: impl IntoSetting) -> Self {
        self.settings.insert(key.into(), value.into_setting());
        self
    }

    /// Sets several parameters.
    #[must_use]
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings.extend(settings);
        self
    }

    /// The entry with its place, if one was named, and its settings, checked.
    pub(crate) fn check(&self) -> Result<(&'static Entry, PolicySpec, Factory), BuildError> {
        let (entry, settings) = match &self.source {
            PolicySource::Entry(entry) => (*entry, self.settings.clone()),
            PolicySource::Name(name) => {
                self.among.resolve(name, &self.settings).map_err(|problem| BuildError::new([problem]))?
            }
        };
        let spec = PolicySpec::written(entry.name, settings);
        let checked = self.among.check(entry, spec.place, &spec.settings);
        Ok((entry, spec, checked.map_err(|problems| BuildError::of_policy(entry, problems))?))
    }
}

impl From<&str> for PolicyChoice {
    fn from(name: &str) -> Self {
        Self::named(name)
    }
}

impl From<String> for PolicyChoice {
    fn from(name: String) -> Self {
        Self::named(name)
    }
}

impl From<&'static Entry> for PolicyChoice {
    fn from(entry: &'static Entry) -> Self {
        Self::entry(entry)
    }
}

/// A value that a parameter can be set to: numbers, flags, words, times.
///
/// A time is a [`Duration`], or text with a unit (`"20ms"`); it is rounded down to whole nanoseconds.
pub trait IntoSetting {
    /// The value as a setting, unchecked.
    fn into_setting(self) -> Setting;
}

macro_rules! numbers {
    ($($type:ty),*) => {$(
        impl IntoSetting for $type {
            /// The number; above 2^53 the nearest one that a double has.
            fn into_setting(self) -> Setting {
                Setting::Number(self as f64)
            }
        }
    )*};
}

#[expect(clippy::cast_lossless, reason = "one macro for types that fit into a double and types that do not")]
mod numbers {
    use super::{IntoSetting, Setting};

    numbers!(i32, i64, u8, u16, u32, u64, usize, f32, f64);
}

impl IntoSetting for bool {
    fn into_setting(self) -> Setting {
        Setting::Flag(self)
    }
}

impl IntoSetting for &str {
    fn into_setting(self) -> Setting {
        Setting::Text(self.to_owned())
    }
}

impl IntoSetting for String {
    fn into_setting(self) -> Setting {
        Setting::Text(self)
    }
}

impl IntoSetting for Setting {
    fn into_setting(self) -> Setting {
        self
    }
}

impl IntoSetting for Duration {
    fn into_setting(self) -> Setting {
        let nanos = self.as_nanos();
        let (micros, rest) = (nanos / 1000, nanos % 1000);
        Setting::Text(if rest == 0 { format!("{micros}us") } else { format!("{micros}.{rest:03}us") })
    }
}

impl IntoSetting for PolicyChoice {
    /// The policy as a part of another: `{name: {settings}}`.
    fn into_setting(self) -> Setting {
        let name = match self.source {
            PolicySource::Name(name) => name,
            PolicySource::Entry(entry) => entry.name.to_owned(),
        };
        Setting::Map(Settings::from([(name, Setting::Map(self.settings))]))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use controllers::catalogue::{EntryKind, Source, parse_time};

    use super::*;
    use crate::policies;

    #[test]
    fn a_duration_is_read_as_it_was_set() {
        for nanos in [0, 1, 999, 1000, 1_000_001, 20_000_000, 3_600_000_000_000] {
            let time = Duration::from_nanos(nanos);
            let Setting::Text(text) = time.into_setting() else { panic!("a time is text") };
            assert_eq!(parse_time(&text), Some(time), "{text}");
        }
    }

    #[test]
    fn a_plain_number_is_a_number() {
        assert_eq!((500.into_setting(), 0.5.into_setting()), (Setting::Number(500.0), Setting::Number(0.5)));
    }

    #[test]
    fn a_composition_takes_builders_and_names_as_its_parts() {
        let composed = policies::Compose::default().limit(policies::Gradient2::default().limit_max(500)).queue("codel");
        let (entry, spec, factory) = PolicyChoice::from(composed).check().unwrap();
        let limit = Settings::from([("limit_max".to_owned(), Setting::Number(500.0))]);
        let limit = Settings::from([("gradient2".to_owned(), Setting::Map(limit))]);
        assert_eq!((entry.name, &spec.settings["limit"]), ("compose", &Setting::Map(limit)));
        assert_eq!(factory.parts().len(), 2);
        let wrong = policies::Compose::default().limit("codel");
        assert!(PolicyChoice::from(wrong).check().unwrap_err().to_string().starts_with("compose.limit: "));
    }

    #[test]
    fn names_are_looked_up_in_the_catalogue_that_was_given() {
        static MINE: LazyLock<[Entry; 1]> = LazyLock::new(|| {
            let like = Catalogue::built_in().find("gradient2").unwrap();
            let EntryKind::Policy(make) = like.kind else { panic!("a policy") };
            let Entry { about, caution, ref source, deviations, places, samples, roles, .. } = *like;
            let source = Source { title: source.title, place: source.place };
            [Entry {
                name: "my-limit",
                about,
                caution,
                source,
                deviations,
                places,
                presets: &[],
                samples,
                roles,
                kind: EntryKind::Policy(make),
            }]
        });
        static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(|| Catalogue::with(&*MINE).unwrap());
        assert!(PolicyChoice::named("my-limit").check().is_err());
        assert_eq!(PolicyChoice::named("my-limit").among(&CATALOGUE).check().unwrap().0.name, "my-limit");
    }

    #[test]
    fn a_wrong_name_or_setting_is_an_error_that_names_what_was_meant() {
        let said = |choice: PolicyChoice| choice.check().unwrap_err().to_string();
        assert_eq!(said("gradint2".into()), "gradint2: there is no such policy; did you mean gradient2?");
        assert_eq!(
            said(PolicyChoice::named("gradient2").set("limit_maxx", 5).set("tolerance", 50)),
            "gradient2.limit_maxx: there is no such parameter; did you mean limit_max?; gradient2.tolerance: 50 is out of \
             range: 1 to 10"
        );
    }
}
