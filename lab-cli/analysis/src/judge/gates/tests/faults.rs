//! Known answers: every gate has a made fault that it finds, and one that is just small enough to pass.

use std::collections::BTreeSet;

use measure::{Offered, Shard};

use super::*;
use crate::summary::{
    CarriedOver, Comparison, Dispersion, Headroom, Measures, Mode, Notches, PartSummary, PlannedLoad, RunSummary,
    ServiceWait, Speed, Steadiness, Stolen, Throttled, Touched, Undelayed,
    Validity::{Invalid, Unstable, Warn},
    WalkCell, WalkRow,
};

mod effect;
mod runs;

/// A code, its verdict, what is measured, what is over its limit, and what is just within.
type Limit = (&'static str, Validity, fn(&mut Arm, &mut Context, f64), f64, f64);

const LIMITS: [Limit; 56] = [
    ("LEDGER", Invalid, |arm, _, requests| read(arm, requests as u64), 9_989.0, 9_990.0),
    ("RESENT", Warn, |arm, _, requests| arm.phases[0].measured.resent = requests as u64, 11.0, 10.0),
    ("LITTLE", Invalid, |arm, _, apart| arm.generator.little = apart, 0.051, 0.05),
    ("HDR", Invalid, |arm, _, times| arm.generator.saturated = times as u64, 1.0, 0.0),
    ("PANIC", Invalid, |arm, _, panics| arm.generator.panics = panics as u64, 1.0, 0.0),
    ("PANIC", Invalid, |arm, _, panics| server(arm).panics = panics as u64, 1.0, 0.0),
    ("JOBS", Invalid, |arm, _, jobs| arm.generator.contradictions = jobs as u64, 1.0, 0.0),
    ("JOBS", Invalid, |arm, _, jobs| server(arm).contradictions = jobs as u64, 1.0, 0.0),
    ("CAP", Warn, |arm, _, most| busy(arm, most as u32, 1000, 0), 1000.0, 999.0),
    ("CAP", Warn, |arm, _, waited| busy(arm, 10, 1000, waited as u64), 1.0, 0.0),
    ("CAP", Warn, |arm, _, waited| arm.conditions.waited_for_connection = waited as u64, 101.0, 100.0),
    ("ARRIVALS", Warn, |arm, _, dispersion| arrivals(arm, 100, 10.0, dispersion), 1.55, 1.53),
    ("ARRIVALS", Warn, |arm, _, dispersion| arrivals(arm, 100, 10.0, dispersion), 0.59, 0.61),
    ("SAMPLES", Warn, |arm, _, count| arm.phases[0].measured.response_time_ms.count = count as u64, 28.0, 29.0),
    ("WALK", Warn, |arm, _, share| not_offered(arm, share), 5.1, 5.0),
    ("WALK", Warn, |arm, _, last| runs_empty(arm, last as u64), 71.0, 70.0),
    ("SHARES", Invalid, |arm, _, wrong| arm.parts = parts([0.0, 0.0], [Some(0.0); 2], wrong > 0.0), 1.0, 0.0),
    (
        "SHARES",
        Warn,
        |arm, context, wrong| {
            context.lost_at_most = 0.5;
            arm.parts = parts([0.0, 0.0], [Some(0.0); 2], wrong > 0.0);
        },
        1.0,
        0.0,
    ),
    // Of an objective of 1000 ms half of 5 %.
    ("SKEW", Warn, |arm, _, began| arm.parts = parts([0.0, began], [Some(0.0); 2], false), 25.1, 25.0),
    ("SKEW", Warn, |arm, _, error| arm.parts = parts([0.0, 5.0], [Some(error), Some(0.0)], false), 10.1, 10.0),
    ("SKEW", Warn, |arm, _, no| arm.parts = parts([0.0; 2], [Some(0.0), (no == 0.0).then_some(0.0)], false), 1.0, 0.0),
    ("UNSENT", Invalid, |arm, _, requests| unsent(arm, requests as u64), 11.0, 10.0),
    ("LAG", Warn, |arm, _, own| moves(arm, 100.0, own, 0.0), 5.1, 5.0),
    ("LAG", Warn, |arm, _, own| moves(arm, 1.0, own, 0.0), 0.101, 0.1),
    ("CPU", Invalid, |arm, _, share| arm.generator.cpu = share, 0.71, 0.70),
    ("CROWDED", Warn, |arm, _, own| moves_while_crowded(arm, own), 5.1, 5.0),
    ("HICCUP", Warn, |arm, _, own| moves(arm, 100.0, own, 0.02), 5.1, 5.0),
    ("HICCUP", Warn, |arm, _, share| stands_still_in_a_closed_load(arm, share), 0.051, 0.05),
    ("GAP", Invalid, |arm, _, gap| arm.generator.loop_gap_max_ms = gap, 1001.0, 1000.0),
    ("GAP", Invalid, |arm, _, slept| arm.conditions.clocks.suspended_ms = slept, 101.0, 100.0),
    ("GAP", Warn, |arm, _, silent| arm.conditions.service_silent_max_ms = silent, 1001.0, 1000.0),
    ("FILES", Invalid, |arm, _, sends| arm.generator.files_exhausted = sends as u64, 1.0, 0.0),
    ("FILES", Warn, |arm, _, open| files(arm, open as u64), 961.0, 960.0),
    ("PORTS", Invalid, |arm, _, sends| arm.generator.ports_exhausted = sends as u64, 1.0, 0.0),
    ("MEMORY", Invalid, |arm, _, answers| arm.generator.memory_exhausted = answers as u64, 1.0, 0.0),
    ("HEADROOM", Invalid, |arm, context, ceiling| headroom(arm, context, ceiling, 1.0), 1999.0, 2000.0),
    ("HEADROOM", Invalid, |arm, context, p99| headroom(arm, context, 9e9, p99), 100.1, 100.0),
    ("STEAL", Warn, |arm, _, share| arm.generator.steal = share, 0.051, 0.05),
    // 5 % and 0.1 ms of the 99th percentile.
    ("STEAL", Warn, |arm, _, p99| stolen(arm, 100.0, p99), 5.1, 5.0),
    ("STEAL", Warn, |arm, _, p99| stolen(arm, 1.0, p99), 0.11, 0.1),
    ("NOISE", Invalid, |arm, _, share| arm.conditions.noise = Some(share), 0.031, 0.03),
    ("NOISE", Warn, |arm, _, share| arm.conditions.kernel_noise = Some(share), 0.051, 0.05),
    ("NOISE", Warn, |arm, _, share| unseen(arm, share), 0.051, 0.05),
    ("STARVED", Warn, |arm, _, share| starved(arm, share, 0.6), 0.051, 0.05),
    // 0.1 ms a request.
    ("STARVED", Warn, |arm, _, wanted| starved(arm, 0.09, wanted), 0.38, 0.36),
    // Of 30 s.
    ("THROTTLED", Warn, |arm, _, seconds| throttled(arm, seconds), 0.031, 0.03),
    ("DRIFT", Warn, |arm, _, second| halves(arm, 100.0, second), 110.1, 109.9),
    ("DRIFT", Warn, |arm, _, first| halves(arm, first, 100.0), 110.1, 109.9),
    ("DRIFT", Warn, |arm, _, second| scattered(arm, second), 120.1, 119.9),
    ("PAGING", Warn, |arm, _, faults| arm.generator.major_faults = faults as u64, 1.0, 0.0),
    ("BACKLOG", Invalid, |arm, _, dropped| arm.kernel.own_drops = Some(dropped as u64), 1.0, 0.0),
    ("BACKLOG", Warn, |arm, _, dropped| arm.kernel.listen_drops = dropped as u64, 1.0, 0.0),
    ("BACKLOG", Warn, |arm, _, full| arm.kernel.request_queue_full = full as u64, 1.0, 0.0),
    ("CLOCK", Warn, |arm, _, step| arm.conditions.clocks.step_ms = step, 10.0, 9.9),
    ("CLOCK", Warn, |arm, _, ppm| arm.conditions.clocks.drift_ppm = ppm, 501.0, 500.0),
    ("UNSTABLE", Unstable, |arm, _, growth| steady(arm, |s| s.growth_per_s = growth), 12.0, 0.0),
];

/// A code that has two limits: what is over the second is void, and what is just within it is still in doubt.
type Void = (&'static str, fn(&mut Arm, f64), f64, f64);

const VOID_FROM: [Void; 13] = [
    ("LAG", |arm, own| moves(arm, 100.0, own, 0.0), 10.1, 10.0),
    ("LAG", |arm, own| moves(arm, 1.0, own, 0.0), 0.201, 0.2),
    ("HICCUP", |arm, own| moves(arm, 100.0, own, 0.02), 10.1, 10.0),
    ("HICCUP", stands_still_in_a_closed_load, 0.101, 0.1),
    ("CROWDED", moves_while_crowded, 10.1, 10.0),
    ("STEAL", |arm, share| arm.generator.steal = share, 0.101, 0.1),
    ("STEAL", |arm, p99| stolen(arm, 100.0, p99), 10.1, 10.0),
    ("STEAL", |arm, p99| stolen(arm, 1.0, p99), 0.201, 0.2),
    ("NOISE", |arm, share| unseen(arm, share), 0.101, 0.1),
    // A service that wants its processor most of the time loses capacity; at 0.3 of it, 0.2 ms a request are at stake.
    ("STARVED", |arm, share| starved(arm, share, 0.9), 0.101, 0.1),
    ("STARVED", |arm, share| starved(arm, share, 0.3), 0.23, 0.22),
    ("STARVED", |arm, busy| starved(arm, 0.11, busy), 0.51, 0.5),
    ("SKEW", |arm, began| arm.parts = parts([0.0, began], [Some(0.0); 2], false), 50.1, 50.0),
];

/// How something is made wrong, or nearly.
type Make = fn(&mut Arm, &mut Context);

/// A code, its verdict, what makes it speak, and what is nearly that and does not.
type Pair = (&'static str, Validity, Make, Make);

const PAIRS: [Pair; 27] = [
    ("LEDGER", Invalid, |arm, _| arm.phases[0].measured.served -= 1, sound_as_it_is),
    ("UNASKED", Warn, |arm, _| arm.conditions.unasked = 1, sound_as_it_is),
    ("EMPTY", Invalid, |arm, _| nothing_sent(arm), sound_as_it_is),
    ("EMPTY", Invalid, |arm, _| nobody_listens(arm, 0), |arm, _| nobody_listens(arm, 10_000)),
    ("BOOKS", Invalid, |arm, _| arm.generator.books.push("2, and 1 by count".to_owned()), sound_as_it_is),
    ("MODEL", Warn, |_, context| context.closed = true, closed_and_few_rejects),
    ("ARRIVALS", Warn, |arm, _| arrivals(arm, 1000, 1.0, 1.2), |arm, _| arrivals(arm, 99, 10.0, 9.0)),
    ("ARRIVALS", Warn, |arm, _| arrivals(arm, 1000, 1.0, 0.8), |arm, _| arrivals(arm, 1000, 0.9, 9.0)),
    ("WALK", Warn, |arm, _| not_offered(arm, 40.0), |arm, _| not_offered_by_messages_that_are_gone(arm)),
    ("WALK", Warn, |arm, _| runs_empty(arm, 400), |arm, _| runs_empty_by_half_a_minute(arm)),
    ("DRIFT", Warn, |arm, _| arm.conditions.generator_speed = speed(100.0, 120.0), generators_own_drift),
    ("BACKLOG", Invalid, |arm, _| arm.kernel.own_drops = Some(1), drops_that_are_declared),
    ("BACKLOG", Invalid, |arm, _| arm.kernel.own_drops = Some(1), drops_of_another_program),
    ("BACKLOG", Warn, |arm, _| arm.kernel.listen_drops = 1, drops_in_a_service_of_ones_own),
    ("BACKLOG", Warn, |arm, _| arm.kernel.unread = true, unread_and_declared),
    ("STARVED", Warn, |arm, _| waits_are_unknown(arm), sound_as_it_is),
    ("PLANT", Warn, |_, context| context.debug_build_plant = true, sound_as_it_is),
    ("PLANT", Warn, |_, context| context.plant.unknown_origin = true, sound_as_it_is),
    ("PLANT", Warn, |_, context| context.plant.other_machine = true, sound_as_it_is),
    ("PLANT", Warn, |_, context| context.plant.other_version = true, sound_as_it_is),
    ("PLANT", Warn, |_, context| context.plant.not_valid = true, sound_as_it_is),
    ("RENEWAL", Warn, |arm, _| arm.renewal_failed = Some("no answer".to_owned()), sound_as_it_is),
    ("CLOCK", Warn, |arm, _| clock(arm, "hpet", "hpet"), |arm, _| clock(arm, "tsc", "tsc")),
    ("CLOCK", Warn, |arm, _| clock(arm, "tsc", "hpet"), |arm, _| clock(arm, "kvm-clock", "kvm-clock")),
    ("UNSTABLE", Unstable, |arm, _| grows(arm, None), |arm, _| grows(arm, Some(false))),
    ("CARRIED", Invalid, |arm, _| carried(arm, false), |arm, _| carried(arm, true)),
    ("TOUCHED", Warn, |arm, _| arm.touches.push(Touched::default()), sound_as_it_is),
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

/// 500 attempts got no connection, and so many requests did.
fn nobody_listens(arm: &mut Arm, sent: u64) {
    if sent == 0 {
        nothing_sent(arm);
    }
    let measured = &mut arm.phases[0].measured;
    measured.planned += 500;
    measured.connect_failed = 500;
}

/// 500 of 10 000.
fn closed_and_few_rejects(arm: &mut Arm, context: &mut Context) {
    context.closed = true;
    let rejected = 500;
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

/// So many of a hundred draws in a thousand.
fn not_offered(arm: &mut Arm, percent: f64) {
    let substituted = (percent * 10.0) as u64;
    let cell = WalkCell { made: 1000 - substituted, substituted, ..WalkCell::default() };
    arm.walk = vec![WalkRow { from: "login".into(), to: [("search".to_owned(), cell)].into(), ..WalkRow::default() }];
}

/// Four of ten, where the model leads users back to what they have deleted.
fn not_offered_by_messages_that_are_gone(arm: &mut Arm) {
    not_offered(arm, 40.0);
    for cell in arm.walk[0].to.values_mut() {
        cell.gone = cell.substituted;
    }
}

/// From 2 % to so many of a thousand, over five minutes.
fn runs_empty(arm: &mut Arm, last: u64) {
    let minute = |not_offered| Offered { drawn: 1000, not_offered };
    arm.offered = vec![minute(20), minute(20), minute(40), minute(50), minute(last)];
}

/// A rise that too few draws show.
fn runs_empty_by_half_a_minute(arm: &mut Arm) {
    arm.offered = vec![Offered { drawn: 1000, not_offered: 20 }, Offered { drawn: 500, not_offered: 300 }];
}

fn busy(arm: &mut Arm, most: u32, limit: u32, waited: u64) {
    let conditions = &mut arm.conditions;
    (conditions.busy_users_max, conditions.busy_users_limit, conditions.waited_for_turn) = (most, limit, waited);
}

fn arrivals(arm: &mut Arm, windows: u64, per_window: f64, dispersion: f64) {
    arm.phases[0].measures.arrivals = Some(Dispersion { windows, per_window, index: dispersion });
}

/// Two minutes under one load.
pub(super) fn steady(arm: &mut Arm, change: impl FnOnce(&mut Steadiness)) {
    let mut steadiness = Steadiness { part_s: 5.0, judged: true, warm_up_effect: 0.5, ..Steadiness::default() };
    change(&mut steadiness);
    arm.phases[0].seconds = 120.0;
    arm.phases[0].measures =
        Measures { load: Some(PlannedLoad::RequestsPerS(80.0)), steadiness: Some(steadiness), ..Measures::default() };
}

/// It settles after 65 s, if it ever does.
fn grows(arm: &mut Arm, declared: Option<bool>) {
    steady(arm, |s| (s.growth_per_s, s.warm_up_s, s.declared) = (12.0, 65.0, declared));
}

/// Where generator and service have a processor each, its own says nothing of the service; on one it is the service's too.
fn generators_own_drift(arm: &mut Arm, _: &mut Context) {
    halves(arm, 100.0, 100.0);
    arm.conditions.generator_speed = speed(100.0, 150.0);
}

fn unread_and_declared(arm: &mut Arm, context: &mut Context) {
    (arm.kernel.unread, context.kernel_backlog_declared) = (true, true);
}

fn drops_that_are_declared(arm: &mut Arm, context: &mut Context) {
    (arm.kernel.own_drops, context.kernel_backlog_declared) = (Some(1), true);
}

fn drops_of_another_program(arm: &mut Arm, _: &mut Context) {
    (arm.kernel.own_drops, arm.kernel.listen_overflows, arm.kernel.listen_drops) = (Some(0), 160, 160);
}

fn drops_in_a_service_of_ones_own(arm: &mut Arm, context: &mut Context) {
    (arm.kernel.listen_drops, context.foreign_service) = (160, true);
}

/// The 99th percentile, and how much of it may be the generator's own, which stood still for this share of the time.
pub(super) fn moves(arm: &mut Arm, shown: f64, own: f64, stood_still: f64) {
    let times = |p99| Times { p50: Some(shown / 2.0), p90: Some(shown / 2.0), p99: Some(p99), ..Times::default() };
    let phase = &mut arm.phases[0];
    let count = phase.measured.response_time_ms.count;
    phase.measured.response_time_ms = Times { count, ..times(shown) };
    phase.measures.undelayed = Some(Undelayed { response_time_ms: times(shown - own), stood_still });
}

/// All of its pauses were waits for its processor.
fn moves_while_crowded(arm: &mut Arm, own: f64) {
    moves(arm, 100.0, own, 0.02);
    (arm.generator.run_queue, arm.generator.crowded) = (0.03, 0.02);
}

fn stands_still_in_a_closed_load(arm: &mut Arm, share: f64) {
    moves(arm, 100.0, 0.0, share);
    arm.phases[0].users = 8;
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
    Some(Speed { median: first_half, first_half, second_half, ..Speed::default() })
}

/// Of a shown p99.
fn stolen(arm: &mut Arm, shown_ms: f64, p99_ms: f64) {
    arm.phases[0].measured.response_time_ms.p99 = Some(shown_ms);
    arm.conditions.neighbours.get_or_insert_default().stolen =
        vec![Stolen { share: 0.015, p99_ms, ..Stolen::default() }];
}

/// Beside 4 % by visible programs and the kernel, within their limits.
fn unseen(arm: &mut Arm, share: f64) {
    (arm.conditions.noise, arm.conditions.kernel_noise) = (Some(0.02), Some(0.02));
    arm.conditions.neighbours.get_or_insert_default().others = Some(0.04 + share);
}

/// A service that wanted its one processor for the share `wanted` of 30 s, and waited for `share` of that; of 10 000 requests with a
/// median of 1 ms.
fn starved(arm: &mut Arm, share: f64, wanted: f64) {
    arm.phases[0].measured.response_time_ms.p50 = Some(1.0);
    let starved_s = 30.0 * wanted * share;
    let ran_s = 30.0 * wanted - starved_s;
    let wait = ServiceWait { ran_s, queued_s: starved_s, starved_s, available_s: 30.0, confirmed: true };
    arm.conditions.neighbours.get_or_insert_default().service = Some(wait);
}

fn waits_are_unknown(arm: &mut Arm) {
    arm.conditions.neighbours.get_or_insert_default().unknown = Some("it is a process of another user".to_owned());
}

fn carried(arm: &mut Arm, settled: bool) {
    arm.conditions.carried = Some(CarriedOver { settled, waited_s: 60.0, before_ms: 5.0, last_ms: None });
}

fn throttled(arm: &mut Arm, seconds: f64) {
    let found = Some(Throttled { periods: 3, seconds });
    let neighbours = arm.conditions.neighbours.get_or_insert_default();
    (neighbours.service_throttled, neighbours.lab_throttled) = (found, found);
}

fn halves(arm: &mut Arm, first: f64, second: f64) {
    arm.conditions.service_speed = speed(first, second);
}

/// Halves of 100 and so much, of which each may be off by 10.
fn scattered(arm: &mut Arm, second: f64) {
    let notches = Notches { median: 0.0, first_half: 10.0, second_half: 10.0 };
    arm.conditions.service_speed = speed(100.0, second).map(|speed| Speed { notches, ..speed });
}

/// Two parts with their beginnings and the errors of their clocks.
fn parts(began: [f64; 2], clocks: [Option<f64>; 2], second_is_missing: bool) -> Vec<PartSummary> {
    let part = |number: u32| PartSummary {
        shard: Shard::new(number, 2).expect("a part"),
        agent: None,
        wrong: (second_is_missing && number == 2).then(|| "missing".to_owned()),
        planned: 5_000,
        sent: 5_000,
        send_lag_p99_ms: 0.1,
        cpu: 0.1,
        begins_ms: Some(began[number as usize - 1]),
        clock_error_ms: clocks[number as usize - 1],
        verdict: Validity::Valid,
    };
    vec![part(1), part(2)]
}

fn clock(arm: &mut Arm, before: &str, after: &str) {
    let clocks = &mut arm.conditions.clocks;
    (clocks.source, clocks.source_at_end) = (before.to_owned(), after.to_owned());
}

#[test]
fn every_made_fault_is_found_by_its_gate_alone_and_what_is_just_sound_by_none() {
    let judged = |make: &dyn Fn(&mut Arm, &mut Context)| {
        let (mut arm, mut context) = (sound(), context());
        make(&mut arm, &mut context);
        codes(&arm, &context)
    };
    for (number, (code, verdict, fault, nearly)) in PAIRS.iter().enumerate() {
        assert_eq!(judged(fault), [((*code).to_owned(), *verdict)], "pair {number}: the fault");
        assert_eq!(judged(nearly), [], "pair {number}, {code}: what is just sound");
    }
    for (number, (code, verdict, set, over, within)) in LIMITS.iter().enumerate() {
        let at = |value: f64| judged(&|arm, context| set(arm, context, value));
        assert_eq!(at(*over), [((*code).to_owned(), *verdict)], "limit {number}: {over}");
        assert_eq!(at(*within), [], "limit {number}, {code}: {within}");
    }
    for (code, set, void, doubtful) in VOID_FROM {
        let at = |value: f64| judged(&|arm, _| set(arm, value));
        assert_eq!(at(void), [(code.to_owned(), Invalid)], "{code}: {void}");
        assert_eq!(at(doubtful), [(code.to_owned(), Warn)], "{code}: {doubtful}");
    }
}

/// Found by the comparison of an arm with itself, which no single arm can be.
const OF_TWINS: [&str; 2] = ["A/A", "POWER"];

/// Found by looking at all blocks.
const OF_BLOCKS: [&str; 2] = ["EXCLUDED", "WARM-UP"];

#[test]
fn every_gate_of_the_table_has_a_pair_for_each_of_its_verdicts() {
    let mut shown: BTreeSet<(&str, Validity)> = PAIRS.iter().map(|(code, verdict, ..)| (*code, *verdict)).collect();
    shown.extend(LIMITS.iter().map(|(code, verdict, ..)| (*code, *verdict)));
    shown.extend(VOID_FROM.iter().map(|(code, ..)| (*code, Invalid)));
    shown.extend([(OF_TWINS[0], Validity::Invalid), (OF_TWINS[1], Validity::Warn)]);
    shown.extend(OF_BLOCKS.map(|code| (code, Validity::Warn)));
    let listed: BTreeSet<(&str, Validity)> =
        GATES.iter().flat_map(|gate| gate.verdicts.iter().map(|verdict| (gate.code, *verdict))).collect();
    assert_eq!(shown, listed, "left: shown to work here; right: listed in the table");
    let codes: BTreeSet<&str> = GATES.iter().map(|gate| gate.code).collect();
    assert_eq!(codes.len(), GATES.len(), "a code stands in the table once");
}
