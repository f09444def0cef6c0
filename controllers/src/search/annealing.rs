//! Simulated annealing (Kirkpatrick, Gelatt and Vecchi, 1983): the search of WebQ's released code.

use crate::Random;

use super::{Best, Bounds, Minimise, Minimum};

/// Steps from a point to a random neighbour: a better one is always taken, a worse one with probability
/// `exp(−rise / temperature)`. Temperature and size of the steps fall geometrically, by a factor of ten thousand
/// from first to last. The first temperature is a tenth of the function's value at the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Annealing {
    /// How often the function may be computed.
    pub evaluations: u32,
}

const COOLED_TO: f64 = 1e-4;

impl Default for Annealing {
    fn default() -> Self {
        Self { evaluations: 2000 }
    }
}

impl Minimise for Annealing {
    fn minimise(
        &self,
        function: &mut dyn FnMut(&[f64]) -> f64,
        start: &[f64],
        bounds: Bounds,
        random: &mut dyn Random,
    ) -> Minimum {
        let mut at = bounds.clamped(start);
        let mut one_by_one = |points: &[Vec<f64>]| points.iter().map(|point| function(point)).collect();
        let mut best = Best::of_many(&mut one_by_one, &at);
        let mut value = best.minimum.value;
        let hottest = if value.is_finite() { value.abs() * 0.1 } else { 1.0 };
        for turn in 1..self.evaluations {
            let cooled = libm::pow(COOLED_TO, f64::from(turn) / f64::from(self.evaluations));
            // Steps shrink with the square root: at the end they are a hundredth of what they were.
            let step = bounds.width() * 0.3 * libm::sqrt(cooled);
            let neighbour: Vec<f64> = at.iter().map(|x| x + step * random.normal()).collect();
            let neighbour = bounds.clamped(&neighbour);
            let reached = best.evaluate(&neighbour);
            let accepted = reached <= value || random.uniform() < libm::exp((value - reached) / (hottest * cooled));
            if accepted {
                (at, value) = (neighbour, reached);
            }
        }
        best.minimum
    }
}
