//! STEAL, NOISE, PAGING and CLOCK: what the machine, and others on it, did to the measurement.

use super::{
    invalid,
    limits::{CLOCK_DRIFT_PPM, CLOCK_STEP_MS, KERNEL_NOISE, NOISE, STEAL},
    warn,
};
use crate::summary::{Arm, Reason};

/// Counters that are read without a system call and do not depend on the processor, by their names in Linux.
const GOOD_CLOCKS: [&str; 6] =
    ["tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page", "riscv_clocksource", "timebase"];

pub(super) fn check(arm: &Arm, reasons: &mut Vec<Reason>) {
    steal(arm, reasons);
    noise(arm, reasons);
    paging(arm, reasons);
    clock(arm, reasons);
}

fn steal(arm: &Arm, reasons: &mut Vec<Reason>) {
    let stolen = arm.generator.steal;
    let (doubt, void) = STEAL;
    if stolen > doubt {
        let finding = if stolen > void { invalid } else { warn };
        reasons.push(finding(
            "STEAL",
            format!("{:.1} % of the CPU time was taken away by the machine's host", stolen * 100.0),
            format!("{} %, void above {} %", doubt * 100.0, void * 100.0),
            "another guest of the host had this machine's processors: service and generator both stood still",
            "run again at another time, or on a machine of your own",
        ));
    }
}

fn noise(arm: &Arm, reasons: &mut Vec<Reason>) {
    if let Some(noise) = arm.conditions.noise.filter(|noise| *noise > NOISE) {
        reasons.push(invalid(
            "NOISE",
            format!("other programs used {:.1} % of a processor", noise * 100.0),
            format!("{} %", NOISE * 100.0),
            "what the service could do depended on what else ran on its processor or the generator's",
            "stop other programs (builds, browsers, backups), and run again",
        ));
    }
    // A caution: nobody can stop it, it is there in every arm, and part of it is the run's own work.
    if let Some(noise) = arm.conditions.kernel_noise.filter(|noise| *noise > KERNEL_NOISE) {
        reasons.push(warn(
            "NOISE",
            format!("the kernel's own threads used {:.1} % of a processor", noise * 100.0),
            format!("{} %", KERNEL_NOISE * 100.0),
            "the kernel was busy beside the experiment: with the network and the disk on its behalf, or with the machine's memory",
            "see which (top, names like ksoftirqd, kworker, kswapd, kdamond)",
        ));
    }
}

/// A caution, where the book would have the run void: a page of the program itself is read from disk the first time that it
/// is needed, which is one short wait. What such waits do to the load is judged by LAG and HICCUP.
fn paging(arm: &Arm, reasons: &mut Vec<Reason>) {
    let faults = arm.generator.major_faults;
    if faults > 0 {
        reasons.push(warn(
            "PAGING",
            format!("{faults} page faults of the generator waited for a disk"),
            "0".to_owned(),
            "the machine is short of memory, or the program was read from disk while it ran",
            "run again; if it stays, free memory or switch swap off",
        ));
    }
}

/// Times come from one clock, which is none of those that can be set: so this is a caution.
fn clock(arm: &Arm, reasons: &mut Vec<Reason>) {
    let clocks = &arm.conditions.clocks;
    let mut find = |value: String, limit: String, message: &str, remedy: &str| {
        reasons.push(warn("CLOCK", value, limit, message, remedy));
    };
    if clocks.source != clocks.source_at_end {
        find(
            format!("the kernel changed its clock from {} to {}", clocks.source, clocks.source_at_end),
            "one clock".to_owned(),
            "the kernel found its clock unreliable: times of this run may be wrong",
            "look into the kernel's log (dmesg), and run again",
        );
    } else if !clocks.source.is_empty() && !GOOD_CLOCKS.contains(&&*clocks.source) {
        find(
            format!("the kernel's clock is {}", clocks.source),
            "tsc, kvm-clock or another counter of the processor".to_owned(),
            "reading this clock is slow, and costs the generator time for each request",
            "see /sys/devices/system/clocksource/clocksource0/available_clocksource",
        );
    }
    if clocks.step_ms >= CLOCK_STEP_MS {
        find(
            format!("the wall clock was set by {:.0} ms", clocks.step_ms),
            format!("{CLOCK_STEP_MS:.0} ms"),
            "times of this run are not touched; times of day in logs, and policies that go by the wall clock, are",
            "let the clock be kept by small corrections (chrony, timesyncd), and run again",
        );
    }
    if clocks.drift_ppm > CLOCK_DRIFT_PPM {
        find(
            format!("clocks ran apart by {:.0} millionths", clocks.drift_ppm),
            format!("{CLOCK_DRIFT_PPM:.0} millionths"),
            "a clock of this machine is corrected faster than clocks usually err: rates and times may be wrong by as much",
            "see whether the clock is being set right (chronyc tracking), and run again when it is",
        );
    }
}
