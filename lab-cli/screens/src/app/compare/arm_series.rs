//! An arm of a run in a comparison.

/// An arm of a run: a row, and a line of the plot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ArmSeries {
    pub run: usize,
    pub arm: usize,
}
