//! The unit of work (section IV-A).

use std::{
    iter::Sum,
    ops::{Add, AddAssign},
};

use serde::{Deserialize, Serialize};

/// Millionths in a subunit.
const SCALE: u64 = 1_000_000;

/// An amount of work, in subunits, to the millionth: one subunit is the work of a request of hardness 1.
///
/// Fixed point, so that what is booked is what was asked for, whatever the order of additions. Sums saturate. The
/// released code truncates hardness to whole subunits; this type does not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Subunits(u64);

impl Subunits {
    /// No work.
    pub const ZERO: Self = Self(0);
    /// More than any sum of requests.
    pub const UNLIMITED: Self = Self(u64::MAX);

    /// A whole number of subunits.
    #[must_use]
    pub const fn whole(subunits: u64) -> Self {
        Self(subunits.saturating_mul(SCALE))
    }

    /// The nearest amount; nothing for what is negative or not a number.
    #[must_use]
    pub fn of(subunits: f64) -> Self {
        // A cast saturates, and turns what is not a number into 0.
        Self((subunits * SCALE as f64).round() as u64)
    }

    /// As a number of subunits.
    #[must_use]
    pub fn as_f64(self) -> f64 {
        self.0 as f64 / SCALE as f64
    }

    /// What is left after `other`; nothing if `other` is more.
    #[must_use]
    pub const fn less(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// `self · part / whole`, rounded down. A part of nothing is nothing; a part is at most the whole.
    #[must_use]
    pub fn share(self, part: Self, whole: Self) -> Self {
        if whole.0 == 0 {
            return Self::ZERO;
        }
        let (part, whole) = (u128::from(part.0.min(whole.0)), u128::from(whole.0));
        Self((u128::from(self.0) * part / whole) as u64)
    }

    /// `self · times`, rounded down.
    #[must_use]
    pub const fn times(self, times: u64) -> Self {
        Self(self.0.saturating_mul(times))
    }

    /// `self / n`, rounded down; all of it for 0.
    #[must_use]
    pub fn split(self, n: usize) -> Self {
        Self(self.0 / (n as u64).max(1))
    }
}

impl Add for Subunits {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Subunits {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for Subunits {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::ZERO, Add::add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_are_kept_and_shares_are_rounded_down() {
        assert_eq!([Subunits::of(1.5), Subunits::of(1.5)].into_iter().sum::<Subunits>(), Subunits::whole(3));
        // 100 / 3 = 33.333 333…: three shares come to 99.999 999, never to more than the whole.
        let third = Subunits::whole(100).share(Subunits::whole(1), Subunits::whole(3));
        assert_eq!((third, third.times(3)), (Subunits::of(33.333_333), Subunits::of(99.999_999)));
        assert_eq!(Subunits::UNLIMITED.share(Subunits::UNLIMITED, Subunits::UNLIMITED), Subunits::UNLIMITED);
    }

    #[test]
    fn no_number_makes_an_amount_that_is_none() {
        assert_eq!([f64::NAN, -1.0, f64::NEG_INFINITY].map(Subunits::of), [Subunits::ZERO; 3]);
        assert_eq!(Subunits::of(f64::INFINITY), Subunits::UNLIMITED);
        assert_eq!(Subunits::UNLIMITED + Subunits::whole(1), Subunits::UNLIMITED);
        assert_eq!(Subunits::whole(1).less(Subunits::whole(2)), Subunits::ZERO);
        assert_eq!(Subunits::whole(1).share(Subunits::whole(1), Subunits::ZERO), Subunits::ZERO);
    }
}
