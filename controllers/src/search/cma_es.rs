//! CMA-ES: evolution of a normal distribution (Hansen, *The CMA Evolution Strategy: A Tutorial*, arXiv 1604.00772; its
//! section 3 and appendix A give the strategy and all constants).
//!
//! # Deviations from the tutorial
//!
//! - A point beyond the bounds is moved to the nearest point inside, and costs a penalty for its distance in the ranking.
//! - When the steps are a ten-thousandth of the range, the search starts anew at a random point with a population twice
//!   as large (Auger and Hansen, *A Restart CMA Evolution Strategy With Increasing Population Size*, CEC 2005), until
//!   its evaluations are used up: with one or two unknowns the default population is four to six points, which a local
//!   minimum holds easily.

use crate::Random;

use super::{
    Best, Bounds, Minimise, Minimum,
    eigen::{Matrix, eigen, identity},
};

/// The search that WebQ's authors prefer: with fewer samples than annealing it is as exact.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CmaEs {
    /// The first deviation of the distribution, as a part of the range, above 0 and up to 1. 0.3 covers the range.
    pub step: f64,
    /// How often the function may be computed.
    pub evaluations: u32,
}

impl Default for CmaEs {
    fn default() -> Self {
        Self { step: 0.3, evaluations: 2000 }
    }
}

/// Steps below this part of the range end a descent. 1e-4 is a thousandth of a hardness; with 1e-8 the evaluations were used up
/// before the right valley was entered, for one in ten of three types (`webq-3types` of the atlas).
const SMALLEST_STEP: f64 = 1e-4;

impl Minimise for CmaEs {
    fn minimise(
        &self,
        function: &mut dyn FnMut(&[f64]) -> f64,
        start: &[f64],
        bounds: Bounds,
        random: &mut dyn Random,
    ) -> Minimum {
        let mut one_by_one = |points: &[Vec<f64>]| points.iter().map(|point| function(point)).collect();
        self.minimise_side_by_side(&mut one_by_one, start, bounds, random)
    }
}

impl CmaEs {
    /// The same search for a function that is computed at all points of a generation at once: it gets them in a list, and returns its
    /// values in their order.
    pub fn minimise_side_by_side(
        &self,
        function: &mut dyn FnMut(&[Vec<f64>]) -> Vec<f64>,
        start: &[f64],
        bounds: Bounds,
        random: &mut dyn Random,
    ) -> Minimum {
        let start = bounds.clamped(start);
        let mut best = Best::of_many(function, &start);
        if start.is_empty() {
            return best.minimum;
        }
        let mut start = start;
        for times in (0..).map(|restart| 1 << restart) {
            let constants = Constants::of(start.len(), times);
            if best.minimum.evaluations + constants.lambda as u32 > self.evaluations {
                break;
            }
            self.descend(&constants, &start, bounds, &mut best, random);
            start.fill_with(|| bounds.least + bounds.width() * random.uniform());
        }
        best.minimum
    }

    fn descend(
        &self,
        constants: &Constants,
        start: &[f64],
        bounds: Bounds,
        best: &mut Best<'_>,
        random: &mut dyn Random,
    ) {
        let mut state = State::from(start.to_vec(), self.step.clamp(1e-3, 1.0) * bounds.width());
        while best.minimum.evaluations + constants.lambda as u32 <= self.evaluations
            && state.widest() > SMALLEST_STEP * bounds.width()
        {
            let ranked = state.sample(constants, bounds, best, random);
            state.follow(constants, &ranked);
        }
    }
}

/// The tutorial's table 1.
struct Constants {
    n: f64,
    lambda: usize,
    weights: Vec<f64>,
    mu_eff: f64,
    c_sigma: f64,
    d_sigma: f64,
    c_c: f64,
    c_1: f64,
    c_mu: f64,
    /// The mean length of a standard normal vector.
    chi: f64,
}

impl Constants {
    /// For this many dimensions, and a population so many times the default.
    fn of(dimensions: usize, times: usize) -> Self {
        let n = dimensions as f64;
        let lambda = times * (4 + libm::floor(3.0 * libm::log(n)) as usize);
        let mu = lambda / 2;
        let raw: Vec<f64> = (1..=mu).map(|i| libm::log((lambda as f64 + 1.0) / 2.0) - libm::log(i as f64)).collect();
        let sum: f64 = raw.iter().sum();
        let weights: Vec<f64> = raw.iter().map(|weight| weight / sum).collect();
        let mu_eff = 1.0 / weights.iter().map(|weight| weight * weight).sum::<f64>();
        let c_sigma = (mu_eff + 2.0) / (n + mu_eff + 5.0);
        let c_1 = 2.0 / ((n + 1.3) * (n + 1.3) + mu_eff);
        let c_mu = (2.0 * (mu_eff - 2.0 + 1.0 / mu_eff) / ((n + 2.0) * (n + 2.0) + mu_eff)).clamp(0.0, 1.0 - c_1);
        Self {
            n,
            lambda,
            weights,
            mu_eff,
            c_sigma,
            d_sigma: 1.0 + 2.0 * (libm::sqrt((mu_eff - 1.0) / (n + 1.0)) - 1.0).max(0.0) + c_sigma,
            c_c: (4.0 + mu_eff / n) / (n + 4.0 + 2.0 * mu_eff / n),
            c_1,
            c_mu,
            chi: libm::sqrt(n) * (1.0 - 1.0 / (4.0 * n) + 1.0 / (21.0 * n * n)),
        }
    }
}

