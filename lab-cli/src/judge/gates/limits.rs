//! The limits, where the live view can show them too.

/// Largest share of planned requests that were never sent.
pub const UNSENT: f64 = 0.001;
/// Largest share of its core that the generator may use.
pub const CPU: f64 = 0.70;
/// Largest share of the run that the sender may spend ready to run and waiting for its core.
pub const RUN_QUEUE: f64 = 0.01;
/// A pause of the whole process that is no scheduling accident, milliseconds.
pub const GAP_MS: f64 = 1000.0;
/// Share of the machine's CPU time that its own host may take away before the figures are in doubt, and before they are
/// void.
pub const STEAL: (f64, f64) = (0.005, 0.02);
/// Largest difference between the mean number in flight and rate times time, as a share of the former.
pub const LITTLE: f64 = 0.05;
/// Descriptors that should stay free.
pub const SPARE_FILES: u64 = 64;

/// Largest 99th percentile of send lag: 5 % of the objective, but never under 2 ms. Milliseconds.
pub fn lag_ms(objective_ms: f64) -> f64 {
    (objective_ms * 0.05).max(2.0)
}

/// A pause that may show in the figures: a quarter of the objective. Milliseconds.
pub fn hiccup_ms(objective_ms: f64) -> f64 {
    objective_ms * 0.25
}
