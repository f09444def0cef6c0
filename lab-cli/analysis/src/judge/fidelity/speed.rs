//! Speed of the machine of a live run, second by second, beside the one that a plant was measured on.
//!
//! What a request costs is learnt from the same arm in virtual time, where CPU time is exact: least squares over its seconds,
//! with what each stage completed and what was refused as the unknowns' weights. The same work in the live run should have
//! taken that CPU time; it took another: their ratio is the speed. Queues, waits and decisions have no part in it.

use std::{collections::BTreeSet, num::NonZeroUsize};

use crate::live::TimelineSecond;

/// A stretch with less of a core in use says nothing of the machine.
const LEAST_CPU: f64 = 0.1;
/// Speeds beyond these are slips of the method (a stretch that completed next to nothing), and cut.
const LIMITS: (f64, f64) = (0.3, 3.0);

/// A stretch of a live run, and the machine's speed in it: 1 is the plant's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ServiceSpeed {
    /// Second of its start, since the arm's.
    pub from: u32,
    /// Length in seconds.
    pub lasts: u32,
    /// Speed.
    pub speed: f64,
}

/// The speeds of one arm, from its seconds live and in virtual time, so many seconds together: CPU time is known in ticks of 10 ms,
/// and work that is done in one second may be counted as completed in the next.
#[must_use]
pub fn speeds(live: &[TimelineSecond], simulated: &[TimelineSecond], stretch: NonZeroUsize) -> Vec<ServiceSpeed> {
    let stages: BTreeSet<&str> = simulated
        .iter()
        .filter_map(|second| second.target.as_ref())
        .flat_map(|t| &t.stages)
        .map(|s| &*s.name)
        .collect();
    let rows: Vec<_> = simulated.iter().filter_map(|second| row(second, &stages)).collect();
    let Some(costs) = least_squares(&rows) else { return Vec::new() };
    let speed_of = |seconds: &[TimelineSecond]| {
        let (mut wanted, mut taken) = (0.0, 0.0);
        for (work, cpu) in seconds.iter().filter_map(|second| row(second, &stages)) {
            wanted += work.iter().zip(&costs).map(|(amount, cost)| amount * cost).sum::<f64>();
            taken += cpu;
        }
        let from = seconds.first().map_or(0, |second| second.second);
        let speed = if taken < LEAST_CPU * seconds.len() as f64 { 1.0 } else { wanted / taken };
        ServiceSpeed { from, lasts: seconds.len() as u32, speed: speed.clamp(LIMITS.0, LIMITS.1) }
    };
    live.chunks(stretch.get()).map(speed_of).collect()
}

/// Completions by stage and refusals in all, and the CPU time that they took.
fn row(second: &TimelineSecond, stages: &BTreeSet<&str>) -> Option<(Vec<f64>, f64)> {
    let target = second.target.as_ref()?;
    let completed = |name: &&str| {
        target.stages.iter().filter(|stage| stage.name == **name).map(|stage| stage.completed as f64).sum::<f64>()
    };
    let mut work: Vec<f64> = stages.iter().map(completed).collect();
    work.push(target.stages.iter().map(|stage| stage.refused as f64).sum());
    Some((work, target.cpu))
}

/// The costs that explain these rows best: normal equations, solved with pivots. A trace of ridge keeps columns that are
/// always 0, or always alike, from having no answer.
fn least_squares(rows: &[(Vec<f64>, f64)]) -> Option<Vec<f64>> {
    const RIDGE: f64 = 1e-6;
    let n = rows.first()?.0.len();
    let mut system: Vec<Vec<f64>> = (0..n)
        .map(|i| {
            let mut line: Vec<f64> = (0..n).map(|j| rows.iter().map(|(work, _)| work[i] * work[j]).sum()).collect();
            line[i] += RIDGE;
            line.push(rows.iter().map(|(work, cpu)| work[i] * cpu).sum());
            line
        })
        .collect();
    for i in 0..n {
        let pivot = (i..n).max_by(|&a, &b| system[a][i].abs().total_cmp(&system[b][i].abs()))?;
        system.swap(i, pivot);
        let line = system[i].clone();
        for (_, other) in system.iter_mut().enumerate().filter(|(at, _)| *at != i) {
            let factor = other[i] / line[i];
            if !factor.is_finite() {
                return None;
            }
            for (cell, own) in other.iter_mut().zip(&line) {
                *cell -= factor * own;
            }
        }
    }
    Some((0..n).map(|i| system[i][n] / system[i][i]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::{StageSecond, TargetSecond};

    const FIVE: NonZeroUsize = NonZeroUsize::new(5).expect("not 0");

    /// Seconds in which two stages complete something, at 2 ms and 8 ms a request, and refuse at 0.1 ms.
    fn seconds(slower: f64) -> Vec<TimelineSecond> {
        let second = |n: u32| {
            let (quick, slow, refused) =
                (u64::from(20 + n * 7 % 13), u64::from(30 + n * 5 % 17), u64::from(n * 3 % 11));
            let stage = |name: &str, completed, refused| StageSecond {
                name: name.to_owned(),
                completed,
                refused,
                ..StageSecond::default()
            };
            let cpu = (quick as f64 * 2.0 + slow as f64 * 8.0 + refused as f64 * 0.1) / 1e3 * slower;
            let stages = vec![stage("quick", quick, refused), stage("slow", slow, 0)];
            let target = Some(TargetSecond { cpu, stages, ..TargetSecond::default() });
            TimelineSecond { second: n, target, ..TimelineSecond::default() }
        };
        (0..40).map(second).collect()
    }

    #[test]
    fn a_machine_that_takes_a_quarter_more_time_has_four_fifths_of_the_speed() {
        let found = speeds(&seconds(1.25), &seconds(1.0), FIVE);
        assert_eq!(found.len(), 8);
        for (n, stretch) in (0..).zip(&found) {
            assert_eq!((stretch.from, stretch.lasts), (n * 5, 5));
            assert!((stretch.speed - 0.8).abs() < 1e-6, "{stretch:?}");
        }
    }

    #[test]
    fn seconds_that_say_nothing_have_the_plants_own_speed() {
        let mut idle = seconds(1.0);
        for second in &mut idle {
            second.target.as_mut().expect("made so").cpu = 0.01;
        }
        assert!(speeds(&idle, &seconds(1.0), FIVE).iter().all(|stretch| (stretch.speed - 1.0).abs() < 1e-12));
        assert_eq!(speeds(&seconds(1.0), &[], FIVE), []);
    }
}
