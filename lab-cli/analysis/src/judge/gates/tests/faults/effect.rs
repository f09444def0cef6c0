//! LAG, HICCUP and CROWDED: one rule, told by the cause that explains it. STEAL goes by it too.

use super::*;

fn verdicts(arm: &Arm) -> Vec<(String, Validity)> {
    codes(arm, &context())
}

fn of(code: &str, verdict: Validity) -> Vec<(String, Validity)> {
    vec![(code.to_owned(), verdict)]
}

/// Half a millisecond of a median of a second is nothing, half of one of a millisecond everything, whatever was promised.
#[test]
fn lag_is_judged_by_what_it_moves_and_not_by_the_objective() {
    for objective in [1.0, 200.0, 60_000.0] {
        let judged = |shown: f64, own: f64| {
            let (mut arm, mut context) = (sound(), context());
            context.objective.response_time_ms = objective;
            moves(&mut arm, shown, own, 0.0);
            codes(&arm, &context)
        };
        assert_eq!(judged(1000.0, 0.5), []);
        assert_eq!(judged(1.0, 0.5), of("LAG", Invalid));
        assert_eq!(judged(5000.0, 4000.0), of("LAG", Invalid));
    }
}

#[test]
fn each_percentile_that_is_shown_is_judged_and_no_other() {
    let judged = |change: fn(&mut Times)| {
        let mut arm = sound();
        moves(&mut arm, 100.0, 0.0, 0.0);
        change(&mut arm.phases[0].measured.response_time_ms);
        verdicts(&arm)
    };
    assert_eq!(judged(|shown| shown.p50 = Some(112.0)), of("LAG", Invalid));
    assert_eq!(judged(|shown| shown.p90 = Some(112.0)), of("LAG", Invalid));
    assert_eq!(judged(|shown| shown.p999 = Some(1000.0)), []);
    assert_eq!(judged(|shown| shown.p99 = None), [], "too few to show one");
    // Hidden by time-outs: its bound is shown.
    assert_eq!(judged(|shown| (shown.p99, shown.p99_at_least) = (None, Some(112.0))), of("LAG", Invalid));
}

#[test]
fn only_users_of_a_closed_load_ask_for_less_while_the_generator_stands_still() {
    let mut arm = sound();
    moves(&mut arm, 100.0, 0.0, 0.3);
    assert_eq!(verdicts(&arm), []);
    arm.phases[0].users = 8;
    assert_eq!(verdicts(&arm), of("HICCUP", Invalid));
}

#[test]
fn a_long_pause_is_told_once() {
    let mut arm = sound();
    moves(&mut arm, 100.0, 90.0, 0.3);
    arm.generator.loop_gap_max_ms = 1000.0;
    assert_eq!(verdicts(&arm), of("HICCUP", Invalid));
    arm.generator.loop_gap_max_ms = 1001.0;
    assert_eq!(verdicts(&arm), of("GAP", Invalid));
}

#[test]
fn every_cause_that_explains_it_alone_is_told() {
    let mut arm = sound();
    moves(&mut arm, 100.0, 90.0, 0.3);
    arm.generator.crowded = 0.15;
    assert_eq!(verdicts(&arm), [of("CROWDED", Invalid), of("HICCUP", Invalid)].concat());
    // Pauses too short to be behind a percentile, and waits of the processor as long as what was added.
    moves(&mut arm, 100.0, 90.0, 0.004);
    arm.generator.crowded = 0.0;
    assert_eq!(verdicts(&arm), of("LAG", Invalid));
    arm.generator.core_wait_ms = 22.6;
    assert_eq!(verdicts(&arm), of("CROWDED", Invalid));
}

/// A processor that is taken, and nothing that this moves.
#[test]
fn waits_that_move_nothing_are_no_finding() {
    let mut arm = sound();
    (arm.generator.run_queue, arm.generator.crowded, arm.generator.core_wait_ms) = (0.4, 0.4, 5.0);
    moves(&mut arm, 10_000.0, 50.0, 0.4);
    assert_eq!(verdicts(&arm), []);
}

