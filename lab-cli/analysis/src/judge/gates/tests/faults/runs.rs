//! Gates that look at a whole run, and what gates read where they find nothing.

use super::*;
use crate::summary::ComparisonVerdict;

fn twins(verdict: ComparisonVerdict, interval: Option<[f64; 2]>) -> Comparison {
    Comparison {
        metric: "goodput_per_s".to_owned(),
        phase: "spike".to_owned(),
        baseline: "none".to_owned(),
        policy: "none-again".to_owned(),
        verdict,
        primary: true,
        ratio: Some(1.0),
        interval,
        margin: 0.05,
        blocks: 7,
        ..Comparison::default()
    }
}

#[test]
fn an_arm_that_differs_from_itself_is_found_and_so_is_noise_over_the_margin() {
    let found = |comparison: Comparison| {
        let reasons = judge_run(&[], &BTreeSet::new(), &[comparison]);
        reasons.into_iter().map(|reason| (reason.code, reason.verdict)).collect::<Vec<_>>()
    };
    let one = |code: &str, verdict| vec![(code.to_owned(), verdict)];
    assert_eq!(found(twins(ComparisonVerdict::Worse, Some([1.1, 1.3]))), one("A/A", Validity::Invalid));
    assert_eq!(found(twins(ComparisonVerdict::Undecided, Some([0.949, 1.02]))), one("POWER", Validity::Warn));
    assert_eq!(found(twins(ComparisonVerdict::Undecided, Some([0.99, 1.051]))), one("POWER", Validity::Warn));
    assert_eq!(found(twins(ComparisonVerdict::Equivalent, Some([0.96, 1.04]))), []);
    assert_eq!(
        found(twins(ComparisonVerdict::Undecided, None)),
        [],
        "too few blocks for an interval: that is told by the verdict"
    );
    // Of metrics to look at, one in twenty is different by chance.
    assert_eq!(found(Comparison { primary: false, ..twins(ComparisonVerdict::Worse, Some([1.1, 1.3])) }), []);
}

#[test]
fn fractions_are_as_far_from_nothing_as_they_say() {
    let comparison = Comparison {
        ratio: None,
        difference: Some(0.0),
        margin: 0.02,
        ..twins(ComparisonVerdict::Undecided, Some([-0.03, 0.01]))
    };
    let reasons = judge_run(&[], &BTreeSet::new(), &[comparison]);
    assert_eq!(reasons.len(), 1);
    assert!(reasons[0].value.contains("3.0 %"), "{}", reasons[0].value);
}

/// An arm whose processors had this speed all the time.
fn steady_at(policy: &str, block: u32, generator: f64, service: f64) -> Arm {
    let mut arm = Arm { policy: policy.to_owned(), block, ..sound() };
    arm.conditions.generator_speed = speed(generator, generator);
    arm.conditions.service_speed = speed(service, service);
    arm
}

#[test]
fn arms_of_one_block_that_ran_at_two_speeds_are_found_and_blocks_may_differ() {
    let found = |arms: &[Arm]| judge_run(arms, &BTreeSet::new(), &[]);
    assert_eq!(found(&[steady_at("none", 1, 100.0, 100.0), steady_at("seda", 1, 150.0, 109.9)]), []);
    // All arms of a block alike: they are compared within it.
    assert_eq!(found(&[steady_at("none", 1, 100.0, 100.0), steady_at("none", 2, 200.0, 200.0)]), []);
    let arms = [
        steady_at("none", 1, 100.0, 100.0),
        steady_at("seda", 1, 100.0, 112.0),
        steady_at("none", 2, 100.0, 125.0),
        steady_at("seda", 2, 100.0, 100.0),
    ];
    let reasons = found(&arms);
    let [reason] = &reasons[..] else { panic!("{reasons:?}") };
    assert_eq!((reason.code.as_str(), reason.verdict), ("DRIFT", Validity::Warn));
    assert_eq!(
        reason.value,
        "the service's processor was 1.25 times as fast for none (block 2) as for seda (block 2); so in 2 blocks"
    );
    // An arm that is left out of comparisons spoils none.
    let mut arms = arms;
    (arms[1].verdict, arms[2].verdict) = (Validity::Invalid, Validity::Invalid);
    assert_eq!(found(&arms), []);
}

