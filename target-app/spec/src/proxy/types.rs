//! The types of requests of a service that the proxy knows nothing of.

use controllers::{Kind, random::mix};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What tells types of requests apart, for policies that learn by type.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RequestTypes {
    /// All requests are of one type.
    #[default]
    One,
    /// Each path without its arguments is a type: the name of a script or file. Types are numbers of 16 bits, so that two
    /// paths may share one.
    Path,
}

impl RequestTypes {
    /// The type of a request for this path. `seed`: that of the proxy.
    #[must_use]
    pub fn kind(self, path: &str, seed: u64) -> Kind {
        match self {
            Self::One => Kind::default(),
            Self::Path => Kind((hash(path.as_bytes(), seed) >> 48) as u16),
        }
    }
}

fn hash(name: &[u8], seed: u64) -> u64 {
    name.chunks(8).fold(mix(seed ^ name.len() as u64), |hash, chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        mix(hash.rotate_left(5) ^ u64::from_le_bytes(word))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_a_type() {
        let kind = |path| RequestTypes::Path.kind(path, 7);
        assert_eq!(kind("/search"), kind("/search"));
        assert_ne!(kind("/search"), kind("/search/"));
        assert_ne!(
            kind("/search"),
            RequestTypes::Path.kind("/search", 8),
            "strangers cannot prepare paths that collide"
        );
        assert_eq!(RequestTypes::One.kind("/search", 7), Kind(0));
    }
}
