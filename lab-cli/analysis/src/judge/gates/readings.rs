//! What gates saw, also where that was no reason to speak: the worst of a run's arms, in words.

use std::collections::BTreeSet;

use super::{
    drift, excluded, label,
    limits::OVERLOADED,
    load::overloaded,
    settled::{asked, is_steady},
    walk,
};
use crate::{
    summary::{Arm, Joined, Measured, Mode, Phase, Summary},
    text::{percent, rate, time},
};

/// Gates that look at the machine, which plays no part in virtual time.
const OF_THE_MACHINE: [&str; 15] = [
    "LAG", "CPU", "CROWDED", "HICCUP", "GAP", "FILES", "PORTS", "MEMORY", "HEADROOM", "STEAL", "NOISE", "PAGING",
    "CLOCK", "DRIFT", "BACKLOG",
];

/// What the gate with this code saw. `None`: there was nothing that it could look at.
pub fn reading(code: &str, summary: &Summary) -> Option<String> {
    if summary.mode == Mode::Virtual && OF_THE_MACHINE.contains(&code) {
        return None;
    }
    let run = Run(summary);
    match code {
        "LEDGER" => run.most(unexplained, |n, _| format!("{n:.0} requests unexplained")),
        "EMPTY" => run.least(|arm| sum(arm, |m| m.sent), |n, _| format!("{n:.0} requests sent")),
        "BOOKS" => run.most(|arm| Some(arm.generator.books.len() as f64), |n, _| format!("{n:.0} sums that differ")),
        "LITTLE" => run.most(|arm| Some(arm.generator.little), |share, _| percent(share)),
        "HDR" => run.count(|arm| arm.generator.saturated),
        "PANIC" => run.count(|arm| arm.generator.panics + arm.server.as_ref().map_or(0, |server| server.panics)),
        "JOBS" => run.count(|arm| arm.server.as_ref().map_or(0, |server| server.contradictions)),
        "MODEL" => run.most(
            |arm| greatest(arm.phases.iter().map(|phase| overloaded(&phase.measured))),
            |share, _| {
                // The gate asks no other.
                let which = if share > OVERLOADED { ", of an open load or one that declares it" } else { "" };
                format!("{} not served in time{which}", percent(share))
            },
        ),
        "CAP" => run.most(cap, |_, arm| {
            format!(
                "{} users at a request at once, of {}",
                arm.conditions.busy_users_max, arm.conditions.busy_users_limit
            )
        }),
        "ARRIVALS" => run.most(
            |arm| {
                greatest(arm.phases.iter().filter_map(|p| p.measures.arrivals).map(|found| (found.index - 1.0).abs()))
            },
            |far, _| format!("{far:.2} from 1"),
        ),
        "SAMPLES" => run.least(samples, |n, _| format!("{n:.0} response times")),
        "WARM-UP" => run.most(
            |arm| {
                let asked = arm.phases.iter().filter_map(|phase| Some((phase, asked(phase)?)));
                greatest(asked.filter(|(phase, found)| is_steady(phase, *found)).map(|(_, found)| found.warm_up_s))
            },
            |seconds, _| format!("{seconds:.0} s until settled"),
        ),
        "WALK" => run.most(walk::share, |share, _| format!("{} of what users drew was not offered", percent(share))),
        "UNSENT" => run.count(|arm| arm.generator.unsent),
        "LAG" => run.most(
            |arm| Some(arm.generator.send_lag_p99_ms),
            |p99, arm| format!("p99 {}, p99.9 {}", time(p99), time(arm.conditions.send_lag_p999_ms)),
        ),
        "CPU" => run.most(|arm| Some(arm.generator.cpu), |share, _| percent(share)),
        "CROWDED" => run.most(|arm| Some(arm.generator.run_queue), |share, _| percent(share)),
        "HICCUP" => run.most(
            |arm| Some(arm.generator.loop_gap_max_ms),
            |longest, arm| {
                let often = arm.conditions.hiccup_p999_ms.map(|ms| format!("; one wake-up in a thousand {}", time(ms)));
                format!("{} at the longest{}", time(longest), often.unwrap_or_default())
            },
        ),
        "GAP" => run.most(
            |arm| Some(arm.generator.loop_gap_max_ms.max(arm.conditions.service_silent_max_ms)),
            |longest, _| time(longest),
        ),
        "FILES" => run.most(
            |arm| (arm.generator.open_files_limit > 0).then_some(arm.generator.open_files_max as f64),
            |open, arm| format!("{open:.0} open, of {}", arm.generator.open_files_limit),
        ),
        "PORTS" => run.count(|arm| arm.generator.ports_exhausted),
        "MEMORY" => run.count(|arm| arm.generator.memory_exhausted),
        "HEADROOM" => {
            let headroom = summary.headroom?;
            let p99 = headroom.response_p99_ms.map(|ms| format!("; p99 {}", time(ms))).unwrap_or_default();
            let sent =
                |sent, _: &Arm| format!("{sent:.0} in the busiest second, of {:.0}{p99}", headroom.ceiling_per_s);
            run.most(|arm| Some(arm.conditions.sent_per_s_max), sent)
        }
        "STEAL" => run.most(|arm| Some(arm.generator.steal), |share, _| percent(share)),
        "NOISE" => run.most(
            |arm| arm.conditions.noise,
            |share, arm| match arm.conditions.kernel_noise {
                Some(kernel) => format!("{}, and {} by the kernel's threads", percent(share), percent(kernel)),
                None => percent(share),
            },
        ),
        "PAGING" => run.count(|arm| arm.generator.major_faults),
        "CLOCK" => run.most(
            |arm| Some(arm.conditions.clocks.drift_ppm),
            |drift, arm| format!("{drift:.0} millionths apart; set by {}", time(arm.conditions.clocks.step_ms)),
        ),
        "DRIFT" => run.most(
            |arm| drift::speed(arm).map(drift::times),
            |times, _| format!("{times:.2} times as fast in one half of an arm as in the other"),
        ),
        "BACKLOG" => {
            run.most(|arm| (!arm.kernel.unread).then(|| arm.kernel.dropped() as f64), |count, _| format!("{count:.0}"))
        }
        "RENEWAL" => run.count(|arm| u64::from(arm.renewal_failed.is_some())),
        "TOUCHED" => run.count(|arm| arm.touches.len() as u64),
        "UNSTABLE" => run.most(
            |arm| greatest(arm.phases.iter().filter_map(asked).map(|found| found.growth_per_s)),
            |growth, _| format!("{} more in flight each second", rate(growth)),
        ),
        "EXCLUDED" => {
            let blocks: BTreeSet<u32> = summary.arms.iter().map(|arm| arm.block).collect();
            Some(format!("{} of {} blocks", excluded(&summary.arms).len(), blocks.len()))
        }
        "A/A" => run.of_twins(|found| found.verdict.clone()),
        "POWER" => run.of_twins(crate::judge::compare::words::in_words),
        _ => None,
    }
}

