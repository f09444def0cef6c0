//! CARRIED, RENEWAL and TOUCHED: the run went on as its plan says.

use super::{
    context::Context,
    gate::{Check, Reasons, ValidityGate},
};
use crate::{
    summary::{Arm, Validity},
    text::time,
};

pub(super) const CARRIED: ValidityGate = ValidityGate {
    code: "CARRIED",
    verdicts: &[Validity::Invalid],
    finds: "a service that runs on had not worked off what the arm before had left in it",
    limit: "a minute to answer as before the first arm: in twice the time and 20 ms at most",
    remedy: "`target.command` or `target.reset`, so that every arm begins with a fresh service",
    checks: &[Check::Arm(|arm, _, reasons| {
        if let Some(found) = arm.conditions.carried.filter(|carried| !carried.settled) {
            let last =
                found.last_ms.map_or("no answer in time".to_owned(), |last| format!("an answer in {}", time(last)));
            reasons.invalid(
                format!("{last} after {:.0} s of waiting, and {} before the first arm", found.waited_s, time(found.before_ms)),
                "twice the time before the first arm, and 20 ms",
                "the service began this arm with the backlog of the one before: what this arm shows is that one's",
                "let target.command start the service for each arm, or clear it with target.reset; or let the load end with a calm phase",
            );
        }
    })],
    reading: |run| {
        run.live()?.most(
            |arm| arm.conditions.carried.map(|carried| carried.waited_s),
            |waited, _| format!("{waited:.1} s waited"),
        )
    },
};

/// Phases that were to begin with a fresh policy: one that shows the policy as the phases before it left it is
/// another experiment.
pub(super) const RENEWAL: ValidityGate = ValidityGate {
    code: "RENEWAL",
    verdicts: &[Validity::Warn],
    finds: "a phase did not begin with a fresh policy, though it was to",
    limit: "every phase with fresh_policy",
    remedy: "read such phases as one long run",
    checks: &[Check::Arm(|arm, _, reasons| {
        if let Some(failure) = &arm.renewal_failed {
            reasons.warn(
                failure.clone(),
                "every phase with fresh_policy",
                "a phase did not begin with a fresh policy: it shows what the phases before it had taught the old one",
                "read such phases as one long run, or run again",
            );
        }
    })],
    reading: |run| run.count(|arm| u64::from(arm.renewal_failed.is_some())),
};

pub(super) const TOUCHED: ValidityGate = ValidityGate {
    code: "TOUCHED",
    verdicts: &[Validity::Warn],
    finds: "a person changed the run while it went on: from then on it is another experiment: left out of comparisons and curves; thresholds are judged as they stand",
    limit: "nothing",
    remedy: "run it again without a touch",
    checks: &[Check::Arm(touched)],
    reading: |run| run.count(|arm| arm.touches.len() as u64),
};

/// Changes by a person: the arm is another experiment from the first one on.
fn touched(arm: &Arm, _: &Context, reasons: &mut Reasons) {
    let Some(first) = arm.touches.first() else { return };
    let more = arm.touches.len() - 1;
    let value = if more == 0 { first.what.clone() } else { format!("{}, and {more} more", first.what) };
    reasons.warn(
        format!("{value} (at {:.0} s)", first.second),
        "nothing",
        "a person changed the run while it went on: it is compared with nothing",
        "run it again without a touch; what was changed, and when, is in events.jsonl",
    );
}