/// The distribution, and the paths that it has taken.
struct State {
    mean: Vec<f64>,
    sigma: f64,
    covariance: Matrix,
    /// Square roots of the eigenvalues of the covariance, and its eigenvectors.
    lengths: Vec<f64>,
    vectors: Matrix,
    path_sigma: Vec<f64>,
    path_c: Vec<f64>,
    generation: i32,
}

impl State {
    fn from(mean: Vec<f64>, sigma: f64) -> Self {
        let n = mean.len();
        Self {
            mean,
            sigma,
            covariance: identity(n),
            lengths: vec![1.0; n],
            vectors: identity(n),
            path_sigma: vec![0.0; n],
            path_c: vec![0.0; n],
            generation: 0,
        }
    }

    /// The largest deviation along an axis of the distribution.
    fn widest(&self) -> f64 {
        self.sigma * self.lengths.iter().copied().fold(0.0, f64::max)
    }

    /// Draws a generation (equations 38 to 40): the steps from the mean in units of sigma, the best first.
    fn sample(
        &self,
        constants: &Constants,
        bounds: Bounds,
        best: &mut Best<'_>,
        random: &mut dyn Random,
    ) -> Vec<Vec<f64>> {
        let drawn = (0..constants.lambda).map(|_| {
            let scaled: Vec<f64> = self.lengths.iter().map(|length| length * random.normal()).collect();
            let step = product(&self.vectors, &scaled);
            let point: Vec<f64> = self.mean.iter().zip(&step).map(|(m, y)| m + self.sigma * y).collect();
            let inside = bounds.clamped(&point);
            let beyond = point.iter().zip(&inside).map(|(x, y)| (x - y) * (x - y)).sum::<f64>();
            (inside, (beyond, step))
        });
        let (points, steps): (Vec<_>, Vec<_>) = drawn.unzip();
        let values = best.evaluate_all(&points);
        let mut ranked: Vec<(f64, f64, Vec<f64>)> =
            values.into_iter().zip(steps).map(|(value, (beyond, step))| (value, beyond, step)).collect();
        let range = spread(&ranked) / (bounds.width() * bounds.width());
        ranked.sort_by(|x, y| (x.0 + x.1 * range).total_cmp(&(y.0 + y.1 * range)).then(x.1.total_cmp(&y.1)));
        ranked.into_iter().map(|(_, _, step)| step).collect()
    }

    /// Moves mean, paths, covariance and step size (equations 41 to 47).
    fn follow(&mut self, constants: &Constants, ranked: &[Vec<f64>]) {
        let n = self.mean.len();
        let chosen = || constants.weights.iter().zip(ranked);
        let step: Vec<f64> = (0..n).map(|i| chosen().map(|(weight, y)| weight * y[i]).sum()).collect();
        for (mean, y) in self.mean.iter_mut().zip(&step) {
            *mean += self.sigma * y;
        }
        // C^(−1/2)·y: into the axes of the distribution, scaled, and back.
        let white: Vec<f64> =
            (0..n).map(|k| (0..n).map(|i| self.vectors[i][k] * step[i]).sum::<f64>() / self.lengths[k]).collect();
        let white = product(&self.vectors, &white);
        let kept = libm::sqrt(constants.c_sigma * (2.0 - constants.c_sigma) * constants.mu_eff);
        for (path, y) in self.path_sigma.iter_mut().zip(&white) {
            *path = (1.0 - constants.c_sigma) * *path + kept * y;
        }
        self.generation += 1;
        let length = libm::sqrt(self.path_sigma.iter().map(|x| x * x).sum::<f64>());
        let faded = 1.0 - (1.0 - constants.c_sigma).powi(2 * self.generation);
        let stalled = length / libm::sqrt(faded) >= (1.4 + 2.0 / (constants.n + 1.0)) * constants.chi;
        let kept = libm::sqrt(constants.c_c * (2.0 - constants.c_c) * constants.mu_eff);
        for (path, y) in self.path_c.iter_mut().zip(&step) {
            *path = (1.0 - constants.c_c) * *path + if stalled { 0.0 } else { kept * y };
        }
        let lost = if stalled { constants.c_1 * constants.c_c * (2.0 - constants.c_c) } else { 0.0 };
        for i in 0..n {
            for j in 0..n {
                let rank_mu: f64 = chosen().map(|(weight, y)| weight * y[i] * y[j]).sum();
                self.covariance[i][j] = (1.0 + lost - constants.c_1 - constants.c_mu) * self.covariance[i][j]
                    + constants.c_1 * self.path_c[i] * self.path_c[j]
                    + constants.c_mu * rank_mu;
            }
        }
        let change = constants.c_sigma / constants.d_sigma * (length / constants.chi - 1.0);
        self.sigma *= libm::exp(change.min(1.0));
        let (values, vectors) = eigen(&self.covariance);
        self.lengths = values.iter().map(|value| libm::sqrt(value.max(1e-20))).collect();
        self.vectors = vectors;
    }
}

/// The difference between the worst finite value and the best; 1 if there is none.
fn spread(ranked: &[(f64, f64, Vec<f64>)]) -> f64 {
    let finite = ranked.iter().map(|(value, _, _)| *value).filter(|value| value.is_finite());
    let (least, most) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, m), v| (l.min(v), m.max(v)));
    if most > least { most - least } else { 1.0 }
}

fn product(matrix: &Matrix, vector: &[f64]) -> Vec<f64> {
    matrix.iter().map(|row| row.iter().zip(vector).map(|(a, b)| a * b).sum()).collect()
}
