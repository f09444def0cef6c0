//! Who is next, worked by hand: the cheapest kind, the highest class.

use std::time::Duration;

use crate::{
    Class, Effect, Grant, JobId, Kind, Offer, Outcome, Reason, Seat, Seen, SiteId, Tags, Timestamp, Timing, Verdict,
    catalogue::Setting,
    testing::{policy, settings},
};

/// A stage with one of these disciplines.
struct Stage(Seat);

impl Stage {
    fn new<'a>(name: &str, pairs: impl IntoIterator<Item = (&'a str, Setting)>) -> Self {
        let policy = policy(name, &settings(pairs), Duration::from_secs(1));
        Self(Seat::new(SiteId(1), policy, 1, Box::new(())))
    }

    fn offer(&mut self, ms: u64, id: u64, tags: Tags) -> Verdict {
        let now = Timestamp::from_millis(ms);
        self.0.offer(now, &Offer { id: JobId(id), tags, entered: now, note: None })
    }

    /// The jobs that come in with so many free workers.
    fn room(&mut self, ms: u64, free: u32) -> Vec<(u64, Grant)> {
        self.0.observe(Timestamp::from_millis(ms), &Seen::Room(free));
        let effects = std::iter::from_fn(|| self.0.poll(Timestamp::from_millis(ms)).effect());
        effects
            .filter_map(|effect| match effect {
                Effect::Release(JobId(id), grant) => Some((id, grant)),
                _ => None,
            })
            .collect()
    }

    fn next(&mut self, ms: u64, free: u32) -> Vec<u64> {
        self.room(ms, free).into_iter().map(|(id, _)| id).collect()
    }

    /// The refusals that are due.
    fn refused(&mut self, ms: u64) -> Vec<(u64, Reason)> {
        let effects = std::iter::from_fn(|| self.0.poll(Timestamp::from_millis(ms)).effect());
        effects
            .filter_map(|effect| match effect {
                Effect::Refuse(JobId(id), refusal) => Some((id, refusal.reason)),
                _ => None,
            })
            .collect()
    }

    /// The end of a job of this kind or class that began at `ms` and took so long.
    fn ends(&mut self, (id, grant): (u64, Grant), tags: Tags, ms: u64, took: u64) {
        let at = Timestamp::from_millis;
        let timing = Timing { entered: at(ms), offered: at(ms), started: at(ms), ended: at(ms + took) };
        let (id, outcome) = (JobId(id), Outcome::Served);
        self.0.observe(at(ms + took), &Seen::Ended { id, grant, tags, outcome, timing, cost: None, note: None });
    }

    /// A job that was let in and left before its work began.
    fn leaves(&mut self, (id, grant): (u64, Grant), tags: Tags, ms: u64) {
        let at = Timestamp::from_millis(ms);
        let timing = Timing { entered: at, offered: at, started: at, ended: at };
        let (id, outcome) = (JobId(id), Outcome::Abandoned);
        self.0.observe(at, &Seen::Ended { id, grant, tags, outcome, timing, cost: Some(Duration::ZERO), note: None });
    }
}

fn kind(number: u16) -> Tags {
    Tags { kind: Kind(number), ..Tags::default() }
}

fn class(number: u8) -> Tags {
    Tags { class: Class(number), ..Tags::default() }
}

#[test]
fn a_cost_is_learned_and_the_cheapest_come_first() {
    let mut stage = Stage::new("cheapest-first", [("old_weight", 0.5.into())]);
    for (ms, id, of) in [(0, 1, 0), (1, 2, 1), (2, 3, 0)] {
        assert_eq!(stage.offer(ms, id, kind(of)), Verdict::Hold);
    }
    // Nothing is known: in order of arrival.
    let [dear, cheap] = stage.room(2, 2).try_into().expect("two");
    assert_eq!((dear.0, cheap.0), (1, 2));
    stage.ends(cheap, kind(1), 2, 10);
    stage.ends(dear, kind(0), 2, 100);
    let _ = stage.offer(200, 4, kind(1));
    let _ = stage.offer(200, 5, kind(2));
    // 10 ms; then 55 (the mean of 100 and 10, for a kind that is new); then 100.
    assert_eq!(stage.next(200, 3), [4, 5, 3]);
}

