//! What the limiter makes of offers and ends.

use std::time::Duration;

use crate::{
    Catalogue, Gauge, Grant, JobId, Offer, Outcome, Reason, Seat, Seen, Settings, SiteId, Tags, Timestamp, Timing,
    Verdict,
    testing::{policy, settings},
};

fn seat(name: &str, settings: &Settings) -> Seat {
    Seat::new(SiteId(1), policy(name, settings, Duration::from_secs(1)), 1, Box::new(()))
}

fn offer(seat: &mut Seat, id: u64) -> Verdict {
    let now = Timestamp::from_secs(1);
    seat.offer(now, &Offer { id: JobId(id), tags: Tags::default(), entered: now, note: None })
}

fn admit(seat: &mut Seat, id: u64) -> Grant {
    match offer(seat, id) {
        Verdict::Admit(grant) => grant,
        other => panic!("{other:?}"),
    }
}

/// Ends a job that took 100 ms.
fn end(seat: &mut Seat, id: u64, grant: Grant, outcome: Outcome) {
    let offered = Timestamp::from_secs(1);
    let ended = offered + Duration::from_millis(100);
    // Time before the offer is not this seat's: only from there does it count.
    let timing = Timing { entered: Timestamp::ZERO, offered, started: offered, ended };
    let tags = Tags::default();
    seat.observe(ended, &Seen::Ended { id: JobId(id), grant, tags, outcome, timing, cost: None, note: None });
}

fn limit(seat: &Seat) -> u32 {
    let mut limit = 0.0;
    seat.gauges(&mut |gauge, value| {
        if gauge == Gauge::of("limit") {
            limit = value;
        }
    });
    limit as u32
}

fn three() -> Settings {
    settings([("limit_initial", 3_u32.into()), ("limit_min", 1_u32.into()), ("timeout", "1s".into())])
}

#[test]
fn as_many_as_the_limit_and_no_more() {
    let mut seat = seat("aimd", &three());
    for id in 0..3 {
        admit(&mut seat, id);
    }
    let Verdict::Refuse(refusal) = offer(&mut seat, 3) else { panic!("three are in flight") };
    assert_eq!(refusal.reason, Reason::Concurrency);
}

#[test]
fn a_sample_says_how_many_were_in_flight_when_its_job_came() {
    let mut seat = seat("aimd", &three());
    let first = admit(&mut seat, 0);
    let second = admit(&mut seat, 1);
    // The first came alone, 1 × 2 < 3, although two were here when it ended; the second was one of two.
    end(&mut seat, 0, first, Outcome::Served);
    assert_eq!(limit(&seat), 3);
    end(&mut seat, 1, second, Outcome::Served);
    assert_eq!(limit(&seat), 4);
}

#[test]
fn what_counts_as_dropped_and_what_says_nothing() {
    for (outcome, after) in [
        (Outcome::Served, 11),
        (Outcome::TimedOut, 9),
        (Outcome::Overloaded { retry: true }, 9),
        (Outcome::Overloaded { retry: false }, 9),
        (Outcome::Abandoned, 9),
        (Outcome::Failed, 10),
        (Outcome::Ignored, 10),
    ] {
        let ten = settings([("limit_initial", 10_u32.into()), ("limit_min", 1_u32.into())]);
        let mut seat = seat("aimd", &ten);
        let mut last = Grant::default();
        for id in 0..5 {
            last = admit(&mut seat, id);
        }
        end(&mut seat, 4, last, outcome);
        assert_eq!(limit(&seat), after, "{outcome:?}");
    }
}

#[test]
fn gradient2_looks_at_windows_of_ten_unless_told_not_to() {
    let after_five = |window: &'static str| {
        let mut seat = seat("gradient2", &settings([("window", window.into())]));
        let grants: Vec<_> = (0..20).map(|id| admit(&mut seat, id)).collect();
        for id in 15..20 {
            end(&mut seat, id, grants[id as usize], Outcome::Served);
        }
        limit(&seat)
    };
    // 20.8, 21.6, 22.4, 23.2, 24.0: each sample adds 0.2 × 4.
    assert_eq!((after_five("0ms"), after_five("1s")), (24, 20));
}

#[test]
fn a_first_limit_outside_the_bounds_is_explained() {
    let said = |name, pairs: [(&'static str, u32); 1]| {
        let settings = settings(pairs.map(|(key, value)| (key, value.into())));
        Catalogue::find(name).unwrap().check(&settings).unwrap_err()[0].to_string()
    };
    assert_eq!(
        said("aimd", [("limit_initial", 10)]),
        "limit_initial: must lie between the smallest limit (20) and the largest (200), not at 10"
    );
    assert_eq!(
        said("vegas", [("limit_max", 10)]),
        "limit_initial: must lie between the smallest limit (1) and the largest (10), not at 20"
    );
}
