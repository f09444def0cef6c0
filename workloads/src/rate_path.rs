//! Rates of open arrivals over a phase, with their integrals and the inverses of these.

use std::f64::consts::{PI, TAU};

/// Rate of open arrivals over a phase, a second; times are seconds from its start.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RatePath {
    /// A line.
    Line {
        /// At the start of the phase.
        from: f64,
        /// At its end.
        to: f64,
        /// Length of the phase.
        seconds: f64,
    },
    /// mean + amplitude sin(2π t / period).
    Sine {
        /// Mean over a period.
        mean: f64,
        /// Highest deviation from the mean, which is not smaller.
        amplitude: f64,
        /// Period, above 0.
        period: f64,
    },
}

/// Closer than any clock of a run tells.
const EXACT: f64 = 1e-10;

impl RatePath {
    /// Lowest and highest rate of a whole period; of a line those at its ends.
    #[must_use]
    pub fn extremes(&self) -> [f64; 2] {
        match *self {
            Self::Line { from, to, .. } => [from, to],
            Self::Sine { mean, amplitude, .. } => [mean - amplitude, mean + amplitude],
        }
    }

    /// Arrivals expected until then.
    #[must_use]
    pub fn expected(&self, until: f64) -> f64 {
        match *self {
            Self::Line { from, to, seconds } => from * until + (to - from) / (2.0 * seconds) * until * until,
            Self::Sine { mean, amplitude, period } => {
                mean * until + amplitude * period / TAU * (1.0 - libm::cos(TAU * until / period))
            }
        }
    }

    /// The time until which so many arrivals are expected; `None`: never so many.
    #[must_use]
    pub fn when(&self, expected: f64) -> Option<f64> {
        match *self {
            // The smaller root of (b-a)/(2T) t^2 + a t = expected, in the form without cancellation.
            Self::Line { from, to, seconds } => {
                let under_root = from * from + 2.0 * (to - from) / seconds * expected;
                (under_root >= 0.0).then(|| 2.0 * expected / (from + under_root.sqrt()))
            }
            Self::Sine { mean, .. } => (mean > 0.0).then(|| self.inverse(expected)),
        }
    }

    /// Newton's method within bounds that close in. A sine is ahead of its mean by amplitude x period / π at most.
    fn inverse(&self, expected: f64) -> f64 {
        let Self::Sine { mean, amplitude, period } = *self else { return 0.0 };
        let (mut low, mut high) = ((expected - amplitude * period / PI) / mean, expected / mean);
        let mut at = high;
        while high - low > EXACT {
            let ahead = self.expected(at) - expected;
            if ahead > 0.0 {
                high = at;
            } else {
                low = at;
            }
            let newton = at - ahead / (mean + amplitude * libm::sin(TAU * at / period));
            let next = if low < newton && newton < high { newton } else { f64::midpoint(low, high) };
            if (next - at).abs() < EXACT {
                return next;
            }
            at = next;
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sine_is_ahead_of_its_mean_and_back_after_a_period() {
        // 3 + 2 sin(2π t / 8): half a period brings 3 x 4 + 2 x 8 / π, a whole one 3 x 8.
        let sine = RatePath::Sine { mean: 3.0, amplitude: 2.0, period: 8.0 };
        assert_eq!(sine.extremes(), [1.0, 5.0]);
        assert!((sine.expected(4.0) - (12.0 + 16.0 / PI)).abs() < 1e-12);
        assert!((sine.expected(8.0) - 24.0).abs() < 1e-12);
        for (expected, at) in [(12.0 + 16.0 / PI, 4.0), (24.0, 8.0), (6.0 + 8.0 / PI, 2.0), (48.0, 16.0)] {
            let found = sine.when(expected).expect("it comes");
            assert!((found - at).abs() < 1e-9, "{expected}: {found}");
        }
    }

    #[test]
    fn the_inverse_holds_where_the_rate_touches_zero() {
        let sine = RatePath::Sine { mean: 50.0, amplitude: 50.0, period: 60.0 };
        let mut last = 0.0;
        for expected in (0..9_000).map(f64::from) {
            let at = sine.when(expected).expect("it comes");
            assert!(at >= last && (sine.expected(at) - expected).abs() < 1e-6, "{expected}: {at}");
            last = at;
        }
        assert_eq!(RatePath::Sine { mean: 0.0, amplitude: 0.0, period: 1.0 }.when(1.0), None);
    }
}