/// The arms that were run.
struct Run<'a>(&'a Summary);

impl Run<'_> {
    /// The arm with the most of something.
    fn most(&self, read: impl Fn(&Arm) -> Option<f64>, words: impl Fn(f64, &Arm) -> String) -> Option<String> {
        let arms = self.0.arms.iter().filter(|arm| !arm.bound);
        let all = arms.filter_map(|arm| Some((read(arm)?, arm)));
        let (value, arm) = all.max_by(|a, b| a.0.total_cmp(&b.0))?;
        // Nothing at all is so in every arm.
        let place = if value == 0.0 { String::new() } else { format!(" ({})", label(arm)) };
        Some(words(value, arm) + &place)
    }

    /// The one with the least.
    fn least(&self, read: impl Fn(&Arm) -> Option<u64>, words: impl Fn(f64, &Arm) -> String) -> Option<String> {
        self.most(|arm| read(arm).map(|count| -(count as f64)), |value, arm| words(-value, arm))
    }

    fn count(&self, read: impl Fn(&Arm) -> u64) -> Option<String> {
        self.most(|arm| Some(read(arm) as f64), |count, _| format!("{count:.0}"))
    }

    /// Arms that are the same but for their names.
    fn of_twins(&self, words: impl Fn(&crate::summary::Comparison) -> String) -> Option<String> {
        let deciding = self.0.noise_floor.iter().filter(|found| found.primary);
        let all: Vec<String> =
            deciding.map(|found| format!("{} and {}: {}", found.baseline, found.policy, words(found))).collect();
        (!all.is_empty()).then(|| all.join("; "))
    }
}

fn greatest(values: impl Iterator<Item = f64>) -> Option<f64> {
    values.max_by(f64::total_cmp)
}

fn sum(arm: &Arm, read: fn(&Measured) -> u64) -> Option<u64> {
    Some(arm.phases.iter().map(|phase| read(&phase.measured)).sum())
}

/// Written by one side and not read by the other, without those that are known to wait in the kernel.
fn unexplained(arm: &Arm) -> Option<f64> {
    let written = sum(arm, Measured::written)?;
    let waiting = arm.requests.as_ref().map_or(0, Joined::unread);
    Some(written.abs_diff(arm.server.as_ref()?.requests_read + waiting) as f64)
}

fn cap(arm: &Arm) -> Option<f64> {
    let limit = arm.conditions.busy_users_limit;
    (limit > 0).then(|| f64::from(arm.conditions.busy_users_max) / f64::from(limit))
}

/// Of the busiest phase.
fn samples(arm: &Arm) -> Option<u64> {
    let busiest: &Phase = arm.phases.iter().max_by_key(|phase| phase.measured.planned)?;
    let times = &busiest.measured.response_time_ms;
    Some(times.count + times.censored)
}
