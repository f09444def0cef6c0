//! Samples of differences for a decision, in pairs or not; and what exact tests of both kinds share.

/// Level at which a difference counts.
pub const LEVEL: f64 = 0.05;

/// Differences between two arms, on the scale of their metric.
pub(super) trait Sample {
    /// Size of the difference, in the middle (Hodges and Lehmann).
    fn effect(&self) -> f64;

    /// Interval of the difference, with at least this confidence, by inverting a test of ranks whose law is counted
    /// out; `None` with too few runs for it.
    fn confidence_interval(&self, confidence: f64) -> Option<[f64; 2]>;

    /// The chance of one at least as large if there is none.
    fn p(&self) -> f64;

    /// Standard deviation of one block's difference; `None` where there is one block.
    fn deviation(&self) -> Option<f64>;

    /// Blocks of each arm; where they have not as many, of the one with fewer.
    fn len(&self) -> usize;

    /// The smallest p value that this many blocks can have.
    fn least_p(blocks: u32) -> f64
    where
        Self: Sized;

    /// The fewest blocks with which a difference can be found, over so many comparisons.
    fn least(&self, family: usize) -> u32;
}

/// Up to so many ways to give out signs or runs every one is looked at: 2^14.
pub const MOST_EXACT: f64 = 16_384.0;
/// Number of drawn ones where there are more.
pub const DRAWN: u32 = 20_000;

/// Tells whether a sum is as far from nothing as the one that was found, where values are of this size. Sums that
/// differ by less than a billionth of it are equal: the order of adding must not decide.
pub fn as_far(found: f64, scale: f64) -> impl Fn(f64) -> bool {
    move |sum: f64| sum >= found - 1e-9 * scale
}

/// The share of drawn ways that are as far as the one that was found, which is one of the ways itself.
pub fn drawn(mut is_far: impl FnMut() -> bool) -> f64 {
    let far = (0..DRAWN).filter(|_| is_far()).count();
    (far + 1) as f64 / f64::from(DRAWN + 1)
}

/// The confidence interval by ranks: the sorted values without those that may be cut off at each end. `counts` has in how many
/// equally likely ways 0, 1, 2, … of the values lie on the wrong side. `None`: not even one may be cut off.
pub fn interval_from_ranks(sorted: &[f64], counts: &[f64], confidence: f64) -> Option<[f64; 2]> {
    let tail = (1.0 - confidence) / 2.0;
    let all: f64 = counts.iter().sum();
    let mut below = 0.0;
    let mut cut = 0;
    for count in counts {
        below += count;
        if below / all > tail + f64::EPSILON {
            break;
        }
        cut += 1;
    }
    let last = sorted.len().checked_sub(cut)?;
    (cut > 0 && cut <= last).then(|| [sorted[cut - 1], sorted[last]])
}

/// Median of values in order.
pub fn middle(sorted: &[f64]) -> f64 {
    let n = sorted.len();
    (sorted[(n - 1) / 2] + sorted[n / 2]) / 2.0
}

/// `None` of one value.
pub fn variance(values: &[f64]) -> Option<f64> {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    (values.len() > 1).then(|| squares / (n - 1.0))
}

/// The fewest blocks with which the smallest p value, after Holm over so many comparisons, is below the level.
pub(super) fn least_blocks<S: Sample>(family: usize) -> u32 {
    let family = family.max(1) as f64;
    (1..100).find(|&blocks| family * S::least_p(blocks) < LEVEL).unwrap_or(100)
}
