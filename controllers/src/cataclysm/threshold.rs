//! Threshold policing: which share of which class is admitted without a test (WWW'05, section 3.3).

use crate::Random;

/// The reading of "observed average service times" (section 3.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThresholdService {
    /// As at a lightly loaded server, equation 2: the work that comes, in servers.
    Inherent,
    /// From arrival to last byte, `s` of section 3.5: in an overload it grows, and the threshold with it.
    Actual,
}

/// One class's load, for the threshold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClassLoad {
    /// `λ_j`: requests beyond the guaranteed rate, per second.
    pub rate_per_s: f64,
    /// `s_j`: the mean service time, seconds.
    pub service_s: f64,
    /// `λ_j^min`: the guaranteed rate, requests per second.
    pub guaranteed_per_s: f64,
}

/// The threshold `(i, p_admit)`: classes above `i` are admitted, those below are refused, and class `i` is admitted with
/// probability `p_admit`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AdmissionThreshold {
    /// `i`, the most important class is 0.
    pub rank: usize,
    /// The probability, 0 to 1.
    pub p_admit: f64,
}

impl AdmissionThreshold {
    /// The threshold that fills `servers` servers (equations 5 and 6, with the capacity of `n` servers where the paper
    /// has that of one).
    ///
    /// The guaranteed rates of all classes are set aside first. `p_admit` is the largest value that the strict
    /// inequality (6) approaches. If everything fits, the threshold is the lowest class with probability 1.
    #[must_use]
    pub fn filling(servers: f64, classes: &[ClassLoad]) -> Self {
        let guaranteed: f64 = classes.iter().map(|class| class.guaranteed_per_s * class.service_s).sum();
        let mut left = servers - guaranteed;
        for (rank, class) in classes.iter().enumerate() {
            let load = class.rate_per_s * class.service_s;
            if load > 0.0 && load >= left {
                return Self { rank, p_admit: (left / load).clamp(0.0, 1.0) };
            }
            left -= load;
        }
        if left < 0.0 {
            return Self { rank: 0, p_admit: 0.0 };
        }
        Self { rank: classes.len().saturating_sub(1), p_admit: 1.0 }
    }

    /// Decides on one request of a class. A draw is made only where the answer depends on it.
    pub fn admits(&self, rank: usize, random: &mut dyn Random) -> bool {
        match rank.cmp(&self.rank) {
            std::cmp::Ordering::Less => true,
            std::cmp::Ordering::Greater => false,
            std::cmp::Ordering::Equal if self.p_admit >= 1.0 => true,
            std::cmp::Ordering::Equal if self.p_admit <= 0.0 => false,
            std::cmp::Ordering::Equal => random.uniform() < self.p_admit,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seeded;

    fn load(rate_per_s: f64, guaranteed_per_s: f64) -> ClassLoad {
        ClassLoad { rate_per_s, service_s: 0.01, guaranteed_per_s }
    }

    fn assert_is(threshold: AdmissionThreshold, rank: usize, p_admit: f64) {
        assert_eq!(threshold.rank, rank, "{threshold:?}");
        assert!((threshold.p_admit - p_admit).abs() < 1e-9, "{threshold:?}");
    }

    #[test]
    fn equations_5_and_6_by_hand() {
        // One server, 10 ms each: loads 0.4, 0.5, 0.6. Guaranteed: 10/s of the lowest, 0.1. Left for the rest: 0.9.
        // 0.4 < 0.9 ≤ 0.4 + 0.5, so i is the second class: p · 0.5 + 0.4 < 0.9, p = 1.
        let classes = [load(40.0, 0.0), load(50.0, 0.0), load(60.0, 10.0)];
        assert_is(AdmissionThreshold::filling(1.0, &classes), 1, 1.0);
        // With 20/s guaranteed 0.8 is left: p = (0.8 − 0.4) / 0.5.
        let classes = [load(40.0, 0.0), load(50.0, 0.0), load(60.0, 20.0)];
        assert_is(AdmissionThreshold::filling(1.0, &classes), 1, 0.8);
        // Two servers: 1.8 left, 0.4 + 0.5 + p · 0.6 with 1.5 in all: everything fits.
        assert_is(AdmissionThreshold::filling(2.0, &classes), 2, 1.0);
    }

    #[test]
    fn an_overload_of_the_highest_class_alone() {
        // 200/s of 50 ms are 10 servers' work on 3: 0.3 of them.
        let gold = ClassLoad { rate_per_s: 200.0, service_s: 0.05, guaranteed_per_s: 0.0 };
        assert_is(AdmissionThreshold::filling(3.0, &[gold, load(10.0, 0.0)]), 0, 0.3);
    }

    #[test]
    fn guarantees_over_the_capacity_leave_nothing() {
        assert_is(AdmissionThreshold::filling(1.0, &[load(10.0, 120.0), load(0.0, 0.0)]), 0, 0.0);
        assert_is(AdmissionThreshold::filling(1.0, &[load(0.0, 120.0)]), 0, 0.0);
    }

    #[test]
    fn silent_classes_do_not_carry_the_threshold() {
        // The first class is silent and the second exceeds what is left.
        assert_is(AdmissionThreshold::filling(1.0, &[load(0.0, 0.0), load(200.0, 0.0)]), 1, 0.5);
        assert_is(AdmissionThreshold::filling(1.0, &[load(0.0, 0.0), load(0.0, 0.0)]), 1, 1.0);
    }

    #[test]
    fn the_probability_is_that_of_the_threshold_class_alone() {
        let threshold = AdmissionThreshold { rank: 1, p_admit: 0.25 };
        let mut random = Seeded::new(1);
        let mut admitted = |rank| (0..10_000).filter(|_| threshold.admits(rank, &mut random)).count();
        assert_eq!((admitted(0), admitted(2)), (10_000, 0));
        // Four standard errors of 10 000 draws: 173.
        assert!(admitted(1).abs_diff(2500) < 173);
    }
}
