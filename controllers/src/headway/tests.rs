//! The policy in a seat by hand, and before a small service.

use std::time::Duration;

use crate::{
    Criticality, Effect, JobId, Next, Offer, Outcome, Reason, Seat, Seen, Settings, SiteId, Tags, Timestamp, Timing,
    Verdict,
    testing::{
        plant::{Phase, Plant, Second, Service},
        policy,
    },
};

const OBJECTIVE: Duration = Duration::from_millis(200);

struct Door {
    seat: Seat,
    grants: Vec<(u64, Timestamp, crate::Grant)>,
}

fn at(ms: u64) -> Timestamp {
    Timestamp::from_millis(ms)
}

impl Door {
    fn new() -> Self {
        let policy = policy("headway", &Settings::new(), OBJECTIVE);
        Self { seat: Seat::new(SiteId(1), policy, 1, Box::new(())), grants: Vec::new() }
    }

    fn offer(&mut self, ms: u64, id: u64, tags: Tags) -> Verdict {
        let verdict = self.seat.offer(at(ms), &Offer { id: JobId(id), tags, entered: at(ms), note: None });
        if let Verdict::Admit(grant) = verdict {
            self.grants.push((id, at(ms), grant));
        }
        verdict
    }

    fn end(&mut self, ms: u64, id: u64) -> Vec<(u64, Option<Reason>)> {
        let at_in = self.grants.iter().position(|(of, ..)| *of == id).unwrap();
        let (_, entered, grant) = self.grants.remove(at_in);
        let timing = Timing { entered, offered: entered, started: entered, ended: at(ms) };
        let (tags, outcome) = (Tags::default(), Outcome::Served);
        let ended = Seen::Ended { id: JobId(id), grant, tags, outcome, timing, cost: None, note: None };
        self.seat.observe(at(ms), &ended);
        self.poll(ms)
    }

    /// Those that go in, and those that are refused with their reason.
    fn poll(&mut self, ms: u64) -> Vec<(u64, Option<Reason>)> {
        let mut done = Vec::new();
        while let Some(effect) = self.seat.poll(at(ms)).effect() {
            match effect {
                Effect::Release(JobId(id), grant) => {
                    self.grants.push((id, at(ms), grant));
                    done.push((id, None));
                }
                Effect::Refuse(JobId(id), refusal) => done.push((id, Some(refusal.reason))),
                other => panic!("{other:?}"),
            }
        }
        done
    }
}

/// A door with the first four jobs inside.
fn full() -> Door {
    let mut door = Door::new();
    for id in 1..=4 {
        assert!(matches!(door.offer(0, id, Tags::default()), Verdict::Admit(_)));
    }
    door
}

#[test]
fn others_wait_for_the_first_four_and_go_in_by_importance_once_somebody_is_turned_away() {
    let of = |criticality| Tags { criticality, ..Tags::default() };
    let levels = [Criticality::Sheddable, Criticality::CriticalPlus, Criticality::Critical];
    let mut door = full();
    for (id, level) in (5..).zip(levels) {
        assert_eq!(door.offer(id, id, of(level)), Verdict::Hold);
    }
    let in_turn = [1, 2, 3].map(|id| door.end(19 + id, id));
    assert_eq!(in_turn, [[(5, None)], [(6, None)], [(7, None)]], "all can be served: those that are due first");
    for (id, level) in (8..).zip(levels) {
        assert_eq!(door.offer(20 + id, id, of(level)), Verdict::Hold);
    }
    let due = Tags { deadline: Some(at(30)), ..of(Criticality::CriticalPlus) };
    assert!(matches!(door.offer(30, 11, due), Verdict::Refuse(_)));
    let by_level = [4, 5, 6].map(|id| door.end(30 + id, id));
    assert_eq!(by_level, [[(9, None)], [(10, None)], [(8, None)]]);
}

#[test]
fn who_would_be_late_is_refused_when_that_is_known() {
    let mut door = full();
    assert_eq!(door.offer(10, 5, Tags::default()), Verdict::Hold);
    let soon = Tags { deadline: Some(at(60)), ..Tags::default() };
    assert_eq!(door.offer(10, 6, soon), Verdict::Hold);
    assert_eq!(door.offer(70, 7, soon), Verdict::Refuse(crate::Refusal::new(Reason::Concurrency)));
    assert_eq!(door.poll(70), [(6, Some(Reason::Waited))], "a host that is late with its wake-up");
    assert_eq!(door.seat.poll(at(70)), Next::WakeAt(at(210)));
    assert_eq!(door.poll(210), [(5, Some(Reason::Waited))]);
}

#[test]
fn who_leaves_the_door_is_forgotten() {
    let mut door = full();
    for id in [5, 6] {
        assert_eq!(door.offer(0, id, Tags::default()), Verdict::Hold);
    }
    door.seat.observe(at(5), &Seen::Left(JobId(5)));
    assert_eq!(door.end(20, 1), [(6, None)]);
    assert_eq!(door.end(21, 2), []);
    assert_eq!(door.seat.poll(at(22)), Next::Idle);
}

/// Four servers of 20 ms each in the mean: 200 a second.
fn plant(phases: &[(u32, u64)], seed: u64) -> Vec<Second> {
    let phase = |&(open_per_s, secs)| Phase {
        users: 0,
        lasts: Duration::from_secs(secs),
        arrive_over: Duration::ZERO,
        open_per_s,
    };
    let plant = Plant {
        workers: 4,
        service: Service::Exponential(Duration::from_millis(20)),
        think: Duration::ZERO,
        retreat: Duration::ZERO,
        classes: 1,
        phases: phases.iter().map(phase).collect(),
        seed,
    };
    plant.run(policy("headway", &Settings::new(), OBJECTIVE), Vec::new()).seconds
}

fn served_per_s(seconds: &[Second]) -> f64 {
    f64::from(seconds.iter().map(|second| second.served).sum::<u32>()) / seconds.len() as f64
}

#[test]
fn cold_into_twice_the_capacity_it_serves_the_capacity_in_time() {
    for seed in 1..=3 {
        let seconds = plant(&[(400, 60)], seed);
        let served = served_per_s(&seconds);
        assert!(served > 180.0, "{served} of 200/s");
        let slowest = seconds[5..].iter().map(|second| second.p90_ms).max().unwrap();
        assert!(slowest <= 200, "{slowest} ms");
    }
}

#[test]
fn calm_costs_nothing_before_and_after_five_minutes_of_twice_the_capacity() {
    let seconds = plant(&[(120, 20), (400, 300), (120, 20)], 4);
    for calm in [&seconds[..20], &seconds[321..]] {
        let refused: u32 = calm.iter().map(|second| second.refused).sum();
        assert!(refused < 10, "{refused} of 2400");
    }
    for minute in seconds[20..320].chunks(60) {
        assert!(served_per_s(minute) > 190.0, "{} of 200/s", served_per_s(minute));
        assert!(minute.iter().all(|second| second.p90_ms <= 200));
    }
}
