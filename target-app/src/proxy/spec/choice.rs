//! A policy as files have it: `codel`, `{gradient2: {limit_max: 500}}`, or `{name: …, settings: {…}}`.

use std::collections::BTreeMap;

use controllers::catalogue::{PolicySpec, Settings};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

#[derive(Deserialize)]
#[serde(untagged)]
enum Choice {
    Name(String),
    Whole(PolicySpec),
    One(BTreeMap<String, Option<Settings>>),
}

pub(super) fn serialize<S: Serializer>(policy: &PolicySpec, serializer: S) -> Result<S::Ok, S::Error> {
    policy.serialize(serializer)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PolicySpec, D::Error> {
    let named = |name, settings| PolicySpec { name, place: None, settings };
    match Choice::deserialize(deserializer)? {
        Choice::Name(name) => Ok(named(name, Settings::new())),
        Choice::Whole(policy) => Ok(policy),
        Choice::One(one) => match <[_; 1]>::try_from(one.into_iter().collect::<Vec<_>>()) {
            Ok([(name, settings)]) => Ok(named(name, settings.unwrap_or_default())),
            Err(_) => {
                Err(D::Error::custom("policy: a name, or one name with its settings: {gradient2: {limit_max: 500}}"))
            }
        },
    }
}

/// The objective with a duration as people write it.
pub(super) mod objective {
    use controllers::Objective;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::super::span;

    #[derive(Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Written {
        percentile: f64,
        #[serde(with = "span")]
        response_time: std::time::Duration,
    }

    pub(in super::super) fn serialize<S: Serializer>(of: &Objective, serializer: S) -> Result<S::Ok, S::Error> {
        let Objective { percentile, response_time } = *of;
        Written { percentile, response_time }.serialize(serializer)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Objective, D::Error> {
        let Written { percentile, response_time } = Written::deserialize(deserializer)?;
        Ok(Objective { percentile, response_time })
    }
}
