//! JSON Schema of experiment files, for editors.

use schemars::{Schema, schema_for};

use super::read::ExperimentKeys;

/// The schema of an experiment file.
pub fn experiment() -> Schema {
    schema_for!(ExperimentKeys)
}
