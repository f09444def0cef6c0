//! One class: estimator, law, bucket and time-out. Targets are 1 s.

use std::time::Duration;

use super::{assert_close, each_sample_counts};
use crate::{
    JobId, Offer, Reason, Refusal, Seat, Seen, Settings, SiteId, Tags, Timestamp, Verdict,
    testing::{MachineBench, policy, settings},
};

const RATE: &str = "admission_rate_per_s";
const BATCH: Seen = Seen::Batch { jobs: 1, busy: Duration::ZERO };

fn hundred(bench: &mut MachineBench, at_ms: u64, response_ms: u64) {
    for _ in 0..100 {
        bench.respond(at_ms, 0, response_ms);
    }
}

#[test]
fn as_published_three_slow_runs() {
    let mut bench = MachineBench::new("seda", &Settings::new());
    assert_close(bench.gauge(RATE), 100.0);
    // Estimate 0.7 × 0 + 0.3 × 2000 = 600 ms: error −0.4 lies between −0.5 and 0, and nothing changes.
    hundred(&mut bench, 100, 2000);
    assert_close(bench.gauge("p90_ms"), 600.0);
    assert_close(bench.gauge(RATE), 100.0);
    // 0.7 × 600 + 600 = 1020 ms: error 0.02, 100 / 1.2.
    hundred(&mut bench, 200, 2000);
    assert_close(bench.gauge("p90_ms"), 1020.0);
    assert_close(bench.gauge(RATE), 100.0 / 1.2);
    // 0.7 × 1020 + 600 = 1314 ms: once more.
    hundred(&mut bench, 300, 2000);
    assert_close(bench.gauge("p90_ms"), 1314.0);
    assert_close(bench.gauge(RATE), 100.0 / 1.44);
}

#[test]
fn another_percentile_is_taken_and_named() {
    // Of ten samples of 100 to 1000 ms the 50th percentile is the sixth, the 90th the last.
    for (name, percentile, gauge, ms) in [
        ("seda", None, "p90_ms", 1000.0),
        ("seda", Some(50.0), "p50_ms", 600.0),
        ("degrade", Some(50.0), "p50_ms", 600.0),
        ("pid", Some(50.0), "p50_ms", 600.0),
    ] {
        let mut given = settings([("samples", 10.0.into()), ("smoothing", 0.0.into()), ("decide", "timer".into())]);
        given.extend(percentile.map(|percent: f64| ("percentile".to_owned(), percent.into())));
        let mut bench = MachineBench::new(name, &given);
        for tenth in 1..=10 {
            bench.respond(2000, 0, tenth * 100);
        }
        assert_close(bench.gauge(gauge), ms);
        assert_eq!(bench.gauge("p90_ms").is_some(), percentile.is_none(), "{name}: named by its percentile alone");
    }
}

#[test]
fn as_published_a_quick_run() {
    let mut bench = MachineBench::new("seda", &Settings::new());
    // Estimate 0.3 × 100 = 30 ms: error −0.97, −(−0.97 + 0.1) × 2 = 1.74 more.
    hundred(&mut bench, 100, 100);
    assert_close(bench.gauge(RATE), 101.74);
}

#[test]
fn the_time_out_runs_on_what_there_is_and_not_on_nothing() {
    let mut bench = MachineBench::new("seda", &Settings::new());
    bench.respond(500, 0, 2000);
    assert_eq!(bench.wakes_at(500), Some(1500), "a second after the first fact");
    bench.poll(1499);
    assert_close(bench.gauge("p90_ms"), 0.0);
    bench.poll(1500);
    assert_close(bench.gauge("p90_ms"), 600.0);
    // No sample since: the estimate is what it was, and so is the rate; the timer goes on.
    bench.poll(2500);
    assert_close(bench.gauge("p90_ms"), 600.0);
    assert_eq!(bench.wakes_at(2500), Some(3500));
}

#[test]
fn a_late_wake_runs_once() {
    let mut bench = MachineBench::new("seda", &Settings::new());
    bench.respond(0, 0, 2000);
    bench.poll(10_000);
    assert_close(bench.gauge("p90_ms"), 600.0);
    assert_eq!(bench.wakes_at(10_000), Some(11_000));
}

#[test]
fn as_coded_nothing_runs_before_a_batch() {
    let mut bench = MachineBench::new("usits03-as-coded", &Settings::new());
    for _ in 0..120 {
        bench.respond(100, 0, 100);
    }
    assert_eq!(bench.wakes_at(100), None);
    assert_close(bench.gauge(RATE), 100.0);
    bench.see(100, &BATCH);
    assert_close(bench.gauge(RATE), 101.74);
    // The time-out, too, is looked at after a batch only.
    bench.respond(5000, 0, 100);
    bench.poll(5000);
    assert_close(bench.gauge(RATE), 101.74);
    bench.see(5000, &BATCH);
    // Estimate 0.7 × 30 + 0.3 × 100 = 51 ms: error −0.949, 2 × 0.849 = 1.698 more.
    assert_close(bench.gauge(RATE), 103.438);
}

