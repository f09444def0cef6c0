//! The work knob: extra database operations per request, WebQ's method of setting the cost of a request (its hardness
//! pages repeat one query).

use std::sync::atomic::{AtomicU64, Ordering};

use controllers::random::{lognormal_factor, mix};

/// Separates the draw of a mailbox's factor from other draws.
const OF_MAILBOX: u64 = 0x006d_6169_6c62_6f78;
/// Operations are counted in millionths.
const ONE: f64 = 1e6;

/// Operations by request type. Changes take effect with the next request.
#[derive(Debug, Default)]
pub struct WorkKnob {
    kinds: [PerKind; KINDS],
    /// The bits of the standard deviation of the logarithm of a mailbox's factor.
    spread: AtomicU64,
}

/// The number of request types that can have work of their own.
pub const KINDS: usize = 16;

#[derive(Debug, Default)]
struct PerKind {
    step: AtomicU64,
    owed: AtomicU64,
}

impl WorkKnob {
    /// Sets the number of operations for a request of this type, at least 0; a fraction is met on average. Unknown
    /// types are ignored.
    pub fn set(&self, kind: usize, operations: f64) {
        if let Some(of_kind) = self.kinds.get(kind) {
            // NaN and negatives become 0, and a million operations take longer than any request lasts.
            let step = (operations.clamp(0.0, 1e6) * ONE) as u64;
            of_kind.step.store(step, Ordering::Relaxed);
        }
    }

    /// Makes some mailboxes cost more than others: each has a factor with mean 1, the logarithm of which has this standard
    /// deviation, 0 to 5. 0: all cost the same.
    pub fn set_spread(&self, sigma: f64) {
        self.spread.store(sigma.clamp(0.0, 5.0).to_bits(), Ordering::Relaxed);
    }

    fn factor(&self, mailbox: u64) -> f64 {
        lognormal_factor(f64::from_bits(self.spread.load(Ordering::Relaxed)), mix(mailbox ^ OF_MAILBOX))
    }

    /// The number of operations for this request, of which it does this share, 0 to 1. A counter and no draw, so that
    /// the average is exact over any run.
    #[must_use]
    pub fn due(&self, kind: usize, mailbox: u64, share: f64) -> u64 {
        let Some(of_kind) = self.kinds.get(kind) else { return 0 };
        let times = share.clamp(0.0, 1.0) * self.factor(mailbox);
        let step = (of_kind.step.load(Ordering::Relaxed) as f64 * times) as u64;
        if step == 0 {
            return 0;
        }
        let before = of_kind.owed.fetch_add(step, Ordering::Relaxed);
        let one = ONE as u64;
        (before.wrapping_add(step)) / one - before / one
    }

    /// The number of operations for the request with this key: independent of its time and of earlier requests. A
    /// fraction is met on average.
    #[must_use]
    pub fn due_by(&self, kind: usize, mailbox: u64, key: u64) -> u64 {
        let Some(of_kind) = self.kinds.get(kind) else { return 0 };
        let one = ONE as u64;
        let step = (of_kind.step.load(Ordering::Relaxed) as f64 * self.factor(mailbox)) as u64;
        (step + mix(key) % one) / one
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fraction_is_met_on_average_exactly() {
        let work = WorkKnob::default();
        work.set(3, 2.3);
        // 10 requests of 2.3 operations do 23, in twos and threes.
        let due: Vec<u64> = (0..10).map(|_| work.due(3, 0, 1.0)).collect();
        assert_eq!(due.iter().sum::<u64>(), 23);
        assert!(due.iter().all(|d| (2..=3).contains(d)), "{due:?}");
        assert_eq!((0..10).map(|_| work.due(3, 0, 0.5)).sum::<u64>(), 11, "of half of it, 11.5");
        assert_eq!(
            (work.due(2, 0, 1.0), work.due(3, 0, 0.0)),
            (0, 0),
            "other types do nothing, and no share is nothing"
        );
    }

    #[test]
    fn by_key_a_request_has_the_same_work_in_any_order() {
        let work = WorkKnob::default();
        work.set(3, 2.3);
        let due = |key: u64| work.due_by(3, 0, key);
        let forth: Vec<u64> = (0..10_000).map(due).collect();
        let mut back: Vec<u64> = (0..10_000).rev().map(due).collect();
        back.reverse();
        assert_eq!(forth, back);
        assert!(forth.iter().all(|d| (2..=3).contains(d)));
        // Four standard deviations of a mean of 10 000 draws.
        let mean = forth.iter().sum::<u64>() as f64 / 10_000.0;
        assert!((mean - 2.3).abs() < 4.0 * 0.0046, "{mean}");
        assert_eq!((work.due_by(2, 0, 7), work.due_by(KINDS, 0, 7)), (0, 0), "other types do nothing");
    }

    #[test]
    fn with_a_spread_a_mailbox_costs_always_as_much_and_all_as_much_as_without() {
        let work = WorkKnob::default();
        work.set(3, 100.0);
        work.set_spread(0.5);
        let of = |mailbox: u64| work.due_by(3, mailbox, 7);
        assert_eq!(of(1), work.due(3, 1, 1.0), "live and in a plant");
        assert_ne!(of(1), of(2));
        // 100 000 draws: a standard error of 100 * sqrt(e^0.25 - 1)/316 = 0.17.
        let mean = (0..100_000).map(of).sum::<u64>() as f64 / 100_000.0;
        assert!((mean - 100.0).abs() < 0.7, "{mean}");
    }

    #[test]
    fn nonsense_means_no_work() {
        let work = WorkKnob::default();
        for nonsense in [f64::NAN, -1.0, f64::NEG_INFINITY] {
            work.set(0, nonsense);
            assert_eq!(work.due(0, 0, 1.0), 0);
        }
        work.set(KINDS, 1.0);
        assert_eq!(work.due(KINDS, 0, 1.0), 0);
    }
}
