//! The policy of a layer: a name of the catalogue or an entry, with its settings.

use std::time::Duration;

use controllers::{
    Catalogue, Entry, Settings,
    catalogue::{Factory, Setting},
};

use crate::BuildError;

/// A policy with its settings, not checked yet: a name, an entry, or one of the builders in [`crate::policies`].
#[derive(Debug, Clone)]
pub struct PolicyChoice {
    of: Of,
    settings: Settings,
}

#[derive(Debug, Clone)]
enum Of {
    Name(String),
    Entry(&'static Entry),
}

impl PolicyChoice {
    /// A policy or preset by its name in the catalogue.
    #[must_use]
    pub fn named(name: impl Into<String>) -> Self {
        Self { of: Of::Name(name.into()), settings: Settings::new() }
    }

    /// A policy by its entry, which need not be in the catalogue.
    #[must_use]
    pub fn entry(entry: &'static Entry) -> Self {
        Self { of: Of::Entry(entry), settings: Settings::new() }
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

    /// The entry with its settings, checked.
    pub(crate) fn check(&self) -> Result<(&'static Entry, Settings, Factory), BuildError> {
        let (entry, settings) = match &self.of {
            Of::Entry(entry) => (*entry, self.settings.clone()),
            Of::Name(name) => Catalogue::resolve(name, &self.settings).map_err(|problem| BuildError::new([problem]))?,
        };
        let factory = entry.check(&settings).map_err(|problems| BuildError::of_policy(entry, problems))?;
        Ok((entry, settings, factory))
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

#[cfg(test)]
mod tests {
    use controllers::catalogue::parse_time;

    use super::*;

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
    fn a_wrong_name_or_setting_is_an_error_that_names_what_was_meant() {
        let said = |choice: PolicyChoice| choice.check().unwrap_err().to_string();
        assert_eq!(said("gradient3".into()), "gradient3: there is no such policy; did you mean gradient2?");
        assert_eq!(
            said(PolicyChoice::named("gradient2").set("limit_maxx", 5).set("tolerance", 50)),
            "gradient2.limit_maxx: there is no such parameter; did you mean limit_max?; gradient2.tolerance: 50 is out of \
             range: 1 to 10"
        );
    }
}
