//! The delays between examinations of a class (WWW'05, section 3.4).
//!
//! A less important request that is admitted just before a more important one arrives can cost the latter its place. Classes
//! wait for their examination, the less important the longer, so that this stays rare: `d_1 = 0 ≤ d_2 ≤ … ≤ d_L`.

use std::time::Duration;

use super::setup_error::{SetupError, require};

/// How the delays are set.
#[derive(Debug, Clone, PartialEq)]
pub enum DelayPlan {
    /// Fixed, the most important class first. The paper's experiments have 0, 50 and 100 ms.
    Fixed(Vec<Duration>),
    /// The shortest delays within the bound, computed each period.
    Bounded(DelayBound),
}

/// The bound on the probability that a more important request is denied service because of a less important one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DelayBound {
    /// `ε`: the bound, over 0 and under 1.
    pub epsilon: f64,
    /// `k`: each delay from the third on is this multiple of the one before, at least 1.
    pub growth: f64,
    /// The resolution of `d_2`, over 0.
    pub step: Duration,
    /// The longest delay of the least important class. A delay shortens the time that a request has left, so it must
    /// stay well under the contracted response time.
    pub longest: Duration,
}

impl Default for DelayBound {
    /// `k` and the longest delay are those of the fixed delays in the paper's experiments; it states no `ε`.
    fn default() -> Self {
        let ms = Duration::from_millis;
        Self { epsilon: 0.05, growth: 2.0, step: ms(5), longest: ms(100) }
    }
}

impl DelayPlan {
    pub(super) fn check(&self, classes: usize) -> Result<(), SetupError> {
        match self {
            Self::Fixed(delays) => require(
                delays.len() == classes && delays.first() == Some(&Duration::ZERO) && delays.is_sorted(),
                "delays",
                "one delay for each class is needed, the first 0 and none under the one before",
            ),
            Self::Bounded(bound) => {
                require(bound.epsilon > 0.0 && bound.epsilon < 1.0, "delays.epsilon", "it must be over 0 and under 1")?;
                require(
                    bound.growth >= 1.0 && bound.growth.is_finite(),
                    "delays.growth",
                    "it must be a finite number of at least 1",
                )?;
                let steps = bound.longest.as_nanos() / bound.step.as_nanos().max(1);
                require(
                    !bound.step.is_zero() && steps <= 10_000,
                    "delays.step",
                    "it must be over 0, and at least a ten-thousandth of the longest delay",
                )
            }
        }
    }

    /// The delays before anything is known: fixed ones, or none.
    pub(super) fn initial(&self, classes: usize) -> Vec<Duration> {
        match self {
            Self::Fixed(delays) => delays.clone(),
            Self::Bounded(_) => vec![Duration::ZERO; classes],
        }
    }
}

/// One class's arrivals and the distribution of its service times.
#[derive(Debug, Clone, PartialEq)]
pub struct ClassTraffic {
    /// `λ_j`: arrivals, per second.
    pub rate_per_s: f64,
    /// `F_{s_j}` as a discrete distribution: a service time in seconds, and its share. The shares add up to 1, or there
    /// are none.
    pub service: Vec<(f64, f64)>,
}

/// The system that the analysis assumes: a server that has at most `N` requests in service.
#[derive(Debug, Clone, PartialEq)]
pub struct PolicedSystem {
    /// `N`: the most requests in service at a server.
    pub in_service: f64,
    /// `p_drop`: the share of examined requests that are refused, 0 to 1.
    pub p_drop: f64,
    /// The classes, the most important first.
    pub classes: Vec<ClassTraffic>,
}

impl PolicedSystem {
    /// `Pr(A_i)`: a request of class `rank` is refused at an examination, while a less important one is in service
    /// (equations 8 to 13).
    #[must_use]
    pub fn denied(&self, rank: usize, delays_s: &[f64]) -> f64 {
        // Pr(X_i): at least one request arrives in a period of d_i.
        arrives(self.classes[rank].rate_per_s * delays_s[rank]) * self.denied_on_arrival(rank, delays_s)
    }

