//! The costs of a plant's parts, from the costs of loads, and the law through measured rates. Sums alone; times in milliseconds.

use std::collections::BTreeMap;

use spec::plant::TypeCost;

use super::load::{Loaded, TypeTimes};

/// Request types that change mail: their time on the writer is the writer's.
const CHANGES: [&str; 4] = ["delete", "refile", "create folder", "delete folder"];

/// A figure that was measured several times.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Series(Vec<f64>);

impl Series {
    /// Adds one.
    pub fn add(&mut self, value: f64) {
        self.0.push(value);
        self.0.sort_by(f64::total_cmp);
    }

    /// The middle one, or the mean of the two in the middle; 0 if there is none.
    pub fn median(&self) -> f64 {
        let n = self.0.len();
        match n {
            0 => 0.0,
            _ if n % 2 == 1 => self.0[n / 2],
            _ => (self.0[n / 2 - 1] + self.0[n / 2]) / 2.0,
        }
    }

    /// Lowest and highest.
    pub fn range(&self) -> (f64, f64) {
        (self.0.first().copied().unwrap_or(0.0), self.0.last().copied().unwrap_or(0.0))
    }
}

/// Least squares: how much y grows with x. `None` unless there are two different x.
pub fn slope(points: &[(f64, f64)]) -> Option<f64> {
    let n = points.len() as f64;
    let (mean_x, mean_y) = (points.iter().map(|p| p.0).sum::<f64>() / n, points.iter().map(|p| p.1).sum::<f64>() / n);
    let width: f64 = points.iter().map(|p| (p.0 - mean_x).powi(2)).sum();
    let both: f64 = points.iter().map(|p| (p.0 - mean_x) * (p.1 - mean_y)).sum();
    (width > 0.0).then(|| both / width)
}

/// The value at `x`: straight lines lie between the points, and it stays the same beyond them.
pub fn interpolated(points: &[(f64, f64)], x: f64) -> f64 {
    match points.iter().position(|point| point.0 >= x) {
        None => points.last().map_or(0.0, |point| point.1),
        Some(0) => points[0].1,
        Some(next) => {
            let ((x0, y0), (x1, y1)) = (points[next - 1], points[next]);
            y0 + (y1 - y0) * (x - x0) / (x1 - x0).max(1e-9)
        }
    }
}

/// Slowdown of work with one connection in use, two, … up to all of them, from the mean number in use and the cost of
/// an operation at that; the costs are taken in proportion to the last one, and straight lines lie between.
pub fn slowdown(points: &[(f64, f64)], connections: u32) -> Vec<f64> {
    let mut points = points.to_vec();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let Some(&(_, crowded)) = points.last() else { return Vec::new() };
    (1..=connections).map(|in_use| interpolated(&points, f64::from(in_use)) / crowded).collect()
}

/// Differences up to this share are none.
const SAME: f64 = 0.01;

/// The largest rise from one factor to the next: how many connections are in use before it, and both factors. `None` if they fall, or
/// stay the same.
pub fn rise(factors: &[f64]) -> Option<(usize, [f64; 2])> {
    let steps = factors.windows(2).enumerate().map(|(at, pair)| (at + 1, [pair[0], pair[1]]));
    let rises = steps.filter(|(_, [before, after])| *after > before * (1.0 + SAME));
    rises.max_by(|(_, a), (_, b)| (a[1] / a[0]).total_cmp(&(b[1] / b[0])))
}

/// Costs by request type when many are under way: its share of the service times that one user saw, of the CPU time
/// that many users' requests took. Of that, reading the request is known; the writer's part is that of its thread,
/// shared by the types that change mail; the readers' part goes to all types in proportion to what is left of them.
pub fn types(alone: &Loaded, crowded: &Loaded, read_ms: f64) -> BTreeMap<String, TypeCost> {
    let counted = |kind: &str| crowded.by_type.get(kind).map_or(0.0, |times| times.count);
    let of_all = |cost: &dyn Fn(&str, &TypeTimes) -> f64| {
        alone.by_type.iter().map(|(kind, times)| counted(kind) * cost(kind, times)).sum::<f64>()
    };
    // CPU time for each millisecond that one user waits.
    let share = crowded.cpu_s * 1e3 / of_all(&|_, times| times.mean_ms).max(1e-9);
    let threads = crowded.threads.unwrap_or_default();
    let changes = |kind: &str| CHANGES.contains(&kind);
    let total = |times: &TypeTimes| times.mean_ms * share;
    let of_changes = of_all(&|kind, times| if changes(kind) { total(times) } else { 0.0 });
    // Changes are rare: a writer that was busy with something else must not make them more than they are.
    let writing = (threads.writer_s * 1e3 / of_changes.max(1e-9)).min(0.9);
    let written = |kind: &str, times: &TypeTimes| if changes(kind) { total(times) * writing } else { 0.0 };
    let left = of_all(&|kind, times| total(times) - written(kind, times));
    let reading = (threads.readers_s * 1e3 / left.max(1e-9)).min(0.9);
    let costs = alone.by_type.iter().map(|(kind, times)| {
        let write_ms = written(kind, times);
        let on_readers = (total(times) - write_ms) * reading;
        let outside = (total(times) - write_ms - on_readers - read_ms).max(0.0);
        let cost = TypeCost { cpu_ms: outside, read_ms: on_readers, write_ms, spread: times.spread };
        (kind.clone(), cost)
    });
    costs.collect()
}

