//! What a service can do, where that is known before it is measured.

use std::time::Duration;

use target_app::spec::ServiceTime;

/// Requests a second of emulated servers.
pub(super) fn emulated_capacity(service: &ServiceTime, servers: u32, workers: u32) -> Option<f64> {
    let mean = mean_of(service).as_secs_f64();
    // Workers bring the jobs: no more servers are busy than there are workers.
    (mean > 0.0).then(|| f64::from(workers.min(servers)) / mean)
}

/// The mean of a law of service times.
fn mean_of(service: &ServiceTime) -> Duration {
    match service {
        ServiceTime::Constant(time) => *time,
        ServiceTime::Exponential { mean } => *mean,
        ServiceTime::Lognormal { median, sigma } => median.mul_f64(libm::exp(sigma * sigma / 2.0)),
        ServiceTime::Bimodal { short, long, long_share } => short.mul_f64(1.0 - long_share) + long.mul_f64(*long_share),
        ServiceTime::Pareto { min, alpha } => min.mul_f64(alpha / (alpha - 1.0)),
        ServiceTime::Uniform { min, max } => (*min + *max) / 2,
        ServiceTime::Empirical(all) => {
            all.iter().sum::<Duration>() / u32::try_from(all.len().max(1)).unwrap_or(u32::MAX)
        }
    }
}
