//! Calibration of the rules of this module: how often they find something in queues that have nothing, and a warm-up where
//! there is one. M/M/1 queues are simulated request by request and told second by second, as a timeline is.

use controllers::{Random, Seeded, seed_for};

use super::*;

/// An M/M/1 queue under one load.
#[derive(Debug, Clone, Copy)]
struct Queue {
    load: f64,
    served_per_s: f64,
    seconds: usize,
    /// It begins with as many requests as a stationary one has; or empty.
    stationary: bool,
    /// What service times are multiplied with, by the share of the phase that is over.
    slow: fn(f64) -> f64,
}

/// Medians of fewer are not shown.
const FEWEST_TIMES: usize = 6;

impl Queue {
    fn phase(&self, random: &mut Seeded) -> Vec<TimelineSecond> {
        let service = 1.0 / self.served_per_s;
        let mut times: Vec<Vec<f64>> = vec![Vec::new(); self.seconds];
        let mut planned = vec![0_u64; self.seconds];
        let (mut in_flight, mut free) = (0_u64, 0.0_f64);
        while self.stationary && random.uniform() < self.load {
            in_flight += 1;
            free += random.exponential(service);
            if let Some(times) = times.get_mut(free as usize) {
                times.push(free);
            }
        }
        let mut now = 0.0;
        loop {
            now += random.exponential(service / self.load);
            let Some(planned) = planned.get_mut(now as usize) else { break };
            *planned += 1;
            free = free.max(now) + random.exponential(service) * (self.slow)(now / self.seconds as f64);
            if let Some(times) = times.get_mut(free as usize) {
                times.push(free - now);
            }
        }
        let seconds = times.iter_mut().zip(planned).enumerate().map(|(second, (times, planned))| {
            let goodput = times.len();
            in_flight = in_flight + planned - goodput as u64;
            let p50_ms = (goodput >= FEWEST_TIMES)
                .then(|| *times.select_nth_unstable_by(goodput / 2, f64::total_cmp).1 * 1000.0);
            let goodput = goodput as u64;
            TimelineSecond { second: second as u32, planned, goodput, p50_ms, in_flight, ..TimelineSecond::default() }
        });
        seconds.collect()
    }

    /// Blocks with this seed.
    fn blocks(&self, count: usize, seed: u64) -> Vec<Steadiness> {
        let mut random = Seeded::new(seed_for(seed, &format!("{} {} {}", self.load, self.served_per_s, self.seconds)));
        let one = |_| {
            let phase = self.phase(&mut random);
            judge(&phase.iter().collect::<Vec<_>>()).expect("long enough")
        };
        (0..count).map(one).collect()
    }
}

/// What is found in an arm of so many blocks, as shares of the arms.
#[derive(Debug, Default)]
struct Found {
    warm_up: f64,
    late: f64,
    either: f64,
}

/// Arms are drawn from these blocks: their blocks are independent.
fn found(blocks: &[Steadiness], of_each: usize, arms: usize) -> Found {
    let mut random = Seeded::new(seed_for(of_each as u64, "arms"));
    let mut found = Found::default();
    for arm in 0..arms {
        let drawn: Vec<Option<Steadiness>> = (0..of_each)
            .map(|_| if of_each == 1 { arm } else { random.below(blocks.len() as u64) as usize })
            .map(|block| Some(blocks[block]).filter(|block| block.growth_per_s <= 0.0))
            .collect();
        let [warm_up, late] = [beginning, end].map(|read| in_most_blocks(&drawn, read).is_some());
        let share = 1.0 / arms as f64;
        found.warm_up += share * f64::from(u8::from(warm_up));
        found.late += share * f64::from(u8::from(late));
        found.either += share * f64::from(u8::from(warm_up || late));
    }
    found
}

fn share(blocks: &[Steadiness], of: fn(&Steadiness) -> bool) -> f64 {
    blocks.iter().filter(|block| of(block)).count() as f64 / blocks.len() as f64
}

fn steady(_: f64) -> f64 {
    1.0
}

/// How many times as slow it is, over the phase from 0 to 1.
type Slowness = fn(f64) -> f64;

