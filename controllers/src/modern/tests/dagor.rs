//! DAGOR in a seat and in a closed loop.

use std::time::Duration;

use crate::{
    Catalogue, Class, Criticality, Effect, Gauge, Grant, JobId, Note, Objective, Offer, Outcome, Place, Reason, Seat,
    Seen, Settings, Site, SiteId, Tags, Timestamp, Timing, UnixSeconds, Verdict,
    catalogue::Setting,
    random::mix,
    testing::{
        plant::{Phase, Plant, Series, Service},
        policy, settings,
    },
};

const LEVELS: u32 = 4 * 128;

struct Bench {
    seat: Seat,
    id: u64,
    now_ms: u64,
}

/// The paper's threshold, 20 ms.
fn wechat() -> Settings {
    settings([("preset", "wechat".into())])
}

impl Bench {
    fn new(settings: &Settings) -> Self {
        let policy = policy("dagor", settings, Duration::from_secs(1));
        Self { seat: Seat::new(SiteId(1), policy, 1, Box::new(())), id: 0, now_ms: 0 }
    }

    fn offer(&mut self, ms: u64, criticality: Criticality, user: u64) -> Verdict {
        self.id += 1;
        let now = Timestamp::from_millis(ms);
        let tags = Tags { criticality, user, ..Tags::default() };
        self.seat.offer(now, &Offer { id: JobId(self.id), tags, entered: now, note: None })
    }

    /// One of each user, 0 to 99, of which so many are admitted; each starts after this wait, and ends.
    fn hundred(&mut self, ms: u64, criticality: Criticality, waited_ms: u64) -> Vec<u64> {
        (0..100)
            .filter(|user| {
                let Verdict::Admit(grant) = self.offer(ms, criticality, *user) else { return false };
                let (id, waited) = (JobId(self.id), Duration::from_millis(waited_ms));
                self.seat.observe(Timestamp::from_millis(ms), &Seen::Started { id, waited });
                self.end(ms, grant, None);
                true
            })
            .collect()
    }

    /// Serves a job that takes so long.
    fn serve(&mut self, ms: u64, took_ms: u64) {
        self.end_as(Outcome::Served, ms, took_ms);
    }

    fn end_as(&mut self, outcome: Outcome, ms: u64, took_ms: u64) {
        let Verdict::Admit(grant) = self.offer(ms, Criticality::CriticalPlus, 0) else { panic!("the highest") };
        let (started, ended) = (Timestamp::from_millis(ms), Timestamp::from_millis(ms + took_ms));
        let timing = Timing { entered: started, offered: started, started, ended };
        let (id, tags) = (JobId(self.id), Tags::default());
        self.seat.observe(started, &Seen::Ended { id, grant, tags, outcome, timing, cost: None, note: None });
    }

    /// Ends the last job, which tells nothing of service times.
    fn end(&mut self, ms: u64, grant: Grant, note: Option<Note>) {
        let now = Timestamp::from_millis(ms);
        let timing = Timing { entered: now, offered: now, started: now, ended: now };
        let (id, outcome, tags) = (JobId(self.id), Outcome::Ignored, Tags::default());
        self.seat.observe(now, &Seen::Ended { id, grant, tags, outcome, timing, cost: None, note });
    }

    /// The notes on replies since the last call.
    fn poll(&mut self, ms: u64) -> Vec<(u64, Note)> {
        let mut notes = Vec::new();
        while let Some(effect) = self.seat.poll(Timestamp::from_millis(ms)).effect() {
            let Effect::Annotate(JobId(id), note) = effect else { panic!("{effect:?}") };
            notes.push((id, note));
        }
        notes
    }

    fn cursor(&self) -> u32 {
        self.gauge("admission_level").expect("its level") as u32
    }

    fn gauge(&self, name: &'static str) -> Option<f64> {
        let mut shown = None;
        self.seat.gauges(&mut |gauge, value| {
            if gauge == Gauge::of(name) {
                shown = Some(value);
            }
        });
        shown
    }
}

#[test]
fn a_mean_wait_over_20_ms_moves_the_cursor_after_a_second() {
    for (waited, moved) in [(20, false), (21, true)] {
        let mut bench = Bench::new(&wechat());
        bench.hundred(0, Criticality::Sheddable, waited);
        bench.poll(999);
        assert_eq!(bench.cursor(), LEVELS, "the window is open");
        bench.poll(1000);
        assert_eq!(bench.cursor() < LEVELS, moved, "{waited} ms");
        // Of the lowest criticality there are levels 384 to 511; 5 % of its users are above the cursor.
        assert!(bench.cursor() > 480, "{}", bench.cursor());
    }
}

