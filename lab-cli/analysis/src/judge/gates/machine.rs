//! STEAL, NOISE, PAGING and CLOCK: what the machine, and others on it, did to the measurement.

use super::{
    context::Context,
    effect,
    gate::{Check, Count, Reasons, ValidityGate},
    limits::{self, CLOCK_DRIFT_PPM, CLOCK_STEP_MS, KERNEL_NOISE},
};
use crate::{
    summary::{Arm, PhaseSummary, Stolen, Validity},
    text::{percent, time},
};

pub(super) const STEAL: ValidityGate = ValidityGate {
    code: "STEAL",
    verdicts: &[Validity::Warn, Validity::Invalid],
    finds: "the machine's own host took the processors of generator and service away for long enough to show",
    limit: STEAL_LIMIT,
    remedy: "another time, or a machine of your own",
    checks: &[Check::Arm(steal)],
    reading: |run| {
        let most = |arm: &Arm| stolen(arm).map(|(_, stolen)| stolen.share).max_by(f64::total_cmp);
        run.live()?.most(most, |share, _| percent(share))
    },
};

const STEAL_LIMIT: &str = "10 % of a shown p50, p90 or p99, and 0.2 ms, a caution where the generator's own delays speak against it; 10 % of the time; a caution from half of that";

/// Stolen time by its effect: most of what a host takes away is taken in turns that no percentile shows. How long
/// these were is known of the generator alone.
fn steal(arm: &Arm, _: &Context, reasons: &mut Reasons) {
    let found = stolen(arm).flat_map(|(phase, stolen)| {
        let taken =
            format!("{}: {} of the CPU time was taken away by the machine's host", phase.name, percent(stolen.share));
        let held_up = [stolen.p50_ms, stolen.p90_ms, stolen.p99_ms];
        let without = phase
            .measures
            .undelayed
            .map_or([None; 3], |known| effect::percentiles(&known.response_time_ms).map(|(.., undelayed)| undelayed));
        let shown = effect::percentiles(&phase.measured.response_time_ms).into_iter().zip(without).zip(held_up);
        let moved: Vec<_> = shown
            .filter_map(|(((name, _, shown), undelayed), most)| {
                let shown = shown?;
                let bound = effect::verdict(most / shown, most)?;
                let can_be = format!("{taken}; {} of the {name} of {} can be that", time(most), time(shown));
                let likely = likely_ms(most, undelayed.map(|undelayed| shown - undelayed));
                if effect::verdict(likely / shown, likely) == Some(Validity::Invalid) {
                    return Some((bound, can_be));
                }
                let less =
                    if likely < most { format!(", and more likely {} or less", time(likely)) } else { String::new() };
                Some((bound.min(Validity::Warn), can_be + &less))
            })
            .collect();
        // A rate has no milliseconds.
        moved.into_iter().chain(effect::verdict(stolen.share, f64::INFINITY).map(|verdict| (verdict, taken)))
    });
    if let Some((verdict, words)) = found.max_by_key(|(verdict, _)| *verdict) {
        reasons.add(
            verdict,
            words,
            STEAL_LIMIT,
            "another guest of the host had this machine's processors: service and generator both stood still",
            "run again at another time, or on a machine of your own",
        );
    }
}

/// Milliseconds that the host has probably added. The most that it can have added is reckoned with turns as long as
/// the generator's longest pause. The generator loses its processor in the same way, and its own delays are known: so
/// as much again for the service. Of turns too short to be seen as a pause nothing is known.
fn likely_ms(most_ms: f64, own_ms: Option<f64>) -> f64 {
    own_ms.map_or(most_ms, |own_ms| most_ms.min((2.0 * own_ms).max(limits::STALL_MS)))
}

/// Stolen time by phase. Where that is not known, as much as the whole machine lost over the arm, which moved nothing
/// that is known.
fn stolen(arm: &Arm) -> impl Iterator<Item = (&PhaseSummary, Stolen)> {
    let known = arm.conditions.neighbours.as_ref().map_or(&[][..], |neighbours| &neighbours.stolen);
    let of_machine = Stolen { share: arm.generator.steal, ..Stolen::default() };
    arm.phases.iter().enumerate().map(move |(number, phase)| (phase, known.get(number).copied().unwrap_or(of_machine)))
}

pub(super) const NOISE: ValidityGate = ValidityGate {
    code: "NOISE",
    verdicts: &[Validity::Warn, Validity::Invalid],
    finds: "other programs ran on the processors of generator and service, also outside of the lab's container; a caution where it was the kernel's own threads",
    limit: "3 % of one; 5 % by the kernel's; by what cannot be seen 5 %, void above 10 %; beside a load 50 %, a caution: part of the service may run there",
    remedy: "stop them",
    checks: &[Check::Arm(noise)],
    reading: |run| {
        run.live()?.most(
            |arm| arm.conditions.noise,
            |share, arm| {
                let by = |share: Option<f64>, whom: &str| {
                    share.map_or(String::new(), |share| format!(", and {} by {whom}", percent(share)))
                };
                let kernel = by(arm.conditions.kernel_noise, "the kernel's threads");
                percent(share) + &kernel + &by(unseen(arm), "what cannot be seen")
            },
        )
    },
};

