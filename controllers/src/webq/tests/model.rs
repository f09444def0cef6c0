//! Booking against a model that computes everything anew.

use proptest::prelude::*;

use super::{
    super::{Booking, BookingParams, Subunits},
    at,
};

/// A queue as section III-A says it, with the backlog: seconds from the test's start, without an end.
struct Model {
    booked: Vec<u64>,
    /// The capacity from each second on that has passed.
    capacity: u64,
    /// What was left over as `now` began.
    backlog: u64,
    now: usize,
}

impl Model {
    fn advance(&mut self, now: usize) {
        while self.now < now {
            self.backlog = (self.backlog + self.booked[self.now]).saturating_sub(self.capacity);
            self.now += 1;
        }
    }

    /// The backlog of each second from now on.
    fn backlogs(&self) -> Vec<u64> {
        let mut backlogs = vec![self.backlog];
        for second in self.now..self.now + HORIZON {
            backlogs.push((backlogs[second - self.now] + self.booked[second]).saturating_sub(self.capacity));
        }
        backlogs
    }

    fn earliest(&self, horizon: usize) -> Option<usize> {
        let backlogs = self.backlogs();
        (0..horizon).find(|k| backlogs[*k] + self.booked[self.now + k] < self.capacity)
    }
}

#[derive(Debug, Clone)]
enum Step {
    Ask { millionths: u64 },
    Pass { seconds: usize },
    Capacity { millionths: u64 },
}

const HORIZON: usize = 30;

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (1..4_000_000_u64).prop_map(|millionths| Step::Ask { millionths }),
        1 => (1_000_000..30_000_000_u64).prop_map(|millionths| Step::Ask { millionths }),
        2 => (1..4_usize).prop_map(|seconds| Step::Pass { seconds }),
        1 => (20..60_usize).prop_map(|seconds| Step::Pass { seconds }),
        1 => (0..12_000_000_u64).prop_map(|millionths| Step::Capacity { millionths }),
    ]
}

fn subunits(millionths: u64) -> Subunits {
    Subunits::of(millionths as f64 / 1e6)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// The wait is the smallest possible, what is booked is what was asked for, and the longest wait is that of the last
    /// booked second.
    #[test]
    fn every_wait_is_the_smallest_possible(
        capacity in 0..12_000_000_u64, steps in prop::collection::vec(step(), 1..200),
    ) {
        let mut queue = Booking::new(&BookingParams { horizon_s: HORIZON as u32, ..BookingParams::alone() }).expect("good params");
        queue.set_capacity(at(0), Some(subunits(capacity)));
        let mut model = Model { booked: vec![0; 60 * 200 + HORIZON + 1], capacity, backlog: 0, now: 0 };
        let mut now = 0;
        for step in steps {
            match step {
                Step::Pass { seconds } => now += seconds,
                Step::Capacity { millionths } => {
                    model.advance(now);
                    model.capacity = millionths;
                    queue.set_capacity(at(now as u64), Some(subunits(millionths)));
                }
                Step::Ask { millionths } => {
                    model.advance(now);
                    let expected = model.earliest(HORIZON);
                    prop_assert_eq!(queue.next_wait_s(at(now as u64)), expected.map(|k| k as u32));
                    let booked = queue.book(at(now as u64), subunits(millionths)).ok();
                    prop_assert_eq!(booked.map(|booked| booked.wait_s as usize), expected);
                    expected.iter().for_each(|k| model.booked[now + k] += millionths);
                }
            }
            let of_now: Vec<Subunits> = model.booked[now..=now + HORIZON].iter().map(|n| subunits(*n)).collect();
            queue.next_wait_s(at(now as u64));
            let booked = queue.booked();
            prop_assert_eq!(&of_now[..booked.len()], &booked[..]);
            prop_assert!(of_now[booked.len()..].iter().all(|rest| *rest == Subunits::ZERO), "nothing is lost");
            let last = booked.len().saturating_sub(1);
            prop_assert_eq!(queue.longest_wait_s(at(now as u64)) as usize, last);
        }
    }

    /// With a constant capacity no second, and no run of seconds, holds more than its capacity and one request's hardness.
    #[test]
    fn no_run_of_seconds_is_overbooked_by_more_than_one_request(
        capacity in 1_000_000..12_000_000_u64,
        steps in prop::collection::vec((0..3_u64, prop::collection::vec(1..8_000_000_u64, 0..30)), 1..30),
    ) {
        let mut queue = Booking::new(&BookingParams { horizon_s: 300, ..BookingParams::alone() }).expect("good params");
        queue.set_capacity(at(0), Some(subunits(capacity)));
        let (mut now, mut promised, mut hardest) = (0, vec![0_u64; 500], 0);
        for (pass, asked) in steps {
            now += pass;
            for millionths in asked {
                if let Ok(booked) = queue.book(at(now), subunits(millionths)) {
                    promised[(booked.at.0 - at(0).0) as usize] += millionths;
                    hardest = hardest.max(millionths);
                }
            }
        }
        for from in 0..100 {
            let mut sum = 0;
            for (n, work) in (1..).zip(&promised[from..from + 100]) {
                sum += work;
                prop_assert!(sum < n * capacity + hardest.max(1), "{n} seconds from {from}: {sum}");
            }
        }
    }
}