/// Four service times of 10 ms are 40 ms, of 25 ms 100 ms.
#[test]
fn without_a_time_the_threshold_is_four_mean_service_times() {
    for (took_ms, waited, moved) in [(10, 40, false), (10, 41, true), (25, 100, false), (25, 101, true)] {
        let mut bench = Bench::new(&Settings::new());
        bench.serve(0, took_ms);
        bench.hundred(0, Criticality::Sheddable, waited);
        bench.poll(1000);
        assert_eq!(bench.cursor() < LEVELS, moved, "{waited} ms of waiting, {took_ms} ms of work");
    }
}

#[test]
fn the_mean_service_time_is_of_jobs_that_were_served() {
    let mut bench = Bench::new(&Settings::new());
    assert_eq!(bench.gauge("mean_service_ms"), None, "no job was served yet");
    bench.serve(0, 250);
    bench.serve(0, 750);
    bench.end_as(Outcome::Failed, 0, 5000);
    assert_eq!(bench.gauge("mean_service_ms"), Some(500.0));
}

#[test]
fn without_a_service_time_no_wait_is_too_long() {
    let mut bench = Bench::new(&Settings::new());
    let Verdict::Admit(_) = bench.offer(0, Criticality::Sheddable, 0) else { panic!("all are admitted") };
    bench.seat.observe(Timestamp::ZERO, &Seen::Started { id: JobId(1), waited: Duration::from_secs(100) });
    bench.poll(1000);
    assert_eq!(bench.cursor(), LEVELS);
}

#[test]
fn fourteen_overloaded_windows_halve_the_admitted_and_a_calm_one_adds_a_hundredth() {
    // A user for each level of users, so that one job comes on each of the 4 × 128 levels.
    let mut users = [None; 128];
    for user in 0..10_000_u64 {
        users[(mix(mix(0) ^ user) % 128) as usize].get_or_insert(user);
    }
    let mut bench = Bench::new(&wechat());
    let mut window = |waited_ms| {
        let ms = bench.now_ms;
        for criticality in Criticality::ALL {
            for user in users {
                let Verdict::Admit(grant) = bench.offer(ms, criticality, user.unwrap()) else { continue };
                let (id, waited) = (JobId(bench.id), Duration::from_millis(waited_ms));
                bench.seat.observe(Timestamp::from_millis(ms), &Seen::Started { id, waited });
                bench.end(ms, grant, None);
            }
        }
        bench.now_ms += 1000;
        bench.poll(bench.now_ms);
        bench.cursor()
    };
    // A twentieth of the admitted less each, in whole levels: 512 × 0.95 = 486.4, 486 × 0.95 = 461.7, ...
    let down = [486, 461, 437, 415, 394, 374, 355, 337, 320, 304, 288, 273, 259, 246];
    assert_eq!(down.map(|_| window(50)), down);
    // A hundredth of all 512 more: 5.12, so six levels each.
    assert_eq!([0; 3].map(|_| window(0)), [252, 258, 264]);
}

#[test]
fn a_window_is_over_after_2000_jobs_too() {
    let mut bench = Bench::new(&wechat());
    for _ in 0..19 {
        bench.hundred(1, Criticality::Critical, 50);
    }
    assert_eq!(bench.cursor(), LEVELS);
    bench.hundred(2, Criticality::Critical, 50);
    assert!(bench.cursor() < LEVELS);
}

#[test]
fn the_lowest_go_first_and_the_same_users_within_an_hour() {
    let mut bench = Bench::new(&wechat());
    let mut admitted = Vec::new();
    for second in 0..11 {
        bench.hundred(second * 1000, Criticality::CriticalPlus, 50);
        admitted = bench.hundred(second * 1000, Criticality::Sheddable, 50);
    }
    // Ten steps of a twentieth of all admitted: 200 × 0.95^10 = 120, less what shares the last levels. 100 are the highest.
    assert!((5..=20).contains(&admitted.len()), "{} of the lowest are left", admitted.len());
    assert_eq!(bench.hundred(10_999, Criticality::Sheddable, 50), admitted, "the same again");
    assert_eq!(bench.hundred(10_999, Criticality::CriticalPlus, 50).len(), 100, "none of the highest");
    let refused = (0..100).find(|user| !admitted.contains(user)).unwrap();
    let Verdict::Refuse(refusal) = bench.offer(10_999, Criticality::Sheddable, refused) else { panic!("{refused}") };
    assert_eq!(refusal.reason, Reason::Class);
    bench.seat.set_wall(UnixSeconds(3600));
    assert_ne!(bench.hundred(10_999, Criticality::Sheddable, 50), admitted, "others in another hour");
}

