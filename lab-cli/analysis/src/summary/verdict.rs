//! Whether figures can be believed, and why not.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether the figures can be trusted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
#[schemars(rename = "Verdict")]
pub enum Validity {
    /// Nothing speaks against them.
    #[default]
    Valid,
    /// Usable with the caution named.
    Warn,
    /// The system never settled: percentiles depend on how long the run was. A finding, not a fault.
    Unstable,
    /// The measurement itself went wrong: no conclusion may be drawn.
    Invalid,
}

/// One thing that speaks against the figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Reason")]
pub struct GateFinding {
    /// Short name of the check: `LEDGER`, `CPU`, `LAG`, …
    pub code: String,
    /// How bad it is.
    pub verdict: Validity,
    /// The arm (and block) where it was seen; empty for the run as a whole.
    #[serde(default)]
    pub arm: String,
    /// What was measured, with its unit.
    pub value: String,
    /// What it was held against.
    pub threshold: String,
    /// What this means.
    pub message: String,
    /// What to do about it.
    pub remedy: String,
}

impl Validity {
    /// As it is printed.
    pub fn word(self) -> &'static str {
        match self {
            Self::Valid => "VALID",
            Self::Warn => "WARN",
            Self::Unstable => "UNSTABLE",
            Self::Invalid => "INVALID",
        }
    }
}
