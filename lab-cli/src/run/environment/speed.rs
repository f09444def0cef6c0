//! Speed of the processors of generator and service: a fixed piece of work on each of them, timed once a second.
//!
//! On a machine that others share, above all on a virtual one, the same work may take a quarter more time a minute later, and
//! no counter of the kernel says so. A policy that ran meanwhile would look worse. The work takes 0.1 to 0.2 ms on
//! either processor, a five-thousandth of it at the most; what is timed is CPU time, so that waiting for the processor is no part.

use std::{hint::black_box, time::Duration};

use analysis::live::CoreSpeeds;
use nix::time::{ClockId, clock_gettime};

use super::cpus::pin_this_thread;
use crate::run::{Cpus, sampler::Sampler};

const PERIOD: Duration = Duration::from_secs(1);
/// Steps that do not wait for each other: a processor that shares its units with a neighbour shows it.
const LANES: usize = 4;
/// 32 KiB, as what a service has at hand.
const TABLE: usize = 4096;
/// Rounds of [`LANES`] steps each. Without optimization a step takes twenty times as long.
const ROUNDS: u32 = if cfg!(debug_assertions) { 3_000 } else { 60_000 };

/// Begins to measure. Where both processors are one, that is the generator's.
pub fn begin(cpus: &Cpus) -> std::io::Result<Sampler<CoreSpeeds>> {
    let (generator, service) = (cpus.generator, cpus.target.filter(|_| !cpus.shared()));
    let table = table();
    Sampler::begin("speed", PERIOD, move || {
        Some(CoreSpeeds { generator: speed_of(generator, &table), service: speed_of(service, &table) })
    })
}

/// Millions of steps in a second of CPU time on this processor; `None` where this thread may not go there.
fn speed_of(cpu: Option<usize>, table: &[u64; TABLE]) -> Option<f64> {
    if !pin_this_thread(cpu?) {
        return None;
    }
    // What is measured is the processor, and not whether others have used its cache.
    black_box(table.iter().fold(0, |sum: u64, value| sum.wrapping_add(*value)));
    let before = cpu_time()?;
    black_box(work(black_box(table), ROUNDS));
    let took = cpu_time()?.saturating_sub(before).as_secs_f64();
    (took > 0.0).then(|| f64::from(ROUNDS) * LANES as f64 / took / 1e6)
}

/// CPU time of this thread.
fn cpu_time() -> Option<Duration> {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).ok().map(Duration::from)
}

fn table() -> [u64; TABLE] {
    std::array::from_fn(|n| (n as u64 + 1).wrapping_mul(0xBF58_476D_1CE4_E5B9))
}

/// The piece of work. Speeds of two runs compare only if it is the same in both.
fn work(table: &[u64; TABLE], rounds: u32) -> u64 {
    let mut lanes: [u64; LANES] = [1, 2, 3, 4];
    for _ in 0..rounds {
        for lane in &mut lanes {
            *lane = lane.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ table[(*lane >> 52) as usize];
        }
    }
    lanes.into_iter().fold(0, |all, lane| all ^ lane)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_work_is_always_the_same() {
        assert_eq!(work(&table(), 1000), 0x3CA5_3554_058E_911C);
    }

    #[test]
    fn a_processor_has_a_speed_and_one_that_is_not_there_has_none() {
        let found = speed_of(Cpus::choose().generator, &table()).expect("a processor of ours");
        assert!((0.1..100_000.0).contains(&found), "{found} million steps a second");
        assert_eq!((speed_of(None, &table()), speed_of(Some(usize::MAX), &table())), (None, None));
    }

    #[test]
    fn the_newest_reading_is_taken_once() {
        let cpus = Cpus::choose();
        let meter = begin(&cpus).expect("a thread");
        let first = (0..500).find_map(|_| {
            std::thread::sleep(Duration::from_millis(10));
            meter.take()
        });
        let first = first.expect("a reading within five seconds");
        assert_eq!((first.generator.is_some(), first.service.is_some()), (true, !cpus.shared()));
        assert_eq!(meter.take(), None, "the next one comes a second later");
    }
}