#[test]
fn a_window_without_starts_says_nothing_unless_nobody_is_here() {
    let mut bench = Bench::new(&wechat());
    bench.hundred(0, Criticality::Sheddable, 50);
    bench.poll(1000);
    let cursor = bench.cursor();
    let Verdict::Admit(grant) = bench.offer(1000, Criticality::CriticalPlus, 0) else { panic!("the highest") };
    bench.poll(2000);
    assert_eq!(bench.cursor(), cursor, "one is here, and nobody began with it");
    bench.end(2000, grant, None);
    // Until one is refused. With nobody here that is a calm window, and a hundredth more are one more.
    for user in 0.. {
        let Verdict::Admit(grant) = bench.offer(2000, Criticality::Sheddable, user) else { break };
        bench.end(2000, grant, None);
    }
    bench.poll(3000);
    assert!(bench.cursor() > cursor, "{} after {cursor}", bench.cursor());
}

#[test]
fn replies_tell_the_level_and_a_caller_refuses_what_would_be_refused() {
    let mut callee = Bench::new(&wechat());
    for second in 0..12 {
        callee.hundred(second * 1000, Criticality::Sheddable, 50);
    }
    let notes = callee.poll(11_999);
    let (last, note) = *notes.last().unwrap();
    assert_eq!(last, callee.id, "the last, admitted or refused, has one");
    assert_eq!(notes.len(), 1200, "every reply has one");
    let served = callee.hundred(11_999, Criticality::Sheddable, 50);
    assert!(served.len() < 80);

    let mut caller = Bench::new(&settings([("preset", "wechat".into()), ("tell", false.into())]));
    let Verdict::Admit(grant) = caller.offer(0, Criticality::Sheddable, 0) else { panic!("it knows of nothing") };
    caller.end(10, grant, Some(note));
    assert_eq!(caller.hundred(10, Criticality::Sheddable, 0), served, "just those");
    assert_eq!(caller.hundred(1009, Criticality::Sheddable, 0), served);
    assert_eq!(caller.hundred(1010, Criticality::Sheddable, 0).len(), 100, "after a second it asks again");
    assert_eq!(caller.cursor(), LEVELS, "its own level has not moved");
    assert_eq!(caller.poll(1010), [], "and it tells nothing");
    // A number of another policy is none.
    let Verdict::Admit(grant) = caller.offer(1010, Criticality::Sheddable, 0) else { panic!("it has forgotten") };
    caller.end(1010, grant, Some(Note(7)));
    assert_eq!(caller.hundred(1010, Criticality::Sheddable, 0).len(), 100);
}

/// A sender's seat, in an hour of its own.
fn sender(hour: u64) -> Seat {
    let (entry, settings) = Catalogue::built_in().resolve("dagor", &Settings::new()).unwrap();
    let objective = Objective { percentile: 90.0, response_time: Duration::from_secs(1) };
    let site = Site { id: SiteId(9), name: "client".to_owned(), place: Place::Client, objective };
    let policy = entry.check(&settings).unwrap().policy(&site).unwrap();
    let mut seat = Seat::new(site.id, policy, 1, Box::new(()));
    seat.set_wall(UnixSeconds(hour * 3600));
    seat
}

/// 128 levels of users, many users, a callee in another hour, whose hour changes on the way. With a level of each site's own the
/// sender would hold back some, and the callee would refuse as many of the rest again.
#[test]
fn the_level_rides_on_the_request_so_both_sides_refuse_the_same_users() {
    let mut callee = Bench::new(&wechat());
    callee.seat.set_wall(UnixSeconds(7200));
    for second in 0..12 {
        callee.hundred(second * 1000, Criticality::Sheddable, 50);
    }
    let mut sender = sender(497_000);
    let ask = |sender: &mut Seat, callee: &mut Bench, user: u64, ms: u64| {
        let now = Timestamp::from_millis(ms);
        let tags = Tags { criticality: Criticality::Sheddable, user, ..Tags::default() };
        callee.id += 1;
        let id = JobId(callee.id);
        let offer = Offer { id, tags, entered: now, note: None };
        let Verdict::Admit(grant) = sender.offer(now, &offer) else { return (false, false) };
        let note = sender.note(id);
        assert!(note.is_some(), "each request that is sent brings its level");
        let verdict = callee.seat.offer(now, &Offer { note, ..offer });
        let timing = Timing { entered: now, offered: now, started: now, ended: now };
        let (outcome, told) = (Outcome::Served, Note(0xDA60 << 48 | u64::from(callee.cursor())));
        let seen = Seen::Ended { id, grant, tags, outcome, timing, cost: None, note: Some(told) };
        sender.observe(now, &seen);
        (true, matches!(verdict, Verdict::Admit(_)))
    };
    // The first is sent before anything is known of the callee.
    assert!(ask(&mut sender, &mut callee, 0, 12_000).0);
    for hour in [2, 3] {
        callee.seat.set_wall(UnixSeconds(hour * 3600));
        let asked: Vec<(bool, bool)> = (1..400).map(|user| ask(&mut sender, &mut callee, user, 12_001)).collect();
        let sent = asked.iter().filter(|(sent, _)| *sent).count();
        assert!((100..350).contains(&sent), "{sent} of 399 are sent");
        assert!(asked.iter().all(|(sent, admitted)| sent == admitted), "none of those is refused");
    }
}

