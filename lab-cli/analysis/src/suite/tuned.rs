//! Worth of a policy's parameters over a suite: defaults, one setting for all scenarios, one for each.

use std::collections::BTreeMap;

use serde::Serialize;

use super::matrix::{SuiteRow, rounded};

/// Policies with settings that were looked for; `lab tune --suite --output json` writes it as it is.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct TunedSuite {
    /// [`SUITE_SCHEMA`](super::SUITE_SCHEMA).
    pub schema: u32,
    /// Version of the lab.
    pub lab: String,
    /// Settings that each search tried.
    pub evaluations: u32,
    /// Seeds that each was tried with.
    pub training: u32,
    /// Other seeds, with which scores are.
    pub held_out: u32,
    /// Names of the scenarios, in their order.
    pub scenarios: Vec<String>,
    /// Scenarios in which the one setting was looked for.
    pub searched: Vec<String>,
    /// Policies, in the order in which they were named.
    pub rows: Vec<TunedRow>,
}

/// A policy: scores with held-out seeds in all scenarios.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct TunedRow {
    /// Name of the policy.
    pub policy: String,
    /// Parameters that were turned.
    pub knobs: Vec<String>,
    /// Scores with the authors' defaults.
    pub defaults: SuiteRow,
    /// Scores with one setting for all scenarios.
    pub one: SuiteRow,
    /// Scores with a setting for each.
    pub each: SuiteRow,
    /// Price of the knobs: the share of the geometric mean with a setting for each scenario that one setting for all loses. Under 0: the
    /// searches in single scenarios found less.
    pub price: Option<f64>,
    /// The one setting; empty: there is nothing to turn.
    pub setting: BTreeMap<String, String>,
    /// Settings by scenario.
    pub settings: BTreeMap<String, BTreeMap<String, String>>,
}

impl TunedRow {
    /// Price of the knobs of a policy with these scores.
    pub fn price_of(one: &SuiteRow, each: &SuiteRow) -> Option<f64> {
        let each = each.geometric_mean.filter(|mean| *mean > 0.0)?;
        Some(rounded(1.0 - one.geometric_mean? / each))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_price_is_what_one_setting_for_all_loses() {
        let row = |geometric_mean| SuiteRow { geometric_mean, ..SuiteRow::default() };
        assert_eq!(TunedRow::price_of(&row(Some(0.6)), &row(Some(0.8))), Some(0.25));
        assert_eq!(TunedRow::price_of(&row(None), &row(Some(0.8))), None);
        assert_eq!(TunedRow::price_of(&row(Some(0.6)), &row(Some(0.0))), None);
    }
}