/// The rates that rise to a peak and fall after it, of all such the nearest in least squares. As long as the input.
pub fn unimodal(rates: &[f64]) -> Vec<f64> {
    let error = |fitted: &[f64]| fitted.iter().zip(rates).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
    let split = |peak: usize| {
        let (before, after) = rates.split_at(peak);
        let mut after = rising(&after.iter().rev().copied().collect::<Vec<_>>());
        after.reverse();
        [rising(before), after].concat()
    };
    (0..=rates.len()).map(split).min_by(|a, b| error(a).total_cmp(&error(b))).unwrap_or_default()
}

/// The nearest rates that never fall: neighbours that do become their mean (pool adjacent violators).
fn rising(rates: &[f64]) -> Vec<f64> {
    let mut pools: Vec<(f64, usize)> = Vec::new();
    for &rate in rates {
        let mut pool = (rate, 1);
        while let Some(&(mean, count)) = pools.last()
            && mean > pool.0
        {
            pools.pop();
            let both = count + pool.1;
            pool = ((mean * count as f64 + pool.0 * pool.1 as f64) / both as f64, both);
        }
        pools.push(pool);
    }
    pools.into_iter().flat_map(|(mean, count)| std::iter::repeat_n(mean, count)).collect()
}

#[cfg(test)]
mod tests {
    use super::{super::load::ByThread, *};

    #[test]
    fn the_middle_of_a_series() {
        let mut series = Series::default();
        assert_eq!(series.median(), 0.0);
        for value in [3.0, 1.0, 2.0] {
            series.add(value);
        }
        assert_eq!((series.median(), series.range()), (2.0, (1.0, 3.0)));
        series.add(5.0);
        assert_eq!(series.median(), 2.5);
    }

    #[test]
    fn a_line_has_its_slope() {
        assert_eq!(slope(&[(0.0, 1.0), (10.0, 3.0), (20.0, 5.0)]), Some(0.2));
        assert_eq!(slope(&[(5.0, 1.0), (5.0, 3.0)]), None);
    }

    #[test]
    fn slowdown_is_read_off_between_the_points() {
        // 130, 120 and 100 us at 1, 2 and 4 connections: at 3 the line says 110.
        let factors = slowdown(&[(4.0, 100.0), (1.0, 130.0), (2.0, 120.0)], 4);
        let wanted = [1.3, 1.2, 1.1, 1.0];
        assert!(factors.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-9), "{factors:?}");
        assert_eq!(factors.len(), 4);
    }

    #[test]
    fn a_slowdown_that_rises_is_noise() {
        assert_eq!(rise(&[1.3, 1.2, 1.1, 1.0]), None);
        assert_eq!(rise(&[1.3, 1.0, 1.009, 1.0]), None, "within a hundredth it is the same");
        assert_eq!(rise(&[1.1, 1.15, 1.1, 1.2, 1.0]), Some((3, [1.1, 1.2])), "the largest of two");
        assert_eq!(rise(&[]), None);
    }

    #[test]
    fn cpu_time_goes_to_types_by_their_service_times() {
        let times = |count, mean_ms| TypeTimes { count, mean_ms, spread: 0.3 };
        let by_type = [("login".to_owned(), times(10.0, 2.0)), ("delete".to_owned(), times(10.0, 1.0))];
        let alone = Loaded { by_type: by_type.into(), ..Loaded::default() };
        // Three times as much CPU time as the 30 ms that one user waited for, since many users asked three times as often; 15 ms
        // of it are the writer's, which only deletes use, and 30 ms the readers'.
        let by_type = [("login".to_owned(), times(30.0, 9.0)), ("delete".to_owned(), times(30.0, 9.0))];
        let threads = Some(ByThread { writer_s: 0.015, readers_s: 0.030 });
        let crowded = Loaded { by_type: by_type.into(), cpu_s: 0.09, threads, ..Loaded::default() };
        let costs = types(&alone, &crowded, 0.1);
        let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
        // Deletes: 30 ms in all, half the writer's. Left: 60 + 15 ms, of which the readers have 30: 40 %.
        let delete = costs["delete"];
        assert!(near(delete.write_ms, 0.5) && near(delete.read_ms, 0.2) && near(delete.cpu_ms, 0.2), "{delete:?}");
        let login = costs["login"];
        assert!(near(login.write_ms, 0.0) && near(login.read_ms, 0.8) && near(login.cpu_ms, 1.1), "{login:?}");
    }
}

#[cfg(test)]
mod law_tests {
    use super::*;

    #[test]
    fn what_rises_and_falls_stays_as_it_is() {
        for rates in [&[25.0, 50.0, 100.0, 100.0][..], &[100.0, 90.0, 80.0], &[1.0, 3.0, 2.0], &[5.0], &[]] {
            assert_eq!(unimodal(rates), rates);
        }
    }

    #[test]
    fn a_dent_on_the_way_is_levelled_by_its_neighbours() {
        // By hand: 192 and 180 pool to 186; behind the peak 228 and 231 pool to 229.5.
        assert_eq!(unimodal(&[50.0, 192.0, 180.0, 248.0, 228.0, 231.0]), [50.0, 186.0, 186.0, 248.0, 229.5, 229.5]);
    }
}
