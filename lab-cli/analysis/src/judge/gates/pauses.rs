//! GAP and HICCUP: generator, service or machine stood still, and requests that waited for it look like a slow service.

use super::{
    Check, Context, Reasons, ValidityGate,
    limits::{self, GAP_MS, SUSPENDED_MS},
    quieter,
};
use crate::{
    summary::{Arm, Validity},
    text::time,
};

pub(super) const HICCUP: ValidityGate = ValidityGate {
    code: "HICCUP",
    verdicts: &[Validity::Invalid],
    finds: "the generator paused",
    limit: "a quarter of the objective, at least 25 ms; one wake-up in a thousand: 5 %, at least 5 ms",
    remedy: "a quieter machine",
    checks: &[Check::Arm(hiccup)],
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

/// A pause that GAP finds is told once. Both limits scale with the objective, and have a floor. A wake-up in a thousand that is
/// 5 ms late moves no percentile of half a second; and a single pause of 25 ms holds up 0.04 % of the requests of a minute,
/// whatever the objective is.
fn hiccup(arm: &Arm, context: &Context, reasons: &mut Reasons) {
    let objective = context.objective.response_time_ms;
    let (longest, most) = (arm.generator.loop_gap_max_ms, limits::hiccup_ms(objective));
    if longest > GAP_MS {
        return;
    }
    if longest > most {
        reasons.invalid(
            format!("the generator stood still for {longest:.0} ms"),
            format!("{most:.0} ms (a quarter of the objective, at least 25 ms)"),
            "pauses of the generator show as response time",
            "run again on a quieter machine",
        );
    }
    let often = limits::hiccup_often_ms(objective);
    if let Some(late) = arm.conditions.hiccup_p999_ms.filter(|late| *late > often) {
        reasons.invalid(
            format!("one wake-up of the generator in a thousand came {late:.1} ms late, or later"),
            format!("{often:.1} ms (5 % of the objective, at least 5 ms)"),
            "pauses of the generator show as response time",
            quieter(context),
        );
    }
}

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
