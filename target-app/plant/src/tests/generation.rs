//! Token generation with numbers worked by hand.

use spec::GenerationSpec;

use super::*;

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Ten tokens in, three out: a step of 20 ms and 2 ms for each in it, and 10 ms for the prompt.
fn generation(memory: u32) -> TargetSpec {
    let (step, sequence, prefill) = (ms(20), ms(2), ms(1));
    let tokens = GenerationSpec { prompt: 10, output: 3, memory, step, sequence, prefill, ..GenerationSpec::default() };
    let stage_defaults = StageSpec { workers: 8, batch: 1, ..StageSpec::default() };
    TargetSpec { app: App::Generation(tokens), stage_defaults, ..target(policy("none", &[])) }
}

/// Largest response and service times, and CPU time for each that was served, in milliseconds.
fn times(users: u32, memory: u32, faults: Vec<Fault>) -> [f64; 3] {
    let with = PlantPlan { faults, ..PlantPlan::default() };
    let (finished, gauges) = ran(&url_plan(&[("all", 4, users)]), &generation(memory), &with);
    let measured = &finished.report.phases[0].measured;
    let max = |times: &Option<f64>| times.expect("some were served").round();
    let each = gauges.cpu_s * 1e3 / measured.served as f64;
    [max(&measured.response_time_ms.max), max(&measured.service_time_ms.max), each.round()]
}

#[test]
fn a_response_ends_with_the_first_token_and_the_service_with_the_last() {
    assert_eq!(times(1, 100, Vec::new()), [32.0, 76.0, 76.0]);
}

#[test]
fn a_fault_slows_steps_down_and_a_crash_takes_what_is_in_the_batch() {
    let slow = Fault { at: ms(1000), lasts: ms(2000), kind: FaultKind::Capacity(0.5), service: None, task: None };
    assert_eq!(times(1, 100, vec![slow.clone()]), [64.0, 152.0, 76.0]);
    // A turn takes 176 ms: at 1060 ms the seventh answer has its first token. Both books balance after it.
    let crash = Fault { at: ms(1095), lasts: ms(500), kind: FaultKind::Crash, ..slow };
    assert_eq!(times(1, 100, vec![crash])[..2], [32.0, 76.0]);
}

#[test]
fn who_finds_no_memory_waits_in_the_queue_with_all_who_come_later() {
    // Memory for one: a hundredth of 20 is left free, 10 + 10 and a token each are more.
    let [first, whole, each] = times(2, 20, Vec::new());
    // The second waits for what is left of 76 ms when it comes.
    assert!((33.0..=108.0).contains(&first) && whole == first + 44.0, "{first} {whole}");
    assert_eq!(each, 76.0, "never two at once");
}
