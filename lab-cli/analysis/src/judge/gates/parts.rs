//! SHARES and SKEW: parts of an arm's users that several generators sent; and whom the other gates are about.

use measure::Shard;

use super::{
    context::Context,
    gate::{Check, Reasons, ValidityGate},
    limits::skew_ms,
};
use crate::{
    summary::{Arm, GateFinding, PartSummary, Validity},
    text::time,
};

/// Gates of generators and their machines: each part is judged by them alone, since among all requests what one generator did is
/// diluted. The rest is about the whole: so is ARRIVALS, as every n-th arrival of independent ones is not independent.
const OF_GENERATOR: [&str; 17] = [
    "UNSENT",
    "LAG",
    "CPU",
    "CROWDED",
    "HICCUP",
    "GAP",
    "FILES",
    "PORTS",
    "MEMORY",
    "HEADROOM",
    "CAP",
    "STEAL",
    "NOISE",
    "STARVED",
    "THROTTLED",
    "PAGING",
    "CLOCK",
];
/// Parts that a finding names.
const NAMED: usize = 5;

pub(super) const SHARES: ValidityGate = ValidityGate {
    code: "SHARES",
    verdicts: &[Validity::Warn, Validity::Invalid],
    finds: "a part of the users that is missing, not whole, or of another plan or version",
    limit: "each part once; a caution where so few were declared bearable (`--lost-at-most`)",
    remedy: "run the missing part, and merge again; with agents run it again",
    checks: &[Check::Arm(|arm, context, reasons| {
        let wrong = |part: &PartSummary| part.wrong.as_ref().map(|wrong| format!("{} is {wrong}", part.shown_name()));
        let found: Vec<String> = arm.parts.iter().filter_map(wrong).collect();
        if !found.is_empty() {
            let bearable = found.len() as f64 <= context.lost_at_most * arm.parts.len() as f64;
            reasons.add(
                if bearable { Validity::Warn } else { Validity::Invalid },
                format!("part {}", found.join(", ")),
                format!("each of {} parts once", arm.parts.len()),
                "the users of these parts were not there: the load was not the one that was planned",
                if arm.parts.iter().any(|part| part.agent.is_some()) {
                    "see what became of these agents, and run it again"
                } else {
                    "run them again, and merge all parts"
                },
            );
        }
    })],
    reading: |run| {
        let wrong = |arm: &Arm| arm.parts.iter().filter(|part| part.wrong.is_some()).count();
        run.most(|arm| (!arm.parts.is_empty()).then(|| wrong(arm) as f64), |count, _| format!("{count:.0} wrong"))
    },
};

pub(super) const SKEW: ValidityGate = ValidityGate {
    code: "SKEW",
    verdicts: &[Validity::Warn, Validity::Invalid],
    finds: "parts of the users that began at different moments, or whose clocks may differ by as much",
    limit: "5 % of the objective, and 5 ms; a caution from half of that, and where nothing keeps a clock set",
    remedy: "`--start-at`; clocks kept by chrony; or one machine",
    checks: &[Check::Arm(skew)],
    reading: |run| {
        run.live()?.most(|arm| skew_of(&arm.parts).map(|found| found.apart_ms + found.error_ms), |ms, _| time(ms))
    },
};

/// Parts in time.
struct Skew {
    apart_ms: f64,
    error_ms: f64,
    /// A clock that nothing keeps set.
    unknown: bool,
}

fn skew_of(parts: &[PartSummary]) -> Option<Skew> {
    let begun: Vec<&PartSummary> = parts.iter().filter(|part| part.begins_ms.is_some()).collect();
    if begun.len() < 2 {
        return None;
    }
    let most = |read: fn(&PartSummary) -> Option<f64>| begun.iter().filter_map(|part| read(part)).fold(0.0, f64::max);
    Some(Skew {
        apart_ms: most(|part| part.begins_ms),
        // Two clocks may err in opposite directions.
        error_ms: 2.0 * most(|part| part.clock_error_ms),
        unknown: begun.iter().any(|part| part.clock_error_ms.is_none()),
    })
}

fn skew(arm: &Arm, context: &Context, reasons: &mut Reasons) {
    let Some(found) = skew_of(&arm.parts) else { return };
    let limit = skew_ms(context.objective.response_time_ms);
    let apart = found.apart_ms + found.error_ms;
    let remedy = "begin all parts by --start-at, on machines whose clocks are kept (chronyc tracking)";
    if apart > limit / 2.0 {
        let verdict = if apart > limit { Validity::Invalid } else { Validity::Warn };
        let clocks = if found.error_ms > 0.0 {
            format!(", and clocks may differ by {}", time(found.error_ms))
        } else {
            String::new()
        };
        let message = "the parts were not one load: what each phase asked for came at other moments than planned";
        reasons.add(
            verdict,
            format!("parts began {} apart{clocks}", time(found.apart_ms)),
            time(limit),
            message,
            remedy,
        );
    } else if found.unknown {
        let message = "parts began when their clocks said so, and nobody knows how far apart these are";
        reasons.warn("the kernel of a machine does not say how far its clock is off", time(limit), message, remedy);
    }
}

/// Findings against the generator of an arm that is judged, and its machine.
pub fn of_generator(arm: &Arm) -> Vec<GateFinding> {
    arm.reasons.iter().filter(|reason| is_of_generator(&reason.code)).cloned().collect()
}

pub(super) fn is_of_generator(code: &str) -> bool {
    OF_GENERATOR.contains(&code)
}

/// Findings against generators of parts as findings against the whole: one a gate, of the first part with its worst verdict.
/// `known`: who sent them.
pub(super) fn of_parts(label: &str, known: &[PartSummary], parts: &[(Shard, &Arm)]) -> Vec<GateFinding> {
    let agent = |shard: &Shard| known.iter().find(|part| part.shard == *shard)?.agent.clone();
    let what = if known.iter().any(|part| part.agent.is_some()) { "agents" } else { "parts" };
    let mut found: Vec<(GateFinding, Vec<Shard>)> = Vec::new();
    for (shard, arm) in parts {
        for reason in of_generator(arm) {
            match found.iter_mut().find(|(known, _)| known.code == reason.code) {
                Some((known, shards)) => {
                    if !shards.contains(shard) {
                        shards.push(*shard);
                    }
                    if reason.verdict > known.verdict {
                        *known = reason;
                    }
                }
                None => found.push((reason, vec![*shard])),
            }
        }
    }
    let told = |(reason, shards): (GateFinding, Vec<Shard>)| {
        let named: Vec<String> =
            shards.iter().take(NAMED).map(|shard| agent(shard).unwrap_or_else(|| shard.number().to_string())).collect();
        let more = if shards.len() > NAMED { ", ..." } else { "" };
        let of = format!("{} of {} {what} ({}{more})", shards.len(), parts.len(), named.join(", "));
        GateFinding { arm: label.to_owned(), value: format!("{of}: {}", reason.value), ..reason }
    };
    found.into_iter().map(told).collect()
}
