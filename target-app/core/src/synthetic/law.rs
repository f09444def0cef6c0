//! Laws of service times.

use std::time::Duration;

use controllers::{Class, JobId, Kind, Random, Seeded, random::mix};
use spec::{EmulatedSpec, ServiceTime};

use crate::route::Route;

/// A checked [`ServiceTime`].
#[derive(Debug, Clone, PartialEq)]
pub struct Law {
    law: ServiceTime,
    /// The share of the work that shrinks with quality.
    degradable: f64,
    /// The factors of the draws of classes.
    class_work: Vec<(Class, f64)>,
    /// Laws of further request types, by path.
    types: Vec<(String, ServiceTime)>,
    /// The divisor of every draw.
    speed: f64,
}

/// An invalid law.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("service: {0}")]
pub struct LawError(String);

impl Law {
    /// The law of an emulated service.
    ///
    /// # Errors
    /// Parameters out of their range.
    pub fn of(emulated: &EmulatedSpec) -> Result<Self, LawError> {
        let law = Self::new(&emulated.service)?.degradable(emulated.degradable)?.class_work(&emulated.class_work)?;
        for (path, of_type) in &emulated.types {
            Self::new(of_type).map_err(|LawError(wrong)| LawError(format!("{path}: {wrong}")))?;
        }
        Ok(Self { types: emulated.types.clone().into_iter().collect(), ..law })
    }

    /// Checks a law.
    ///
    /// # Errors
    /// Parameters out of their range.
    pub fn new(law: &ServiceTime) -> Result<Self, LawError> {
        let wrong = |message: &str| Err(LawError(message.to_owned()));
        match law {
            ServiceTime::Exponential { mean } if mean.is_zero() => wrong("the mean must be over 0"),
            ServiceTime::Lognormal { sigma, .. } if !(sigma.is_finite() && *sigma >= 0.0) => {
                wrong("sigma must be 0 or more")
            }
            ServiceTime::Bimodal { long_share, .. } if !(0.0..=1.0).contains(long_share) => {
                wrong("long_share must lie between 0 and 1")
            }
            ServiceTime::Pareto { alpha, .. } if !(alpha.is_finite() && *alpha > 1.0) => {
                wrong("alpha must be over 1: at 1 or less the mean is infinite")
            }
            ServiceTime::Uniform { min, max } if min > max => wrong("min must not be over max"),
            ServiceTime::Empirical(values) if values.is_empty() => wrong("an empirical law needs values"),
            _ => {
                let (class_work, types) = (Vec::new(), Vec::new());
                Ok(Self { law: law.clone(), degradable: 0.0, class_work, types, speed: 1.0 })
            }
        }
    }

    /// The same law, with this share (0 to 1) of the work shrinking with quality.
    ///
    /// # Errors
    /// A share out of its range.
    pub fn degradable(self, share: f64) -> Result<Self, LawError> {
        if !(0.0..=1.0).contains(&share) {
            return Err(LawError("degradable must lie between 0 and 1".to_owned()));
        }
        Ok(Self { degradable: share, ..self })
    }

    /// The same law, with these factors of the work for requests of classes.
    ///
    /// # Errors
    /// A factor of 0 or less.
    pub fn class_work(self, times: &[(Class, f64)]) -> Result<Self, LawError> {
        if times.iter().any(|(_, times)| !(*times > 0.0 && times.is_finite())) {
            return Err(LawError("class_work: a number over 0 for each class".to_owned()));
        }
        Ok(Self { class_work: times.to_vec(), ..self })
    }

    /// The same law on a server of this speed; the usual speed is 1.
    ///
    /// # Errors
    /// A speed of 0 or less.
    pub fn at_speed(self, speed: f64) -> Result<Self, LawError> {
        if !(speed > 0.0 && speed.is_finite()) {
            return Err(LawError("a speed is a number over 0".to_owned()));
        }
        Ok(Self { speed, ..self })
    }

    /// The route of a request for this path.
    #[must_use]
    pub fn route(&self, path: &str) -> Route {
        let of_path = self.types.iter().position(|(of, _)| of == path);
        of_path.map_or(Route::ONLY, |place| Route { kind: Kind((place + 1) as u16), ..Route::ONLY })
    }

