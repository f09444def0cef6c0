//! The law of service quality: up by small steps, down by halves (USITS'03, section 4.5; constants from the published
//! code).

/// Moves a quality between a floor and 1 by the ratio of a response time to its target.
#[derive(Debug, Clone, Copy)]
pub(super) struct Quality {
    pub(super) now: f64,
    pub(super) floor: f64,
    /// The increment below `raise_below`.
    pub(super) step: f64,
    /// The divisor above `lower_above`, and the factor below `double_below`.
    pub(super) factor: f64,
    pub(super) double_below: f64,
    pub(super) raise_below: f64,
    pub(super) lower_above: f64,
}

/// The change by a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    /// Doubled: response times are close to zero.
    Doubled,
    /// Raised by a step: response times are below the target.
    Raised,
    /// Kept: response times are near the target.
    Kept,
    /// Lowered: response times are above the target.
    Lowered,
}

impl Quality {
    /// Checks once. `ratio`: response time divided by its target.
    pub(super) fn check(&mut self, ratio: f64) -> Change {
        if ratio < self.double_below {
            self.now = (self.now * self.factor).min(1.0);
            Change::Doubled
        } else if ratio < self.raise_below {
            self.now = (self.now + self.step).min(1.0);
            Change::Raised
        } else if ratio > self.lower_above {
            self.now = (self.now / self.factor).max(self.floor);
            Change::Lowered
        } else {
            Change::Kept
        }
    }

    /// True at the lowest quality.
    pub(super) fn is_at_floor(&self) -> bool {
        self.now <= self.floor
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quality(now: f64) -> Quality {
        Quality { now, floor: 0.01, step: 0.01, factor: 2.0, double_below: 0.0001, raise_below: 0.8, lower_above: 1.1 }
    }

    #[test]
    fn seven_halvings_reach_the_floor() {
        // 1, 1/2, 1/4, 1/8, 1/16, 1/32, 1/64 = 0.0156; the seventh would be 0.0078, so 0.01.
        let mut quality = quality(1.0);
        for _ in 0..6 {
            assert_eq!(quality.check(2.0), Change::Lowered);
        }
        assert!(!quality.is_at_floor());
        quality.check(2.0);
        assert!(quality.is_at_floor() && (quality.now - 0.01).abs() < 1e-12);
    }

    #[test]
    fn bands() {
        // At 0.3: doubled under 0.0001 of the target, one step more under 0.8, kept to 1.1, halved above.
        for (ratio, change, after) in [
            (0.000_05, Change::Doubled, 0.6),
            (0.5, Change::Raised, 0.31),
            (0.8, Change::Kept, 0.3),
            (1.1, Change::Kept, 0.3),
            (1.11, Change::Lowered, 0.15),
        ] {
            let mut quality = quality(0.3);
            assert_eq!(quality.check(ratio), change);
            assert!((quality.now - after).abs() < 1e-12, "at {ratio}");
        }
    }

    #[test]
    fn it_does_not_exceed_one() {
        let mut quality = quality(0.995);
        quality.check(0.5);
        assert!((quality.now - 1.0).abs() < 1e-12);
    }
}