/// 10 000 requests in 30 s, of which the busiest second had twice as many as others, and a median of 50 ms; the service used this share of
/// its processor, which was 1.2 times as fast for one arm as for the other and in one half of it as in the other.
fn drifts(used: f64, p99_ms: f64) -> (usize, usize) {
    let arms = [("none", 100.0), ("seda", 120.0)].map(|(policy, speed_of_all)| {
        let mut arm = steady_at(policy, 1, 100.0, speed_of_all);
        arm.phases[0].seconds = 30.0;
        arm.conditions.sent_per_s_max = 2.0 * 10_000.0 / 30.0;
        starved(&mut arm, 0.0, used);
        let times = Times { p50: Some(50.0), p99: Some(p99_ms), ..Times::default() };
        arm.phases[0].measured.response_time_ms = Times { count: 9_000, ..times };
        arm
    });
    let between = judge_run(&arms, &BTreeSet::new(), &[]).len();
    let [mut arm, _] = arms;
    halves(&mut arm, 100.0, 120.0);
    (judge(&arm, &context()).len(), between)
}

/// By hand, at 0.03 of 30 s: 0.09 ms a request, a fifth of it is 0.018 ms, and at 6 % of the busiest second 0.0191 ms; of the slowest
/// hundredth at most 1.91 ms.
#[test]
fn a_processor_that_changes_its_speed_matters_to_a_service_that_uses_it() {
    assert_eq!([drifts(0.03, 39.0), drifts(0.03, 38.0)], [(0, 0), (1, 1)]);
    // Half of the busiest second: that is capacity, whatever a request uses.
    assert_eq!([drifts(0.24, 1e5), drifts(0.26, 1e5)], [(0, 0), (1, 1)]);
}

/// Blocks of an arm, of two minutes each, that differ from their last third for so many seconds.
fn warming_up(seconds: &[f64], change: fn(&mut Arm)) -> Vec<(String, String)> {
    let arm = |(block, seconds): (u32, &f64)| {
        let mut arm = Arm { block, ..sound() };
        steady(&mut arm, |found| found.warm_up_s = *seconds);
        change(&mut arm);
        arm
    };
    let arms: Vec<Arm> = (1..).zip(seconds).map(arm).collect();
    let reasons = judge_run(&arms, &BTreeSet::new(), &[]).into_iter();
    reasons
        .map(|reason| {
            assert_eq!((reason.code.as_str(), reason.verdict), ("WARM-UP", Warn));
            (reason.arm, reason.value)
        })
        .collect()
}

fn of_the_first(arm: &mut Arm, change: impl FnOnce(&mut Steadiness)) {
    change(arm.phases[0].measures.steadiness.as_mut().expect("it is steady"));
}

#[test]
fn a_warm_up_that_most_blocks_have_is_told_once_and_is_a_caution_at_most() {
    let told = |seconds: &[f64]| warming_up(seconds, |_| ());
    let one = |value: &str| vec![("seda".to_owned(), value.to_owned())];
    assert_eq!(told(&[30.0]), one("spike: the first 30 s differ by 50 % from the last third"));
    // Most of the phase, and the file says that it is to be steady: still no fault of the measurement.
    let declared = |arm: &mut Arm| of_the_first(arm, |found| found.declared = Some(true));
    assert_eq!(warming_up(&[80.0], declared), one("spike: the first 80 s differ by 50 % from the last third"));
    assert_eq!(
        told(&[15.0, 0.0, 20.0]),
        one("spike: the first 20 s differ by 50 % from the last third (in 2 of 3 blocks)")
    );
    // An eighth of one block, or a half of the blocks, may be chance.
    assert_eq!([told(&[25.0]), told(&[60.0, 0.0])], [vec![], vec![]]);
    let late = |arm: &mut Arm| of_the_first(arm, |found| (found.late_s, found.late_effect) = (40.0, 0.25));
    assert_eq!(warming_up(&[0.0], late), one("spike: the last 40 s differ by 25 % from the first third"));
}

#[test]
fn what_nobody_reads_as_a_steady_state_has_no_warm_up() {
    let changes: [fn(&mut Arm); 6] = [
        |arm| arm.phases[0].seconds = 59.0,
        |arm| of_the_first(arm, |found| found.declared = Some(false)),
        |arm| of_the_first(arm, |found| found.transient = true),
        |arm| of_the_first(arm, |found| found.judged = false),
        // A growing backlog is none, though it looks like one: UNSTABLE tells it.
        |arm| of_the_first(arm, |found| found.growth_per_s = 12.0),
        |arm| arm.phases[0].measures.steadiness = None,
    ];
    for (number, change) in changes.into_iter().enumerate() {
        assert_eq!(warming_up(&[60.0], change), [], "change {number}");
    }
    // Unless the file says so.
    let recovery = |arm: &mut Arm| of_the_first(arm, |found| (found.transient, found.declared) = (true, Some(true)));
    assert_eq!(warming_up(&[60.0], recovery).len(), 1);
}

