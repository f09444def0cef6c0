//! Searches for a minimum without a derivative: WebQ's estimate looks for the hardness of request types with them (algorithm 1, line 10;
//! section VI-C compares the two), and `lab tune` for the parameters of a policy.

mod annealing;
mod cma_es;
mod eigen;

pub use annealing::Annealing;
pub use cma_es::CmaEs;

use crate::Random;

/// Where a search may look: the same range in all coordinates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    /// The least value of a coordinate.
    pub least: f64,
    /// The greatest value of a coordinate.
    pub most: f64,
}

impl Bounds {
    /// The point itself inside of the range, or else the nearest one on its edge.
    #[must_use]
    pub fn clamped(&self, point: &[f64]) -> Vec<f64> {
        point.iter().map(|x| x.clamp(self.least, self.most)).collect()
    }

    fn width(&self) -> f64 {
        self.most - self.least
    }
}

/// What a search has found.
#[derive(Debug, Clone, PartialEq)]
pub struct Minimum {
    /// The best point.
    pub at: Vec<f64>,
    /// The function there.
    pub value: f64,
    /// How often the function was computed.
    pub evaluations: u32,
}

/// A search for the least value of a function of several numbers. A value that is not finite counts as the worst.
pub trait Minimise {
    /// Searches from `start`. The same draws give the same result.
    fn minimise(
        &self,
        function: &mut dyn FnMut(&[f64]) -> f64,
        start: &[f64],
        bounds: Bounds,
        random: &mut dyn Random,
    ) -> Minimum;
}

/// A function at several points.
type Function<'f> = dyn FnMut(&[Vec<f64>]) -> Vec<f64> + 'f;

/// The best point so far, and the count of evaluations.
struct Best<'f> {
    function: &'f mut Function<'f>,
    minimum: Minimum,
}

impl<'f> Best<'f> {
    fn of_many(function: &'f mut Function<'f>, start: &[f64]) -> Self {
        let mut best = Self { function, minimum: Minimum { at: start.to_vec(), value: f64::INFINITY, evaluations: 0 } };
        best.evaluate(start);
        best
    }

    fn evaluate(&mut self, point: &[f64]) -> f64 {
        self.evaluate_all(&[point.to_vec()]).pop().unwrap_or(f64::INFINITY)
    }

    fn evaluate_all(&mut self, points: &[Vec<f64>]) -> Vec<f64> {
        let mut values = (self.function)(points);
        values.resize(points.len(), f64::INFINITY);
        for (value, point) in values.iter_mut().zip(points) {
            if !value.is_finite() {
                *value = f64::INFINITY;
            }
            self.minimum.evaluations += 1;
            if *value < self.minimum.value {
                self.minimum.value = *value;
                self.minimum.at.clone_from(point);
            }
        }
        values
    }
}

#[cfg(test)]
mod tests {
    use crate::Seeded;

    use super::*;

    const SEARCHES: [(&str, &dyn Minimise); 2] =
        [("CMA-ES", &CmaEs { step: 0.3, evaluations: 4000 }), ("annealing", &Annealing { evaluations: 20_000 })];
    const BOUNDS: Bounds = Bounds { least: -5.0, most: 5.0 };

    fn minimum(search: &dyn Minimise, function: &dyn Fn(&[f64]) -> f64, start: &[f64], seed: u64) -> Minimum {
        search.minimise(&mut |x| function(x), start, BOUNDS, &mut Seeded::new(seed))
    }

    #[test]
    fn a_bowl_is_found_in_one_to_five_dimensions() {
        for (name, search) in SEARCHES {
            for n in 1..=5 {
                let bowl = |x: &[f64]| x.iter().enumerate().map(|(i, x)| (x - i as f64).powi(2)).sum::<f64>();
                let found = minimum(search, &bowl, &vec![-3.0; n], 1);
                assert!(found.value < 1e-2, "{name} in {n} dimensions: {found:?}");
            }
        }
    }

    #[test]
    fn a_narrow_valley_across_the_axes_is_for_cma_es() {
        // Rosenbrock's function: a curved valley with its minimum of 0 at (1, 1).
        let valley = |x: &[f64]| 100.0 * (x[1] - x[0] * x[0]).powi(2) + (1.0 - x[0]).powi(2);
        let found = minimum(SEARCHES[0].1, &valley, &[-2.0, 2.0], 1);
        assert!(found.value < 1e-6 && (found.at[0] - 1.0).abs() < 1e-3, "{found:?}");
    }

    #[test]
    fn a_minimum_on_the_edge_is_found_and_nothing_is_asked_beyond_it() {
        for (name, search) in SEARCHES {
            let slope = |x: &[f64]| {
                assert!(
                    x.iter().all(|x| (BOUNDS.least..=BOUNDS.most).contains(x)),
                    "{name} asks beyond the bounds: {x:?}"
                );
                x[0] + x[1]
            };
            let found = minimum(search, &slope, &[0.0, 0.0], 1);
            assert!(found.value < -9.9, "{name}: {found:?}");
        }
    }

    #[test]
    fn what_is_no_number_is_the_worst() {
        for (name, search) in SEARCHES {
            let half = |x: &[f64]| if x[0] < 1.0 { f64::NAN } else { x[0] };
            let found = minimum(search, &half, &[3.0], 1);
            assert!((1.0..1.1).contains(&found.value), "{name}: {found:?}");
        }
    }

    #[test]
    fn generations_side_by_side_are_those_one_by_one() {
        let bowl = |x: &[f64]| x.iter().map(|x| x * x - 3.0 * libm::cos(3.0 * x)).sum::<f64>();
        let search = CmaEs { step: 0.3, evaluations: 300 };
        let mut most = 0;
        let mut all = |points: &[Vec<f64>]| {
            most = most.max(points.len());
            points.iter().map(|x| bowl(x)).collect()
        };
        let found = search.minimise_side_by_side(&mut all, &[4.0, 4.0], BOUNDS, &mut Seeded::new(7));
        assert_eq!(found, minimum(&search, &bowl, &[4.0, 4.0], 7));
        assert!(most >= 6, "{most} points at once");
    }

    #[test]
    fn the_same_seed_finds_the_same() {
        let waves = |x: &[f64]| x.iter().map(|x| x * x - 3.0 * libm::cos(3.0 * x)).sum::<f64>();
        for (_, search) in SEARCHES {
            assert_eq!(minimum(search, &waves, &[4.0, 4.0], 7), minimum(search, &waves, &[4.0, 4.0], 7));
        }
    }
}
