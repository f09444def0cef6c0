//! The circular array `N[k]` (section III-A), addressed by absolute second.

use super::Subunits;

/// Work booked for each of the next seconds.
#[derive(Debug, Clone)]
pub(super) struct Slots {
    first: u64,
    ring: Vec<Subunits>,
}

impl Slots {
    /// `seconds` empty slots from second 0. At least one.
    pub(super) fn new(seconds: usize) -> Self {
        Self { first: 0, ring: vec![Subunits::ZERO; seconds.max(1)] }
    }

    /// The current second, the paper's `k = 0`.
    pub(super) fn first(&self) -> u64 {
        self.first
    }

    /// The first second that is too far away to be booked.
    pub(super) fn end(&self) -> u64 {
        self.first.saturating_add(self.ring.len() as u64)
    }

    /// Work booked for a second: nothing for one that has passed or is too far away.
    pub(super) fn get(&self, second: u64) -> Subunits {
        if self.covers(second) { self.ring[self.index(second)] } else { Subunits::ZERO }
    }

    /// Books work. A second that the array does not cover is ignored.
    pub(super) fn add(&mut self, second: u64, work: Subunits) {
        if self.covers(second) {
            let index = self.index(second);
            self.ring[index] += work;
        }
    }

    /// Moves on to `second`: the slots of seconds that have passed become those of the farthest ones, empty. A second
    /// that has passed changes nothing.
    pub(super) fn advance(&mut self, second: u64) {
        let passed = second.saturating_sub(self.first).min(self.ring.len() as u64);
        for gone in self.first..self.first + passed {
            let index = self.index(gone);
            self.ring[index] = Subunits::ZERO;
        }
        self.first = self.first.max(second);
    }

    /// Calls the current second `second`: what is booked `k` seconds from now still is.
    pub(super) fn relabel(&mut self, second: u64) {
        let booked = self.booked();
        self.ring.fill(Subunits::ZERO);
        self.first = second;
        for (k, work) in booked.into_iter().enumerate() {
            self.add(second.saturating_add(k as u64), work);
        }
    }

    /// `N[0]`, `N[1]` and so on, without the empty slots at the end.
    pub(super) fn booked(&self) -> Vec<Subunits> {
        let mut booked: Vec<Subunits> = (self.first..self.end()).map(|second| self.get(second)).collect();
        let used = booked.iter().rposition(|work| *work > Subunits::ZERO).map_or(0, |last| last + 1);
        booked.truncate(used);
        booked
    }

    fn covers(&self, second: u64) -> bool {
        (self.first..self.end()).contains(&second)
    }

    fn index(&self, second: u64) -> usize {
        (second % self.ring.len() as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: Subunits = Subunits::whole(2);

    #[test]
    fn seconds_that_pass_free_their_slots_over_gaps_too() {
        let mut slots = Slots::new(3);
        slots.advance(10);
        slots.add(10, TWO);
        slots.add(12, TWO);
        slots.add(13, TWO); // too far away
        assert_eq!(slots.booked(), [TWO, Subunits::ZERO, TWO]);
        slots.advance(11);
        assert_eq!((slots.get(10), slots.get(12), slots.get(13)), (Subunits::ZERO, TWO, Subunits::ZERO));
        slots.advance(9); // has passed
        assert_eq!((slots.first(), slots.get(12)), (11, TWO));
        slots.advance(1_000_000);
        assert_eq!((slots.first(), slots.booked()), (1_000_000, vec![]));
    }

    #[test]
    fn a_new_name_for_the_current_second_moves_nothing() {
        let mut slots = Slots::new(4);
        slots.advance(100);
        slots.add(102, TWO);
        slots.relabel(7);
        assert_eq!((slots.first(), slots.get(9), slots.get(102)), (7, TWO, Subunits::ZERO));
    }
}