/// Two arms in five blocks, of which these are INVALID for these reasons.
fn blocks(void: &[(&str, u32, &'static str)]) -> Vec<Arm> {
    let mut arms: Vec<Arm> =
        (1..=5).flat_map(|block| ["none", "seda"].map(|policy| steady_at(policy, block, 100.0, 100.0))).collect();
    for (policy, block, code) in void {
        let spoiled = arms.iter_mut().find(|arm| arm.policy == *policy && arm.block == *block).expect("an arm");
        spoiled.verdict = Invalid;
        let mut reasons = Reasons { code, arm: String::new(), list: Vec::new() };
        reasons.invalid("", "", "", "");
        spoiled.reasons.append(&mut reasons.list);
    }
    arms
}

#[test]
fn a_block_that_the_machine_spoiled_is_left_out_and_the_run_stands() {
    let found = |arms: &[Arm]| {
        let left_out = excluded(arms);
        let reasons = judge_run(arms, &left_out, &[]);
        (left_out.into_iter().collect::<Vec<_>>(), verdict(&reasons), reasons)
    };
    assert_eq!(found(&blocks(&[])), (vec![], Validity::Valid, vec![]));
    // One of five, whichever arms of it.
    for void in [&[("seda", 2, "NOISE")][..], &[("seda", 2, "STEAL"), ("none", 2, "GAP")]] {
        let (left_out, verdict, reasons) = found(&blocks(void));
        assert_eq!((left_out, verdict), (vec![2], Warn));
        let told = &reasons.last().expect("it is told").value;
        assert!(
            told.starts_with("1 of 5 blocks (") && told.contains(&format!("seda (block 2): {}", void[0].2)),
            "{told}"
        );
    }
    // Two of five are too many; what a policy may have caused is no such reason, alone or beside one.
    for void in [
        &[("seda", 2, "NOISE"), ("seda", 4, "NOISE")][..],
        &[("seda", 2, "LAG")],
        &[("seda", 2, "NOISE"), ("seda", 2, "CPU")],
        &[("seda", 2, "NOISE"), ("none", 2, "LEDGER")],
    ] {
        let (left_out, verdict, _) = found(&blocks(void));
        assert_eq!((left_out, verdict), (vec![], Invalid), "{void:?}");
    }
    // A single block has nothing beside it.
    let one: Vec<Arm> = blocks(&[("none", 1, "NOISE")]).into_iter().filter(|arm| arm.block == 1).collect();
    assert_eq!(found(&one).1, Invalid);
}

#[test]
fn every_gate_says_what_it_saw_where_there_is_something_to_look_at() {
    let mut arm = steady_at("seda", 1, 100.0, 105.0);
    arm.conditions.noise = Some(0.01);
    arm.generator.cpu = 0.31;
    busy(&mut arm, 10, 1000, 0);
    files(&mut arm, 100);
    steady(&mut arm, |_| ());
    not_offered(&mut arm, 1.0);
    starved(&mut arm, 0.01, 0.1);
    carried(&mut arm, true);
    arm.parts = parts([0.0, 1.5], [Some(0.25), Some(0.0)], false);
    arm.phases[0].measures.arrivals = Some(Dispersion { windows: 100, per_window: 5.0, index: 1.1 });
    let bound = Arm { bound: true, ..Arm::default() };
    let mut summary = RunSummary {
        arms: vec![steady_at("none", 1, 1.0, 1.0), arm, bound],
        headroom: Some(Headroom { ceiling_per_s: 9000.0, ..Headroom::default() }),
        noise_floor: vec![twins(ComparisonVerdict::Equivalent, Some([0.99, 1.02]))],
        ..RunSummary::default()
    };
    let mut short = summary.clone();
    of_the_first(&mut short.arms[1], |found| found.judged = false);
    assert!(
        WARM_UP.reading(&short).is_some_and(|said| said.starts_with("not judged")),
        "{:?}",
        WARM_UP.reading(&short)
    );
    for gate in &GATES {
        assert!(gate.reading(&summary).is_some(), "{} says nothing", gate.code);
    }
    assert_eq!(CPU.reading(&summary).as_deref(), Some("31 % (seda)"), "the worst arm");
    assert_eq!(UNSENT.reading(&summary).as_deref(), Some("0"), "all arms alike");
    assert_eq!(SKEW.reading(&summary).as_deref(), Some("2.0 ms (seda)"), "with what two clocks may err");
    summary.mode = Mode::Virtual;
    assert_eq!((CPU.reading(&summary), LEDGER.reading(&summary).is_some()), (None, true));
}
