//! Laws of pauses.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A law of pauses.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Think {
    /// Constant.
    Constant(#[serde(with = "crate::span")] Duration),
    /// Uniform.
    Uniform {
        /// The smallest pause.
        #[serde(with = "crate::span")]
        min: Duration,
        /// The largest pause.
        #[serde(with = "crate::span")]
        max: Duration,
    },
    /// Exponential.
    Exponential {
        /// Mean.
        #[serde(with = "crate::span")]
        mean: Duration,
    },
    /// Lognormal.
    Lognormal {
        /// Median.
        #[serde(with = "crate::span")]
        median: Duration,
        /// Standard deviation of the logarithm.
        sigma: f64,
    },
    /// Drawn from a list with equal probabilities.
    Empirical(#[serde(with = "crate::span::list")] Vec<Duration>),
}

/// The longest pause: a draw from a law with a long tail must not overflow the clock.
pub const LONGEST: Duration = Duration::from_secs(366 * 24 * 3600);

impl Think {
    /// Draws one pause. `uniform` returns uniform draws in [0, 1); a lognormal takes two, a constant none, every other
    /// law one.
    ///
    /// Logarithms are computed by libm, so that the same draws give the same pauses on every machine.
    pub fn sample(&self, mut uniform: impl FnMut() -> f64) -> Duration {
        let pause = match self {
            Self::Constant(pause) => *pause,
            Self::Uniform { min, max } => *min + max.saturating_sub(*min).mul_f64(uniform()),
            Self::Exponential { mean } => scaled(*mean, -libm::log(1.0 - uniform())),
            Self::Lognormal { median, sigma } => {
                // Box and Muller (1958): one of the two normal draws is enough.
                let radius = libm::sqrt(-2.0 * libm::log(1.0 - uniform()));
                let normal = radius * libm::cos(std::f64::consts::TAU * uniform());
                scaled(*median, libm::exp(sigma * normal))
            }
            Self::Empirical(pauses) => {
                let at = (uniform() * pauses.len() as f64) as usize;
                pauses.get(at).copied().unwrap_or_default()
            }
        };
        pause.min(LONGEST)
    }

    /// The mean pause.
    #[must_use]
    pub fn mean(&self) -> Duration {
        match self {
            Self::Constant(pause) => *pause,
            Self::Uniform { min, max } => (*min + *max) / 2,
            Self::Exponential { mean } => *mean,
            Self::Lognormal { median, sigma } => scaled(*median, libm::exp(sigma * sigma / 2.0)),
            Self::Empirical(pauses) => {
                let count = u32::try_from(pauses.len()).unwrap_or(u32::MAX).max(1);
                pauses.iter().map(|pause| *pause / count).sum()
            }
        }
    }

    /// The error of this law, if it is invalid.
    #[must_use]
    pub fn problem(&self) -> Option<String> {
        let longest = match self {
            Self::Constant(pause) => *pause,
            Self::Uniform { min, max } if min > max => {
                return Some(format!("its least pause {min:?} is over its greatest {max:?}"));
            }
            Self::Uniform { max, .. } => *max,
            Self::Exponential { mean } => *mean,
            Self::Lognormal { sigma, .. } if !(0.0..=10.0).contains(sigma) => {
                return Some(format!("sigma is {sigma}, and must be between 0 and 10"));
            }
            Self::Lognormal { median, .. } => *median,
            Self::Empirical(pauses) if pauses.is_empty() => return Some("it has no pauses to draw from".into()),
            Self::Empirical(pauses) => pauses.iter().copied().max().unwrap_or_default(),
        };
        (longest > LONGEST).then(|| format!("a pause of {longest:?} is longer than a year"))
    }
}

/// A pause times a factor, at most [`LONGEST`]: `mul_f64` panics on overflow.
fn scaled(pause: Duration, factor: f64) -> Duration {
    let seconds = pause.as_secs_f64() * factor;
    if seconds >= LONGEST.as_secs_f64() { LONGEST } else { Duration::from_secs_f64(seconds.max(0.0)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn drawn(law: &Think, draws: &[f64]) -> Duration {
        let mut draws = draws.iter();
        law.sample(|| *draws.next().expect("no more draws than the law says"))
    }

    #[test]
    fn laws_turn_draws_into_pauses() {
        assert_eq!(drawn(&Think::Constant(ms(20)), &[]), ms(20));
        assert_eq!(drawn(&Think::Uniform { min: ms(5000), max: ms(10_000) }, &[0.25]), ms(6250));
        // -ln(1 - (1 - 1/e)) = 1: the mean itself.
        let pause = drawn(&Think::Exponential { mean: ms(100) }, &[1.0 - libm::exp(-1.0)]);
        assert!(pause.abs_diff(ms(100)) < Duration::from_nanos(10), "{pause:?}");
        // A quarter turn: the cosine is 0, so the normal draw is 0 and the pause is the median.
        let pause = drawn(&Think::Lognormal { median: ms(100), sigma: 2.0 }, &[0.5, 0.25]);
        assert!(pause.abs_diff(ms(100)) < Duration::from_nanos(10), "{pause:?}");
        let law = Think::Empirical(vec![ms(1), ms(2), ms(3), ms(4)]);
        assert_eq!((drawn(&law, &[0.0]), drawn(&law, &[0.74]), drawn(&law, &[0.75])), (ms(1), ms(3), ms(4)));
    }

    #[test]
    fn means_are_those_of_the_laws() {
        assert_eq!(Think::Uniform { min: ms(5000), max: ms(10_000) }.mean(), ms(7500));
        assert_eq!(Think::Empirical(vec![ms(1), ms(3)]).mean(), ms(2));
        // e^(1/2) = 1.6487.
        let mean = Think::Lognormal { median: ms(1000), sigma: 1.0 }.mean();
        assert_eq!(mean.as_millis(), 1648);
    }

    #[test]
    fn no_draw_overflows() {
        for law in [
            Think::Exponential { mean: Duration::MAX },
            Think::Lognormal { median: Duration::MAX, sigma: 10.0 },
            Think::Constant(Duration::MAX),
        ] {
            assert_eq!(law.sample(|| 0.999_999), LONGEST);
            assert!(law.problem().is_some());
        }
    }

    #[test]
    fn nonsense_is_named() {
        assert!(Think::Uniform { min: ms(2), max: ms(1) }.problem().is_some_and(|p| p.contains("least")));
        assert!(Think::Lognormal { median: ms(2), sigma: f64::NAN }.problem().is_some_and(|p| p.contains("sigma")));
        assert!(Think::Empirical(Vec::new()).problem().is_some());
    }
}
