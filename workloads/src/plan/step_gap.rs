//! The time between two arrivals where the number of closed users jumps.

use std::time::Duration;

/// The usual time between two arrivals of an upward jump: a thousand users arrive within a tenth of a second. No generator
/// can begin a thousand connections at one moment: planned for one moment, most would be late, and would be counted as
/// the generator's lateness. A thousand generators can: then a plan has another.
pub const STEP_GAP: Duration = Duration::from_micros(100);

/// The gap of plans that name none.
#[must_use]
pub fn usual() -> Duration {
    STEP_GAP
}

/// True for the gap of plans that name none: they are written, and have their digests, as before it could be named.
#[must_use]
pub fn is_usual(gap: &Duration) -> bool {
    *gap == STEP_GAP
}
