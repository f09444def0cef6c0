//! Several classes: who gives way to whom. Targets are 1 s, rates start at 100 and are at least 0.05.

use super::{assert_close, each_sample_counts};
use crate::{
    Class, PolicyEvent, Seen,
    catalogue::Setting,
    testing::{MachineBench, settings},
};

const RATE: &str = "admission_rate_per_s";

fn bench(classes: u32, pairs: &[(&'static str, Setting)]) -> MachineBench {
    let pairs = [("classes", classes.into())].into_iter().chain(pairs.iter().cloned());
    MachineBench::new("seda", &each_sample_counts(pairs))
}

#[test]
fn lower_classes_are_cut_to_the_bottom_first_and_then_the_lag_counts() {
    let mut bench = bench(2, &[]);
    // 100, 10, 1, 0.1, and 0.01 is under the least, 0.05: four violations, and the higher class keeps its rate.
    for low in [10.0, 1.0, 0.1, 0.05] {
        bench.respond(0, 1, 1500);
        assert_close(bench.gauge_of(RATE, 0), low);
        assert_close(bench.gauge_of(RATE, 1), 100.0);
    }
    // Nobody is left to cut. Violations 1 to 19 count; the 20th and each one after cut the class itself.
    for _ in 1..=19 {
        bench.respond(0, 1, 1500);
    }
    assert_close(bench.gauge_of(RATE, 1), 100.0);
    bench.respond(0, 1, 1500);
    assert_close(bench.gauge_of(RATE, 1), 100.0 / 1.2);
    bench.respond(0, 1, 1500);
    assert_close(bench.gauge_of(RATE, 1), 100.0 / 1.44);
}

#[test]
fn within_the_target_the_lag_starts_again() {
    let mut bench = bench(2, &[("lag_threshold", 2_u32.into())]);
    for _ in 0..5 {
        bench.respond(0, 1, 1500); // four cuts of the lower class, and a lag of 1
    }
    bench.respond(0, 1, 800); // within the target
    bench.respond(0, 1, 1500); // a lag of 1 again
    assert_close(bench.gauge_of(RATE, 1), 100.0);
    bench.respond(0, 1, 1500);
    assert_close(bench.gauge_of(RATE, 1), 100.0 / 1.2);
}

#[test]
fn the_lowest_class_cuts_itself_at_once_and_nobody_else() {
    let mut bench = bench(2, &[]);
    bench.respond(0, 0, 1500);
    assert_close(bench.gauge_of(RATE, 0), 100.0 / 1.2);
    assert_close(bench.gauge_of(RATE, 1), 100.0);
}

#[test]
fn a_preempted_class_skips_one_increase() {
    let mut bench = bench(2, &[]);
    bench.respond(0, 1, 1500);
    assert_close(bench.gauge_of(RATE, 0), 10.0);
    bench.respond(0, 0, 0);
    assert_close(bench.gauge_of(RATE, 0), 10.0);
    bench.respond(0, 0, 0);
    assert_close(bench.gauge_of(RATE, 0), 11.8); // error −1: 1.8 more
}

#[test]
fn as_published_the_flag_covers_the_next_run_whatever_comes_of_it() {
    let mut bench = bench(2, &[]);
    bench.respond(0, 1, 1500);
    bench.respond(0, 0, 950); // in the dead band: there was no increase to skip
    bench.respond(0, 0, 0);
    assert_close(bench.gauge_of(RATE, 0), 11.8);
}

#[test]
fn as_coded_the_flag_stays_until_a_run_well_below_the_target() {
    let mut bench = bench(2, &[("preempted_flag", "until-below".into())]);
    bench.respond(0, 1, 1500);
    bench.respond(0, 0, 950); // error −0.05: not under −0.1, the flag stays
    bench.respond(0, 0, 0); // skipped, and cleared
    assert_close(bench.gauge_of(RATE, 0), 10.0);
    bench.respond(0, 0, 0);
    assert_close(bench.gauge_of(RATE, 0), 11.8);
    // Between −0.5 and −0.1 the flag goes although there was nothing to skip.
    bench.respond(0, 1, 1500);
    bench.respond(0, 0, 700);
    bench.respond(0, 0, 0);
    assert_close(bench.gauge_of(RATE, 0), 1.18 + 1.8);
}

#[test]
fn as_coded_the_higher_class_is_cut_at_every_violation() {
    let mut bench = bench(2, &[("preset", "usits03-as-coded".into())]);
    for (low, high) in [(10.0, 100.0 / 1.2), (1.0, 100.0 / 1.44)] {
        bench.respond(0, 1, 1500);
        bench.see(0, &Seen::Batch { jobs: 1, busy: std::time::Duration::ZERO });
        assert_close(bench.gauge_of(RATE, 0), low);
        assert_close(bench.gauge_of(RATE, 1), high);
    }
}

#[test]
fn the_highest_class_in_trouble_cuts_all_below_it() {
    let mut bench = bench(3, &[]);
    bench.respond(0, 2, 1500);
    for (class, rate) in [(0, 10.0), (1, 10.0), (2, 100.0)] {
        assert_close(bench.gauge_of(RATE, class), rate);
    }
    let gave_way: Vec<_> = bench.events().into_iter().filter(|e| matches!(e, PolicyEvent::Preempted { .. })).collect();
    let by = Class(2);
    assert_eq!(
        gave_way,
        [PolicyEvent::Preempted { class: Class(0), by }, PolicyEvent::Preempted { class: Class(1), by }]
    );
}

#[test]
fn classes_have_targets_of_their_own() {
    let targets = Setting::Map(settings([("0", "5s".into()), ("2", "200ms".into())]));
    let mut bench = MachineBench::new("seda", &each_sample_counts([("class_targets", targets)]));
    bench.respond(0, 0, 3000); // within 5 s, over half of it
    bench.respond(0, 1, 900); // no target of its own: 1 s
    assert_close(bench.gauge_of(RATE, 0), 100.0);
    bench.respond(0, 2, 300); // over 200 ms
    assert_close(bench.gauge_of(RATE, 0), 10.0);
    assert_close(bench.gauge_of(RATE, 1), 10.0);
}

#[test]
fn a_class_above_the_highest_belongs_to_it() {
    let mut bench = bench(2, &[]);
    bench.respond(0, 200, 1500);
    assert_close(bench.gauge_of(RATE, 0), 10.0);
}
