//! Hardness of request types and capacity of the server (algorithm 1).
//!
//! # Deviations from the paper
//!
//! - The error of a guess is the mean squared distance from the curve over the squared mean power ratio. The sum of squares
//!   of line 9 is not comparable between guesses: power ratios grow with the square of the hardness. Where response
//!   times differ by 10 % it is least for a hardness that is too small, where they differ by 20 % for 1.
//! - A guess that leaves fewer than half of the points over the threshold of line 7 is none: a cubic goes through a few
//!   points whatever they are.
//! - Only ratios of hardness matter: the first type is the measure of the search, and the result is divided by the least
//!   hardness, so that it lies from 1 to 100 as in the paper. The search runs over logarithms.
//! - The threshold of line 7 is a part of the highest power ratio; in the released code it is 2000, whatever the unit.
//! - The capacity is where the derivative is 0 inside of the loads that were seen. The released code takes the vertex
//!   formula of a parabola. A curve without a maximum there is no estimate: the server was not seen at its capacity.

use crate::Random;

use super::{Bounds, Cubic, EpochSample, Minimise, ScaledPoint, Subunits};

/// How samples become an estimate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EstimateParams {
    /// The fewest points of a curve, 4 or more. The released code has 9.
    pub least_samples: usize,
    /// Points whose power ratio is below this part of the highest are left out, 0 to 1.
    pub least_power: f64,
    /// The greatest ratio of hardness, over 1. The paper has 100.
    pub most_hardness: f64,
}

impl Default for EstimateParams {
    fn default() -> Self {
        Self { least_samples: 9, least_power: 0.1, most_hardness: 100.0 }
    }
}

/// What a training period has told.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimate {
    /// Hardness by request type: 1 for the least hard type, and for types that were not seen.
    pub hardness: Vec<f64>,
    /// Capacity, subunits a second.
    pub capacity: f64,
    /// The power ratio as a function of the load.
    pub curve: Cubic,
    /// The root of the mean squared distance of the points from the curve.
    pub error: f64,
    /// The part of the power ratios' variance that the curve leaves unexplained, 0 to 1.
    pub unexplained: f64,
    /// The same part of a curve through all requests as if they were equally hard; 1 without one.
    pub unexplained_unscaled: f64,
    /// Points that the curve was fitted to.
    pub points: usize,
}

impl Estimate {
    /// Hardness by request type, as booked.
    #[must_use]
    pub fn hardness_in_subunits(&self) -> Vec<Subunits> {
        self.hardness.iter().copied().map(Subunits::of).collect()
    }
}

/// Why there is no estimate yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotYet {
    /// Too few epochs with answers.
    #[error("{have} epochs with answers, of {need}")]
    TooFewSamples {
        /// Epochs that can be used.
        have: usize,
        /// Epochs that are needed.
        need: usize,
    },
    /// The epochs had too few different loads.
    #[error("the load hardly changed: no curve can be fitted")]
    NoCurve,
    /// The curve has no maximum inside of the loads that were seen.
    #[error("the load has not passed the server's capacity yet")]
    NoPeak,
}

/// Estimates hardness and capacity from the epochs of a training period. The same draws give the same estimate.
///
/// # Errors
/// See [`NotYet`]: more epochs are needed, with other loads.
pub fn estimate(
    samples: &[EpochSample],
    params: &EstimateParams,
    search: &dyn Minimise,
    random: &mut dyn Random,
) -> Result<Estimate, NotYet> {
    let types = samples.iter().map(|sample| sample.arrived.len()).max().unwrap_or(0);
    let seen: Vec<usize> = (0..types).filter(|kind| samples.iter().any(|s| s.arrived.get(*kind) > Some(&0))).collect();
    let need = params.least_samples.max(4);
    let have = samples.iter().filter(|sample| sample.scaled(&vec![1.0; types]).is_some()).count();
    if have < need {
        return Err(NotYet::TooFewSamples { have, need });
    }
    let hardness = |logarithms: &[f64]| relative(logarithms, &seen, types);
    let mut error = |logarithms: &[f64]| {
        let points = points(samples, &hardness(logarithms), params.least_power);
        let fit = (points.len() >= need && 2 * points.len() >= have).then(|| Cubic::fit(&points)).flatten();
        fit.map_or(f64::INFINITY, |curve| relative_error(&curve, &points))
    };
    let most = libm::log(params.most_hardness.max(1.0));
    let start = vec![0.0; seen.len().saturating_sub(1)];
    let found = if start.is_empty() || most == 0.0 {
        start
    } else {
        search.minimise(&mut error, &start, Bounds { least: -most, most }, random).at
    };
    let hardness = hardness(&found);
    let points = points(samples, &hardness, params.least_power);
    let curve = Cubic::fit(&points).ok_or(NotYet::NoCurve)?;
    let capacity = curve.peak().ok_or(NotYet::NoPeak)?;
    let error = libm::sqrt(curve.squared_error(&points) / points.len() as f64);
    let unscaled = self::points(samples, &vec![1.0; types], params.least_power);
    let unexplained_unscaled = Cubic::fit(&unscaled).map_or(1.0, |curve| unexplained(&curve, &unscaled));
    let unexplained = unexplained(&curve, &points);
    Ok(Estimate { hardness, capacity, curve, error, unexplained, unexplained_unscaled, points: points.len() })
}

/// Hardness by type, the least 1, from logarithms relative to the first type that was seen.
fn relative(logarithms: &[f64], seen: &[usize], types: usize) -> Vec<f64> {
    let mut hardness = vec![1.0; types];
    for (kind, logarithm) in seen.iter().skip(1).zip(logarithms) {
        hardness[*kind] = libm::exp(*logarithm);
    }
    let least = seen.iter().map(|kind| hardness[*kind]).fold(f64::INFINITY, f64::min);
    for kind in seen {
        hardness[*kind] /= least;
    }
    hardness
}

/// The scaled points (algorithm 1, lines 6 and 7).
fn points(samples: &[EpochSample], hardness: &[f64], least_power: f64) -> Vec<ScaledPoint> {
    let mut points: Vec<ScaledPoint> = samples.iter().filter_map(|sample| sample.scaled(hardness)).collect();
    let highest = points.iter().map(|point| point.power).fold(0.0, f64::max);
    points.retain(|point| point.power >= least_power * highest);
    points
}

/// The mean squared distance from the curve, for the degrees of freedom that it leaves, over the squared mean.
fn relative_error(curve: &Cubic, points: &[ScaledPoint]) -> f64 {
    let n = points.len() as f64;
    let mean = points.iter().map(|point| point.power).sum::<f64>() / n;
    curve.squared_error(points) / (n - 4.0).max(1.0) / (mean * mean)
}

/// 1 − R².
fn unexplained(curve: &Cubic, points: &[ScaledPoint]) -> f64 {
    let mean = points.iter().map(|point| point.power).sum::<f64>() / points.len() as f64;
    let variance: f64 = points.iter().map(|point| (point.power - mean) * (point.power - mean)).sum();
    if variance > 0.0 { curve.squared_error(points) / variance } else { 1.0 }
}
