//! Validity gates: can the figures of an arm be believed at all?
//!
//! Overload experiments go wrong silently: the generator saturates before the service does, the kernel drops what the
//! policy was meant to refuse, a request is lost between two ledgers. Each gate looks for one of these, and says what it
//! saw, what it allows, and what to do. They read nothing but the summary, so `lab recheck` comes to the same verdict.
//! Limits are ours where no published one exists; each is printed with its finding. [`table`] lists all of them.

use serde::{Deserialize, Serialize};

use crate::summary::{Arm, Headroom, Objective, Reason, Verdict};

mod client;
mod drift;
mod excluded;
mod ledger;
pub mod limits;
mod load;
mod machine;
mod pauses;
mod readings;
mod settled;
pub mod table;
#[cfg(test)]
mod tests;
mod twins;
mod walk;

pub use drift::judge_drift;
pub use excluded::{BLIND, excluded, first_kept, judge_excluded};
pub use readings::reading;
pub use twins::judge_twins;

/// What the gates need to know of the plan.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Context {
    /// The promise: some limits scale with it.
    pub objective: Objective,
    /// The load is closed (a slow service makes its users slow), and the experiment does not declare that it is about that.
    pub closed: bool,
    /// As fast as it goes: no request has a time at which it is to be sent, and a busy generator is what was asked for.
    #[serde(default, skip_serializing_if = "is_false")]
    pub flat_out: bool,
    /// The policy works at accept: connections that wait or are dropped in the kernel are part of the experiment.
    pub kernel_backlog_declared: bool,
    /// The target is ours and has a ledger of its own. False for `lab load` on a foreign service.
    pub own_target: bool,
    /// What the generator can do here; `None` where it was not measured: in virtual time, and for `lab load`.
    pub headroom: Option<Headroom>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_false(value: &bool) -> bool {
    !value
}

/// Judges one arm: every reason against it, the worst first.
pub fn judge(arm: &Arm, context: &Context) -> Vec<Reason> {
    let mut reasons = Vec::new();
    ledger::check(arm, context, &mut reasons);
    client::check(arm, context, &mut reasons);
    pauses::check(arm, context, &mut reasons);
    machine::check(arm, &mut reasons);
    drift::check(arm, &mut reasons);
    load::check(arm, context, &mut reasons);
    settled::check(arm, &mut reasons);
    walk::check(arm, &mut reasons);
    renewal(arm, &mut reasons);
    touched(arm, &mut reasons);
    for reason in &mut reasons {
        reason.arm = label(arm);
    }
    reasons.sort_by(|a, b| b.verdict.cmp(&a.verdict).then_with(|| a.code.cmp(&b.code)));
    reasons
}

/// The verdict that follows from reasons: the worst of them.
pub fn verdict(reasons: &[Reason]) -> Verdict {
    reasons.iter().map(|reason| reason.verdict).max().unwrap_or_default()
}

/// Judges an arm and writes the result into it.
pub fn stamp(arm: &mut Arm, context: &Context) {
    arm.reasons = judge(arm, context);
    arm.verdict = verdict(&arm.reasons);
    arm.valid = arm.verdict != Verdict::Invalid;
}

/// What such a phase shows is the policy as the phases before it left it, which is another experiment.
fn renewal(arm: &Arm, reasons: &mut Vec<Reason>) {
    if let Some(failure) = &arm.renewal_failed {
        reasons.push(warn(
            "RENEWAL",
            failure.clone(),
            "every phase with fresh_policy".to_owned(),
            "a phase did not begin with a fresh policy: it shows what the phases before it had taught the old one",
            "read such phases as one long run, or run again",
        ));
    }
}

/// From the first change on it is another experiment.
fn touched(arm: &Arm, reasons: &mut Vec<Reason>) {
    let Some(first) = arm.touches.first() else { return };
    let more = arm.touches.len() - 1;
    let value = if more == 0 { first.what.clone() } else { format!("{}, and {more} more", first.what) };
    reasons.push(warn(
        "TOUCHED",
        format!("{value} (at {:.0} s)", first.second),
        "nothing".to_owned(),
        "a person changed the run while it went on: it is compared with nothing",
        "run it again without a touch; what was changed, and when, is in events.jsonl",
    ));
}

fn fraction(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// The arm's name, with its block where there are several.
fn label(arm: &Arm) -> String {
    let name = arm.shown_name();
    if arm.block > 1 { format!("{name} (block {})", arm.block) } else { name.to_owned() }
}

/// The way out where something else has the generator's core. Only runs on a target of ours have a live view.
fn quieter(context: &Context) -> &'static str {
    if context.own_target {
        "stop other programs, or run without the live view (--no-tui)"
    } else {
        "stop other programs, or run on a quieter machine"
    }
}

/// A finding that leaves the arm usable with caution.
fn warn(code: &str, value: String, threshold: String, message: &str, remedy: &str) -> Reason {
    Reason { verdict: Verdict::Warn, ..invalid(code, value, threshold, message, remedy) }
}

/// A finding that makes the arm INVALID.
fn invalid(code: &str, value: String, threshold: String, message: &str, remedy: &str) -> Reason {
    Reason {
        code: code.to_owned(),
        verdict: Verdict::Invalid,
        arm: String::new(),
        value,
        threshold,
        message: message.to_owned(),
        remedy: remedy.to_owned(),
    }
}