/// Real warm-ups.
const WARM_UPS: [(&str, Slowness); 4] = [
    ("twice as slow for a tenth", |over| if over < 0.1 { 2.0 } else { 1.0 }),
    ("twice as slow for a third", |over| if over < 1.0 / 3.0 { 2.0 } else { 1.0 }),
    ("twice as slow, less and less for a third", |over| 1.0 + (1.0 - 3.0 * over).max(0.0)),
    ("1.5 times as slow for a third", |over| if over < 1.0 / 3.0 { 1.5 } else { 1.0 }),
];

/// A small part of the table, with the margin of so few.
#[test]
fn stationary_queues_are_left_alone_and_warm_ups_seen() {
    let queue = |load, served_per_s, seconds, slow| Queue { load, served_per_s, seconds, stationary: true, slow };
    for (load, served_per_s, seconds) in [(0.5, 10.0, 120), (0.8, 30.0, 120), (0.9, 100.0, 60), (0.95, 10.0, 120)] {
        let blocks = queue(load, served_per_s, seconds, steady).blocks(300, 1);
        for of_each in [1, 3] {
            let found = found(&blocks, of_each, 300);
            assert!(found.either <= 0.01, "{of_each} blocks of {seconds} s at {load}: {found:?}");
        }
        let unstable = share(&blocks, |block| block.growth_per_s > 0.0);
        assert!(unstable <= 0.01, "{seconds} s at {load}: {unstable}");
    }
    let overload = Queue { stationary: false, ..queue(1.2, 100.0, 60, steady) }.blocks(40, 3);
    assert!(share(&overload, |block| block.growth_per_s > 0.0) >= 0.95);
    for (name, slow) in WARM_UPS {
        let blocks = queue(0.6, 100.0, 120, slow).blocks(40, 2);
        let found = found(&blocks, 3, 40);
        assert!(found.warm_up >= 0.9, "{name}: {found:?}");
    }
}

#[test]
#[ignore = "half an hour of one processor; docs/validity.md: cargo test --release -p lab-analysis --lib calibration -- --ignored --nocapture"]
fn calibration() {
    let percent = |share: f64| format!("{:.2} %", share * 100.0);
    for stationary in [true, false] {
        println!("\nstationary: {stationary}\n");
        println!(
            "| served | phase | load | judged | one block: beginning | end | either | 3 blocks | 5 | 10 | UNSTABLE |"
        );
        println!("|---|---|---|---|---|---|---|---|---|---|---|");
        for served_per_s in [10.0, 100.0, 1000.0] {
            for seconds in [60, 120, 300] {
                for load in [0.5, 0.7, 0.8, 0.9, 0.95] {
                    let blocks = Queue { load, served_per_s, seconds, stationary, slow: steady }.blocks(5000, 40);
                    let [one, three, five, ten] = [1, 3, 5, 10].map(|of_each| found(&blocks, of_each, 5000));
                    let figures = [
                        share(&blocks, |block| block.judged),
                        one.warm_up,
                        one.late,
                        one.either,
                        three.either,
                        five.either,
                        ten.either,
                        share(&blocks, |block| block.growth_per_s > 0.0),
                    ];
                    let figures = figures.map(percent).join(" | ");
                    println!("| {served_per_s}/s | {seconds} s | {load} | {figures} |");
                }
            }
        }
    }
    println!("\n| warm-up | served | phase | load | judged | one block | 3 blocks | 5 | 10 | UNSTABLE |");
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for (name, slow) in WARM_UPS {
        for (served_per_s, seconds) in [(100.0, 60), (100.0, 120), (100.0, 300), (1000.0, 60)] {
            for load in [0.3, 0.5, 0.6, 0.7, 0.8] {
                let blocks = Queue { load, served_per_s, seconds, stationary: true, slow }.blocks(500, 41);
                let shares = [1, 3, 5, 10].map(|of_each| found(&blocks, of_each, 500).warm_up);
                let unstable = share(&blocks, |block| block.growth_per_s > 0.0);
                let judged = share(&blocks, |block| block.judged);
                let figures = [&[judged], &shares[..], &[unstable]].concat().into_iter().map(percent);
                let figures = figures.collect::<Vec<_>>().join(" | ");
                println!("| {name} | {served_per_s}/s | {seconds} s | {load} | {figures} |");
            }
        }
    }
}
