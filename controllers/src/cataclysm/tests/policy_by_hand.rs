//! The sentry in a seat, by hand.

use super::*;
use crate::{
    Catalogue, Effect, Kind, LoadSample, Offer, Outcome, Reason, Seat, Seen, SiteId, Tags, Timing, Verdict,
    entry::Setting,
    testing::{settings, site},
};

/// Gold, Silver and Bronze with delays of 0, 50 and 100 ms, before three servers.
fn settings_of(pairs: impl IntoIterator<Item = (&'static str, Setting)>) -> crate::Settings {
    let delays = settings([("1", "50ms".into()), ("0", "100ms".into())]);
    let mut given =
        settings([("servers", 3_u32.into()), ("policing", "batch".into()), ("service_first", "100ms".into())]);
    given.insert("delays".to_owned(), Setting::Map(delays));
    given.extend(settings(pairs));
    given
}

struct Seated {
    seat: Seat,
    next: u64,
    admitted: Vec<(Offer, crate::Grant)>,
}

impl Seated {
    fn new(pairs: impl IntoIterator<Item = (&'static str, Setting)>) -> Self {
        let entry = Catalogue::built_in().find("sentry").expect("it is there");
        let factory = entry.check(&settings_of(pairs)).expect("good settings");
        let policy = factory.policy(&site(crate::Place::Single, Duration::from_secs(1))).expect("a policy");
        Self { seat: Seat::new(SiteId(1), policy, 1, Box::new(())), next: 0, admitted: Vec::new() }
    }

    fn offer(&mut self, ms: u64, class: Class, kind: u16) -> Verdict {
        self.next += 1;
        let tags = Tags { class, kind: Kind(kind), ..Tags::default() };
        let offer = Offer { id: JobId(self.next), tags, entered: at(ms), note: None };
        let verdict = self.seat.offer(at(ms), &offer);
        if let Verdict::Admit(grant) = verdict {
            self.admitted.push((offer, grant));
        }
        verdict
    }

    /// The numbers of jobs that are released and refused now.
    fn poll(&mut self, ms: u64) -> (Vec<u64>, Vec<(u64, Reason)>) {
        let (mut released, mut refused) = (Vec::new(), Vec::new());
        while let Some(effect) = self.seat.poll(at(ms)).effect() {
            match effect {
                Effect::Release(id, grant) => {
                    released.push(id.0);
                    let tags = Tags::default();
                    self.admitted.push((Offer { id, tags, entered: at(ms), note: None }, grant));
                }
                Effect::Refuse(id, refusal) => refused.push((id.0, refusal.reason)),
                other => panic!("{other:?}"),
            }
        }
        (released, refused)
    }

    /// Ends the oldest admitted job.
    fn end(&mut self, ms: u64, cost: Option<Duration>) {
        let (Offer { id, tags, entered, .. }, grant) = self.admitted.remove(0);
        let timing = Timing { entered, offered: entered, started: entered, ended: at(ms) };
        let outcome = Outcome::Served;
        self.seat.observe(at(ms), &Seen::Ended { id, grant, tags, outcome, timing, cost, note: None });
    }

    fn gauge(&self, name: &str) -> f64 {
        let mut found = None;
        self.seat.gauges(&mut |gauge, value| {
            if gauge.name == name && gauge.class.is_none_or(|class| class == GOLD) {
                found = Some(value);
            }
        });
        found.unwrap_or_else(|| panic!("no gauge {name}"))
    }
}

#[test]
fn classes_are_admitted_at_their_instants_until_the_response_time_is_reached() {
    let mut seated = Seated::new([]);
    // Buckets double from 1 ms: 100 ms is in (64, 128], represented by 96 ms. With k inside, (k / 3 + 1) × 96 ≤ 1000 while
    // k ≤ 28.25: the 29th is the last one.
    let answers: Vec<bool> = (0..30).map(|_| matches!(seated.offer(1, GOLD, 0), Verdict::Admit(_))).collect();
    assert_eq!(answers.iter().filter(|admitted| **admitted).count(), 29);
    assert!(!answers[29]);
    (0..29).for_each(|_| seated.end(1, None));
    // Silver waits for 50 ms, Bronze for 100 ms.
    assert_eq!(seated.offer(10, SILVER, 0), Verdict::Hold);
    assert_eq!(seated.offer(10, BRONZE, 0), Verdict::Hold);
    assert_eq!(seated.poll(49), (vec![], vec![]));
    assert_eq!(seated.poll(50), (vec![31], vec![]));
    assert_eq!(seated.poll(100), (vec![32], vec![]));
    assert_eq!(seated.seat.in_flight(), 2);
}

#[test]
fn a_more_important_failure_refuses_what_waits() {
    let mut seated = Seated::new([]);
    assert_eq!(seated.offer(1, BRONZE, 0), Verdict::Hold);
    for _ in 0..29 {
        assert!(matches!(seated.offer(2, GOLD, 0), Verdict::Admit(_)));
    }
    assert_eq!(seated.offer(3, GOLD, 0), Verdict::Refuse(crate::Refusal::new(Reason::Concurrency)));
    assert_eq!(seated.poll(3), (vec![], vec![(1, Reason::Class)]));
}

#[test]
fn service_times_are_learned_by_type_from_what_was_attained() {
    let mut seated = Seated::new([("alpha", 0.5.into())]);
    // Six on three servers from 0 to 60 ms: 30 ms each. With 10 ms of CPU time and α = 0.5: 10 + 0.5 × 20 = 20 ms.
    for _ in 0..6 {
        assert!(matches!(seated.offer(0, GOLD, 7), Verdict::Admit(_)));
    }
    (0..6).for_each(|_| seated.end(60, Some(Duration::from_millis(10))));
    // 20 ms is in (16, 32], represented by 24 ms: (k / 3 + 1) × 24 ≤ 1000 while k ≤ 122.
    let admitted = (0..200).filter(|_| matches!(seated.offer(70, GOLD, 7), Verdict::Admit(_))).count();
    assert_eq!(admitted, 123);
    // An unknown type has the mean of all, which is the same.
    assert!(matches!(seated.offer(71, GOLD, 8), Verdict::Refuse(_)));
}

#[test]
fn the_seat_counts_what_is_inside() {
    let mut seated = Seated::new([]);
    // Held, released but not polled, and gone before it was: it was never inside.
    assert_eq!(seated.offer(1, SILVER, 0), Verdict::Hold);
    seated.seat.observe(at(50), &Seen::Load(LoadSample::Cpu(0.1)));
    assert!(seated.seat.leave(at(50), JobId(1)).is_some());
    assert_eq!(seated.poll(51), (vec![], vec![]));
    assert_eq!(seated.gauge("in_service_per_server"), 0.0);
    // What a predecessor admitted counts until it ends.
    assert!(matches!(seated.offer(60, GOLD, 0), Verdict::Admit(_)));
    let entry = Catalogue::built_in().find("sentry").expect("it is there");
    let factory = entry.check(&settings_of([])).expect("good settings");
    let next = factory.policy(&site(crate::Place::Single, Duration::from_secs(1))).expect("a policy");
    seated.seat.replace(at(61), next);
    seated.poll(61);
    assert!(matches!(seated.offer(62, GOLD, 0), Verdict::Admit(_)));
    assert!((seated.gauge("in_service_per_server") - 2.0 / 3.0).abs() < 1e-9);
    seated.end(63, None);
    assert!((seated.gauge("in_service_per_server") - 1.0 / 3.0).abs() < 1e-9);
}

#[test]
fn a_busy_process_changes_to_the_threshold_and_back() {
    let mut seated = Seated::new([("policing", "by-load".into()), ("quiet_for", "2s".into())]);
    assert_eq!(seated.offer(960, SILVER, 0), Verdict::Hold);
    seated.seat.observe(at(990), &Seen::Load(LoadSample::Cpu(0.9)));
    // What waits has its test at once. One arrival of 100 ms in a second fits in.
    assert_eq!(seated.poll(990), (vec![1], vec![]));
    assert_eq!(seated.gauge("threshold_policing"), 1.0);
    assert!(matches!(seated.offer(995, SILVER, 0), Verdict::Admit(_)), "nothing is held");
    seated.seat.observe(at(1000), &Seen::Load(LoadSample::Cpu(0.1)));
    seated.seat.observe(at(3000), &Seen::Load(LoadSample::Cpu(0.1)));
    assert_eq!(seated.gauge("threshold_policing"), 0.0);
    assert_eq!(seated.offer(3010, SILVER, 0), Verdict::Hold);
}

#[test]
fn settings_that_do_not_fit_together_are_explained() {
    let table = |class: &str, value: &str| Setting::Map(settings([(Box::leak(class.into()) as &str, value.into())]));
    let entry = Catalogue::built_in().find("sentry").expect("it is there");
    let said = |key: &'static str, value: Setting| {
        let problems = entry.check(&settings_of([(key, value)])).expect_err("wrong");
        problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    };
    assert_eq!(said("delays", table("3", "50ms")), "delays.3: class 3 is over the highest of 3 classes, 2");
    assert!(
        said("delays", table("2", "50ms")).starts_with("delays.2: the most important class is examined on arrival")
    );
    assert!(said("delays", table("1", "50ms")).starts_with("delays: one delay for each class is needed"));
    assert!(said("guaranteed", table("5", "1/s")).starts_with("guaranteed.5: class 5 is over"));
    assert!(said("policing", "sometimes".into()).contains("by-load, batch, threshold"));
    let both = entry.check(&settings_of([("policing", "by-load".into()), ("quiet_under", 0.9.into())]));
    assert!(both.expect_err("over busy_over")[0].to_string().starts_with("quiet_under: 0 < quiet_under"));
}
