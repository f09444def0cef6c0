//! JSON Schema of experiment files, for editors. The shape is written down once more here, in the words of a schema; a test
//! holds its keys against those that the reader knows.

#![expect(dead_code, reason = "of these structs only the schema is used")]

mod users;

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema, schema_for};

use users::Users;

use super::{simulation::SimulationKeys, target::TargetKeys, tree::CallKeys};

/// The schema of an experiment file.
pub fn experiment() -> Schema {
    schema_for!(Experiment)
}

/// One experiment.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Experiment {
    /// Names the results folder: letters, digits, - and _.
    name: String,
    /// One line.
    about: Option<String>,
    /// Figure and paper.
    source: Option<String>,
    target: TargetKeys,
    objective: Objective,
    users: Users,
    /// Policies: `none`, or `seda: {scope: single}`. Keys `as`, `place`, `on_refuse`, `backlog`, `client`, `services`, `calls` and `target` are the lab's unless the policy has a parameter of that name (`target` is the lab's if it is a table); all others are the policy's (`lab policies NAME`).
    arms: Vec<Policy>,
    /// How often every arm is run.
    repeat: Option<u32>,
    /// Root of all randomness.
    seed: Option<u64>,
    /// `seda.spike.response_time.p90 < 2s`
    thresholds: Option<Vec<Threshold>>,
    /// How arms are compared.
    compare: Option<Compare>,
    /// Conditions that would otherwise be held against the run.
    declares: Option<Vec<Declared>>,
    /// For `--virtual` alone.
    #[serde(rename = "virtual")]
    simulation: Option<SimulationKeys>,
}

/// What must hold.
#[derive(JsonSchema)]
#[serde(untagged)]
enum Threshold {
    Text(String),
    Table(ThresholdTable),
}

/// A threshold that may end the run.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct ThresholdTable {
    /// `seda.spike.response_time.p90 < 2s`
    check: String,
    /// Ends the run once it has failed for the grace time, second by second.
    abort: Option<bool>,
    /// `10s`
    grace: Option<String>,
}

/// How arms are compared: fixed before the run.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Compare {
    /// The arm that the others are held against [default: the first].
    baseline: Option<String>,
    /// What decides [default: goodput].
    metric: Option<analysis::judge::compare::Metric>,
    /// In which phase [default: the baseline's with the most requests].
    phase: Option<String>,
    /// What matters in practice, as a share: `0.05` [default: 0.05 of goodput, 0.1 of a percentile, 0.02 in a fraction].
    margin: Option<f64>,
    /// The run is there to decide: if it is inconclusive, the program ends with code 4.
    decide: Option<bool>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Declared {
    KernelBacklog,
    ClosedOverload,
}

/// Values that may be written in more than one shape: each with its name among the definitions.
macro_rules! shapes {
    ($($name:ident as $title:literal = |$generator:ident| $schema:expr;)*) => { $(
        pub(super) enum $name {}

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                $title.into()
            }

            fn json_schema($generator: &mut SchemaGenerator) -> Schema {
                $schema
            }
        }
    )* };
}
shapes! {
    Policy as "Policy" = |_generator| json_schema!({
        "description": "A policy's name, or its name with settings.",
        "anyOf": [
            {"type": "string"},
            {"type": "object", "additionalProperties": {"type": ["object", "null"], "additionalProperties": true}},
        ],
    });
    OnRefuseKey as "OnRefuse" = |_generator| json_schema!({
        "oneOf": [
            {"type": "string", "enum": ["reject", "block", "degrade"]},
            {
                "description": "To this node: `http://127.0.0.1:8081`.",
                "type": "object",
                "properties": {"redirect": {"type": "string"}},
                "additionalProperties": false,
                "required": ["redirect"],
            },
        ],
    });
    CallOrName as "CallOrName" = |generator| json_schema!({
        "anyOf": [{"type": "string"}, generator.subschema_for::<CallKeys>()],
    });
}

#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Objective {
    /// 0 to 100.
    percentile: Option<f64>,
    /// `1s`
    response_time: String,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::{read, thresholds, users};

    #[test]
    fn the_schema_and_the_reader_know_the_same_keys() {
        let schema = serde_json::to_value(experiment()).expect("a schema is JSON");
        let keys = |path: &str| {
            let object = schema.pointer(path).unwrap_or_else(|| panic!("no {path}")).as_object().expect("an object");
            object.keys().cloned().collect::<BTreeSet<_>>()
        };
        let known = |keys: &[&str]| keys.iter().map(|key| (*key).to_owned()).collect::<BTreeSet<_>>();
        assert_eq!(keys("/properties"), known(read::KEYS));
        assert_eq!(keys("/$defs/Objective/properties"), known(read::OBJECTIVE_KEYS));
        assert_eq!(keys("/$defs/Compare/properties"), known(read::COMPARE_KEYS));
        assert_eq!(keys("/$defs/ThresholdTable/properties"), known(thresholds::KEYS));
        assert_eq!(keys("/$defs/Users/properties"), known(users::KEYS));
        assert_eq!(keys("/$defs/Phase/properties"), known(users::PHASE_KEYS));
        assert_eq!(keys("/$defs/Load/properties"), known(users::LOAD_KEYS));
        assert_eq!(keys("/$defs/Trouble/properties"), known(users::TROUBLE_KEYS));
    }
}
