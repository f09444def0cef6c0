//! Requests by number, so that requests that the service never read can be distinguished from those that it read and
//! left unanswered: a client alone cannot know.

use super::Fate;

/// The largest number of requests without an answer that are remembered: 8 MiB.
const MOST: usize = 1 << 20;

/// The fates of a request without an answer; the index is stored.
const FATES: [Fate; 4] = [Fate::TimedOut, Fate::Abandoned, Fate::Failed, Fate::InFlight];
const BITS: u32 = 2;

/// The numbers of a run's requests: 0, 1, 2 and so on, hops included. A number whose request got no connection is void.
/// Only those without an answer are remembered, and of those at most a million.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Numbers {
    given: u64,
    written: u64,
    unanswered: Vec<u64>,
    forgotten: bool,
}

impl Numbers {
    /// Gives the next request its number.
    #[must_use]
    pub fn give(&mut self) -> u64 {
        self.given += 1;
        self.given - 1
    }

    /// Counts a written request with a number.
    pub fn wrote(&mut self) {
        self.written += 1;
    }

    /// Notes that the request with this number was written, and has ended without an answer.
    pub fn unanswered(&mut self, number: u64, fate: Fate) {
        if self.unanswered.len() >= MOST {
            self.forgotten = true;
            return;
        }
        // Any other reason for a missing answer counts as failed, as in the ledger.
        let place = FATES.iter().position(|&other| other == fate).unwrap_or(2);
        self.unanswered.push(number << BITS | place as u64);
    }

    /// The count of numbers given: all numbers below this one.
    #[must_use]
    pub fn given(&self) -> u64 {
        self.given
    }

    /// The count of numbered requests that were written.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.written
    }

    /// The requests without an answer, and how each ended: timed out, abandoned, failed or in flight. `None` if there
    /// were too many to remember.
    #[must_use]
    pub fn without_answer(&self) -> Option<impl Iterator<Item = (u64, Fate)> + '_> {
        let places = (1 << BITS) - 1;
        let read = move |&entry: &u64| (entry >> BITS, FATES[(entry & places) as usize]);
        (!self.forgotten).then(|| self.unanswered.iter().map(read))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_those_without_an_answer_are_remembered() {
        let mut numbers = Numbers::default();
        assert_eq!((numbers.give(), numbers.give(), numbers.give()), (0, 1, 2));
        numbers.wrote();
        numbers.wrote();
        numbers.unanswered(2, Fate::InFlight);
        numbers.unanswered(0, Fate::ConnectFailed);
        let found: Vec<_> = numbers.without_answer().expect("few").collect();
        assert_eq!(found, [(2, Fate::InFlight), (0, Fate::Failed)]);
        assert_eq!((numbers.given(), numbers.written()), (3, 2));
    }

    #[test]
    fn too_many_are_not_told_in_part() {
        let mut numbers = Numbers::default();
        for _ in 0..MOST {
            let number = numbers.give();
            numbers.unanswered(number, Fate::TimedOut);
        }
        assert_eq!(numbers.without_answer().map(Iterator::count), Some(MOST));
        let number = numbers.give();
        numbers.unanswered(number, Fate::TimedOut);
        assert!(numbers.without_answer().is_none());
    }
}
