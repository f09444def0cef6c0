//! What the limiter makes of offers and ends.

use std::time::Duration;

use crate::{
    Catalogue, Gauge, Grant, JobId, Offer, Outcome, Place, Reason, Seat, Seen, Settings, SiteId, Tags, Timestamp,
    Timing, Verdict,
    testing::{policy, settings, site},
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

/// The limit, 10 before, after five came and the last of them ended so: 11 a success, 9 dropped, 10 ignored.
fn limit_after(place: Place, outcome: Outcome, more: &[(&'static str, &'static str)]) -> u32 {
    let ten = [("limit_initial", 10_u32.into()), ("limit_min", 1_u32.into())];
    let ten = settings(ten.into_iter().chain(more.iter().map(|(key, word)| (*key, (*word).into()))));
    let entry = Catalogue::built_in().find("aimd").unwrap();
    let policy = entry.check(&ten).unwrap().policy(&site(place, Duration::from_secs(1))).unwrap();
    let mut seat = Seat::new(SiteId(1), policy, 1, Box::new(()));
    let mut last = Grant::default();
    for id in 0..5 {
        last = admit(&mut seat, id);
    }
    end(&mut seat, 4, last, outcome);
    limit(&seat)
}

const ENDS: [Outcome; 8] = [
    Outcome::Served,
    Outcome::Ignored,
    Outcome::Failed,
    Outcome::TimedOut,
    Outcome::Overloaded { retry: true },
    Outcome::Overloaded { retry: false },
    Outcome::Abandoned,
    Outcome::Unavailable,
];

#[test]
fn ends_count_as_in_the_adapter_for_the_place() {
    let (success, dropped, ignored) = (11, 9, 10);
    // ConcurrencyLimitServerInterceptor: DEADLINE_EXCEEDED and cancelled calls dropped, all other statuses successes.
    let server = [success, ignored, success, dropped, success, success, dropped, success];
    // ConcurrencyLimitClientInterceptor: OK success, UNAVAILABLE dropped, all other statuses and cancelled calls ignored.
    let client = [success, ignored, ignored, ignored, dropped, dropped, ignored, dropped];
    // ConcurrencyLimitServletFilter: exceptions ignored, answers successes.
    let servlet = [success, ignored, ignored, ignored, success, success, ignored, ignored];
    for (place, adapter, wanted) in [
        (Place::Stage, "grpc", server),
        (Place::Single, "grpc", server),
        (Place::Client, "grpc", client),
        (Place::Proxy, "grpc", client),
        (Place::Stage, "servlet", servlet),
        (Place::Client, "servlet", servlet),
    ] {
        let found = ENDS.map(|outcome| limit_after(place, outcome, &[("adapter", adapter)]));
        assert_eq!(found, wanted, "{place:?} {adapter}");
    }
}

#[test]
fn how_an_end_counts_can_be_set_one_by_one() {
    let kinds = [
        ("failures", Outcome::Failed),
        ("timeouts", Outcome::TimedOut),
        ("refusals", Outcome::Overloaded { retry: true }),
        ("abandoned", Outcome::Abandoned),
        ("unavailable", Outcome::Unavailable),
    ];
    for (key, _) in kinds {
        for (word, after) in [("success", 11), ("dropped", 9), ("ignored", 10)] {
            for (other, outcome) in kinds {
                let found = limit_after(Place::Client, outcome, &[(key, word)]);
                let wanted = if key == other { after } else { limit_after(Place::Client, outcome, &[]) };
                assert_eq!(found, wanted, "{key}: {word}, {outcome:?}");
            }
        }
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
        Catalogue::built_in().find(name).unwrap().check(&settings).unwrap_err()[0].to_string()
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