fn noise(arm: &Arm, context: &Context, reasons: &mut Reasons) {
    if context.is_load() {
        return beside_load(arm, reasons);
    }
    if let Some(noise) = arm.conditions.noise.filter(|noise| *noise > limits::NOISE) {
        reasons.invalid(
            format!("other programs used {:.1} % of a processor", noise * 100.0),
            format!("{} %", limits::NOISE * 100.0),
            "what the service could do depended on what else ran on its processor or the generator's",
            "stop other programs (builds, browsers, backups), and run again",
        );
    }
    // A caution: nobody can stop it, it is there in every arm, and part of it is the run's own work.
    if let Some(noise) = arm.conditions.kernel_noise.filter(|noise| *noise > KERNEL_NOISE) {
        reasons.warn(
            format!("the kernel's own threads used {:.1} % of a processor", noise * 100.0),
            format!("{} %", KERNEL_NOISE * 100.0),
            "the kernel was busy beside the experiment: with the network and the disk on its behalf, or with the machine's memory",
            "see which (top, names like ksoftirqd, kworker, kswapd, kdamond)",
        );
    }
    let (doubt, void) = limits::UNSEEN;
    if let Some(unseen) = unseen(arm).filter(|unseen| *unseen > doubt) {
        reasons.add(
            if unseen > void { Validity::Invalid } else { Validity::Warn },
            format!("{:.1} % of a processor went to what cannot be seen from here", unseen * 100.0),
            format!("{} %, void above {} %", doubt * 100.0, void * 100.0),
            "programs outside of this container, or of other users, ran on the processors of generator and service",
            "stop other programs on the machine, not only in this container, and run again",
        );
    }
}

/// Judges other programs beside a load: what listens may be the front of a service whose other processes are not known.
fn beside_load(arm: &Arm, reasons: &mut Reasons) {
    let others = arm.conditions.neighbours.as_ref().and_then(|neighbours| neighbours.others);
    if let Some(others) = others.filter(|others| *others > limits::BESIDE_LOAD) {
        reasons.warn(
            format!(
                "programs that are neither the lab's nor of the process that listens used {} of a processor",
                percent(others)
            ),
            format!("{} %", limits::BESIDE_LOAD * 100.0),
            "if they are not the service's own, they took its processors from it",
            "see which (top), and stop those that do not belong to the service",
        );
    }
}

/// Use of the processors that neither visible programs nor threads of the kernel account for, as a share of one.
fn unseen(arm: &Arm) -> Option<f64> {
    let conditions = &arm.conditions;
    let seen = conditions.noise.unwrap_or(0.0) + conditions.kernel_noise.unwrap_or(0.0);
    Some((conditions.neighbours.as_ref()?.others? - seen).max(0.0))
}

/// A caution, where the book would have the run void: a page of the program itself is read from disk the first time that it
/// is needed, which is one short wait. What such waits do to the load is judged by LAG and HICCUP.
pub(super) const PAGING: ValidityGate = ValidityGate {
    code: "PAGING",
    verdicts: &[Validity::Warn],
    finds: "the generator waited for pages from a disk",
    limit: "0",
    remedy: "free memory",
    checks: &[Check::Count(Count {
        of: |arm| arm.generator.major_faults,
        found: |faults| format!("{faults} page faults of the generator waited for a disk"),
        message: "the machine is short of memory, or the program was read from disk while it ran",
        remedy: "run again; if it stays, free memory or switch swap off",
    })],
    reading: |run| run.live()?.count(|arm| arm.generator.major_faults),
};

pub(super) const CLOCK: ValidityGate = ValidityGate {
    code: "CLOCK",
    verdicts: &[Validity::Warn],
    finds: "the wall clock was set, clocks ran apart, or the kernel's clock is a slow one or changed",
    limit: "10 ms; 500 millionths",
    remedy: "let the clock be kept by small corrections",
    checks: &[Check::Arm(clock)],
    reading: |run| {
        run.live()?.most(
            |arm| Some(arm.conditions.clocks.drift_ppm),
            |drift, arm| format!("{drift:.0} millionths apart; set by {}", time(arm.conditions.clocks.step_ms)),
        )
    },
};

/// Counters that are read without a system call and do not depend on the processor, by their names in Linux.
const GOOD_CLOCKS: [&str; 6] =
    ["tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page", "riscv_clocksource", "timebase"];

/// Times come from one clock, which is none of those that can be set: so this is a caution.
fn clock(arm: &Arm, _: &Context, reasons: &mut Reasons) {
    let clocks = &arm.conditions.clocks;
    if clocks.source != clocks.source_at_end {
        reasons.warn(
            format!("the kernel changed its clock from {} to {}", clocks.source, clocks.source_at_end),
            "one clock",
            "the kernel found its clock unreliable: times of this run may be wrong",
            "look into the kernel's log (dmesg), and run again",
        );
    } else if !clocks.source.is_empty() && !GOOD_CLOCKS.contains(&&*clocks.source) {
        reasons.warn(
            format!("the kernel's clock is {}", clocks.source),
            "tsc, kvm-clock or another counter of the processor",
            "reading this clock is slow, and costs the generator time for each request",
            "see /sys/devices/system/clocksource/clocksource0/available_clocksource",
        );
    }
    if clocks.step_ms >= CLOCK_STEP_MS {
        reasons.warn(
            format!("the wall clock was set by {:.0} ms", clocks.step_ms),
            format!("{CLOCK_STEP_MS:.0} ms"),
            "times of this run are not touched; times of day in logs, and policies that go by the wall clock, are",
            "let the clock be kept by small corrections (chrony, timesyncd), and run again",
        );
    }
    if clocks.drift_ppm > CLOCK_DRIFT_PPM {
        reasons.warn(
            format!("clocks ran apart by {:.0} millionths", clocks.drift_ppm),
            format!("{CLOCK_DRIFT_PPM:.0} millionths"),
            "a clock of this machine is corrected faster than clocks usually err: rates and times may be wrong by as much",
            "see whether the clock is being set right (chronyc tracking), and run again when it is",
        );
    }
}
