//! A policy as files have it: `codel`, `{gradient2: {limit_max: 500}}`, or `{name: …, settings: {…}}`.

use std::collections::BTreeMap;

use controllers::catalogue::{PolicySpec, Settings};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use serde_json::Value;

const FORM: &str = "a policy is a name, or one name with its settings: {gradient2: {limit_max: 500}}";

#[derive(Deserialize)]
#[serde(untagged)]
enum Choice {
    Name(String),
    Whole(PolicySpec),
    One(BTreeMap<String, Option<Settings>>),
}

pub(crate) fn serialize<S: Serializer>(policy: &PolicySpec, serializer: S) -> Result<S::Ok, S::Error> {
    match policy {
        PolicySpec { name, place: None, settings } if settings.is_empty() => name.serialize(serializer),
        PolicySpec { name, place: None, settings } => BTreeMap::from([(name, shown(settings))]).serialize(serializer),
        whole => whole.serialize(serializer),
    }
}

/// Settings as people write them: 500, not 500.0.
fn shown(settings: &Settings) -> Value {
    fn plain(value: &mut Value) {
        match value {
            Value::Number(number) => {
                let whole = number.as_f64().filter(|of| of.fract() == 0.0 && of.abs() < 1e15);
                whole.into_iter().for_each(|whole| *value = (whole as i64).into());
            }
            Value::Array(all) => all.iter_mut().for_each(plain),
            Value::Object(keys) => keys.values_mut().for_each(plain),
            _ => {}
        }
    }
    let mut shown = serde_json::json!(settings);
    plain(&mut shown);
    shown
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PolicySpec, D::Error> {
    let named = |name, settings| PolicySpec { name, place: None, settings };
    match Choice::deserialize(deserializer).map_err(|_| D::Error::custom(FORM))? {
        Choice::Name(name) => Ok(named(name, Settings::new())),
        Choice::Whole(policy) => Ok(policy),
        Choice::One(one) => match <[_; 1]>::try_from(one.into_iter().collect::<Vec<_>>()) {
            Ok([(name, settings)]) => Ok(named(name, settings.unwrap_or_default())),
            Err(_) => Err(D::Error::custom(FORM)),
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
