//! Summary of a run from arms that were judged: a pure function, which a run and its recheck share.

use super::oracle_share;
use crate::{
    answer::answer,
    judge::{
        compare::{self, Compare},
        decision, gates, identical, measures,
        threshold::{Abort, Evidence, Parts, Threshold},
    },
    live::TimelineSecond,
    summary::{
        Arm, Capacity, Comparison, Entitled, Headroom, LatencyObjective, LimitSearch, Mode, RunSummary, SCHEMA,
        Stopped, Validity,
    },
};

/// Input of a summary.
#[expect(missing_debug_implementations, reason = "parts of phases are a function")]
pub struct Findings<'a> {
    /// Name of the experiment.
    pub experiment: &'a str,
    /// Source of the figures: live or in virtual time.
    pub mode: Mode,
    /// Arms or phases are missing.
    pub partial: bool,
    /// Repetitions that were planned.
    pub blocks: u32,
    /// The promise.
    pub objective: LatencyObjective,
    /// Claims of classes.
    pub entitled: Entitled,
    /// See [`RunSummary::several_stages`].
    pub several_stages: bool,
    /// The work knob, where it was looked for.
    pub capacity: Option<&'a Capacity>,
    /// Limits that were looked for.
    pub searches: &'a [LimitSearch],
    /// Ability of the generator here, where that was measured.
    pub headroom: Option<Headroom>,
    /// Judged, in the order in which they ran.
    pub arms: &'a [Arm],
    /// Thresholds of the experiment.
    pub thresholds: &'a [Threshold],
    /// One of them ended the run.
    pub abort: Option<&'a Abort>,
    /// Seconds of the arms whose gauges are asked for.
    pub timeline: &'a [TimelineSecond],
    /// Parts of phases.
    pub parts: Parts<'a>,
    /// Arms in the order of the file.
    pub order: &'a [String],
    /// Arms among them that know what no policy can know.
    pub hindsight: &'a [String],
    /// Arms among them that are told what requests cost: goodput is shown as a share of theirs.
    pub told_costs: &'a [String],
    /// Pairs of arms that are the same but for their names.
    pub twins: &'a [[String; 2]],
    /// Terms of comparisons.
    pub compare: &'a Compare,
}

/// Arms that are the same but for their names, against each other: what differs there is noise. In virtual time nothing does.
fn noise_floor(found: &Findings<'_>, arms: &[Arm]) -> Vec<Comparison> {
    if found.mode == Mode::Virtual {
        return Vec::new();
    }
    let compared = found.twins.iter().flat_map(|twins| {
        let family = compare::ComparisonFamily { baseline: None, ..found.compare.family_of(found.arms, twins, &[]) };
        compare::against_the_baseline(arms, family)
    });
    compared.collect()
}

