//! The law of a sample of pauses: the best of a few families, tested, or the pauses themselves.

use std::time::Duration;

use super::sample::{Sample, middles};
use crate::{
    Think,
    fit::pearson,
    model::fitted::{Family, Pauses},
};

/// The smallest number of pauses for the test of a family, and for a transition's own law: ten cells of five.
pub const LEAST: usize = 50;

/// The smallest number of equal pauses that count as a constant.
const LEAST_CONSTANT: usize = 10;

/// The smallest p-value of a family that is used.
const LEAST_P: f64 = 0.01;

/// The law of these pauses, in microseconds; `None` without pauses.
#[must_use]
pub fn of(sample: &Sample) -> Option<Pauses> {
    let sorted = sample.sorted();
    let (&least, &greatest) = (sorted.first()?, sorted.last()?);
    let mean = Duration::from_secs_f64(sample.mean() / 1e6);
    let pauses = |law, family| Some(Pauses { count: sample.count(), mean, law, family });
    let median = sorted[sorted.len() / 2];
    if greatest - least <= median / 100 && sorted.len() >= LEAST_CONSTANT {
        let family = Some(Family { name: "constant".into(), p: None });
        return pauses(Think::Constant(Duration::from_micros(median)), family);
    }
    if sorted.len() < LEAST {
        return pauses(empirical(&sorted), None);
    }
    let best = Candidate::all(&sorted).into_iter().min_by(|a, b| a.criterion.total_cmp(&b.criterion))?;
    let p = best.p(&sorted);
    let law = if p >= LEAST_P { best.law() } else { empirical(&sorted) };
    pauses(law, Some(Family { name: best.name.into(), p: Some(p) }))
}

/// The medians of a hundred equal parts of the sample; all values of a smaller one.
fn empirical(sorted: &[u64]) -> Think {
    Think::Empirical(middles(sorted).into_iter().map(Duration::from_micros).collect())
}

/// A family with its parameters of maximum likelihood.
#[derive(Debug)]
struct Candidate {
    name: &'static str,
    shape: Shape,
    /// Akaike's criterion: twice the number of parameters, less twice the log likelihood.
    criterion: f64,
}

#[derive(Debug)]
enum Shape {
    /// Mean.
    Exponential(f64),
    /// Mean and standard deviation of the logarithm.
    Lognormal(f64, f64),
    /// The smallest and the largest pause.
    Uniform(f64, f64),
}

impl Candidate {
    /// All families, for pauses in microseconds that are not all equal.
    fn all(sorted: &[u64]) -> Vec<Self> {
        let n = sorted.len() as f64;
        // A pause of 0 has no logarithm: log clocks have a resolution of 1 us.
        let pauses: Vec<f64> = sorted.iter().map(|&pause| pause.max(1) as f64).collect();
        let mean = pauses.iter().sum::<f64>() / n;
        let logs: Vec<f64> = pauses.iter().map(|&pause| libm::log(pause)).collect();
        let middle = logs.iter().sum::<f64>() / n;
        let deviation = libm::sqrt(logs.iter().map(|log| (log - middle) * (log - middle)).sum::<f64>() / n);
        let (least, greatest) = (pauses[0], pauses[pauses.len() - 1]);
        let exponential = -n * (libm::log(mean) + 1.0);
        let lognormal =
            -logs.iter().sum::<f64>() - n * (libm::log(deviation * libm::sqrt(std::f64::consts::TAU)) + 0.5);
        let uniform = -n * libm::log(greatest - least);
        let candidate = |name, shape, numbers: f64, likelihood: f64| Self {
            name,
            shape,
            criterion: 2.0 * numbers - 2.0 * likelihood,
        };
        vec![
            candidate("exponential", Shape::Exponential(mean), 1.0, exponential),
            candidate("lognormal", Shape::Lognormal(middle, deviation), 2.0, lognormal),
            candidate("uniform", Shape::Uniform(least, greatest), 2.0, uniform),
        ]
    }

    /// The probability of a pause up to this one.
    fn chance(&self, pause: f64) -> f64 {
        match self.shape {
            Shape::Exponential(mean) => -libm::expm1(-pause / mean),
            Shape::Lognormal(middle, deviation) => {
                0.5 * libm::erfc((middle - libm::log(pause.max(1.0))) / (deviation * std::f64::consts::SQRT_2))
            }
            Shape::Uniform(least, greatest) => ((pause - least) / (greatest - least)).clamp(0.0, 1.0),
        }
    }

