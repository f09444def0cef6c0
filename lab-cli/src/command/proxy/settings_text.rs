//! Text of a proxy's files: settings, a sentry.

use std::{
    io::{self, Read},
    path::Path,
};

use experiment::raw::MAX_BYTES;
use serde::de::DeserializeOwned;

use crate::{command::input, exit::Failure};

pub(super) fn yaml<T: DeserializeOwned>(name: &str) -> Result<T, Failure> {
    serde_yaml::from_str(&text(name)?).map_err(|error| Failure::usage(format!("{name}: {}", error.without_snippet())))
}

/// The text of a file, or of standard input.
pub(super) fn text(name: &str) -> Result<String, Failure> {
    let mut text = String::new();
    let from: Box<dyn Read> = if name == "-" {
        Box::new(io::stdin())
    } else {
        Box::new(input::open(Path::new(name)).map_err(|error| Failure::usage(format!("{name}: {error}")))?)
    };
    from.take(MAX_BYTES).read_to_string(&mut text).map_err(|error| Failure::usage(format!("{name}: {error}")))?;
    Ok(text)
}
