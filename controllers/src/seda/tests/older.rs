//! The controllers that the published code has beside the multiclass one. Targets are 1 s.

use std::time::Duration;

use super::assert_close;
use crate::{
    JobId, LoadSample, Offer, Reason, Refusal, Seat, Seen, Settings, SiteId, Tags, Timestamp, Verdict,
    testing::{MachineBench, policy, settings},
};

const RATE: &str = "admission_rate_per_s";

fn batch(jobs: u32, busy_ms: u64) -> Seen {
    Seen::Batch { jobs, busy: Duration::from_millis(busy_ms) }
}

#[test]
fn pid_two_runs_by_hand() {
    let mut bench = MachineBench::new("pid", &Settings::new());
    for _ in 0..100 {
        bench.respond(0, 0, 500);
    }
    assert_close(bench.gauge(RATE), 10.0);
    bench.see(2000, &batch(1, 1));
    // Estimate 0.2 × 500 = 100 ms: e = (1000 − 100) / 1000 = 0.9, 2 s after the start.
    // 0.9 − 0.5 × 0.9 / 2 + 0.002 × (0 + 0.9) / 2 × 2 = 0.9 − 0.225 + 0.0018 = 0.6768.
    assert_close(bench.gauge(RATE), 10.6768);
    for _ in 0..100 {
        bench.respond(3000, 0, 9600);
    }
    bench.see(3000, &batch(1, 1));
    // Estimate 0.8 × 100 + 0.2 × 9600 = 2000 ms: e = −1 after 1 s.
    // −1 − 0.5 × (−1.9) + 0.002 × (0.9 + (0.9 − 1) / 2) = −1 + 0.95 + 0.0017 = −0.0483.
    assert_close(bench.gauge(RATE), 10.6285);
}

#[test]
fn pid_times_out_after_five_seconds_and_a_batch() {
    let mut bench = MachineBench::new("pid", &Settings::new());
    bench.respond(0, 0, 500);
    bench.see(4999, &batch(1, 1));
    assert_close(bench.gauge(RATE), 10.0);
    bench.see(5000, &batch(1, 1));
    // 0.9 − 0.5 × 0.9 / 5 + 0.002 × 0.9 / 2 × 5 = 0.9 − 0.09 + 0.0045.
    assert_close(bench.gauge(RATE), 10.8145);
}

#[test]
fn mm1_solves_its_queue_for_the_target() {
    let mut bench = MachineBench::new("mm1", &Settings::new());
    assert_eq!(bench.gauge(RATE), None, "no limit before the first estimate");
    bench.see(0, &batch(50, 500));
    bench.see(5000, &batch(50, 500));
    // 100 jobs in 1 s of work by one thread: 100/s, of which a rise takes a tenth: μ = 10. λ = 0.
    // Rate 10 − 2.302 / 1 s; the model says 2.302 / 10, of which 0.9 count.
    assert_close(bench.gauge("service_rate_per_s"), 10.0);
    assert_close(bench.gauge(RATE), 7.698);
    assert_close(bench.gauge("model_p90_ms"), 230.2 * 0.9);
    // Falling counts for nine tenths: 2 jobs in 1 s, μ = 0.1 × 10 + 0.9 × 2 = 2.8; rate 2.8 − 2.302 is under the least, 0.5.
    bench.see(10_000, &batch(2, 1000));
    assert_close(bench.gauge("service_rate_per_s"), 2.8);
    assert_close(bench.gauge(RATE), 0.5);
}

#[test]
fn mm1_admits_a_tenth_when_the_target_cannot_be_met() {
    let mut bench = MachineBench::new("mm1", &settings([("target", "100ms".into())]));
    bench.see(0, &batch(100, 1000));
    bench.see(5000, &batch(0, 0));
    // μ = 10, but 10 − 2.302 / 0.1 s is negative: a tenth of μ.
    assert_close(bench.gauge(RATE), 1.0);
}