    /// The service time of a request of this type and class at a quality from 0 to 1, at this server's speed.
    #[must_use]
    pub fn draw_at(&self, seed: u64, id: JobId, (kind, class): (Kind, Class), quality: f64) -> Duration {
        let of_type = usize::from(kind.0).checked_sub(1).and_then(|place| self.types.get(place));
        let drawn = drawn_from(of_type.map_or(&self.law, |(_, law)| law), seed, id);
        let times = self.class_work.iter().find(|(of, _)| *of == class);
        let drawn = times.map_or(drawn, |(_, times)| seconds(drawn.as_secs_f64() * times));
        let work = drawn.mul_f64(self.share(quality));
        // Exactly the drawn time if nothing changes it.
        if (self.speed - 1.0).abs() < f64::EPSILON { work } else { seconds(work.as_secs_f64() / self.speed) }
    }

    /// The mark of an answer at this quality that is less than was requested: it names the share of the work that was done.
    #[must_use]
    pub fn mark(&self, quality: f64) -> Option<String> {
        let share = self.share(quality);
        (share < 1.0).then(|| format!("work {:.0}%", (share * 100.0).ceil()))
    }

    /// The share of the work that is done at a quality.
    fn share(&self, quality: f64) -> f64 {
        1.0 - self.degradable * (1.0 - quality.clamp(0.0, 1.0))
    }

    /// The service time of a request of the usual type.
    #[must_use]
    pub fn draw(&self, seed: u64, id: JobId) -> Duration {
        drawn_from(&self.law, seed, id)
    }
}

/// A service time: the same for the same seed and request, whatever happened to others.
fn drawn_from(law: &ServiceTime, seed: u64, id: JobId) -> Duration {
    let mut random = Seeded::new(mix(seed ^ mix(id.0)));
    match law {
        ServiceTime::Constant(time) => *time,
        ServiceTime::Exponential { mean } => seconds(random.exponential(1.0) * mean.as_secs_f64()),
        ServiceTime::Lognormal { median, sigma } => seconds(median.as_secs_f64() * libm::exp(sigma * random.normal())),
        ServiceTime::Bimodal { short, long, long_share } => {
            if random.uniform() < *long_share {
                *long
            } else {
                *short
            }
        }
        // The inverse of the distribution function, at 1 − u, which is never 0.
        ServiceTime::Pareto { min, alpha } => {
            seconds(min.as_secs_f64() / libm::pow(1.0 - random.uniform(), 1.0 / alpha))
        }
        ServiceTime::Uniform { min, max } => *min + (*max - *min).mul_f64(random.uniform()),
        ServiceTime::Empirical(values) => {
            let at = random.below(u64::try_from(values.len()).unwrap_or(u64::MAX));
            values[usize::try_from(at).unwrap_or(0)]
        }
    }
}