    /// Pearson's test over at most fifty cells of equal probability, with ten pauses or more in each.
    fn p(&self, sorted: &[u64]) -> f64 {
        let cells = (sorted.len() / 10).clamp(5, 50);
        let mut seen = vec![0_u64; cells];
        for &pause in sorted {
            let cell = (self.chance(pause as f64) * cells as f64) as usize;
            seen[cell.min(cells - 1)] += 1;
        }
        let expected = sorted.len() as f64 / cells as f64;
        let cells: Vec<(f64, f64)> = seen.iter().map(|&n| (expected, n as f64)).collect();
        let numbers = if matches!(self.shape, Shape::Exponential(_)) { 1 } else { 2 };
        pearson(&cells, numbers).p.unwrap_or(0.0)
    }

    fn law(&self) -> Think {
        let micros = |micros: f64| Duration::from_nanos((micros * 1e3).round() as u64);
        match self.shape {
            Shape::Exponential(mean) => Think::Exponential { mean: micros(mean) },
            Shape::Lognormal(middle, sigma) => Think::Lognormal { median: micros(libm::exp(middle)), sigma },
            Shape::Uniform(least, greatest) => Think::Uniform { min: micros(least), max: micros(greatest) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Draws from a law, as a fit sees them.
    fn drawn(law: &Think, count: usize) -> Sample {
        let mut state = 7;
        let mut sample = Sample::default();
        for _ in 0..count {
            let pause = law.sample(|| (crate::generate::next(&mut state) >> 11) as f64 / (1_u64 << 53) as f64);
            sample.add(u64::try_from(pause.as_micros()).expect("short"));
        }
        sample
    }

    #[test]
    fn each_family_is_recognised_with_its_numbers() {
        let mean = Duration::from_millis(300);
        let exponential = of(&drawn(&Think::Exponential { mean }, 3000)).expect("pauses");
        let Think::Exponential { mean: found } = exponential.law else { panic!("{exponential:?}") };
        assert!((found.as_secs_f64() / 0.3 - 1.0).abs() < 0.06, "{found:?}");

        let lognormal = of(&drawn(&Think::Lognormal { median: mean, sigma: 1.5 }, 3000)).expect("pauses");
        let Think::Lognormal { median, sigma } = lognormal.law else { panic!("{lognormal:?}") };
        assert!((sigma - 1.5).abs() < 0.07 && (median.as_secs_f64() / 0.3 - 1.0).abs() < 0.1, "{median:?} {sigma}");

        let uniform = of(&drawn(&Think::Uniform { min: mean, max: 2 * mean }, 3000)).expect("pauses");
        assert!(matches!(uniform.law, Think::Uniform { .. }), "{uniform:?}");

        let constant = of(&drawn(&Think::Constant(mean), 10)).expect("pauses");
        assert_eq!(constant.law, Think::Constant(mean));
    }

    #[test]
    fn what_no_family_fits_stays_as_it_is() {
        let mut sample = drawn(&Think::Constant(Duration::from_millis(10)), 500);
        (0..500).for_each(|_| sample.add(5_000_000));
        let pauses = of(&sample).expect("pauses");
        assert!(pauses.family.as_ref().is_some_and(|family| family.p < Some(0.01)), "{pauses:?}");
        let Think::Empirical(kept) = &pauses.law else { panic!("{pauses:?}") };
        assert_eq!((kept.len(), kept[0], kept[99]), (100, Duration::from_millis(10), Duration::from_secs(5)));
        assert!((pauses.law.mean().as_secs_f64() - 2.505).abs() < 0.01);
    }

    #[test]
    fn few_pauses_are_no_family() {
        let mut sample = Sample::default();
        [100, 200, 900].into_iter().for_each(|pause| sample.add(pause));
        let pauses = of(&sample).expect("pauses");
        assert_eq!(pauses.law, Think::Empirical([100, 200, 900].map(Duration::from_micros).to_vec()));
        assert_eq!(of(&Sample::default()), None);
    }
}