#[test]
fn what_can_be_the_generators_own_is_told_in_plain_words() {
    let told = |users: u32| {
        let mut arm = sound();
        moves(&mut arm, 783.0, 782.5, 0.12);
        arm.phases[0].users = users;
        (arm.generator.send_lag_p99_ms, arm.generator.loop_gap_max_ms) = (776.0, 900.0);
        let reason = judge(&arm, &context()).into_iter().next().expect("it is found");
        [reason.value, reason.threshold]
    };
    assert_eq!(
        told(0),
        [
            "spike: 782 ms of the p99 of 783 ms (100 %) can be the generator's own: it sent late (p99 776 ms), and stood still for \
             12 % of the time, 900 ms at the longest",
            "10 % and 0.2 ms"
        ]
    );
    let mut arm = sound();
    moves(&mut arm, 100.0, 0.0, 0.27);
    (arm.phases[0].users, arm.generator.loop_gap_max_ms) = (8, 400.0);
    let reason = &judge(&arm, &context())[0];
    assert_eq!(
        [reason.value.as_str(), &reason.threshold],
        [
            "spike: the generator stood still for 27 % of the time, 400 ms at the longest: its users asked for so much less",
            "10 % of a closed load"
        ]
    );
}

/// The host took 1.5 % of the time; at most `most` ms of the p99 can be that, and the generator's own delays moved it by `own` ms.
fn stolen_beside(shown: f64, most: f64, own: f64) -> Arm {
    let mut arm = sound();
    moves(&mut arm, shown, own, 0.0);
    stolen(&mut arm, shown, most);
    arm
}

#[test]
fn what_was_stolen_voids_a_run_where_it_is_likely_and_not_where_it_is_only_possible() {
    let judged = |shown: f64, most: f64, own: f64| verdicts(&stolen_beside(shown, most, own));
    // 7 of 60 ms is 11.7 %; as much again as the generator's 0.5 ms, and turns under 5 ms, are 8.3 %.
    assert_eq!(judged(60.0, 7.0, 0.5), of("STEAL", Warn));
    assert_eq!(judged(60.0, 60.0, 2.9), of("STEAL", Warn));
    // Twice 3.1 ms are 10.3 %, and what the generator alone did is 5.2 %.
    assert_eq!(judged(60.0, 7.0, 3.1), [of("STEAL", Invalid), of("LAG", Warn)].concat());
    // 5 of 49 ms, in turns that the generator cannot have seen.
    assert_eq!(judged(49.0, 7.0, 0.0), of("STEAL", Invalid));
    // A small figure stays a caution, and a large share of the time a loss of capacity.
    assert_eq!([judged(120.0, 7.0, 0.0), judged(141.0, 7.0, 0.0)], [of("STEAL", Warn), vec![]]);
    let mut arm = stolen_beside(60.0, 7.0, 0.0);
    arm.conditions.neighbours.as_mut().expect("it has them").stolen[0].share = 0.11;
    assert_eq!(verdicts(&arm), of("STEAL", Invalid));
    // Of an older version, which knows nothing of its own delays.
    let mut arm = stolen_beside(60.0, 7.0, 0.0);
    arm.phases[0].measures.undelayed = None;
    assert_eq!(verdicts(&arm), of("STEAL", Invalid));
}

#[test]
fn what_was_stolen_is_told_with_what_is_likely() {
    let told = |own| judge(&stolen_beside(60.0, 7.0, own), &context()).swap_remove(0).value;
    assert_eq!(
        told(0.5),
        "spike: 1.5 % of the CPU time was taken away by the machine's host; 7.0 ms of the p99 of 60 ms can be that, and more likely \
         5.0 ms or less"
    );
    assert!(told(3.6).ends_with("can be that"), "{}", told(3.6));
}

#[test]
fn a_service_that_is_starved_under_a_load_of_its_owner_is_a_caution() {
    let mut arm = sound();
    starved(&mut arm, 0.5, 0.9);
    let by = |context: &Context| {
        let found = codes(&arm, context).into_iter();
        found.filter(|(code, _)| code == "STARVED").map(|(_, verdict)| verdict).collect::<Vec<_>>()
    };
    assert_eq!(by(&context()), [Invalid]);
    assert_eq!(by(&Context { own_target: false, ..context() }), [Warn]);
    assert_eq!(by(&Context { own_target: false, foreign_service: true, ..context() }), [Invalid]);
}

#[test]
fn what_runs_beside_a_load_may_be_the_services_own() {
    let load = Context { own_target: false, ..context() };
    let by = |share: f64| {
        let mut arm = sound();
        arm.conditions.neighbours.get_or_insert_default().others = Some(share);
        codes(&arm, &load)
    };
    assert_eq!((by(0.51), by(0.5)), (vec![("NOISE".to_owned(), Warn)], Vec::new()));
}
