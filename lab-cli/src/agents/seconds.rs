//! Seconds of the parts of a load as seconds of the whole, as soon as all parts have told theirs.

use std::collections::{BTreeMap, VecDeque};

use analysis::live::GeneratorSecond;
use measure::{Reported, SecondTimes, Window};

use super::order::PostedSecond;

/// Seconds of a report window.
const REPORTED: usize = 5;

/// Seconds that wait for others.
#[derive(Debug, Default)]
pub struct SecondsOfParts {
    parts: Vec<PartSeconds>,
    next: u64,
    /// Times of the last seconds.
    last: VecDeque<SecondTimes>,
}

#[derive(Debug, Default)]
struct PartSeconds {
    waiting: BTreeMap<u64, PostedSecond>,
    /// No more will come, or nobody waits for them.
    is_over: bool,
}

/// A second of the whole.
#[derive(Debug, PartialEq)]
pub struct SecondOfAll {
    pub window: Window,
    /// The worse of the generators, figure by figure.
    pub busiest: GeneratorSecond,
    /// What each part told of it.
    pub parts: Vec<Option<PostedSecond>>,
}

impl SecondsOfParts {
    /// For so many parts.
    pub fn of(parts: usize) -> Self {
        Self { parts: (0..parts).map(|_| PartSeconds::default()).collect(), ..Self::default() }
    }

    pub fn add(&mut self, part: usize, second: PostedSecond) {
        if second.window.second >= self.next {
            self.parts[part].waiting.insert(second.window.second, second);
        }
    }

    /// Nothing more is waited for from this part; what it has told counts.
    pub fn is_over(&mut self, part: usize, is_over: bool) {
        self.parts[part].is_over = is_over;
    }

    /// The next second that all parts have told, or that those had which are over.
    pub fn next(&mut self) -> Option<SecondOfAll> {
        let waits = |part: &PartSeconds| !part.is_over && !part.waiting.contains_key(&self.next);
        if self.parts.iter().any(waits) {
            return None;
        }
        // A part that lost a second has a later one.
        self.next = self.parts.iter().filter_map(|part| part.waiting.keys().next()).min().copied()?;
        let next = self.next;
        let told: Vec<Option<PostedSecond>> = self.parts.iter_mut().map(|part| part.waiting.remove(&next)).collect();
        self.next += 1;
        let mut all = told.iter().flatten();
        let first = all.next()?;
        let is_reported = told.iter().flatten().any(|second| second.window.reported.is_some());
        let (mut window, mut busiest) = (first.window.clone(), first.generator);
        for second in all {
            window.add(&second.window);
            busiest = busiest.busier(second.generator);
        }
        self.last.extend(window.times.as_deref().cloned());
        while self.last.len() > REPORTED {
            self.last.pop_front();
        }
        window.reported = is_reported.then(|| self.reported());
        Some(SecondOfAll { window, busiest, parts: told })
    }

    fn reported(&self) -> Box<Reported> {
        let mut all = SecondTimes::default();
        self.last.iter().for_each(|times| all.add(times));
        Box::new(Reported { all: all.percentiles(), ..Reported::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(second: u64, sent: u64) -> PostedSecond {
        PostedSecond { window: Window { second, sent, ..Window::default() }, ..PostedSecond::default() }
    }

    fn sent(found: Option<SecondOfAll>) -> Option<(u64, u64)> {
        found.map(|second| (second.window.second, second.window.sent))
    }

    #[test]
    fn a_second_waits_for_all_parts_that_are_not_over() {
        let mut all = SecondsOfParts::of(2);
        all.add(0, second(0, 10));
        assert_eq!(sent(all.next()), None, "the other has not told it");
        all.add(1, second(0, 5));
        assert_eq!(sent(all.next()), Some((0, 15)));
        all.add(0, second(0, 99));
        all.add(0, second(1, 10));
        assert_eq!(sent(all.next()), None, "what was told is told once");
        all.is_over(1, true);
        assert_eq!(sent(all.next()), Some((1, 10)));
        assert_eq!(sent(all.next()), None);
        all.is_over(0, true);
        assert_eq!(sent(all.next()), None);
    }

    #[test]
    fn a_part_that_is_over_first_counts_with_all_that_it_told() {
        let mut all = SecondsOfParts::of(2);
        all.add(1, second(0, 5));
        all.add(1, second(1, 5));
        all.is_over(1, true);
        for number in 0..3 {
            all.add(0, second(number, 10));
        }
        let found: Vec<_> = std::iter::from_fn(|| sent(all.next())).collect();
        assert_eq!(found, [(0, 15), (1, 15), (2, 10)]);
    }
}
