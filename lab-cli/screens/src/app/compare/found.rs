//! Comparison of an arm with another, in a few words: the last column of the table.

use analysis::{
    judge::compare::{Across, words::effect},
    summary::{Comparison, ComparisonVerdict},
    text::scrubbed,
};

use super::{ArmSeries, Compare};
use crate::column::Column;

impl Compare {
    /// The head of the last column, which holds the others against an arm, or a run against another; `None`: there is nothing to be
    /// told.
    pub fn found_head(&self) -> Option<String> {
        let column = self.column();
        if self.look.across {
            return Some(format!("{} {}", column.name(), if column == Column::Rejected { "B - A" } else { "B / A" }));
        }
        let against = match self.look.baseline.and_then(|at| self.all_series.get(at)) {
            Some(arm_series) => self.name(*arm_series),
            None => self.all_series.iter().find_map(|of| self.verdict(*of, self.column()))?.baseline.clone(),
        };
        Some(format!("{} against {}", column.name(), scrubbed(&against)))
    }

    /// Something is found that a single block does not describe already.
    pub fn has_findings(&self) -> bool {
        let decides =
            |arm_series: &ArmSeries| self.verdict(*arm_series, self.column()).is_some_and(|of| !decides_nothing(of));
        self.look.across || self.look.baseline.is_some() || self.all_series.iter().any(decides)
    }

    /// The finding for the figure under the cursor; all of the words stand above the table.
    pub fn found_of(&self, arm_series: ArmSeries) -> String {
        if self.look.baseline.is_some() {
            return self.against_chosen(arm_series).unwrap_or_default();
        }
        if self.look.across {
            let found = self.across(arm_series, self.column()).filter(|_| arm_series.run > 0);
            let nothing = |found: &Across| if decides_nothing(&found.comparison) { ", decides nothing" } else { "" };
            let words = |found: &Across| format!("{}{}", in_few_words(&found.comparison), nothing(found));
            return found.map(words).unwrap_or_default();
        }
        self.verdict(arm_series, self.column()).map(in_few_words).unwrap_or_default()
    }
}

/// `better x1.20 [1.10, 1.31]`.
fn in_few_words(comparison: &Comparison) -> String {
    let word = match comparison.verdict {
        ComparisonVerdict::Better => "better",
        ComparisonVerdict::Worse => "worse",
        ComparisonVerdict::Equivalent => "equals",
        ComparisonVerdict::Undecided => "~",
    };
    match effect(comparison) {
        Some(effect) => format!("{word} {effect}"),
        None => "~".to_owned(),
    }
}

/// Too few blocks for an interval.
fn decides_nothing(comparison: &Comparison) -> bool {
    comparison.interval.is_none() && comparison.verdict == ComparisonVerdict::Undecided
}
