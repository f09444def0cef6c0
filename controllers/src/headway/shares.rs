//! Recent admissions by customer, and who had no more than an equal share of them.

use std::collections::BTreeMap;

use super::constants::SHARE_MEMORY;

/// Fading counts of admissions. Customers that are forgotten cost no memory.
#[derive(Debug, Default)]
pub(super) struct CustomerShares {
    admitted: BTreeMap<u32, f64>,
    total: f64,
}

/// A count below which a customer is forgotten.
const FORGOTTEN: f64 = 0.5;

impl CustomerShares {
    /// True for a customer with at most the mean of all that were admitted lately.
    pub(super) fn is_within(&self, customer: u32) -> bool {
        let own = self.admitted.get(&customer).copied().unwrap_or(0.0);
        own * self.admitted.len() as f64 <= self.total
    }

    pub(super) fn admit(&mut self, customer: u32) {
        *self.admitted.entry(customer).or_insert(0.0) += 1.0;
        self.total += 1.0;
    }

    /// Fades all counts, once a window.
    pub(super) fn fade(&mut self) {
        self.admitted.retain(|_, count| {
            *count *= SHARE_MEMORY;
            *count >= FORGOTTEN
        });
        self.total = self.admitted.values().sum();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_had_no_more_than_the_mean_is_within_its_share() {
        let mut shares = CustomerShares::default();
        assert!(shares.is_within(7), "nobody was admitted");
        for customer in [1, 1, 1, 1, 1, 2, 2, 2, 3] {
            shares.admit(customer);
        }
        // Nine admissions of three customers: a mean of 3.
        assert_eq!([1, 2, 3, 4].map(|customer| shares.is_within(customer)), [false, true, true, true]);
    }

    #[test]
    fn counts_fade_until_a_customer_is_forgotten() {
        let mut shares = CustomerShares::default();
        [1, 1, 2].into_iter().for_each(|customer| shares.admit(customer));
        (0..6).for_each(|_| shares.fade());
        // 0.9^6 = 0.53: still known. 0.9^7 = 0.478: forgotten, and 2 × 0.478 = 0.957 of the other is left.
        assert_eq!(shares.admitted.len(), 2);
        shares.fade();
        assert_eq!(shares.admitted.len(), 1);
        assert!((shares.total - 2.0 * 0.9_f64.powi(7)).abs() < 1e-12);
        assert!(shares.is_within(1), "alone it is the mean");
    }
}