#[test]
fn a_host_may_take_a_note_before_it_polls() {
    let mut callee = Bench::new(&wechat());
    let Verdict::Admit(grant) = callee.offer(0, Criticality::Critical, 0) else { panic!("all are admitted") };
    let id = JobId(callee.id);
    assert_eq!(callee.seat.note(id), None, "it has not ended");
    callee.end(10, grant, None);
    assert_eq!(callee.seat.note(JobId(id.0 + 1)), None, "of another job there is none");
    assert_eq!(callee.seat.note(id), Some(Note(0xDA60 << 48 | u64::from(LEVELS))), "all levels are let in");
    assert_eq!((callee.seat.note(id), callee.poll(10)), (None, Vec::new()), "once");
}

/// Ten workers serve 100 jobs a second; 200 come, of four classes and a thousand users.
fn overload(pairs: &[(&'static str, Setting)], classes: u8) -> Series {
    let phase = Phase { users: 0, lasts: Duration::from_secs(600), arrive_over: Duration::ZERO, open_per_s: 200 };
    let plant = Plant {
        workers: 10,
        service: Service::Exponential(Duration::from_millis(100)),
        think: Duration::ZERO,
        retreat: Duration::ZERO,
        classes,
        phases: vec![phase],
        seed: 5,
    };
    plant.run(policy("dagor", &settings(pairs.iter().cloned()), Duration::from_secs(1)), Vec::new())
}

fn served(series: &Series) -> u32 {
    series.seconds.iter().map(|second| second.served).sum()
}

#[test]
fn the_important_are_served_whatever_comes() {
    let series = overload(&[("business", "class".into()), ("preset", "wechat".into())], 4);
    let share = |class| {
        let (offered, refused) = series.by_class[&Class(class)];
        f64::from(refused) / f64::from(offered)
    };
    // Of 200 a second 100 can be served: the higher two classes, about.
    assert!(share(3) < 0.02 && share(2) < 0.5, "{} and {}", share(3), share(2));
    assert!(share(1) > 0.9 && share(0) > 0.95, "{} and {}", share(1), share(0));
    assert!(served(&series) > 600 * 80, "{} served", served(&series));
}

/// A twentieth a second, while the wait of those who are here already says overload for as long as they are here; then a
/// hundredth a second from too low a level.
#[test]
fn steps_are_slow_to_meet_a_crowd_and_slow_to_come_back() {
    let series = overload(&[("business", "class".into()), ("preset", "wechat".into())], 4);
    let worst = series.seconds[..40].iter().map(|second| second.p90_ms).max().unwrap();
    assert!(worst > 5000, "{worst} ms at worst");
    let late = Series::median_p90_ms(&series.seconds[60..]);
    assert!(late < 400, "{late} ms later");
    let lowest = series.seconds[30..60].iter().map(|second| second.served).min().unwrap();
    assert!(lowest < 40, "{lowest} served in the worst second of 100 that could be");
}

/// What the paper gives as the reason for levels of users (section 4.2.2).
#[test]
fn with_one_level_all_or_nobody_is_let_in() {
    let series =
        overload(&[("business", "class".into()), ("user_levels", 1_u32.into()), ("preset", "wechat".into())], 1);
    let seconds = |wanted: fn(u32) -> bool| {
        series.seconds.iter().filter(|second| wanted((second.offered - second.refused) * 10 / second.offered)).count()
    };
    // Of 600. By tenths of those who came.
    let (none, most) = (seconds(|tenths| tenths == 0), seconds(|tenths| tenths >= 7));
    assert!(none > 200 && most > 100, "{none} seconds without, {most} with nearly all");
    assert!(served(&series) < 600 * 70, "{} served", served(&series));
}
