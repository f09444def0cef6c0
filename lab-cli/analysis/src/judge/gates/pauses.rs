//! GAP and HICCUP: generator, service or machine stood still, and requests that waited for it look like a slow service.

use super::{
    context::Context,
    effect::{self, Source},
    gate::{Check, Reasons, ValidityGate},
    limits::{GAP_MS, SUSPENDED_MS},
};
use crate::{
    summary::{Arm, Validity},
    text::time,
};

pub(super) const HICCUP: ValidityGate = ValidityGate {
    code: "HICCUP",
    verdicts: &[Validity::Warn, Validity::Invalid],
    finds: "the generator stood still, which moves what is shown; a pause of over a second is GAP's",
    limit: effect::LIMIT,
    remedy: "a quieter machine",
    checks: &[Check::Arm(|arm, _, reasons| {
        let message =
            "requests were not sent and answers not read meanwhile: that shows as response time, or as a lower rate";
        effect::tell(arm, Source::Pauses, message, "run again on a quieter machine", reasons);
    })],
    reading: |run| {
        run.live()?.most(
            |arm| Some(arm.generator.loop_gap_max_ms),
            |longest, arm| {
                let often = arm.conditions.hiccup_p999_ms.map(|ms| format!("; one wake-up in a thousand {}", time(ms)));
                format!("{} at the longest{}", time(longest), often.unwrap_or_default())
            },
        )
    },
};

pub(super) const GAP: ValidityGate = ValidityGate {
    code: "GAP",
    verdicts: &[Validity::Warn, Validity::Invalid],
    finds: "generator or machine stood still; a caution where it is the service's process",
    limit: "1 s; 100 ms of sleep",
    remedy: "a quiet machine that stays awake",
    checks: &[Check::Arm(gap)],
    reading: |run| {
        run.live()?.most(
            |arm| Some(arm.generator.loop_gap_max_ms.max(arm.conditions.service_silent_max_ms)),
            |longest, _| time(longest),
        )
    },
};

fn gap(arm: &Arm, _: &Context, reasons: &mut Reasons) {
    let longest = arm.generator.loop_gap_max_ms;
    let slept = arm.conditions.clocks.suspended_ms;
    if longest > GAP_MS {
        reasons.invalid(
            format!("the generator stood still for {longest:.0} ms"),
            format!("{GAP_MS:.0} ms"),
            "the machine was suspended, or the generator was stopped or starved",
            "run again on a quiet machine",
        );
    }
    if slept > SUSPENDED_MS {
        reasons.invalid(
            format!("the machine slept for {slept:.0} ms"),
            format!("{SUSPENDED_MS:.0} ms"),
            "the run's clock stood still meanwhile, and the rest of the world did not",
            "run again, and keep the machine awake",
        );
    }
    // A caution only: a service that has too much to do may be late to its control port as well, and a fault may be what the
    // experiment is about.
    let silent = arm.conditions.service_silent_max_ms;
    if silent > GAP_MS {
        reasons.warn(
            format!("the service did not answer its control port for {silent:.0} ms"),
            format!("{GAP_MS:.0} ms"),
            "the service's process stood still, or could not get to its processor",
            "look at its second-by-second CPU in timeline.jsonl: if nobody was meant to stop it, run again",
        );
    }
}
