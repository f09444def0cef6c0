//! Back-off pauses with full jitter.

use std::time::Duration;

use controllers::Random as _;

use crate::persona::{Draws, Purpose};

/// A pause drawn uniformly from 0 to min(cap, base·2^nth): "full jitter" (Brooker, "Exponential Backoff And Jitter",
/// AWS Architecture Blog, 2015). Keyed by purpose and number: one step may need many retries, and their pauses must not
/// repeat.
pub(crate) fn full_jitter(
    base: Duration,
    cap: Duration,
    nth: u32,
    (purpose, number): (Purpose, u32),
    draws: &Draws,
) -> Duration {
    let doubled = base.saturating_mul(1u32.checked_shl(nth).unwrap_or(u32::MAX));
    doubled.min(cap).mul_f64(draws.nth(purpose, number).uniform())
}