    /// The same for a request that has arrived: `p_drop · Pr(Z_i)`, an upper bound of `Pr(A_i)` since `Pr(X_i) ≤ 1`.
    ///
    /// The sum over classes is of bounds of probabilities, so the value can exceed 1.
    #[must_use]
    pub fn denied_on_arrival(&self, rank: usize, delays_s: &[f64]) -> f64 {
        let less_important = rank + 1..self.classes.len();
        let in_service = less_important.map(|j| {
            // Pr(Q_j) / (1 − p_drop): nothing more important arrived since it was last examined.
            let quiet: f64 = (0..j).map(|h| self.classes[h].rate_per_s * delays_s[h]).sum();
            self.still_in_service(j, delays_s[j]) * libm::exp(-quiet)
        });
        self.p_drop * (1.0 - self.p_drop) * in_service.sum::<f64>()
    }

    /// `Pr(P_j) · Σ_l Pr(R_j^l)`: the sum over earlier examinations, `l ≥ 1`, of the chance that what was admitted there
    /// is in service yet. A request takes `N` times its service time, so that one of service time `s` outlives
    /// `⌈N·s / d⌉ − 1` examinations.
    fn still_in_service(&self, rank: usize, delay_s: f64) -> f64 {
        let class = &self.classes[rank];
        if delay_s <= 0.0 {
            // The limit: examinations come without end, each with a chance of λ·d.
            let mean: f64 = class.service.iter().map(|(service_s, share)| service_s * share).sum();
            return class.rate_per_s * self.in_service * mean;
        }
        let outlived = |service_s: f64| {
            let examinations = self.in_service * service_s / delay_s;
            // F is continuous from the right: what ends at the moment of an examination is not in service.
            (libm::ceil(examinations - 1e-9) - 1.0).max(0.0)
        };
        let examinations: f64 = class.service.iter().map(|(service_s, share)| outlived(*service_s) * share).sum();
        arrives(class.rate_per_s * delay_s) * examinations
    }
}

/// The probability of at least one arrival of a Poisson process, of which `expected` are expected (equations 9 and 11).
fn arrives(expected: f64) -> f64 {
    -libm::expm1(-expected)
}

impl DelayBound {
    /// The shortest delays, in steps of `d_2`, at which every class but the least important one is denied service with
    /// at most probability `ε`; the longest ones if none suffice.
    #[must_use]
    pub fn solve(&self, system: &PolicedSystem) -> Vec<Duration> {
        let classes = system.classes.len();
        let shape: Vec<f64> = (0..classes).map(|rank| if rank == 0 { 0.0 } else { self.multiple(rank) }).collect();
        let longest_s = self.longest.as_secs_f64();
        let most_s = shape.last().filter(|last| **last > 0.0).map_or(0.0, |last| longest_s / last);
        let step_s = self.step.as_secs_f64();
        let delays = |d_s: f64| shape.iter().map(|times| times * d_s).collect::<Vec<_>>();
        let holds = |d_s: &f64| {
            let delays_s = delays(*d_s);
            (0..classes.saturating_sub(1)).all(|rank| system.denied_on_arrival(rank, &delays_s) <= self.epsilon)
        };
        let steps = libm::floor(most_s / step_s + 1e-9) as u32;
        let shortest = (0..=steps).map(|step| f64::from(step) * step_s).find(holds);
        delays(shortest.unwrap_or(most_s)).into_iter().map(Duration::from_secs_f64).collect()
    }

