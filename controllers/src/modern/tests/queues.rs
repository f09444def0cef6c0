//! Queue disciplines in a seat: the admitted and the refused jobs, and their times.

use std::time::Duration;

use crate::{
    Catalogue, Effect, JobId, Next, Offer, Reason, Seat, Seen, Settings, SiteId, Tags, Timestamp, Verdict,
    testing::{policy, settings},
};

struct Queue {
    seat: Seat,
}

/// The end of a job.
#[derive(Debug, PartialEq)]
enum Now {
    In(u64),
    Out(u64),
}
use Now::{In, Out};

impl Queue {
    fn new(name: &str, settings: &Settings) -> Self {
        let policy = policy(name, settings, Duration::from_secs(1));
        Self { seat: Seat::new(SiteId(1), policy, 1, Box::new(())) }
    }

    fn offer(&mut self, ms: u64, id: u64) -> Verdict {
        let now = Timestamp::from_millis(ms);
        self.seat.offer(now, &Offer { id: JobId(id), tags: Tags::default(), entered: now, note: None })
    }

    #[track_caller]
    fn hold(&mut self, ms: u64, ids: impl IntoIterator<Item = u64>) {
        for id in ids {
            assert_eq!(self.offer(ms, id), Verdict::Hold, "{id}");
        }
    }

    fn room(&mut self, ms: u64, free: u32) -> Vec<Now> {
        self.see(ms, &Seen::Room(free))
    }

    fn see(&mut self, ms: u64, seen: &Seen) -> Vec<Now> {
        self.seat.observe(Timestamp::from_millis(ms), seen);
        self.poll(ms)
    }

    fn poll(&mut self, ms: u64) -> Vec<Now> {
        let mut done = Vec::new();
        while let Some(effect) = self.seat.poll(Timestamp::from_millis(ms)).effect() {
            done.push(match effect {
                Effect::Release(JobId(id), _) => In(id),
                Effect::Refuse(JobId(id), refusal) if refusal.reason == Reason::Waited => Out(id),
                other => panic!("{other:?}"),
            });
        }
        done
    }
}

#[test]
fn codel_lets_in_the_oldest_and_refuses_at_the_head() {
    let mut queue = Queue::new("codel", &Settings::new());
    queue.hold(0, 1..=9);
    assert_eq!(queue.room(10, 2), [In(1), In(2)]);
    // Over 5 ms from 10 ms on: after 110 ms one is refused, and the next admitted.
    assert_eq!(queue.room(111, 1), [Out(3), In(4)]);
    assert_eq!(queue.see(112, &Seen::Left(JobId(5))), []);
    assert_eq!(queue.room(113, 9), [In(6), In(7), In(8), In(9)]);
}

#[test]
fn folly_refuses_all_that_waited_too_long_at_once() {
    let mut queue = Queue::new("folly", &Settings::new());
    queue.hold(0, 1..=6);
    assert_eq!(queue.room(20, 2), [In(1), In(2)]);
    queue.hold(25, [7]);
    // 20 ms was the shortest, so overloaded; over 10 ms of wait are too many, and 7 has waited 5.
    assert_eq!(queue.room(30, 1), [Out(3), Out(4), Out(5), Out(6), In(7)]);
}

#[test]
fn lifo_lets_in_the_newest_until_their_time_is_over() {
    let mut queue = Queue::new("lifo", &Settings::new());
    queue.hold(0, [1]);
    queue.hold(10, [2, 3]);
    queue.hold(20, [4]);
    assert_eq!(queue.room(30, 2), [In(4), In(3)]);
    assert_eq!(queue.seat.poll(Timestamp::from_millis(30)), Next::WakeAt(Timestamp::from_secs(1)));
    assert_eq!(queue.poll(1000), [Out(1)]);
    // A host that is late with its wake-up tells of room first.
    assert_eq!(queue.room(1011, 1), [Out(2)]);
    assert_eq!(queue.seat.poll(Timestamp::from_millis(1011)), Next::Idle);
}

#[test]
fn those_who_went_away_are_neither_let_in_nor_refused() {
    let mut queue = Queue::new("lifo", &Settings::new());
    queue.hold(0, [1, 2]);
    assert_eq!(queue.see(5, &Seen::Left(JobId(2))), []);
    assert_eq!(queue.room(10, 1), [In(1)]);
    assert_eq!(queue.poll(5000), []);
}

