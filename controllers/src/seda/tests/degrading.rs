//! Degradation, alone and before admission control. Targets are 1 s.

use super::{assert_close, each_sample_counts};
use crate::{Effect, PolicyEvent, Seen, catalogue::Setting, testing::MachineBench};

fn bench(pairs: &[(&'static str, Setting)]) -> MachineBench {
    let pairs = [("check_every", 1_u32.into())].into_iter().chain(pairs.iter().cloned());
    MachineBench::new("degrade", &each_sample_counts(pairs))
}

fn switched(bench: &MachineBench) -> Vec<bool> {
    let on = |event| match event {
        PolicyEvent::Admission { on } => Some(on),
        _ => None,
    };
    bench.events().into_iter().filter_map(on).collect()
}

#[test]
fn quality_falls_by_halves_and_rises_by_steps() {
    let mut bench = bench(&[]);
    assert_eq!(bench.respond(0, 0, 1200), [Effect::Quality(0.5)]);
    assert_eq!(bench.respond(0, 0, 1099), [], "not over 1.1 times the target");
    assert_eq!(bench.respond(0, 0, 700), [Effect::Quality(0.51)]);
    assert_close(bench.gauge("quality"), 0.51);
}

#[test]
fn it_looks_every_hundred_requests() {
    let mut bench = MachineBench::new("degrade", &each_sample_counts([]));
    for _ in 0..99 {
        assert_eq!(bench.respond(0, 0, 5000), []);
    }
    assert_eq!(bench.respond(0, 0, 5000), [Effect::Quality(0.5)]);
}

#[test]
fn as_published_admission_control_waits_for_the_floor_and_ten_more_looks() {
    let mut bench = bench(&[]);
    // The seventh halving reaches the floor, and is the first of ten looks there: the sixteenth switches on.
    for _ in 1..=15 {
        bench.respond(0, 0, 9000);
    }
    assert_eq!(switched(&bench), []);
    assert_eq!(bench.gauge("admission_rate_per_s"), None);
    bench.respond(0, 0, 9000);
    assert_eq!(switched(&bench), [true]);
    assert_close(bench.gauge("admission_rate_per_s"), 100.0);
    // From 0.01 up by steps of 0.01: off again at 0.2, nineteen steps later.
    for _ in 1..=18 {
        bench.respond(0, 0, 700);
    }
    assert_eq!(switched(&bench), []);
    bench.respond(0, 0, 700);
    assert_eq!(switched(&bench), [false]);
}

#[test]
fn as_coded_far_over_the_target_admission_control_comes_at_once() {
    let mut bench = bench(&[("preset", "degrade-as-coded".into())]);
    let respond = |bench: &mut MachineBench, response_ms| {
        bench.respond(0, 0, response_ms);
        bench.see(0, &Seen::Batch { jobs: 1, busy: std::time::Duration::ZERO });
    };
    // The quality is checked with each end, the estimate follows with the batch: each look sees the response before.
    respond(&mut bench, 1400);
    respond(&mut bench, 1600);
    assert_eq!(switched(&bench), []);
    respond(&mut bench, 1600);
    assert_eq!(switched(&bench), [true], "at quality 0.25");
    respond(&mut bench, 700);
    // A rise to 0.2 or more switches off; quality was 0.125 after the last look.
    for _ in 0..8 {
        respond(&mut bench, 700);
    }
    assert_eq!(switched(&bench), [false]);
}

#[test]
fn alone_it_never_refuses() {
    let mut bench = bench(&[("preset", "degrade-only".into())]);
    for _ in 0..100 {
        bench.respond(0, 0, 9000);
    }
    assert_eq!(switched(&bench), []);
    assert_close(bench.gauge("quality"), 0.01);
}
