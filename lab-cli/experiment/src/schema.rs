//! JSON Schema of experiment files, for editors. The shape is written down once more here, in the words of a schema; a test
//! holds its keys against those that the reader knows.

mod simulation;
mod target;
mod users;

use schemars::{JsonSchema, Schema, schema_for};
use serde::Serialize;

use simulation::Simulation;
use target::Target;
use users::Users;

/// The schema of an experiment file.
pub fn experiment() -> Schema {
    schema_for!(Experiment)
}

/// One experiment.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Experiment {
    /// Names the results folder: letters, digits, - and _.
    name: String,
    /// One line.
    about: Option<String>,
    /// Figure and paper.
    source: Option<String>,
    target: Target,
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
    simulation: Option<Simulation>,
}

/// What must hold.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
enum Threshold {
    Text(String),
    Table(ThresholdTable),
}

/// A threshold that may end the run.
#[derive(Debug, Serialize, JsonSchema)]
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
#[derive(Debug, Serialize, JsonSchema)]
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

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[expect(dead_code, reason = "only its schema is used")]
enum Declared {
    KernelBacklog,
    ClosedOverload,
}

/// A policy's name, or its name with settings.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
enum Policy {
    Name(String),
    Settings(std::collections::BTreeMap<String, Option<std::collections::BTreeMap<String, serde_json::Value>>>),
}

#[derive(Debug, Serialize, JsonSchema)]
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
    use crate::{read, simulation, target, thresholds, tree, users};

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
        assert_eq!(keys("/$defs/Target/properties"), known(target::KEYS));
        assert_eq!(keys("/$defs/Mail/properties"), known(target::MAIL_KEYS));
        assert_eq!(keys("/$defs/Service/properties"), known(tree::SERVICE_KEYS));
        assert_eq!(keys("/$defs/Slow/properties"), known(tree::SLOW_KEYS));
        assert_eq!(keys("/$defs/Call/properties"), known(tree::CALL_KEYS));
        assert_eq!(keys("/$defs/Stage/properties"), known(target::STAGE_KEYS));
        assert_eq!(keys("/$defs/Class/properties"), known(target::CLASS_KEYS));
        assert_eq!(keys("/$defs/Users/properties"), known(users::KEYS));
        assert_eq!(keys("/$defs/Phase/properties"), known(users::PHASE_KEYS));
        assert_eq!(keys("/$defs/Load/properties"), known(users::LOAD_KEYS));
        assert_eq!(keys("/$defs/Simulation/properties"), known(simulation::KEYS));
        assert_eq!(keys("/$defs/Costs/properties"), known(simulation::COSTS_KEYS));
        assert_eq!(keys("/$defs/Link/properties"), known(simulation::LINK_KEYS));
        assert_eq!(keys("/$defs/Fault/properties"), known(simulation::FAULT_KEYS));
        assert_eq!(keys("/$defs/Trouble/properties"), known(users::TROUBLE_KEYS));
    }
}