#[test]
fn adaptive_lifo_turns_round_when_the_queue_stands() {
    let mut queue = Queue::new("fail-at-scale", &Settings::new());
    queue.hold(0, [1, 2, 3]);
    queue.hold(50, [4, 5]);
    // Not empty for 50 ms: the oldest first. 3 has 100 ms from 0.
    assert_eq!(queue.room(50, 2), [In(1), In(2)]);
    assert_eq!(queue.poll(100), [Out(3)]);
    queue.hold(100, [10]);
    // Since 0 it has not been empty, for more than 100 ms now: 6 and 7 may wait for 5 ms, the newest first. 10 came in time.
    queue.hold(101, [6, 7]);
    assert_eq!(queue.room(102, 1), [In(7)]);
    assert_eq!(queue.poll(106), [Out(6)]);
    assert_eq!(queue.room(110, 3), [In(10), In(5), In(4)]);
    // It was empty: all begins anew.
    queue.hold(111, [8, 9]);
    assert_eq!(queue.room(112, 1), [In(8)]);
    assert_eq!(queue.poll(210), []);
    assert_eq!(queue.poll(211), [Out(9)]);
}

#[test]
fn lifo_by_length_turns_round_while_enough_stay_behind() {
    // HHVM's job queue: `--m_jobCount`, then the back if `m_jobCount >= m_lifoSwitchThreshold`, else the front.
    let two = settings([("preset", "hhvm".into()), ("turn_at", 2_u32.into())]);
    let mut queue = Queue::new("lifo", &two);
    queue.hold(0, 1..=5);
    // 4, 3 and 2 stay behind, then 1 and none. No time has passed, so it is not that the queue stands.
    assert_eq!(queue.room(0, 5), [In(5), In(4), In(3), In(1), In(2)]);
    // Nor does it matter that a short queue has been there for long; and time-outs come at the front.
    queue.hold(1, [6]);
    queue.hold(500, [7]);
    assert_eq!(queue.poll(1001), [Out(6)]);
    queue.hold(1002, [8]);
    assert_eq!(queue.room(1100, 1), [In(7)], "the oldest: one stays behind");
    // Those who found it long have as much time as all others.
    queue.hold(1101, [9, 10, 11]);
    assert_eq!(queue.room(1102, 1), [In(11)], "three stay behind");
    assert_eq!(queue.poll(2002), [Out(8)]);
    assert_eq!(queue.poll(2101), [Out(9), Out(10)]);
}

#[test]
fn a_full_queue_refuses_at_once_and_a_live_switch_keeps_those_who_wait() {
    for name in ["codel", "lifo", "cheapest-first", "class-queues"] {
        let three = settings([("max", 3_u32.into())]);
        let mut queue = Queue::new(name, &three);
        queue.hold(0, 1..=3);
        let Verdict::Refuse(refusal) = queue.offer(0, 4) else { panic!("three wait") };
        assert_eq!(refusal.reason, Reason::QueueFull);
        queue.seat.replace(Timestamp::from_millis(1), policy(name, &three, Duration::from_secs(1)));
        assert_eq!((queue.poll(1), queue.seat.held()), (vec![], 3), "{name}");
        assert_eq!(queue.room(2, 3).len(), 3, "{name}");
    }
}

#[test]
fn times_that_contradict_each_other_are_named() {
    let said = |name, key: &'static str, time: &'static str| {
        let problems = Catalogue::built_in().find(name).unwrap().check(&settings([(key, time.into())])).unwrap_err();
        problems[0].to_string()
    };
    assert_eq!(said("codel", "target", "100ms"), "interval: must be longer than target, or every wait stands");
    let ten = Catalogue::built_in().find("lifo").unwrap().check(&settings([("turn_at", 10_u32.into())])).unwrap_err();
    assert_eq!(ten[0].to_string(), "turn_at: needs adaptive: true; without it the newest are first at any length");
    assert_eq!(
        said("lifo", "timeout", "500ms"),
        "timeout_standing: must not be longer than timeout: a standing queue calls for less patience"
    );
}