/// The summary.
pub fn sum_up(found: &Findings<'_>) -> RunSummary {
    let mut arms = found.arms.to_vec();
    if let Some(baseline) =
        found.compare.family(found.order, found.hindsight).baseline.or(found.order.first().map(String::as_str))
    {
        measures::hold_against(&mut arms, baseline, found.objective);
    }
    let left_out = gates::excluded(found.arms);
    let kept: Vec<Arm> = arms.iter().filter(|arm| !left_out.contains(&arm.block)).cloned().collect();
    let noise_floor = noise_floor(found, &kept);
    let stopped = found.partial.then(|| Stopped::of(found.arms, found.order, found.blocks));
    let mut reasons = gates::judge_run(found.arms, &left_out, &noise_floor);
    // A threshold that ended the run has found what it looked for.
    if let (None, Some(reason)) = (found.abort, stopped.as_ref().and_then(gates::nothing_ended)) {
        reasons.insert(0, reason);
    }
    let verdict = gates::verdict(&reasons);
    let evidence = Evidence { arms: &arms, left_out: &left_out, timeline: found.timeline, parts: found.parts };
    let mut thresholds: Vec<_> = found.thresholds.iter().map(|threshold| threshold.judge(&evidence)).collect();
    if let Some(abort) = found.abort
        && let Some(result) = thresholds.get_mut(abort.threshold)
    {
        // Whatever the part of the run that there is comes to: it was against it for too long.
        (result.held, result.judged) = (false, true);
        result.why = format!("{}; {}", abort.found, result.why);
        result.aborted = Some(abort.found.clone());
    }
    oracle_share::fill_in(&mut arms, found.told_costs);
    let mut summary = RunSummary {
        schema: SCHEMA,
        experiment: found.experiment.to_owned(),
        mode: found.mode,
        partial: found.partial,
        stopped,
        verdict,
        valid: verdict != Validity::Invalid,
        answer: None,
        reasons,
        objective: found.objective,
        entitled: found.entitled.clone(),
        several_stages: found.several_stages,
        capacity: found.capacity.cloned(),
        headroom: found.headroom,
        searches: found.searches.to_vec(),
        curves: measures::curves(&kept),
        identical: identical(&kept, found.order, found.twins),
        arms,
        thresholds,
        comparisons: compare::against_the_baseline(
            &kept,
            found.compare.family_of(found.arms, found.order, found.hindsight),
        ),
        decision: decision(found.arms, found.compare, found.order, found.hindsight),
        noise_floor,
        void_twins: if found.mode == Mode::Virtual { found.twins.to_vec() } else { Vec::new() },
    };
    summary.leave_void_unjudged();
    summary.answer = Some(answer(&summary, found.order, found.hindsight, found.compare.phase.as_deref()));
    summary
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        judge::gates::first_kept,
        summary::{GateFinding, Measured, PhaseSummary},
    };

    /// Two arms in five blocks, of which one arm had this finding against it.
    fn arms(code: &str) -> Vec<Arm> {
        let arm = |policy: &str, block: u32, goodput: f64| {
            let measured = Measured { planned: 100, sent: 100, goodput_per_s: goodput, ..Measured::default() };
            let phase = PhaseSummary { name: "spike".to_owned(), seconds: 30.0, measured, ..PhaseSummary::default() };
            Arm { policy: policy.to_owned(), block, phases: vec![phase], ..Arm::default() }
        };
        let of_block = |block: u32| [arm("none", block, 10.0), arm("seda", block, 30.0 + f64::from(block))];
        let mut arms: Vec<Arm> = (1..=5).flat_map(of_block).collect();
        let spoiled = &mut arms[3];
        // What a threshold would stumble over.
        spoiled.phases[0].measured.goodput_per_s = 1.0;
        spoiled.verdict = Validity::Invalid;
        spoiled.reasons = vec![GateFinding {
            code: code.to_owned(),
            arm: "seda (block 2)".to_owned(),
            value: "much".to_owned(),
            threshold: "little".to_owned(),
            message: String::new(),
            remedy: String::new(),
            verdict: Validity::Invalid,
        }];
        arms
    }

    fn summary(arms: &[Arm]) -> RunSummary {
        of("seda.spike.goodput > none.spike.goodput", arms, false)
    }

    fn of(threshold: &str, arms: &[Arm], partial: bool) -> RunSummary {
        let order = ["none", "seda"].map(str::to_owned);
        let thresholds = [Threshold::parse(threshold).expect("a threshold")];
        sum_up(&Findings {
            experiment: "x",
            mode: Mode::Live,
            partial,
            blocks: 5,
            objective: LatencyObjective { percentile: 90.0, response_time_ms: 1000.0 },
            entitled: Entitled::default(),
            several_stages: false,
            capacity: None,
            searches: &[],
            headroom: None,
            arms,
            thresholds: &thresholds,
            abort: None,
            timeline: &[],
            parts: &|_, _, _| None,
            order: &order,
            hindsight: &[],
            told_costs: &[],
            twins: &[],
            compare: &Compare::default(),
        })
    }

    #[test]
    fn a_block_that_the_machine_spoiled_is_part_of_nothing_and_the_run_stands() {
        let found = summary(&arms("NOISE"));
        assert_eq!((found.verdict, found.valid, found.arms.len()), (Validity::Warn, true, 10));
        assert!(found.codes().contains("EXCLUDED") && found.codes().contains("NOISE"));
        assert!(found.comparisons.iter().all(|comparison| comparison.blocks == 4));
        assert!(found.thresholds[0].held && found.thresholds[0].blocks.len() == 4, "{:?}", found.thresholds);
        assert_eq!(found.arms[3].verdict, Validity::Invalid, "it stays what it was");
        // Nor is it drawn.
        let mut spoiled_at_first = arms("NOISE");
        spoiled_at_first.iter_mut().for_each(|arm| arm.block = [2, 1, 3, 4, 5][arm.block as usize - 1]);
        assert_eq!([first_kept(&arms("NOISE")), first_kept(&spoiled_at_first), first_kept(&arms("CPU"))], [1, 2, 1]);
    }

    #[test]
    fn one_that_a_policy_may_have_spoiled_makes_the_run_invalid() {
        let found = summary(&arms("CPU"));
        assert_eq!((found.verdict, found.valid), (Validity::Invalid, false));
        assert!(!found.thresholds[0].held && found.thresholds[0].blocks.len() == 5);
    }

    #[test]
    fn of_an_invalid_run_lost_requests_alone_are_known() {
        let judged = |threshold: &str| {
            let found = of(threshold, &arms("CPU"), false);
            (found.thresholds[0].outcome(), found.thresholds[0].why.starts_with("the run is INVALID; "))
        };
        // None of the 100 was served.
        assert_eq!(judged("none.spike.error_rate < 1%"), ("FAILED", false));
        assert_eq!(judged("none.spike.error_rate <= 1"), ("not judged", true));
        assert_eq!(judged("none.spike.sent > 500"), ("not judged", true));
        let void = &of("none.spike.sent > 5", &arms("CPU"), false).thresholds[0];
        assert_eq!((void.word_over_seeds(), void.over_seeds()), ("not judged", (0, 0)), "no claim holds by it");
        assert!(of("none.spike.sent > 5", &arms("CPU"), false).nothing_served());
    }

    #[test]
    fn a_run_that_was_stopped_before_a_block_had_ended_is_not_valid() {
        let mut all = arms("NOISE");
        all.truncate(3);
        let some = of("none.spike.sent > 5", &all, true);
        assert_eq!(
            (some.verdict, some.partial_in_words().as_deref()),
            (Validity::Valid, Some("PARTIAL: 1 of 5 blocks ran to their end"))
        );
        let of_part = &some.thresholds[0];
        assert!(of_part.outcome() == "not judged" && of_part.why.starts_with("the run is partial; "), "{of_part:?}");
        assert_eq!((of_part.word_over_seeds(), of_part.over_seeds()), ("not judged", (0, 0)));
        let lost = of("none.spike.error_rate < 1%", &all, true);
        assert_eq!(lost.thresholds[0].outcome(), "FAILED", "no more requests make up for it: {:?}", lost.thresholds);
        for few in [&all[..1], &[]] {
            let none = of("none.spike.sent > 5", few, true);
            assert_eq!((none.verdict, none.reasons[0].code.as_str()), (Validity::Invalid, "EMPTY"));
            assert_eq!(none.reasons[0].value, "0 of 5 blocks ran to their end");
        }
    }
}