#[test]
fn who_left_before_work_began_makes_its_kind_no_cheaper() {
    let mut stage = Stage::new("cheapest-first", [("old_weight", 0.5.into())]);
    for (id, of) in [(1, 0), (2, 1), (3, 0)] {
        let _ = stage.offer(0, id, kind(of));
    }
    let [dear, cheap, gone] = stage.room(0, 3).try_into().expect("three");
    stage.ends(cheap, kind(1), 0, 10);
    stage.ends(dear, kind(0), 0, 18);
    stage.leaves(gone, kind(0), 18);
    let _ = (stage.offer(20, 4, kind(0)), stage.offer(20, 5, kind(1)));
    assert_eq!(stage.next(20, 2), [5, 4], "10 ms, 18 ms; with a cost of nothing the second kind would have 9");
}

#[test]
fn a_full_queue_gives_a_dear_jobs_place_to_a_cheap_one() {
    let mut stage = Stage::new("cheapest-first", [("max", 2_u32.into())]);
    for (id, of, took) in [(1, 0, 100), (2, 1, 10)] {
        let _ = stage.offer(0, id, kind(of));
        let admitted = stage.room(0, 1)[0];
        stage.ends(admitted, kind(of), 0, took);
    }
    let _ = (stage.offer(200, 3, kind(0)), stage.offer(200, 4, kind(0)));
    let full = |verdict| matches!(verdict, Verdict::Refuse(refusal) if refusal.reason == Reason::QueueFull);
    assert!(full(stage.offer(200, 5, kind(0))), "as dear as those that wait");
    assert_eq!(stage.offer(200, 6, kind(1)), Verdict::Hold);
    assert_eq!(stage.refused(200), [(4, Reason::QueueFull)], "the newest of the dear ones");
    assert_eq!(stage.next(201, 2), [6, 3]);
}

#[test]
fn a_time_out_ends_the_wait_of_dear_ones() {
    let mut stage = Stage::new("cheapest-first", [("timeout", "1s".into())]);
    let _ = (stage.offer(0, 1, kind(0)), stage.offer(500, 2, kind(1)));
    assert_eq!(stage.refused(999), []);
    assert_eq!(stage.refused(1000), [(1, Reason::Waited)]);
    assert_eq!(stage.next(1001, 2), [2]);
}

#[test]
fn the_highest_class_comes_first_in_order_of_arrival() {
    let mut stage = Stage::new("class-queues", []);
    for (id, of) in [(1, 0), (2, 2), (3, 1), (4, 2)] {
        assert_eq!(stage.offer(0, id, class(of)), Verdict::Hold);
    }
    assert_eq!(stage.next(1, 3), [2, 4, 3]);
}

#[test]
fn a_class_has_workers_of_its_own_which_others_do_not_get() {
    let workers = Setting::Map([("1".to_owned(), 2.0.into()), ("0".to_owned(), 1.0.into())].into());
    let mut stage = Stage::new("class-queues", [("workers", workers)]);
    for (id, of) in [(1, 0), (2, 0), (3, 1), (4, 1), (5, 1)] {
        let _ = stage.offer(0, id, class(of));
    }
    let inside = stage.room(0, 3);
    assert_eq!(inside.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [3, 4, 1]);
    assert_eq!(stage.next(1, 1), [0; 0], "a free worker of another class");
    stage.ends(inside[0], class(1), 0, 5);
    assert_eq!(stage.next(5, 1), [5]);
    stage.ends(inside[2], class(0), 0, 6);
    assert_eq!(stage.next(6, 1), [2]);
}

#[test]
fn a_part_of_a_worker_is_refused() {
    let workers = Setting::Map([("1".to_owned(), 1.5.into())].into());
    let entry = crate::Catalogue::built_in().find("class-queues").unwrap();
    let said = entry.check(&settings([("workers", workers)])).unwrap_err();
    assert!(said[0].to_string().contains("class 1: whole workers, not 1.5"), "{said:?}");
}