    /// `d_i / d_2`, for a class under the first.
    fn multiple(&self, rank: usize) -> f64 {
        (1..rank).fold(1.0, |times, _| times * self.growth)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-6, "{a} {b}");
    }

    fn class(rate_per_s: f64, service_s: f64) -> ClassTraffic {
        ClassTraffic { rate_per_s, service: vec![(service_s, 1.0)] }
    }

    /// Three classes of 20, 10 and 5 requests per second, 50 ms each; ten in service, half of what is examined refused.
    fn system() -> PolicedSystem {
        let classes = vec![class(20.0, 0.05), class(10.0, 0.05), class(5.0, 0.05)];
        PolicedSystem { in_service: 10.0, p_drop: 0.5, classes }
    }

    #[test]
    fn the_probability_by_hand() {
        // d = 0, 50, 100 ms. A request takes 10 × 50 = 500 ms, so one of the third class outlives ⌈5⌉ − 1 = 4
        // examinations (100 to 400 ms ago; that of 500 ms ago has ended).
        // Pr(P_3) = 1 − e^−(5 × 0.1) = 0.393469; nothing of the first and second class: e^−(0 + 10 × 0.05) = 0.606531.
        // p(1 − p) = 0.25, so on arrival 0.25 × 0.393469 × 4 × 0.606531 = 0.238651.
        let delays_s = [0.0, 0.05, 0.1];
        close(system().denied_on_arrival(1, &delays_s), 0.238_651);
        // Pr(X_2) = 1 − e^−(10 × 0.05) = 0.393469: Pr(A_2) = 0.093902.
        close(system().denied(1, &delays_s), 0.093_902);
        // "Clearly": Pr(A_1) = Pr(A_L) = 0.
        close(system().denied(0, &delays_s), 0.0);
        close(system().denied(2, &delays_s), 0.0);
        // The first class on arrival: the same term of the third, and the second outlives ⌈10⌉ − 1 = 9 examinations:
        // 0.25 × 0.393469 × 9 × e^0 = 0.885306.
        close(system().denied_on_arrival(0, &delays_s), 0.885_306 + 0.238_651);
    }

    #[test]
    fn a_mixture_of_service_times_by_hand() {
        // 10 ms and 50 ms, three to one: with N = 10 and d = 100 ms they outlive ⌈1⌉ − 1 = 0 and 4 examinations, so the
        // sum is 0.25 × 4 = 1 instead of 4.
        let mut system = system();
        system.classes[2].service = vec![(0.01, 0.75), (0.05, 0.25)];
        close(system.denied_on_arrival(1, &[0.0, 0.05, 0.1]), 0.238_651 / 4.0);
    }

    #[test]
    fn without_delays_it_is_the_limit() {
        // (1 − e^−λd) · (N·s/d) → λ·N·s = 5 × 10 × 0.05 = 2.5 for the third class, times 0.25.
        close(system().denied_on_arrival(1, &[0.0; 3]), 0.625);
        let nearly = system().denied_on_arrival(1, &[0.0, 1e-6, 1e-6]);
        assert!((nearly - 0.625).abs() < 1e-4, "{nearly}");
        // As published it is zero: no request arrives in no time.
        close(system().denied(1, &[0.0; 3]), 0.0);
    }

    #[test]
    fn the_shortest_delays_within_the_bound_by_hand() {
        // Two classes, 5/s of the second, 50 ms each, N = 10, p(1 − p) = 0.25: on arrival
        // f(d) = 0.25 · (1 − e^−5d) · (⌈0.5/d⌉ − 1). d = 0: 0.625; 200 ms: 0.25 × 0.632121 × 2 = 0.316;
        // 240 ms: 0.25 × 0.698806 × 2 = 0.349; 250 ms (0.5/d = 2): 0.25 × 0.713495 × 1 = 0.178.
        let system = PolicedSystem { classes: vec![class(20.0, 0.05), class(5.0, 0.05)], ..system() };
        let ms = Duration::from_millis;
        let bound = DelayBound { epsilon: 0.2, growth: 2.0, step: ms(10), longest: ms(1000) };
        assert_eq!(bound.solve(&system), [Duration::ZERO, ms(250)]);
        // At 500 ms nothing outlives an examination.
        let strict = DelayBound { epsilon: 0.001, ..bound };
        assert_eq!(strict.solve(&system), [Duration::ZERO, ms(500)]);
        // What the longest delay does not allow stays at the longest.
        let short = DelayBound { longest: ms(100), ..strict };
        assert_eq!(short.solve(&system), [Duration::ZERO, ms(100)]);
    }

    #[test]
    fn the_published_inequality_follows() {
        let bound = DelayBound { epsilon: 0.1, longest: Duration::from_secs(2), ..DelayBound::default() };
        let delays_s: Vec<f64> = bound.solve(&system()).iter().map(Duration::as_secs_f64).collect();
        close(delays_s[2], 2.0 * delays_s[1]);
        for rank in 0..3 {
            assert!(system().denied(rank, &delays_s) < bound.epsilon, "{rank}: {delays_s:?}");
        }
    }

    #[test]
    fn with_capacity_there_are_no_delays() {
        let bound = DelayBound::default();
        let idle = PolicedSystem { p_drop: 0.0, ..system() };
        assert_eq!(bound.solve(&idle), [Duration::ZERO; 3]);
        assert_eq!(bound.solve(&PolicedSystem { classes: vec![class(9.0, 0.1)], ..system() }), [Duration::ZERO]);
    }
}
