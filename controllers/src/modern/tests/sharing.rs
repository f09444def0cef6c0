//! Queues by deadline and by customer, in a seat, with numbers by hand.

use std::time::Duration;

use crate::{
    Effect, Grant, JobId, Offer, Outcome, Reason, Seat, Seen, Settings, SiteId, Tags, Timestamp, Timing, Verdict,
    entry::Setting,
    testing::{policy, settings},
};

const OBJECTIVE: Duration = Duration::from_secs(1);

/// Queue with the jobs that went in: the grant and the time of each.
struct Bench {
    seat: Seat,
    inside: Vec<(u64, Grant, Tags, Timestamp)>,
}

fn at(ms: u64) -> Timestamp {
    Timestamp::from_millis(ms)
}

impl Bench {
    fn new(name: &str, settings: &Settings) -> Self {
        Self { seat: Seat::new(SiteId(1), policy(name, settings, OBJECTIVE), 1, Box::new(())), inside: Vec::new() }
    }

    fn offer(&mut self, ms: u64, id: u64, tags: Tags) -> Verdict {
        self.seat.offer(at(ms), &Offer { id: JobId(id), tags, entered: at(ms), note: None })
    }

    #[track_caller]
    fn hold(&mut self, ms: u64, ids: impl IntoIterator<Item = u64>, tags: Tags) {
        ids.into_iter().for_each(|id| assert_eq!(self.offer(ms, id, tags), Verdict::Hold, "{id}"));
    }

    /// Jobs that go in; those that are refused are negative.
    fn room(&mut self, ms: u64, free: u32) -> Vec<i64> {
        self.seat.observe(at(ms), &Seen::Room(free));
        self.poll(ms)
    }

    fn poll(&mut self, ms: u64) -> Vec<i64> {
        let mut done = Vec::new();
        while let Some(effect) = self.seat.poll(at(ms)).effect() {
            match effect {
                Effect::Release(JobId(id), grant) => {
                    self.inside.push((id, grant, Tags::default(), at(ms)));
                    done.push(id as i64);
                }
                Effect::Refuse(JobId(id), _) => done.push(-(id as i64)),
                other => panic!("{other:?}"),
            }
        }
        done
    }

    /// Ends a job of these attributes, which worked since it went in.
    fn end(&mut self, ms: u64, id: u64, tags: Tags) {
        let place = self.inside.iter().position(|job| job.0 == id).expect("it is inside");
        let (_, grant, _, since) = self.inside.remove(place);
        let timing = Timing { entered: since, offered: since, started: since, ended: at(ms) };
        let seen = Seen::Ended { id: JobId(id), grant, tags, outcome: Outcome::Served, timing, cost: None, note: None };
        self.seat.observe(at(ms), &seen);
    }
}

fn due(ms: u64) -> Tags {
    Tags { deadline: Some(at(ms)), ..Tags::default() }
}

fn of(customer: u32) -> Tags {
    Tags { customer, ..Tags::default() }
}

#[test]
fn the_earliest_deadline_goes_in_first_and_what_cannot_be_met_is_refused() {
    let mut queue = Bench::new("deadline", &Settings::new());
    queue.hold(0, [1], Tags::default()); // due an objective after it came, at 1000
    queue.hold(0, [2], due(300));
    queue.hold(0, [3], due(500));
    queue.hold(0, [4], due(5000)); // no later than 1000
    assert_eq!(queue.room(0, 1), [2]);
    queue.end(100, 2, due(300));
    // A job takes 100 ms: the third has until 400, the first and the fourth have until 900.
    assert_eq!(queue.poll(399), []);
    assert_eq!(queue.poll(400), [-3]);
    assert_eq!(queue.room(400, 1), [1]);
    let late = Verdict::Refuse(crate::Refusal::new(Reason::Waited));
    assert_eq!(queue.offer(400, 5, due(500)), late, "its deadline could be met by a start before now");
    queue.hold(400, [6], due(501));
    assert_eq!(queue.room(400, 1), [6]);
    // 100 ms and, with a weight of 1 / 64, 2100: a mean of 131.25 and a deviation of 248.04, so that 627.33 must be left.
    queue.end(2500, 1, Tags::default());
    queue.hold(2500, [7], Tags::default());
    assert_eq!(queue.poll(2500), [-4]);
    assert_eq!(queue.room(2872, 0), []);
    assert_eq!(queue.room(2873, 1), [-7]);
    // With 4000 ms too it would be 1270, and is three quarters of the objective.
    queue.end(4400, 6, due(501));
    queue.hold(4400, [8], Tags::default());
    assert_eq!(queue.poll(5400 - 751), []);
    assert_eq!(queue.poll(5400 - 750), [-8]);
}

#[test]
fn customers_take_turns_by_the_work_that_was_done_for_them() {
    let mut queue = Bench::new("fair-queue", &Settings::new());
    queue.hold(0, [1], of(1));
    queue.hold(0, [2], of(2));
    assert_eq!(queue.room(0, 2), [1, 2]);
    // A job of the first takes 25 ms, one of the second 10 ms.
    queue.end(10, 2, of(2));
    queue.end(25, 1, of(1));
    queue.hold(31, 11..=14, of(1));
    queue.hold(32, 21..=25, of(2));
    // Turns: 0, 25, 50 and 75 ms; 0, 10, 20, 30 and 40 ms.
    assert_eq!(queue.room(40, 9), [11, 21, 22, 23, 12, 24, 25, 13, 14]);
}

#[test]
fn who_was_away_has_no_turns_saved_up() {
    let mut queue = Bench::new("fair-queue", &Settings::new());
    for id in 1..=20 {
        queue.hold(id * 10, [id], of(1));
        assert_eq!(queue.room(id * 10, 1), [id as i64]);
        queue.end(id * 10 + 10, id, of(1));
    }
    queue.hold(300, 31..=33, of(1));
    queue.hold(301, 41..=43, of(2));
    // The second begins at the present turn, where the first has had its last job: one job later they are level.
    let order = queue.room(302, 6);
    assert_eq!((order[0], order[5]), (41, 33), "{order:?}");
}

#[test]
fn weights_are_parts_of_the_work_and_the_longest_queue_gives_way() {
    let weights = Setting::Map(settings([("2", 2.0.into())]));
    let set = settings([("by", "class".into()), ("weights", weights), ("max", 6_u32.into())]);
    let mut queue = Bench::new("fair-queue", &set);
    let class = |class| Tags { class: crate::Class(class), ..Tags::default() };
    queue.hold(0, [1], class(1));
    assert_eq!(queue.room(0, 1), [1]);
    queue.end(10, 1, class(1));
    queue.hold(10, 11..=16, class(1));
    // Six of weight 1 stand for six, one of weight 2 for a half.
    queue.hold(11, [21], class(2));
    assert_eq!(queue.poll(11), [-16]);
    queue.hold(12, [22, 23, 24], class(2));
    assert_eq!(queue.poll(12), [-15, -14, -13]);
    // Two of weight 1 stand for two, and five of weight 2 would for two and a half.
    assert_eq!(queue.offer(13, 25, class(2)), Verdict::Refuse(crate::Refusal::new(Reason::QueueFull)));
    // Turns: 0 (a job of the first is done) and 10 ms; 0, 5, 10 and 15 ms.
    assert_eq!(queue.room(14, 6), [11, 21, 22, 12, 23, 24]);
}
