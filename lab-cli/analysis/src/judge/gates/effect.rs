//! Effect of the generator itself on the figures that are shown: the one rule of LAG, HICCUP and CROWDED, and of STEAL.
//!
//! Each request is known to have been late by its send lag, and its answer to have waited unread for no longer than the
//! generator stood still meanwhile. So percentiles are computed with that and without it; the difference is what it can have
//! moved. Users of a closed load ask for nothing while it stands still, which moves their rate by the share of that time.

use super::{
    gate::Reasons,
    limits::{GAP_MS, MOVED, MOVED_MS},
};
use crate::{
    summary::{Arm, PhaseSummary, Times, Undelayed, Validity},
    text::{percent, time},
};

/// The limit, as gates state it.
pub(super) const LIMIT: &str =
    "10 % of a shown p50, p90 or p99, and 0.2 ms; 10 % of the time of a closed load; a caution from half of that";

/// Cause that made the generator move a figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Source {
    /// It was ready, and others had its processor.
    Waits,
    /// It stood still for another reason.
    Pauses,
    /// It was late.
    Lateness,
}

/// A figure of a phase that the generator can have moved.
struct Moved<'a> {
    verdict: Validity,
    phase: &'a PhaseSummary,
    figure: Figure,
    share: f64,
    stood_still: f64,
}

#[derive(Debug, Clone, Copy)]
enum Figure {
    Percentile { name: &'static str, beyond: f64, shown_ms: f64, moved_ms: f64 },
    Rate,
}

/// Tells the figure that the generator can have moved most, where this source alone explains half of that.
pub(super) fn tell(arm: &Arm, source: Source, message: &str, remedy: &str, reasons: &mut Reasons) {
    let Some(moved) = most_moved(arm).filter(|moved| moved.sources(arm).contains(&source)) else { return };
    reasons.add(moved.verdict, moved.words(arm), limit(moved.verdict, moved.figure), message, remedy);
}

fn limit(verdict: Validity, figure: Figure) -> String {
    let at = |(warn, invalid): (f64, f64)| if verdict == Validity::Invalid { invalid } else { warn };
    match figure {
        Figure::Percentile { .. } => format!("{} and {} ms", percent(at(MOVED)), at(MOVED_MS)),
        Figure::Rate => format!("{} of a closed load", percent(at(MOVED))),
    }
}

fn most_moved(arm: &Arm) -> Option<Moved<'_>> {
    let known = arm.phases.iter().filter_map(|phase| Some((phase, phase.measures.undelayed?)));
    let moved = known.flat_map(|(phase, without)| of_phase(phase, without));
    moved.max_by(|a, b| a.verdict.cmp(&b.verdict).then(a.share.total_cmp(&b.share)))
}

fn of_phase<'a>(phase: &'a PhaseSummary, without: Undelayed) -> impl Iterator<Item = Moved<'a>> {
    let stood_still = without.stood_still;
    let shown = percentiles(&phase.measured.response_time_ms).into_iter().zip(percentiles(&without.response_time_ms));
    let times = shown.filter_map(|((name, beyond, shown), (.., undelayed))| {
        let (shown_ms, moved_ms) = (shown?, shown? - undelayed?);
        Some((Figure::Percentile { name, beyond, shown_ms, moved_ms }, moved_ms / shown_ms, moved_ms))
    });
    // A rate has no milliseconds.
    let rate = (phase.users > 0).then_some((Figure::Rate, stood_still, f64::INFINITY));
    let all: Vec<_> = times.chain(rate).collect();
    all.into_iter().filter_map(move |(figure, share, ms)| {
        let verdict = verdict(share, ms)?;
        Some(Moved { verdict, phase, figure, share, stood_still })
    })
}

/// Verdict on a figure of which this share, and so many milliseconds, can be another's.
pub(super) fn verdict(share: f64, ms: f64) -> Option<Validity> {
    let over = |share_limit: f64, ms_limit: f64| share > share_limit && ms > ms_limit;
    if over(MOVED.1, MOVED_MS.1) {
        Some(Validity::Invalid)
    } else {
        over(MOVED.0, MOVED_MS.0).then_some(Validity::Warn)
    }
}

/// Percentiles that are judged, each with the share of requests beyond it. One that time-outs hide is judged by its
/// bound.
pub(super) fn percentiles(times: &Times) -> [(&'static str, f64, Option<f64>); 3] {
    [
        ("p50", 0.5, times.p50.or(times.p50_at_least)),
        ("p90", 0.1, times.p90.or(times.p90_at_least)),
        ("p99", 0.01, times.p99.or(times.p99_at_least)),
    ]
}

impl Moved<'_> {
    /// Each that can have done it alone: half of what it takes to move the figure, since it is known only for the whole arm.
    fn sources(&self, arm: &Arm) -> Vec<Source> {
        let generator = &arm.generator;
        let waits = generator.crowded.min(self.stood_still);
        let pauses = self.stood_still - waits;
        let (needed, by_mean_wait) = match self.figure {
            Figure::Rate => (MOVED.0 / 2.0, false),
            // One wait where the request is written, and one where its answer is read.
            Figure::Percentile { beyond, moved_ms, .. } => (beyond / 2.0, 4.0 * generator.core_wait_ms >= moved_ms),
        };
        // GAP tells of a long pause.
        let by_pauses = pauses >= needed;
        let mut found = Vec::new();
        found.extend((waits >= needed || by_mean_wait).then_some(Source::Waits));
        found.extend((by_pauses && generator.loop_gap_max_ms <= GAP_MS).then_some(Source::Pauses));
        if found.is_empty() && !by_pauses {
            found.push(Source::Lateness);
        }
        found
    }

    fn words(&self, arm: &Arm) -> String {
        let (generator, phase, share) = (&arm.generator, &self.phase.name, percent(self.share));
        let longest = time(generator.loop_gap_max_ms);
        match self.figure {
            Figure::Rate => format!(
                "{phase}: the generator stood still for {share} of the time, {longest} at the longest: its users asked for so much less"
            ),
            Figure::Percentile { name, shown_ms, moved_ms, .. } => format!(
                "{phase}: {} of the {name} of {} ({share}) can be the generator's own: it sent late (p99 {}), and stood still for {} of \
                 the time, {longest} at the longest",
                time(moved_ms),
                time(shown_ms),
                time(generator.send_lag_p99_ms),
                percent(self.stood_still),
            ),
        }
    }
}