#[test]
fn the_earlier_paper_halves_and_adds_in_proportion() {
    let mut bench = MachineBench::new("seda", &each_sample_counts([("preset", "ew02".into())]));
    bench.respond(0, 0, 1099);
    assert_close(bench.gauge(RATE), 100.0); // error 0.099 is not over 0.1
    bench.respond(1, 0, 1101);
    assert_close(bench.gauge(RATE), 50.0);
    bench.respond(2, 0, 901);
    assert_close(bench.gauge(RATE), 50.0); // error −0.099 is not under −0.1
    bench.respond(3, 0, 500);
    assert_close(bench.gauge(RATE), 51.0); // −(−0.5) × 2
}

#[test]
fn the_direct_controller_adds_a_half() {
    let mut bench = MachineBench::new("seda", &each_sample_counts([("preset", "direct".into())]));
    for (response_ms, rate) in [(899, 10.5), (900, 10.5), (1200, 10.5), (1201, 5.25), (0, 5.75)] {
        bench.respond(0, 0, response_ms);
        bench.see(0, &BATCH);
        assert_close(bench.gauge(RATE), rate);
    }
}

#[test]
fn the_rate_stays_within_its_bounds() {
    let mut bench = MachineBench::new("seda", &each_sample_counts([("rate_max", 101.0.into())]));
    bench.respond(0, 0, 0);
    assert_close(bench.gauge(RATE), 101.0);
    for _ in 0..100 {
        bench.respond(0, 0, 9000);
    }
    assert_close(bench.gauge(RATE), 0.05);
}

#[test]
fn refusals_further_down_and_meaningless_ends_are_no_samples() {
    let mut bench = MachineBench::new("seda", &each_sample_counts([]));
    let end = |outcome| Seen::Ended {
        id: JobId(1),
        grant: crate::Grant::default(),
        tags: Tags::default(),
        outcome,
        timing: crate::Timing {
            entered: Timestamp::ZERO,
            offered: Timestamp::ZERO,
            started: Timestamp::ZERO,
            ended: Timestamp::from_secs(9),
        },
        cost: None,
        note: None,
    };
    bench.see(9000, &end(crate::Outcome::Ignored));
    bench.see(9000, &end(crate::Outcome::Overloaded { retry: true }));
    assert_close(bench.gauge(RATE), 100.0);
    bench.see(9000, &end(crate::Outcome::TimedOut));
    assert_close(bench.gauge(RATE), 100.0 / 1.2);
}

#[test]
fn a_stages_own_target_comes_first() {
    let targets = crate::catalogue::Setting::Map(settings([("stage", "10s".into()), ("other", "1ms".into())]));
    let mut bench = MachineBench::new("seda", &each_sample_counts([("target", "2s".into()), ("targets", targets)]));
    bench.respond(0, 0, 9000);
    assert_close(bench.gauge(RATE), 100.0); // 9 s of 10 s
    let mut bench = MachineBench::new("seda", &each_sample_counts([("target", "2s".into())]));
    bench.respond(0, 0, 1500);
    assert_close(bench.gauge(RATE), 100.0); // 1.5 s of 2 s; over the objective's 1 s
}

/// How many of `jobs` offered at one moment get in.
fn admitted(seat: &mut Seat, at_ms: u64, ids: std::ops::Range<u64>) -> usize {
    ids.filter(|id| {
        let entered = Timestamp::from_millis(at_ms);
        let job = Offer { id: JobId(*id), tags: Tags::default(), entered, note: None };
        match seat.offer(entered, &job) {
            Verdict::Admit(_) => true,
            verdict => {
                assert_eq!(verdict, Verdict::Refuse(Refusal::new(Reason::Rate)));
                false
            }
        }
    })
    .count()
}

#[test]
fn the_bucket_lets_its_depth_in_at_once() {
    for (preset, depth) in [("usits03", 10), ("usits03-as-coded", 1)] {
        let policy = policy(preset, &Settings::new(), Duration::from_secs(1));
        let mut seat = Seat::new(SiteId(1), policy, 1, Box::new(()));
        assert_eq!(admitted(&mut seat, 0, 0..50), depth, "{preset}");
        // 100 a second: one more after 10 ms.
        assert_eq!(admitted(&mut seat, 10, 50..100), 1, "{preset}");
    }
}

#[test]
fn a_cut_may_empty_the_bucket() {
    for (empty, left) in [(false, 10), (true, 0)] {
        let settings = each_sample_counts([("empty_on_cut", empty.into())]);
        let mut seat = Seat::new(SiteId(1), policy("seda", &settings, Duration::from_millis(1)), 1, Box::new(()));
        let job = Offer { id: JobId(1000), tags: Tags::default(), entered: Timestamp::ZERO, note: None };
        let Verdict::Admit(grant) = seat.offer(Timestamp::ZERO, &job) else { panic!("the first is let in") };
        let at = Timestamp::from_secs(2);
        let timing = crate::Timing { entered: job.entered, offered: job.entered, started: job.entered, ended: at };
        let outcome = crate::Outcome::Served;
        seat.observe(at, &Seen::Ended { id: job.id, grant, tags: job.tags, outcome, timing, cost: None, note: None });
        assert_eq!(admitted(&mut seat, 2000, 0..50), left, "empty_on_cut: {empty}");
    }
}
