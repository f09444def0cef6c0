//! Durations as people write them in files: `15s`, `500ms`.

use std::time::Duration;

use controllers::catalogue::{parse_time, shown_time};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

pub(crate) fn serialize<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    shown_time(*time).serialize(serializer)
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    read(&String::deserialize(deserializer)?)
}

fn read<E: Error>(text: &str) -> Result<Duration, E> {
    parse_time(text).ok_or_else(|| E::custom(format!("{text:?} is not a duration; 500ms, 15s and 1h are some")))
}

/// A duration that may be absent.
pub(crate) mod optional {
    use super::{Deserialize, Deserializer, Duration, Serialize, Serializer, read, shown_time};

    pub(crate) fn serialize<S: Serializer>(time: &Option<Duration>, to: S) -> Result<S::Ok, S::Error> {
        time.map(shown_time).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
        Option::<String>::deserialize(from)?.as_deref().map(read).transpose()
    }
}
