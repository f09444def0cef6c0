//! Changes by a person while an arm ran.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One change: the arm is another experiment from then on. `events.jsonl` has it as data.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Touched {
    /// Second of the arm.
    pub second: f64,
    /// In words: `capacity at 20 % for 5 s`.
    pub what: String,
}
