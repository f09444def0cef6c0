//! Text of a proxy's files: settings, a sentry.

use serde::de::DeserializeOwned;

use crate::{command::input, exit::Failure};

pub(super) fn yaml<T: DeserializeOwned>(name: &str) -> Result<T, Failure> {
    serde_yaml::from_str(&text(name)?).map_err(|error| Failure::usage(format!("{name}: {}", error.without_snippet())))
}

/// The text of a file, or of standard input.
pub(super) fn text(name: &str) -> Result<String, Failure> {
    input::text(name).map_err(|error| Failure::usage(format!("{name}: {error}")))
}
