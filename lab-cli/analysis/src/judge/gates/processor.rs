//! CPU and CROWDED: the load generator had the processor time that it needed.

use super::{
    context::quieter,
    effect::{self, Source},
    gate::{Check, ValidityGate},
    limits,
};
use crate::{summary::Validity, text::percent};

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
    finds: "the sender was ready and waited for its processor, which moves what is shown",
    limit: effect::LIMIT,
    remedy: "stop other programs, `--no-tui`",
    checks: &[Check::Arm(|arm, context, reasons| {
        let waited = percent(arm.generator.run_queue);
        let message =
            format!("other programs ran on the generator's processor while it was ready: {waited} of the time");
        effect::tell(arm, Source::Waits, &message, quieter(context), reasons);
    })],
    reading: |run| run.live()?.most(|arm| Some(arm.generator.run_queue), |share, _| percent(share)),
};
