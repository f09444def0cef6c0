//! Verdicts on the validity of figures, with their reasons.

use std::collections::BTreeSet;

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
    /// Word as it is printed.
    pub fn word(self) -> &'static str {
        match self {
            Self::Valid => "VALID",
            Self::Warn => "WARN",
            Self::Unstable => "UNSTABLE",
            Self::Invalid => "INVALID",
        }
    }
}

/// `WARN DRIFT STEAL`: a verdict, and the checks that led to it, each once. What is called like the verdict is said already.
pub fn verdict_and_codes<'a>(verdict: Validity, codes: impl IntoIterator<Item = &'a str>) -> String {
    let word = verdict.word();
    let codes: BTreeSet<&str> = codes.into_iter().filter(|code| *code != word).collect();
    std::iter::once(word).chain(codes).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_called_the_same_is_said_once() {
        assert_eq!(verdict_and_codes(Validity::Warn, ["STEAL", "DRIFT", "STEAL"]), "WARN DRIFT STEAL");
        assert_eq!(verdict_and_codes(Validity::Unstable, ["UNSTABLE"]), "UNSTABLE");
    }
}
