//! Speed of a processor over an arm, from a reading a second.

use crate::{
    judge::steady::{median, quartiles},
    live::{CoreSpeeds, TimelineSecond},
    summary::{Notches, Speed},
};

/// Readings that a half has at least: a single one is off by some percent.
const LEAST: usize = 5;

/// Medians of all readings and of both halves. `None` with too few.
pub fn of(seconds: &[TimelineSecond], read: fn(&CoreSpeeds) -> Option<f64>) -> Option<Speed> {
    let all: Vec<f64> = seconds.iter().filter_map(|second| read(second.speed.as_ref()?)).collect();
    let (first, second) = all.split_at(all.len() / 2);
    (first.len() >= LEAST).then(|| Speed {
        median: median(&all),
        first_half: median(first),
        second_half: median(second),
        notches: Notches { median: notch(&all), first_half: notch(first), second_half: notch(second) },
    })
}

fn notch(values: &[f64]) -> f64 {
    let [lower, upper] = quartiles(values);
    1.57 * (upper - lower) / (values.len().max(1) as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(speeds: &[f64]) -> Vec<TimelineSecond> {
        let second = |speed: &f64| TimelineSecond {
            speed: Some(CoreSpeeds { generator: Some(*speed), service: None }),
            ..TimelineSecond::default()
        };
        speeds.iter().map(second).collect()
    }

    #[test]
    fn medians_of_the_whole_and_of_its_halves() {
        let mut speeds = [100.0, 100.0, 5.0, 100.0, 100.0, 80.0, 80.0, 80.0, 900.0, 80.0].to_vec();
        let found = of(&seconds(&speeds), |cores| cores.generator).expect("enough");
        assert_eq!((found.first_half, found.second_half), (100.0, 80.0), "one that is off decides nothing");
        assert!((80.0..=100.0).contains(&found.median));
        // The whole one by hand: quartiles 80 and 100, of ten readings.
        assert_eq!((found.notches.first_half, found.notches.second_half), (0.0, 0.0));
        assert!((found.notches.median - 1.57 * 20.0 / 10.0_f64.sqrt()).abs() < 1e-9, "{found:?}");
        assert_eq!(of(&seconds(&speeds), |cores| cores.service), None);
        speeds.pop();
        assert_eq!(of(&seconds(&speeds), |cores| cores.generator), None, "four in one half are too few");
    }
}
