//! DRIFT: the machine's own speed changed. What differs between arms, or over time, may be that.
//!
//! It is the service's processor that is judged. The generator's follows the service's load, where both are halves of one core:
//! it is half as fast again while the other one idles. A service that uses its processor little is told from one that is bound to it: what
//! the speed can have changed of the figures is judged, as by LAG and STEAL.

use std::collections::BTreeSet;

use super::{
    context::Context,
    effect,
    gate::{Check, Reasons, ValidityGate},
    limits,
    reading::label,
};
use crate::summary::{Arm, Measured, Speed, Validity};

pub(super) const DRIFT: ValidityGate = ValidityGate {
    code: "DRIFT",
    verdicts: &[Validity::Warn],
    finds: "the service's processor did the same work faster for one arm than for another of its block, or in one half of an arm than in the other",
    limit: "10 %, and more than the readings of a second scatter (the notches of two box plots do not touch); none if that cannot change a shown p50, p90 or p99 by 5 % and 0.1 ms, and the service used its processors for under half of the busiest second",
    remedy: "more blocks, a quieter machine",
    checks: &[Check::Arm(halves), Check::Arms(between_arms)],
    reading: |run| {
        run.live()?.most(
            |arm| speed(arm).map(times),
            |times, _| format!("{times:.2} times as fast in one half of an arm as in the other"),
        )
    },
};

/// Speed of the service's processor, which may be the generator's too.
fn speed(arm: &Arm) -> Option<Speed> {
    arm.conditions.service_speed.or(arm.conditions.generator_speed)
}

/// Within an arm: its halves.
fn halves(arm: &Arm, _: &Context, reasons: &mut Reasons) {
    let differs = |speed: &Speed| halves_differ(*speed) && matters(arm, times(*speed));
    let Some(speed) = speed(arm).filter(differs) else { return };
    let faster = if speed.first_half > speed.second_half { "first" } else { "second" };
    let times = times(speed);
    reasons.warn(
        format!("the service's processor was {times:.2} times as fast in the {faster} half as in the other"),
        limit(),
        "the machine changed its speed: what changed over the arm may be that",
        "run again on a quieter machine, or more blocks; timeline.jsonl has the speed of each second",
    );
}

fn halves_differ(speed: Speed) -> bool {
    let Speed { first_half, second_half, notches, .. } = speed;
    differ((first_half, notches.first_half), (second_half, notches.second_half))
}

/// True if two medians are further apart than is allowed, and than what they may be off by: on a machine whose every
/// second has another speed, those of two halves differ too.
fn differ(one: (f64, f64), other: (f64, f64)) -> bool {
    let (low, high) = if one.0 < other.0 { (one, other) } else { (other, one) };
    high.0 > low.0 * (1.0 + limits::DRIFT) && high.0 - high.1 > low.0 + low.1
}

/// Ratio of the speeds of both halves, the faster one's to the other's.
fn times(speed: Speed) -> f64 {
    speed.first_half.max(speed.second_half) / speed.first_half.min(speed.second_half)
}

/// True if figures of the arm can depend on a processor of its service that is so many times as fast. No more than a
/// share `q` of the requests use over `c / q` of CPU time each, if all use `c` on average (Markov): so that is what a
/// percentile can contain of it.
fn matters(arm: &Arm, times: f64) -> bool {
    let Some(service) = arm.conditions.neighbours.as_ref().and_then(|neighbours| neighbours.service) else {
        return true;
    };
    let lasted: f64 = arm.phases.iter().map(|phase| phase.seconds).sum();
    let sent = arm.sum(|found: &Measured| found.sent) as f64;
    let busiest = service.wanted() * (arm.conditions.sent_per_s_max * lasted / sent.max(1.0)).max(1.0);
    if busiest >= limits::STARVED_BUSY {
        return true;
    }
    let answered = arm.sum(|found: &Measured| found.served + found.served_late + found.rejected + found.failed).max(1);
    // Requests that wait for each other do so for longer, too.
    let added_ms = service.ran_s * 1e3 / answered as f64 * (times - 1.0) / (1.0 - busiest);
    let percentiles = arm.phases.iter().flat_map(|phase| effect::percentiles(&phase.measured.response_time_ms));
    percentiles.into_iter().any(|(_, beyond, shown)| {
        let most = added_ms / beyond;
        shown.is_some_and(|shown| effect::verdict(most / shown, most).is_some())
    })
}

/// Between the arms of a block, which are compared with each other. Whole blocks may differ: pairs are made within them.
fn between_arms(arms: &[Arm], left_out: &BTreeSet<u32>, reasons: &mut Reasons) {
    let usable: Vec<(&Arm, Speed)> = arms
        .iter()
        .filter(|arm| arm.verdict != Validity::Invalid && !left_out.contains(&arm.block))
        .filter_map(|arm| Some((arm, speed(arm)?)))
        .collect();
    let mut blocks: Vec<u32> = usable.iter().map(|(arm, _)| arm.block).collect();
    blocks.sort_unstable();
    blocks.dedup();
    let found: Vec<Apart<'_>> = blocks.into_iter().filter_map(|block| apart(block, &usable)).collect();
    let Some(worst) = found.iter().max_by(|a, b| a.times.total_cmp(&b.times)) else { return };
    let also = if found.len() > 1 { format!("; so in {} blocks", found.len()) } else { String::new() };
    let (times, fast, slow) = (worst.times, label(worst.fast), label(worst.slow));
    reasons.warn(
        format!("the service's processor was {times:.2} times as fast for {fast} as for {slow}{also}"),
        limit(),
        "the machine changed its speed between arms that are compared: what differs between them may be that",
        "run more blocks (repeat), whose order is drawn, or run on a quieter machine",
    );
}

/// Two arms of a block.
struct Apart<'a> {
    slow: &'a Arm,
    fast: &'a Arm,
    times: f64,
}

/// The slowest and the fastest arm of a block, if they are too far apart.
fn apart<'a>(block: u32, arms: &[(&'a Arm, Speed)]) -> Option<Apart<'a>> {
    let own = || arms.iter().filter(|(arm, _)| arm.block == block);
    let (slow, least) = own().min_by(|a, b| a.1.median.total_cmp(&b.1.median))?;
    let (fast, most) = own().max_by(|a, b| a.1.median.total_cmp(&b.1.median))?;
    let times = most.median / least.median;
    let of = |speed: &Speed| (speed.median, speed.notches.median);
    let told = differ(of(least), of(most)) && (matters(slow, times) || matters(fast, times));
    told.then_some(Apart { slow, fast, times })
}

fn limit() -> String {
    format!("{:.0} %", limits::DRIFT * 100.0)
}
