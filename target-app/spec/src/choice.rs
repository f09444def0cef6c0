//! A policy as files have it: `codel`, `{gradient2: {limit_max: 500}}`, or `{name: …, settings: {…}}`.

use std::collections::BTreeMap;

use controllers::catalogue::{PolicySpec, Settings};
use schemars::{Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use serde_json::{Value, json};

const FORM: &str = "a policy is a name, or one name with its settings: {gradient2: {limit_max: 500}}";

#[derive(Deserialize)]
#[serde(untagged)]
enum Choice {
    Name(String),
    Whole(PolicySpec),
    One(BTreeMap<String, Option<Settings>>),
}

pub(crate) fn serialize<S: Serializer>(policy: &PolicySpec, serializer: S) -> Result<S::Ok, S::Error> {
    let PolicySpec { name, place, mut settings } = policy.clone();
    settings.extend(place.map(|place| ("scope".to_owned(), place.scope().into())));
    if settings.is_empty() {
        return name.serialize(serializer);
    }
    BTreeMap::from([(name, shown(&settings))]).serialize(serializer)
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
    let mut shown = json!(settings);
    plain(&mut shown);
    shown
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PolicySpec, D::Error> {
    match Choice::deserialize(deserializer).map_err(|_| D::Error::custom(FORM))? {
        Choice::Name(name) => Ok(PolicySpec::written(name, Settings::new())),
        Choice::Whole(policy) => Ok(policy),
        Choice::One(one) => match <[_; 1]>::try_from(one.into_iter().collect::<Vec<_>>()) {
            Ok([(name, settings)]) => Ok(PolicySpec::written(name, settings.unwrap_or_default())),
            Err(_) => Err(D::Error::custom(FORM)),
        },
    }
}

/// The form of a policy whose names and settings the catalogue has.
pub(crate) fn schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": ["string", "object"]})
}

/// The balancers.
pub(crate) fn balancers(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"enum": ["round-robin", "random", "least-loaded", "utilization"]})
}

/// The rules for classes.
pub(crate) fn classes(_: &mut SchemaGenerator) -> Schema {
    let name = |about: &str| json!({"type": "string", "description": about});
    let pairs = |about: &str| {
        let pair = json!({"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "minItems": 2, "maxItems": 2});
        json!({"type": "array", "items": pair, "description": about})
    };
    let named = json!({
        "type": "object",
        "description": "By the value of a header: header: X-Plan, values: {gold: 2, paid: 1}",
        "properties": {
            "header": {"type": "string", "description": "The header"},
            "values": {"type": "object", "additionalProperties": {"type": "integer"}, "description": "Classes by value"},
        },
        "required": ["header", "values"],
        "additionalProperties": false,
    });
    let rules = json!({
        "header": name("A whole number in this header"),
        "cookie": name("A whole number in this cookie"),
        "address": pairs("Prefixes of addresses, 127.1.0.0/16, with their classes: the first that matches"),
        "path": pairs("Beginnings of paths with their classes: the first that matches"),
    });
    json_schema!({"anyOf": [
        {"enum": ["none"]},
        {"type": "object", "properties": rules, "additionalProperties": false, "minProperties": 1, "maxProperties": 1},
        named,
    ]})
}

/// The objective with a duration as people write it.
pub(crate) mod objective {
    use controllers::Objective;
    use schemars::JsonSchema;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::span;

    /// The service-level objective that policies are told.
    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[schemars(rename = "Objective")]
    pub(crate) struct Written {
        /// The percentile of response times.
        #[schemars(example = 99.0)]
        percentile: f64,
        /// What it stays under.
        #[serde(with = "span")]
        #[schemars(with = "String", example = &"200ms", extend("unit" = "time"))]
        response_time: std::time::Duration,
    }

    pub(crate) fn serialize<S: Serializer>(of: &Option<Objective>, serializer: S) -> Result<S::Ok, S::Error> {
        of.map(|Objective { percentile, response_time }| Written { percentile, response_time }).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Objective>, D::Error> {
        let written = Option::<Written>::deserialize(deserializer)?;
        Ok(written.map(|Written { percentile, response_time }| Objective { percentile, response_time }))
    }
}
