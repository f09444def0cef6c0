//! Validity gates: their checks, and how they tell what they find.

use std::collections::BTreeSet;

use super::{context::Context, reading::Readings};
use crate::summary::{Arm, Comparison, GateFinding, RunSummary, Validity};

/// One validity gate. Its texts are what reports and `docs/reference/gates.md` say of it.
#[derive(Debug)]
pub struct ValidityGate {
    /// Code in `reasons[].code`.
    pub code: &'static str,
    /// The verdicts that it may give.
    pub verdicts: &'static [Validity],
    /// Fault that it finds.
    pub finds: &'static str,
    /// The values from which on it finds something.
    pub limit: &'static str,
    /// Remedy for a finding.
    pub remedy: &'static str,
    pub(super) checks: &'static [Check],
    pub(super) reading: fn(&Readings<'_>) -> Option<String>,
}

impl ValidityGate {
    /// Reading of a run, also where the gate found nothing. `None`: there was nothing to measure.
    pub fn reading(&self, summary: &RunSummary) -> Option<String> {
        (self.reading)(&Readings(summary))
    }
}

/// The input of a gate, and its check.
#[derive(Debug)]
pub(super) enum Check {
    /// One arm.
    Arm(fn(&Arm, &Context, &mut Reasons)),
    /// A count of one arm that has to be nothing.
    Count(Count),
    /// A comparison of two arms that are the same but for their names.
    Twins(fn(&Comparison, &mut Reasons)),
    /// All arms of a run, and the blocks of them that are left out.
    Arms(fn(&[Arm], &BTreeSet<u32>, &mut Reasons)),
}

/// A count that has to be nothing, and what is said where it is something.
#[derive(Debug)]
pub(super) struct Count {
    pub of: fn(&Arm) -> u64,
    pub found: fn(u64) -> String,
    pub message: &'static str,
    pub remedy: &'static str,
}

/// The remedy where the lab itself went wrong.
pub(super) const FAULT_OF_THE_LAB: &str = "this is a fault of the lab: please report it with the results folder";

/// The reasons that checks have found so far.
pub(super) struct Reasons {
    /// Code of the gate whose check is under way.
    pub code: &'static str,
    /// The label of the arm that is judged; empty for the run as a whole.
    pub arm: String,
    pub list: Vec<GateFinding>,
}

impl Reasons {
    /// A finding: what was measured, what it was held against, what this means, and what to do about it.
    pub fn add(
        &mut self,
        verdict: Validity,
        value: impl Into<String>,
        threshold: impl Into<String>,
        message: &str,
        remedy: &str,
    ) {
        self.list.push(GateFinding {
            code: self.code.to_owned(),
            verdict,
            arm: self.arm.clone(),
            value: value.into(),
            threshold: threshold.into(),
            message: message.to_owned(),
            remedy: remedy.to_owned(),
        });
    }

    /// A finding that makes the arm INVALID.
    pub fn invalid(&mut self, value: impl Into<String>, threshold: impl Into<String>, message: &str, remedy: &str) {
        self.add(Validity::Invalid, value, threshold, message, remedy);
    }

    /// A finding that leaves the arm usable with caution.
    pub fn warn(&mut self, value: impl Into<String>, threshold: impl Into<String>, message: &str, remedy: &str) {
        self.add(Validity::Warn, value, threshold, message, remedy);
    }

    /// The lab's own figures contradict each other.
    pub fn fault_of_the_lab(&mut self, value: impl Into<String>, threshold: impl Into<String>, message: &str) {
        self.invalid(value, threshold, message, FAULT_OF_THE_LAB);
    }
}
