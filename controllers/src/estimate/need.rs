//! Time that an answer needs once its job goes in.

/// Standard deviations over the mean time inside that must be left of the objective when a job goes in.
const NEED_SPREAD: f64 = 2.0;

/// Largest share of the objective that must be left: some may wait however slow the service is.
const NEED_MOST: f64 = 0.75;

/// Seconds that must be left of an objective when a job goes in. `seen`: mean and standard deviation of recent times inside; `None`: no
/// answer was in time, and the most must be left.
pub fn needed(seen: Option<[f64; 2]>, objective: f64) -> f64 {
    let most = NEED_MOST * objective;
    seen.map_or(most, |[mean, deviation]| (mean + NEED_SPREAD * deviation).min(most))
}
