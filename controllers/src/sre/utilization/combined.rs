//! One utilization of several signals ("The system can also be configured to combine multiple signals and reject requests
//! that would surpass the combined (or individual) target utilization thresholds").

/// How signals are combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sre) enum Combination {
    /// Not at all: each signal has thresholds of its own.
    Individual,
    /// The largest of signal / target.
    Max,
    /// The mean of signal / target: a signal far below its target makes up for one above it.
    Mean,
}

impl Combination {
    /// The combined utilization, 1 at the targets; `ratios`: signal / target of each signal. `None`: signals are looked at
    /// one by one.
    pub(super) fn utilization(self, ratios: impl Iterator<Item = f64>) -> Option<f64> {
        let (mut most, mut sum, mut many) = (0.0, 0.0, 0.0);
        for ratio in ratios {
            most = f64::max(most, ratio);
            sum += ratio;
            many += 1.0;
        }
        match self {
            Self::Individual => None,
            Self::Max => Some(most),
            Self::Mean => Some(sum / f64::max(many, 1.0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        // A load average of 3 with a target of 2, a CPU share of 0.4 with one of 0.8: 1.5 and 0.5.
        let of = |combination: Combination| combination.utilization([3.0 / 2.0, 0.4 / 0.8].into_iter());
        assert_eq!(
            [Combination::Individual, Combination::Max, Combination::Mean].map(of),
            [None, Some(1.5), Some(1.0)]
        );
        assert_eq!(Combination::Mean.utilization(std::iter::empty()), Some(0.0));
    }
}
