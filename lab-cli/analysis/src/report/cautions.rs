//! Cautions, gathered from gates: one line a gate, with the number of runs of arms in which it found it.

use std::collections::BTreeSet;

use crate::{
    summary::{GateFinding, RunSummary, Validity, verdict_and_codes},
    text::scrubbed,
};

/// A gate's findings of one severity.
pub(super) struct Caution<'a> {
    pub code: &'a str,
    pub verdict: Validity,
    /// Findings in the order of the summary; at least one.
    pub findings: Vec<&'a GateFinding>,
    /// Number of runs of arms in all.
    of: usize,
}

/// The worst first, as in the summary.
pub(super) fn cautions(summary: &RunSummary) -> Vec<Caution<'_>> {
    let of = summary.arms.iter().filter(|arm| !arm.bound).count();
    let mut found: Vec<Caution<'_>> = Vec::new();
    for reason in &summary.reasons {
        match found.iter_mut().find(|one| (one.code, one.verdict) == (reason.code.as_str(), reason.verdict)) {
            Some(one) => one.findings.push(reason),
            None => found.push(Caution { code: &reason.code, verdict: reason.verdict, findings: vec![reason], of }),
        }
    }
    found
}

impl Caution<'_> {
    /// `3 of 8 arms run`; empty of what is about the run as a whole.
    pub fn count(&self) -> String {
        let arms: BTreeSet<&str> = self.findings.iter().map(|finding| finding.arm.as_str()).collect();
        match arms.iter().filter(|arm| !arm.is_empty()).count() {
            0 => String::new(),
            _ if self.of == 1 => String::new(),
            count => format!("{count} of {} arm runs", self.of),
        }
    }

    /// Meaning, with the first value found.
    pub fn meaning(&self) -> String {
        let GateFinding { arm, value, message, .. } = self.findings[0];
        let place = if arm.is_empty() || self.of == 1 { String::new() } else { format!(" in {arm}") };
        let more = if self.findings.len() > 1 { ", and more" } else { "" };
        scrubbed(&format!("{message}: {value}{place}{more}"))
    }

    /// Ways out of its findings, each once.
    pub fn remedies(&self) -> Vec<&str> {
        let mut found: Vec<&str> = Vec::new();
        for finding in &self.findings {
            if !found.contains(&finding.remedy.as_str()) {
                found.push(&finding.remedy);
            }
        }
        found
    }

    /// All in a line: `WARN STEAL (3 of 8 arm runs): …. Way out: run again.`
    pub fn line(&self) -> String {
        let count = self.count();
        let count = if count.is_empty() { count } else { format!(" ({count})") };
        let remedy = self.findings[0].remedy.trim_end_matches('.');
        let what = verdict_and_codes(self.verdict, [self.code]);
        format!("{what}{count}: {}. Way out: {remedy}.", self.meaning())
    }
}