/// At most an hour, which is longer than any run, so that no draw of a heavy tail overflows.
fn seconds(time: f64) -> Duration {
    Duration::from_secs_f64(if time.is_finite() { time.clamp(0.0, 3600.0) } else { 3600.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    const N: u64 = 20_000;

    fn mean_ms(law: &ServiceTime) -> f64 {
        let law = Law::new(law).unwrap();
        (0..N).map(|id| law.draw(7, JobId(id)).as_secs_f64() * 1e3).sum::<f64>() / N as f64
    }

    #[test]
    fn a_class_may_mean_so_many_times_the_work() {
        let ms = Duration::from_millis;
        let emulated = EmulatedSpec {
            degradable: 0.5,
            class_work: vec![(Class(2), 5.0)],
            ..EmulatedSpec::one(ServiceTime::Constant(ms(10)))
        };
        let law = Law::of(&emulated).unwrap().at_speed(0.5).unwrap();
        let draw = |class, quality| law.draw_at(1, JobId(1), (Kind(0), Class(class)), quality);
        assert_eq!((draw(1, 1.0), draw(2, 1.0), draw(2, 0.0)), (ms(20), ms(100), ms(50)));
        assert_eq!(
            [1.0, 0.5, 0.0].map(|quality| law.mark(quality)),
            [None, Some("work 75%".into()), Some("work 50%".into())]
        );
        let none = Law::of(&EmulatedSpec { class_work: vec![(Class(2), 0.0)], ..emulated });
        assert!(none.unwrap_err().to_string().contains("class_work"));
    }

    #[test]
    fn a_path_may_have_a_law_of_its_own() {
        let ms = Duration::from_millis;
        let types = [("/a", 100), ("/b", 7)].map(|(path, time)| (path.to_owned(), ServiceTime::Constant(ms(time))));
        let emulated = EmulatedSpec {
            class_work: vec![(Class(2), 5.0)],
            types: types.into(),
            ..EmulatedSpec::one(ServiceTime::Constant(ms(10)))
        };
        let law = Law::of(&emulated).unwrap();
        let draw = |path, class| law.draw_at(1, JobId(1), (law.route(path).kind, Class(class)), 1.0);
        assert_eq!((draw("/", 1), draw("/a", 1), draw("/b", 2), draw("/c", 2)), (ms(10), ms(100), ms(35), ms(50)));
        let none = ServiceTime::Exponential { mean: Duration::ZERO };
        let wrong = Law::of(&EmulatedSpec { types: [("/a".to_owned(), none)].into(), ..emulated });
        assert_eq!(wrong.unwrap_err().to_string(), "service: /a: the mean must be over 0");
    }

    /// Bounds are at least five standard errors of the mean wide: σ/√N with N = 20 000, √N = 141.
    #[test]
    fn means_are_those_of_the_laws() {
        let ms = Duration::from_millis;
        assert!((mean_ms(&ServiceTime::Constant(ms(10))) - 10.0).abs() < 1e-9);
        // σ = 10 ms: standard error 0.07.
        assert!((mean_ms(&ServiceTime::Exponential { mean: ms(10) }) - 10.0).abs() < 0.36);
        // mean = median · e^(σ²/2) = 10 · e^0.125 = 11.33; standard deviation = mean · √(e^0.25 − 1) = 6.04.
        assert!((mean_ms(&ServiceTime::Lognormal { median: ms(10), sigma: 0.5 }) - 11.33).abs() < 0.22);
        // 0.9 · 10 + 0.1 · 110 = 20; standard deviation 30.
        let bimodal = ServiceTime::Bimodal { short: ms(10), long: ms(110), long_share: 0.1 };
        assert!((mean_ms(&bimodal) - 20.0).abs() < 1.1);
        // α·min/(α − 1) = 3 · 10/2 = 15; variance = min²·α/((α − 1)²(α − 2)) = 75, standard deviation 8.7.
        assert!((mean_ms(&ServiceTime::Pareto { min: ms(10), alpha: 3.0 }) - 15.0).abs() < 0.4);
        assert!((mean_ms(&ServiceTime::Uniform { min: ms(10), max: ms(30) }) - 20.0).abs() < 0.21);
        assert!((mean_ms(&ServiceTime::Empirical(vec![ms(1), ms(2), ms(6)])) - 3.0).abs() < 0.08);
    }

    #[test]
    fn a_draw_belongs_to_its_request() {
        let law = Law::new(&ServiceTime::Exponential { mean: Duration::from_millis(10) }).unwrap();
        assert_eq!(law.draw(7, JobId(5)), law.draw(7, JobId(5)));
        assert_ne!(law.draw(7, JobId(5)), law.draw(7, JobId(6)));
        assert_ne!(law.draw(7, JobId(5)), law.draw(8, JobId(5)));
    }

    #[test]
    fn laws_without_a_mean_or_a_range_are_refused() {
        let ms = Duration::from_millis;
        assert!(Law::new(&ServiceTime::Pareto { min: ms(1), alpha: 1.0 }).is_err());
        assert!(Law::new(&ServiceTime::Uniform { min: ms(2), max: ms(1) }).is_err());
        assert!(Law::new(&ServiceTime::Empirical(Vec::new())).is_err());
        assert!(Law::new(&ServiceTime::Bimodal { short: ms(1), long: ms(2), long_share: 1.5 }).is_err());
    }
}
