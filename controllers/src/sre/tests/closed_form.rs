//! The chapter's sentences about whole systems, in a loop with a clock: one sender, one service that can do a hundred
//! requests a second and refuses the rest.

use super::*;

const CAPACITY: u32 = 100;
const WINDOW: Duration = Duration::from_secs(20);

/// What the service did with what reached it, and what did not reach it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Tally {
    accepted: u32,
    refused: u32,
    held_back: u32,
}

struct Loop {
    bench: Bench,
    /// What the service has room for, in requests: up to a tenth of a second's worth.
    room: f64,
}

impl Loop {
    fn new(name: &str, k: Option<f64>) -> Self {
        let window = format!("{}s", WINDOW.as_secs());
        let mut given: Vec<(&str, Setting)> = Vec::new();
        if let Some(k) = k {
            given.extend([("k", k.into()), ("window", Setting::Text(window))]);
        }
        Self { bench: Bench::new(name, given), room: 1.0 }
    }

    /// One request, after the time between two at this rate.
    fn step(&mut self, per_s: f64, seen: &mut Tally) {
        let between = Duration::from_secs_f64(1.0 / per_s);
        self.bench.pass(between);
        self.room = (self.room + between.as_secs_f64() * f64::from(CAPACITY)).min(10.0);
        let Ok(admitted) = self.bench.offer(Tags::default()) else {
            seen.held_back += 1;
            return;
        };
        let outcome = if self.room >= 1.0 { Outcome::Served } else { REFUSED };
        if outcome == Outcome::Served {
            self.room -= 1.0;
            seen.accepted += 1;
        } else {
            seen.refused += 1;
        }
        self.bench.end(admitted, Tags::default(), outcome);
    }

    /// A window at 0.8 times capacity. Begun in overload, without an accept to its name, the throttle would let next to
    /// nothing go for a long time.
    fn calm(&mut self) {
        let seen = self.run(0.8 * f64::from(CAPACITY), WINDOW);
        assert_eq!((seen.refused, seen.held_back), (0, 0));
    }

    fn run(&mut self, per_s: f64, lasts: Duration) -> Tally {
        let mut seen = Tally::default();
        let end = self.bench.now + lasts;
        while self.bench.now < end {
            self.step(per_s, &mut seen);
        }
        seen
    }
}

/// Refusals of the service for each request that it accepts, at five times its capacity, once the window is full.
fn refused_per_accepted(name: &str, k: Option<f64>) -> f64 {
    let mut sender = Loop::new(name, k);
    sender.calm();
    sender.run(5.0 * f64::from(CAPACITY), 2 * WINDOW);
    let seen = sender.run(5.0 * f64::from(CAPACITY), WINDOW);
    f64::from(seen.refused) / f64::from(seen.accepted)
}

#[test]
fn at_five_times_capacity_k_says_how_many_are_refused_for_each_accepted() {
    // In equilibrium requests × (1 − p) = K × accepts are sent: K − 1 refusals for each accept.
    let [two, one_tenth] = [2.0, 1.1].map(|k| refused_per_accepted("throttle", Some(k)));
    assert!((0.8..=1.25).contains(&two), "K = 2: {two}");
    assert!((0.05..=0.2).contains(&one_tenth), "K = 1.1: {one_tenth}");
    // Without: 400 of 500 are refused.
    let none = refused_per_accepted("none", None);
    assert!((3.9..=4.1).contains(&none), "none: {none}");
}

/// Windows after a fall from 5 to 0.8 times capacity until a second passes without anything held back or refused.
fn recovers_after(k: f64) -> f64 {
    let mut sender = Loop::new("throttle", Some(k));
    sender.calm();
    sender.run(5.0 * f64::from(CAPACITY), 2 * WINDOW);
    let fell = sender.bench.now;
    loop {
        let second = sender.run(0.8 * f64::from(CAPACITY), Duration::from_secs(1));
        let windows = sender.bench.now.since(fell).as_secs_f64() / WINDOW.as_secs_f64();
        if second.held_back + second.refused == 0 || windows > 20.0 {
            return windows;
        }
    }
}

#[test]
fn after_overload_accepts_return_within_about_a_window() {
    // The old requests leave with the window; what is accepted of the new ones must by then outweigh them.
    let [two, one_half] = [2.0, 1.5].map(recovers_after);
    assert!(two <= 1.1, "K = 2: {two} windows");
    assert!(one_half <= 2.0, "K = 1.5: {one_half} windows");
    // At K = 1.1 a burst of refusals is remembered far longer than it lasted.
    let one_tenth = recovers_after(1.1);
    assert!(one_tenth > 5.0, "K = 1.1: {one_tenth} windows");
}

/// Attempts that reach the service for each request, if it refuses this share of attempts and each is tried again.
fn attempts_per_request(per_client: bool, refuses: f64) -> f64 {
    let mut bench = Bench::new("retry-budget", [("per_client", per_client.into())]);
    let (requests, mut sent) = (20_000, 0_u32);
    for _ in 0..requests {
        bench.pass(Duration::from_millis(2));
        for number in 0..50 {
            let tags = attempt(number);
            let Ok(admitted) = bench.offer(tags) else { break };
            let refused = bench.draws.uniform() < refuses;
            sent += 1;
            bench.end(admitted, tags, if refused { REFUSED } else { Outcome::Served });
            if !refused {
                break;
            }
        }
    }
    f64::from(sent) / f64::from(requests)
}

#[test]
fn budgets_bound_the_growth() {
    // Three attempts at 90 % refused: 1 + 0.9 + 0.81 = 2.71. With less than a tenth of retries: 1 / 0.9 = 1.11.
    let [without, with] = [false, true].map(|per_client| attempts_per_request(per_client, 0.9));
    assert!((2.66..=2.76).contains(&without), "{without}");
    assert!((1.10..=1.12).contains(&with), "{with}");
}
