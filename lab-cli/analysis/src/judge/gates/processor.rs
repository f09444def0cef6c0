//! CPU and CROWDED: the load generator had the processor time that it needed.

use super::{
    Check, Context, Reasons, ValidityGate,
    generator_lag::keeps_to_the_plan,
    limits::{self, CROWDED_EFFECT, RUN_QUEUE, WAKE_UP},
    quieter,
};
use crate::{
    summary::{Arm, Times, Validity},
    text::percent,
};

/// A generator without a pace is as busy as was asked for.
pub(super) const CPU: ValidityGate = ValidityGate {
    code: "CPU",
    verdicts: &[Validity::Invalid],
    finds: "the generator nearly filled its processor",
    limit: "70 %",
    remedy: "lower the load, or raise the work a request",
    checks: &[Check::Arm(|arm, context, reasons| {
        if arm.generator.cpu > limits::CPU && !context.flat_out {
            reasons.invalid(
                format!("generator at {:.0} % of its core", arm.generator.cpu * 100.0),
                format!("{:.0} %", limits::CPU * 100.0),
                "the generator was nearly saturated: it may have measured itself",
                "lower the load, or raise the work a request (target.capacity) so that the service saturates first",
            );
        }
    })],
    reading: |run| run.live()?.most(|arm| Some(arm.generator.cpu), |share, _| percent(share)),
};

pub(super) const CROWDED: ValidityGate = ValidityGate {
    code: "CROWDED",
    verdicts: &[Validity::Warn, Validity::Invalid],
    finds: "the sender was ready and waited for its processor",
    limit: "1 % of the time; INVALID only if it is over 1 % with 25 µs allowed for each wake-up too, and the waits add over 5 % to the median response time or LAG is found",
    remedy: "stop other programs, `--no-tui`",
    checks: &[Check::Arm(crowded)],
    reading: |run| run.live()?.most(|arm| Some(arm.generator.run_queue), |share, _| percent(share)),
};

/// By effect: other programs on the sender's core spoil nothing while the plan is kept and what their turns add to a response
/// time is a small part of it (without a plan of times, the latter alone). A sender that wakes thousands of times a second
/// waits over the limit in waits that are all harmless, so that only what is over it beyond those can spoil anything.
fn crowded(arm: &Arm, context: &Context, reasons: &mut Reasons) {
    let generator = &arm.generator;
    if generator.run_queue <= RUN_QUEUE {
        return;
    }
    let (added, median) = (added_ms(arm, context), median_ms(arm));
    let share = median.map_or(0.0, |median| added / median);
    // The lab's own proxy shares the core with the sender, in all arms alike: what it adds is held against the objective, as LAG is.
    let share_that_counts = if context.foreign_service { added / context.objective.response_time_ms } else { share };
    let is_late = !context.flat_out && !keeps_to_the_plan(arm, context);
    let spoils = generator.crowded > RUN_QUEUE && (share_that_counts > CROWDED_EFFECT || is_late);
    let effect = match median {
        Some(median) => {
            format!("this adds up to {added:.2} ms to the median of {median:.2} ms ({:.1} %)", share * 100.0)
        }
        None => format!("this adds up to {added:.2} ms; nothing was timed"),
    };
    let or_late = if context.flat_out { "" } else { " or requests are sent late (LAG)" };
    let verdict = if spoils { Validity::Invalid } else { Validity::Warn };
    reasons.add(
        verdict,
        format!(
            "generator starved of CPU: {:.1} % of the time in the run queue, {:.1} % if {} µs are allowed for each \
             wake-up; {effect}",
            generator.run_queue * 100.0,
            generator.crowded * 100.0,
            WAKE_UP.as_micros(),
        ),
        format!(
            "{} % of the time; INVALID only if it is over {} % with the allowance too, and over {} % is added to the median{or_late}",
            RUN_QUEUE * 100.0,
            RUN_QUEUE * 100.0,
            CROWDED_EFFECT * 100.0
        ),
        "other programs ran on the generator's processor while it was ready to send",
        quieter(context),
    );
}

/// What waits for the core add to a response time: one wait each where the request is written and where its answer is read, or
/// what all but one request in a hundred were late by, where that is more and they have times to be late for.
fn added_ms(arm: &Arm, context: &Context) -> f64 {
    let lag = if context.flat_out { 0.0 } else { arm.generator.send_lag_p99_ms };
    (2.0 * arm.generator.core_wait_ms).max(lag)
}

/// The least median of a phase: of response times, or of rejects where nothing was served. A bound is as good.
fn median_ms(arm: &Arm) -> Option<f64> {
    let of = |times: &Times| times.p50.or(times.p50_at_least);
    let medians = arm.phases.iter().map(|phase| &phase.measured);
    medians.filter_map(|found| of(&found.response_time_ms).or(of(&found.reject_time_ms))).min_by(f64::total_cmp)
}
