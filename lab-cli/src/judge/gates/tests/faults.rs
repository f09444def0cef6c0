//! Known answers: every gate has a made fault that it finds, and one that is just small enough to pass.

use std::collections::BTreeSet;

use super::*;
use crate::{
    judge::gates::table::{self, GATES},
    summary::{Arrivals, Comparison, Headroom, Measures, Mode, PlannedLoad, Speed, Steadiness, Summary, Touched},
};

/// How something is made wrong.
type Make = fn(&mut Arm, &mut Context);

/// A code, its verdict, what makes it speak, and what is nearly that and does not.
type Pair = (&'static str, Verdict, Make, Make);

const PAIRS: [Pair; 45] = [
    ("LEDGER", Verdict::Invalid, |arm, _| arm.phases[0].measured.served -= 1, sound_as_it_is),
    ("LEDGER", Verdict::Invalid, |arm, _| read(arm, 9_989), |arm, _| read(arm, 9_990)),
    ("EMPTY", Verdict::Invalid, |arm, _| nothing_sent(arm), sound_as_it_is),
    ("BOOKS", Verdict::Invalid, |arm, _| arm.generator.books.push("2, and 1 by count".to_owned()), sound_as_it_is),
    ("LITTLE", Verdict::Invalid, |arm, _| arm.generator.little = 0.051, |arm, _| arm.generator.little = 0.05),
    ("HDR", Verdict::Invalid, |arm, _| arm.generator.saturated = 1, sound_as_it_is),
    ("PANIC", Verdict::Invalid, |arm, _| arm.generator.panics = 1, sound_as_it_is),
    ("PANIC", Verdict::Invalid, |arm, _| server(arm).panics = 1, sound_as_it_is),
    (
        "MODEL",
        Verdict::Warn,
        |_, context| context.closed = true,
        |arm, context| {
            context.closed = true;
            rejects(arm, 500);
        },
    ),
    ("CAP", Verdict::Warn, |arm, _| busy(arm, 1000, 1000, 0), |arm, _| busy(arm, 999, 1000, 0)),
    ("CAP", Verdict::Warn, |arm, _| busy(arm, 10, 1000, 1), sound_as_it_is),
    ("ARRIVALS", Verdict::Warn, |arm, _| arrivals(arm, 100, 10.0, 1.55), |arm, _| arrivals(arm, 100, 10.0, 1.53)),
    ("ARRIVALS", Verdict::Warn, |arm, _| arrivals(arm, 100, 10.0, 0.59), |arm, _| arrivals(arm, 100, 10.0, 0.61)),
    ("ARRIVALS", Verdict::Warn, |arm, _| arrivals(arm, 1000, 1.0, 1.2), |arm, _| arrivals(arm, 99, 10.0, 9.0)),
    ("ARRIVALS", Verdict::Warn, |arm, _| arrivals(arm, 1000, 1.0, 0.8), |arm, _| arrivals(arm, 1000, 0.9, 9.0)),
    ("SAMPLES", Verdict::Warn, |arm, _| samples(arm, 28), |arm, _| samples(arm, 29)),
    (
        "WARM-UP",
        Verdict::Warn,
        |arm, _| steady(arm, |s| s.warm_up_s = 20.0),
        |arm, _| {
            steady(arm, |s| s.warm_up_s = 20.0);
            arm.phases[0].seconds = 59.0;
        },
    ),
    (
        "WARM-UP",
        Verdict::Warn,
        |arm, _| steady(arm, |s| s.warm_up_s = 65.0),
        |arm, _| {
            steady(arm, |s| (s.warm_up_s, s.declared) = (65.0, Some(false)));
        },
    ),
    ("WARM-UP", Verdict::Warn, |arm, _| steady(arm, |s| s.trend = 0.2), |arm, _| steady(arm, |s| s.trend = 0.0)),
    (
        "WARM-UP",
        Verdict::Invalid,
        |arm, _| steady(arm, |s| (s.warm_up_s, s.declared) = (65.0, Some(true))),
        |arm, _| steady(arm, |s| (s.warm_up_s, s.declared) = (0.0, Some(true))),
    ),
    ("UNSENT", Verdict::Invalid, |arm, _| unsent(arm, 11), |arm, _| unsent(arm, 10)),
    (
        "LAG",
        Verdict::Invalid,
        |arm, _| arm.generator.send_lag_p99_ms = 50.1,
        |arm, _| {
            arm.generator.send_lag_p99_ms = 50.0; // 5 % of 1 s
        },
    ),
    ("LAG", Verdict::Invalid, |arm, context| lag(arm, context, 2.1, 0.0), |arm, context| lag(arm, context, 2.0, 0.0)),
    (
        "LAG",
        Verdict::Invalid,
        |arm, _| arm.conditions.send_lag_p999_ms = 101.0,
        |arm, _| {
            arm.conditions.send_lag_p999_ms = 100.0;
        },
    ),
    ("LAG", Verdict::Invalid, |arm, context| lag(arm, context, 0.0, 4.1), |arm, context| lag(arm, context, 0.0, 4.0)),
    ("CPU", Verdict::Invalid, |arm, _| arm.generator.cpu = 0.71, |arm, _| arm.generator.cpu = 0.70),
    ("CROWDED", Verdict::Warn, |arm, _| crowded(arm, 0.011, 0.0), |arm, _| crowded(arm, 0.01, 0.0)),
    ("CROWDED", Verdict::Invalid, |arm, _| crowded(arm, 0.03, 0.011), sound_as_it_is),
    (
        "HICCUP",
        Verdict::Invalid,
        |arm, _| arm.generator.loop_gap_max_ms = 251.0,
        |arm, _| {
            arm.generator.loop_gap_max_ms = 250.0;
        },
    ),
    (
        "HICCUP",
        Verdict::Invalid,
        |arm, _| arm.conditions.hiccup_p999_ms = Some(50.1),
        |arm, _| {
            arm.conditions.hiccup_p999_ms = Some(50.0);
        },
    ),
    ("HICCUP", Verdict::Invalid, |arm, context| hiccup(arm, context, 5.1), |arm, context| hiccup(arm, context, 5.0)),
    ("GAP", Verdict::Invalid, |arm, _| arm.generator.loop_gap_max_ms = 1001.0, sound_as_it_is),
    (
        "GAP",
        Verdict::Invalid,
        |arm, _| arm.conditions.clocks.suspended_ms = 101.0,
        |arm, _| {
            arm.conditions.clocks.suspended_ms = 100.0;
        },
    ),
    (
        "GAP",
        Verdict::Warn,
        |arm, _| arm.conditions.service_silent_max_ms = 1001.0,
        |arm, _| {
            arm.conditions.service_silent_max_ms = 1000.0;
        },
    ),
    ("FILES", Verdict::Invalid, |arm, _| arm.generator.files_exhausted = 1, sound_as_it_is),
    ("FILES", Verdict::Warn, |arm, _| files(arm, 961), |arm, _| files(arm, 960)),
    ("PORTS", Verdict::Invalid, |arm, _| arm.generator.ports_exhausted = 1, sound_as_it_is),
    (
        "HEADROOM",
        Verdict::Invalid,
        |arm, context| headroom(arm, context, 1999.0, 1.0),
        |arm, context| {
            headroom(arm, context, 2000.0, 1.0);
        },
    ),
    (
        "HEADROOM",
        Verdict::Invalid,
        |arm, context| headroom(arm, context, 9e9, 100.1),
        |arm, context| {
            headroom(arm, context, 9e9, 100.0);
        },
    ),
    ("STEAL", Verdict::Warn, |arm, _| arm.generator.steal = 0.006, |arm, _| arm.generator.steal = 0.005),
    ("STEAL", Verdict::Invalid, |arm, _| arm.generator.steal = 0.021, sound_as_it_is),
    (
        "NOISE",
        Verdict::Invalid,
        |arm, _| arm.conditions.noise = Some(0.031),
        |arm, _| {
            arm.conditions.noise = Some(0.03);
        },
    ),
    ("PAGING", Verdict::Warn, |arm, _| arm.generator.major_faults = 1, sound_as_it_is),
    (
        "BACKLOG",
        Verdict::Invalid,
        |arm, _| arm.kernel.listen_drops = 1,
        |arm, context| {
            (arm.kernel.listen_drops, context.kernel_backlog_declared) = (1, true);
        },
    ),
    ("RENEWAL", Verdict::Warn, |arm, _| arm.renewal_failed = Some("no answer".to_owned()), sound_as_it_is),
];

/// Those whose fault takes more than one line.
const MORE: [Pair; 11] = [
    ("DRIFT", Verdict::Warn, |arm, _| halves(arm, 100.0, 110.1), |arm, _| halves(arm, 100.0, 109.9)),
    ("DRIFT", Verdict::Warn, |arm, _| halves(arm, 110.1, 100.0), |arm, _| halves(arm, 109.9, 100.0)),
    // Generator and service on one processor; and the generator's own says nothing of the service.
    (
        "DRIFT",
        Verdict::Warn,
        |arm, _| arm.conditions.generator_speed = speed(100.0, 120.0),
        |arm, _| {
            halves(arm, 100.0, 100.0);
            arm.conditions.generator_speed = speed(100.0, 150.0);
        },
    ),
    ("BACKLOG", Verdict::Invalid, |arm, _| arm.kernel.request_queue_full = 1, sound_as_it_is),
    (
        "CLOCK",
        Verdict::Warn,
        |arm, _| arm.conditions.clocks.step_ms = 10.0,
        |arm, _| {
            arm.conditions.clocks.step_ms = 9.9;
        },
    ),
    (
        "CLOCK",
        Verdict::Warn,
        |arm, _| arm.conditions.clocks.drift_ppm = 501.0,
        |arm, _| {
            arm.conditions.clocks.drift_ppm = 500.0;
        },
    ),
    ("CLOCK", Verdict::Warn, |arm, _| clock(arm, "hpet", "hpet"), |arm, _| clock(arm, "tsc", "tsc")),
    ("CLOCK", Verdict::Warn, |arm, _| clock(arm, "tsc", "hpet"), |arm, _| clock(arm, "kvm-clock", "kvm-clock")),
    (
        "UNSTABLE",
        Verdict::Unstable,
        |arm, _| steady(arm, |s| s.growth_per_s = 12.0),
        |arm, _| {
            steady(arm, |s| (s.growth_per_s, s.declared) = (12.0, Some(false)));
        },
    ),
    ("TOUCHED", Verdict::Warn, |arm, _| arm.touches.push(Touched::default()), sound_as_it_is),
    // A growing backlog is no warm-up: it is told once.
    (
        "UNSTABLE",
        Verdict::Unstable,
        |arm, _| steady(arm, |s| (s.growth_per_s, s.warm_up_s) = (12.0, 65.0)),
        |arm, _| {
            steady(arm, |s| s.growth_per_s = 0.0);
        },
    ),
];

fn sound_as_it_is(_: &mut Arm, _: &mut Context) {}

fn server(arm: &mut Arm) -> &mut Server {
    arm.server.as_mut().expect("a sound arm has one")
}

fn read(arm: &mut Arm, requests: u64) {
    let server = server(arm);
    server.served -= server.requests_read - requests;
    server.requests_read = requests;
}

fn nothing_sent(arm: &mut Arm) {
    arm.phases[0].measured = Measured::default();
    arm.server = Some(Server::default());
}

/// So many of 10 000.
fn rejects(arm: &mut Arm, rejected: u64) {
    let measured = &mut arm.phases[0].measured;
    measured.served += measured.rejected - rejected;
    measured.rejected = rejected;
    let served = measured.served;
    let server = server(arm);
    server.served = served;
    server.refused.insert("rate".to_owned(), rejected);
}

fn unsent(arm: &mut Arm, unsent: u64) {
    arm.phases[0].measured.planned += unsent;
    arm.phases[0].measured.unsent = unsent;
}

fn busy(arm: &mut Arm, most: u32, limit: u32, waited: u64) {
    let conditions = &mut arm.conditions;
    (conditions.busy_users_max, conditions.busy_users_limit, conditions.waited_for_turn) = (most, limit, waited);
}

fn arrivals(arm: &mut Arm, windows: u64, per_window: f64, dispersion: f64) {
    arm.phases[0].measures.arrivals = Some(Arrivals { windows, per_window, dispersion });
}

fn samples(arm: &mut Arm, count: u64) {
    arm.phases[0].measured.response_time_ms.count = count;
}

/// Two minutes under one load, in batches of 5 s.
fn steady(arm: &mut Arm, change: fn(&mut Steadiness)) {
    let mut steadiness = Steadiness { batch_s: 5.0, batches: 24, warm_up_effect: 0.5, ..Steadiness::default() };
    change(&mut steadiness);
    arm.phases[0].seconds = 120.0;
    arm.phases[0].measures =
        Measures { load: Some(PlannedLoad::RequestsPerS(80.0)), steadiness: Some(steadiness), ..Measures::default() };
}

/// Under an objective of 10 ms, where the floors hold.
fn lag(arm: &mut Arm, context: &mut Context, p99: f64, p999: f64) {
    context.objective.response_time_ms = 10.0;
    (arm.generator.send_lag_p99_ms, arm.conditions.send_lag_p999_ms) = (p99, p999);
}

fn hiccup(arm: &mut Arm, context: &mut Context, p999: f64) {
    context.objective.response_time_ms = 10.0;
    arm.generator.loop_gap_max_ms = 25.0;
    arm.conditions.hiccup_p999_ms = Some(p999);
}

fn crowded(arm: &mut Arm, all: f64, beyond: f64) {
    (arm.generator.run_queue, arm.generator.crowded) = (all, beyond);
}

fn files(arm: &mut Arm, open: u64) {
    (arm.generator.open_files_max, arm.generator.open_files_limit) = (open, 1024);
}

/// 1000 requests were sent in the busiest second.
fn headroom(arm: &mut Arm, context: &mut Context, ceiling_per_s: f64, p99: f64) {
    arm.conditions.sent_per_s_max = 1000.0;
    context.headroom = Some(Headroom { ceiling_per_s, probed_per_s: 0.0, response_p99_ms: Some(p99) });
}

fn speed(first_half: f64, second_half: f64) -> Option<Speed> {
    Some(Speed { median: first_half, first_half, second_half })
}

fn halves(arm: &mut Arm, first: f64, second: f64) {
    arm.conditions.service_speed = speed(first, second);
}

fn clock(arm: &mut Arm, before: &str, after: &str) {
    let clocks = &mut arm.conditions.clocks;
    (clocks.source, clocks.source_at_end) = (before.to_owned(), after.to_owned());
}

#[test]
fn every_made_fault_is_found_by_its_gate_alone_and_what_is_just_sound_by_none() {
    for (number, (code, verdict, fault, nearly)) in PAIRS.iter().chain(&MORE).enumerate() {
        let judged = |make: Make| {
            let (mut arm, mut context) = (sound(), context());
            make(&mut arm, &mut context);
            codes(&arm, &context)
        };
        assert_eq!(judged(*fault), [((*code).to_owned(), *verdict)], "pair {number}: the fault");
        assert_eq!(judged(*nearly), [], "pair {number}, {code}: what is just sound");
    }
}

fn twins(verdict: &str, interval: Option<[f64; 2]>) -> Comparison {
    Comparison {
        metric: "goodput_per_s".to_owned(),
        phase: "spike".to_owned(),
        baseline: "none".to_owned(),
        policy: "none-again".to_owned(),
        verdict: verdict.to_owned(),
        primary: true,
        ratio: Some(1.0),
        interval,
        margin: 0.05,
        blocks: 7,
        ..Comparison::default()
    }
}

/// Found by the comparison of an arm with itself, which no single arm can be.
const OF_TWINS: [&str; 2] = ["A/A", "POWER"];

#[test]
fn an_arm_that_differs_from_itself_is_found_and_so_is_noise_over_the_margin() {
    let found = |comparison: Comparison| {
        let reasons = judge_twins(&[comparison]);
        reasons.into_iter().map(|reason| (reason.code, reason.verdict)).collect::<Vec<_>>()
    };
    let one = |code: &str, verdict| vec![(code.to_owned(), verdict)];
    assert_eq!(found(twins("different", Some([1.1, 1.3]))), one("A/A", Verdict::Invalid));
    assert_eq!(found(twins("inconclusive", Some([0.949, 1.02]))), one("POWER", Verdict::Warn));
    assert_eq!(found(twins("inconclusive", Some([0.99, 1.051]))), one("POWER", Verdict::Warn));
    assert_eq!(found(twins("equivalent", Some([0.96, 1.04]))), []);
    assert_eq!(found(twins("inconclusive", None)), [], "too few blocks for an interval: that is told by the verdict");
    // Of metrics to look at, one in twenty is different by chance.
    assert_eq!(found(Comparison { primary: false, ..twins("different", Some([1.1, 1.3])) }), []);
}

#[test]
fn fractions_are_as_far_from_nothing_as_they_say() {
    let comparison =
        Comparison { ratio: None, difference: Some(0.0), margin: 0.02, ..twins("inconclusive", Some([-0.03, 0.01])) };
    let reasons = judge_twins(&[comparison]);
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
    let found = |arms: &[Arm]| judge_drift(arms);
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
    assert_eq!((reason.code.as_str(), reason.verdict), ("DRIFT", Verdict::Warn));
    assert_eq!(
        reason.value,
        "the service's processor was 1.25 times as fast for none (block 2) as for seda (block 2); so in 2 blocks"
    );
    // An arm that is left out of comparisons spoils none.
    let mut arms = arms;
    (arms[1].verdict, arms[2].verdict) = (Verdict::Invalid, Verdict::Invalid);
    assert_eq!(found(&arms), []);
}

#[test]
fn every_gate_says_what_it_saw_where_there_is_something_to_look_at() {
    let mut arm = steady_at("seda", 1, 100.0, 105.0);
    arm.conditions.noise = Some(0.01);
    arm.generator.cpu = 0.31;
    busy(&mut arm, 10, 1000, 0);
    files(&mut arm, 100);
    steady(&mut arm, |_| ());
    arm.phases[0].measures.arrivals = Some(Arrivals { windows: 100, per_window: 5.0, dispersion: 1.1 });
    let bound = Arm { bound: true, ..Arm::default() };
    let mut summary = Summary {
        arms: vec![steady_at("none", 1, 1.0, 1.0), arm, bound],
        headroom: Some(Headroom { ceiling_per_s: 9000.0, ..Headroom::default() }),
        noise_floor: vec![twins("equivalent", Some([0.99, 1.02]))],
        ..Summary::default()
    };
    for gate in GATES {
        assert!(reading(gate.code, &summary).is_some(), "{} says nothing", gate.code);
    }
    assert_eq!(reading("CPU", &summary).as_deref(), Some("31 % (seda)"), "the worst arm");
    assert_eq!(reading("UNSENT", &summary).as_deref(), Some("0"), "all arms alike");
    assert_eq!(reading("CPUS", &summary), None);
    summary.mode = Mode::Virtual;
    assert_eq!((reading("CPU", &summary), reading("LEDGER", &summary).is_some()), (None, true));
}

#[test]
fn every_gate_of_the_table_has_a_pair_for_each_of_its_verdicts() {
    let mut shown: BTreeSet<(&str, Verdict)> =
        PAIRS.iter().chain(&MORE).map(|(code, verdict, ..)| (*code, *verdict)).collect();
    shown.extend([(OF_TWINS[0], Verdict::Invalid), (OF_TWINS[1], Verdict::Warn)]);
    let listed: BTreeSet<(&str, Verdict)> =
        GATES.iter().flat_map(|gate| gate.verdicts.iter().map(|verdict| (gate.code, *verdict))).collect();
    assert_eq!(shown, listed, "left: shown to work here; right: listed in the table");
    let codes: BTreeSet<&str> = GATES.iter().map(|gate| gate.code).collect();
    assert_eq!(codes.len(), GATES.len(), "a code stands in the table once");
}

#[test]
fn every_code_in_the_source_is_in_the_table() {
    let sources = [
        include_str!("../client.rs"),
        include_str!("../drift.rs"),
        include_str!("../ledger.rs"),
        include_str!("../load.rs"),
        include_str!("../machine.rs"),
        include_str!("../pauses.rs"),
        include_str!("../settled.rs"),
        include_str!("../twins.rs"),
        include_str!("../../gates.rs"),
    ];
    // A code stands alone in its line, or as the first argument.
    let quoted = sources.iter().flat_map(|source| source.split('"').skip(1).step_by(2));
    let is_code =
        |text: &&str| text.len() > 2 && text.bytes().all(|b| b.is_ascii_uppercase() || matches!(b, b'-' | b'/'));
    let named: BTreeSet<&str> = quoted.filter(is_code).collect();
    let listed: BTreeSet<&str> = GATES.iter().map(|gate| gate.code).collect();
    assert_eq!(named, listed);
}

#[test]
fn the_table_stands_in_the_docs() {
    let docs = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/validity.md")).expect("readable");
    let table = table::as_markdown();
    assert!(docs.contains(&table), "put this into docs/validity.md:\n{table}");
}
