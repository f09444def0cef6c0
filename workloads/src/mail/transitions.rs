//! Counts of the transitions that users made.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use controllers::Timestamp;
use measure::{Offered, TransitionCount, WalkCell};

use super::model::State;

/// The number of separate minutes; the last one holds the rest of the run.
const MINUTES: usize = 240;

/// Counts of drawn transitions.
#[derive(Debug)]
pub(super) struct Counts {
    /// In the order of [`PageMatch`]. By the state before where it matters; the last entry is for all others.
    ways: [[[[AtomicU64; 4]; State::COUNT]; State::COUNT]; State::COUNT + 1],
    /// By minute: all drawn states, and those that no page offered.
    minutes: [[AtomicU64; 2]; MINUTES],
}

impl Default for Counts {
    fn default() -> Self {
        Self { ways: Default::default(), minutes: std::array::from_fn(|_| Default::default()) }
    }
}

/// The relation of a drawn state to its page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PageMatch {
    /// On a page that offers every state of the row.
    OnWholePage,
    /// On another page, which offers this state.
    Elsewhere,
    /// On a page that does not offer it.
    NotOffered,
    /// On the page of a message that the user knew to be gone, which offers nothing.
    Gone,
}

impl Counts {
    /// Counts a transition. `after`: the state before, where a row of second order was drawn from.
    pub(super) fn count(&self, now: Timestamp, after: Option<State>, from: State, to: State, met: PageMatch) {
        let after = after.map_or(State::COUNT, |after| after as usize);
        let minute = usize::try_from(now.since(Timestamp::ZERO).as_secs() / 60).unwrap_or(MINUTES);
        let [drawn, not_offered] = &self.minutes[minute.min(MINUTES - 1)];
        drawn.fetch_add(1, Relaxed);
        not_offered.fetch_add(u64::from(met == PageMatch::NotOffered), Relaxed);
        self.ways[after][from as usize][to as usize][met as usize].fetch_add(1, Relaxed);
    }

    pub(super) fn seen(&self) -> Vec<TransitionCount> {
        let mut seen = Vec::new();
        // Those of the first order come first.
        let afters = std::iter::once(None).chain(State::ALL.map(Some));
        for (after, from) in afters.flat_map(|after| State::ALL.map(|from| (after, from))) {
            let counts = &self.ways[after.map_or(State::COUNT, |after| after as usize)][from as usize];
            for to in State::ALL {
                let [made, made_elsewhere, not_offered, gone] =
                    [0, 1, 2, 3].map(|met| counts[to as usize][met].load(Relaxed));
                let drawn = WalkCell { made, made_elsewhere, substituted: not_offered + gone, gone };
                if drawn != WalkCell::default() {
                    let after = after.map(|after| after.name().to_owned());
                    let (from, to) = (from.name().to_owned(), to.name().to_owned());
                    seen.push(TransitionCount { after, from, to, drawn });
                }
            }
        }
        seen
    }

    /// By minute, up to the last one in which a state was drawn.
    pub(super) fn offered(&self) -> Vec<Offered> {
        let read = |[drawn, not_offered]: &[AtomicU64; 2]| Offered {
            drawn: drawn.load(Relaxed),
            not_offered: not_offered.load(Relaxed),
        };
        let mut minutes: Vec<Offered> = self.minutes.iter().map(read).collect();
        while minutes.last().is_some_and(|minute| minute.drawn == 0) {
            minutes.pop();
        }
        minutes
    }
}