#[test]
fn mm1_admits_a_tenth_when_more_came_than_can_be_served() {
    let mut seat = Seat::new(SiteId(1), policy("mm1", &Settings::new(), Duration::from_secs(1)), 1, Box::new(()));
    let offer = |seat: &mut Seat, id, ms| {
        let entered = Timestamp::from_millis(ms);
        seat.offer(entered, &Offer { id: JobId(id), tags: Tags::default(), entered, note: None })
    };
    for id in 0..100 {
        assert!(matches!(offer(&mut seat, id, 0), Verdict::Admit(_)), "unlimited at the start");
    }
    seat.observe(Timestamp::ZERO, &batch(50, 500));
    seat.observe(Timestamp::from_secs(5), &batch(50, 500));
    // λ = 0.9 × 100 / 5 s = 18 is more than μ = 10: 1/s. The bucket is full with 100.
    let admitted = (100..300).filter(|id| matches!(offer(&mut seat, *id, 5000), Verdict::Admit(_))).count();
    assert_eq!(admitted, 100);
    assert_eq!(offer(&mut seat, 300, 5999), Verdict::Refuse(Refusal::new(Reason::Rate)));
    assert!(matches!(offer(&mut seat, 301, 6000), Verdict::Admit(_)));
}

#[test]
fn mm1_counts_arrivals_over_the_time_in_which_they_came() {
    let keys = [("smoothing", 0.0.into()), ("smoothing_rising", 0.0.into()), ("rate_min", 0.001.into())];
    let mut seat = Seat::new(SiteId(1), policy("mm1", &settings(keys), Duration::from_secs(10)), 1, Box::new(()));
    for second in [0, 5] {
        let entered = Timestamp::from_secs(second);
        let job = Offer { id: JobId(second), tags: Tags::default(), entered, note: None };
        assert!(matches!(seat.offer(entered, &job), Verdict::Admit(_)));
        // One job in five seconds is too little for an estimate; the two of ten seconds are enough.
        seat.observe(Timestamp::from_secs(second + 5), &batch(1, 2500));
    }
    // μ = 2 / 5 s = 0.4, λ = 2 / 10 s = 0.2: no overload, 0.4 − 2.302 / 10 s. (With λ = 2 / 5 s it would be one.)
    let mut rate = None;
    seat.gauges(&mut |gauge, value| rate = if gauge.name == RATE { Some(value) } else { rate });
    assert_close(rate, 0.1698);
}

#[test]
fn mm1_believes_that_service_grows_with_the_logarithm_of_threads() {
    let settings = settings([("smoothing", 0.0.into()), ("smoothing_rising", 0.0.into())]);
    let mut bench = MachineBench::new("mm1", &settings);
    bench.load(0, LoadSample::Stage { queue: 0, workers: 8, idle: 0, completed: 0 });
    bench.see(0, &batch(100, 1000));
    bench.see(5000, &batch(0, 0));
    // 100 × (ln 8 + 1)
    assert_close(bench.gauge("service_rate_per_s"), 307.944_154_167_983_6);
}

#[test]
fn a_queue_threshold_moves_by_the_mean() {
    let mut bench =
        MachineBench::new("queue-threshold", &settings([("every", 1_u32.into()), ("smoothing", 0.0.into())]));
    assert_close(bench.gauge("limit"), 1.0);
    // Under 0.9 of the target 2 more, over 1.1 half as many (whole jobs), and never under 1.
    for (response_ms, limit) in [(899, 3.0), (901, 3.0), (0, 5.0), (1099, 5.0), (1101, 2.0), (2000, 1.0), (2000, 1.0)] {
        bench.respond(0, 0, response_ms);
        assert_close(bench.gauge("limit"), limit);
    }
}

#[test]
fn a_queue_threshold_looks_every_two_hundred_requests() {
    let mut bench = MachineBench::new("queue-threshold", &Settings::new());
    for _ in 0..199 {
        bench.respond(0, 0, 10);
    }
    assert_close(bench.gauge("limit"), 1.0);
    bench.respond(0, 0, 10);
    assert_close(bench.gauge("limit"), 3.0);
}

#[test]
fn a_queue_threshold_counts_those_who_wait_only() {
    let policy = policy("queue-threshold", &Settings::new(), Duration::from_secs(1));
    let mut seat = Seat::new(SiteId(1), policy, 1, Box::new(()));
    let mut offer = |id, started| {
        let job = Offer { id: JobId(id), tags: Tags::default(), entered: Timestamp::ZERO, note: None };
        let verdict = seat.offer(Timestamp::ZERO, &job);
        if started {
            seat.observe(Timestamp::ZERO, &Seen::Started { id: JobId(id), waited: Duration::ZERO });
        }
        verdict
    };
    assert!(matches!(offer(1, true), Verdict::Admit(_)));
    assert!(matches!(offer(2, false), Verdict::Admit(_)), "one works, none waits");
    assert_eq!(offer(3, false), Verdict::Refuse(Refusal::new(Reason::QueueFull)), "one waits");
}
