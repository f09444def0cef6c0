//! Validity gates: can the figures of an arm be believed at all?
//!
//! Overload experiments go wrong silently: the generator saturates before the service does, the kernel drops what the
//! policy was meant to refuse, a request is lost between two ledgers. Each gate looks for one of these, and says what it
//! saw, what it allows, and what to do. They read nothing but the summary, so `lab recheck` comes to the same verdict.
//! Limits are ours where no published one exists; each is printed with its finding. [`GATES`] lists all
//! of them: each is one value, in the file of its family.

use std::{cmp::Reverse, collections::BTreeSet};

use measure::Shard;

use self::{
    aa_pairs::{A_A, POWER},
    arrivals::ARRIVALS,
    books::{BOOKS, EMPTY, HDR, JOBS, LITTLE, PANIC},
    changed::{CARRIED, RENEWAL, TOUCHED},
    drift::DRIFT,
    excluded::EXCLUDED,
    gate::{Check, Count, Reasons},
    generator_lag::{LAG, UNSENT},
    ledger::{BACKLOG, LEDGER, RESENT, UNASKED},
    load::{CAP, HEADROOM, MODEL, SAMPLES},
    machine::{CLOCK, NOISE, PAGING, STEAL},
    neighbours::{STARVED, THROTTLED},
    parts::{SHARES, SKEW},
    pauses::{GAP, HICCUP},
    plant::PLANT,
    processor::{CPU, CROWDED},
    reading::label,
    resources::{FILES, MEMORY, PORTS},
    settled::{UNSTABLE, WARM_UP},
    walk::WALK,
};
use crate::summary::{Arm, Comparison, GateFinding, Validity};

mod aa_pairs;
mod arrivals;
mod books;
mod changed;
mod context;
mod drift;
mod effect;
mod excluded;
mod gate;
mod generator_lag;
mod ledger;
pub mod limits;
mod load;
mod machine;
mod neighbours;
mod parts;
mod pauses;
mod plant;
mod processor;
mod reading;
mod resources;
mod settled;
#[cfg(test)]
mod tests;
mod walk;

pub use books::nothing_ended;
pub use context::{Context, PlantDoubts};
pub use excluded::{excluded, first_kept, is_external};
pub use gate::ValidityGate;
pub use parts::of_generator;

/// All of them, in the order of `docs/reference/gates.md`: the books, the load, the generator, the machine, the service, comparisons.
pub static GATES: [ValidityGate; 43] = [
    LEDGER, RESENT, UNASKED, EMPTY, BOOKS, LITTLE, HDR, PANIC, JOBS, MODEL, CAP, ARRIVALS, SAMPLES, WALK, WARM_UP,
    SHARES, SKEW, UNSENT, LAG, CPU, CROWDED, HICCUP, GAP, FILES, PORTS, MEMORY, HEADROOM, STEAL, NOISE, STARVED,
    THROTTLED, PAGING, CLOCK, DRIFT, PLANT, BACKLOG, CARRIED, RENEWAL, TOUCHED, EXCLUDED, UNSTABLE, A_A, POWER,
];

/// Judges one arm: every reason against it, the worst first. Of a part of its users the generator alone: the rest is about all of them.
pub fn judge(arm: &Arm, context: &Context) -> Vec<GateFinding> {
    let asked = if arm.part.is_some() { parts::is_of_generator } else { |_: &str| true };
    let mut reasons = judge_by(arm, context, asked);
    worst_first(&mut reasons);
    reasons
}

fn worst_first(reasons: &mut [GateFinding]) {
    reasons.sort_by(|a, b| b.verdict.cmp(&a.verdict).then_with(|| a.code.cmp(&b.code)));
}

fn judge_by(arm: &Arm, context: &Context, asked: fn(&str) -> bool) -> Vec<GateFinding> {
    let mut reasons = Reasons { code: "", arm: label(arm), list: Vec::new() };
    for gate in GATES.iter().filter(|gate| asked(gate.code)) {
        reasons.code = gate.code;
        for check in gate.checks {
            match check {
                Check::Arm(check) => check(arm, context, &mut reasons),
                Check::Count(Count { of, found, message, remedy }) => match of(arm) {
                    0 => {}
                    count => reasons.add(gate.verdicts[0], found(count), "0", message, remedy),
                },
                Check::Twins(_) | Check::Arms(_) => {}
            }
        }
    }
    reasons.list
}

/// Judges a run whose arms are judged: every reason against them and against the run as a whole, the worst first. `noise_floor`:
/// comparisons of arms that are the same but for their names, of which only the metric that decides is judged: of four metrics
/// one is more often different by chance than the test says.
pub fn judge_run(arms: &[Arm], left_out: &BTreeSet<u32>, noise_floor: &[Comparison]) -> Vec<GateFinding> {
    let of_arms = arms.iter().flat_map(|arm| arm.reasons.iter().cloned()).collect();
    let mut reasons = Reasons { code: "", arm: String::new(), list: of_arms };
    let checks = || GATES.iter().flat_map(|gate| gate.checks.iter().map(|check| (gate.code, check)));
    for (code, check) in checks() {
        if let Check::Twins(check) = check {
            reasons.code = code;
            noise_floor.iter().filter(|twins| twins.primary).for_each(|twins| check(twins, &mut reasons));
        }
    }
    for (code, check) in checks() {
        if let Check::Arms(check) = check {
            reasons.code = code;
            check(arms, left_out, &mut reasons);
        }
    }
    reasons.list.sort_by_key(|reason| Reverse(reason.verdict));
    reasons.list
}

/// The verdict that follows from reasons: the worst of them.
pub fn verdict(reasons: &[GateFinding]) -> Validity {
    reasons.iter().map(|reason| reason.verdict).max().unwrap_or_default()
}

/// Judges an arm and writes the result into it.
pub fn stamp(arm: &mut Arm, context: &Context) {
    arm.reasons = judge(arm, context);
    sentence(arm);
}

/// Judges an arm that several generators sent: each of these, which are judged already, and the whole by what is no generator's.
pub fn stamp_whole(arm: &mut Arm, context: &Context, parts: &[(Shard, &Arm)]) {
    arm.reasons = judge_by(arm, context, |code| !parts::is_of_generator(code));
    let of_parts = parts::of_parts(&label(arm), &arm.parts, parts);
    arm.reasons.extend(of_parts);
    worst_first(&mut arm.reasons);
    sentence(arm);
}

fn sentence(arm: &mut Arm) {
    arm.verdict = verdict(&arm.reasons);
    arm.valid = arm.verdict != Validity::Invalid;
}
