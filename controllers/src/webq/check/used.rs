//! Tokens that were used, in bounded memory.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use crate::Timestamp;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Insertion {
    New,
    Known,
    /// It may have been used before: its slice was dropped.
    Forgotten,
    /// No more can be remembered: fails closed.
    NoRoom,
}

/// A set in slices of time: a slice holds the tokens whose *promised* second lies in it. It is dropped whole when all of
/// these seconds are too late for admission by the wall clock, and as much time has passed by the steady one: a wall
/// clock that is an hour ahead for a moment drops nothing. With slices as long as the window there are two at most.
#[derive(Debug)]
pub(super) struct UsedTokens {
    slice_s: u64,
    most: usize,
    slices: BTreeMap<u64, Slice>,
    /// The last slice that was dropped: nothing is known of it and those before it.
    dropped: Option<u64>,
}

#[derive(Debug)]
struct Slice {
    used: BTreeSet<(u64, u128)>,
    last_use: Timestamp,
}

impl UsedTokens {
    pub(super) fn new(slice_s: u64, most: usize) -> Self {
        Self { slice_s: slice_s.max(1), most, slices: BTreeMap::new(), dropped: None }
    }

    /// Drops slices whose last second is before `second`.
    pub(super) fn forget_before(&mut self, second: u64, steady: Timestamp) {
        let (current, window) = (second / self.slice_s, Duration::from_secs(self.slice_s));
        let dropped = &mut self.dropped;
        self.slices.retain(|number, slice| {
            let kept = *number >= current || steady.since(slice.last_use) < window;
            if !kept {
                *dropped = (*dropped).max(Some(*number));
            }
            kept
        });
    }

    pub(super) fn insert(&mut self, at: u64, id: u128, steady: Timestamp) -> Insertion {
        let number = at / self.slice_s;
        if self.slices.get(&number).is_some_and(|slice| slice.used.contains(&(at, id))) {
            return Insertion::Known;
        }
        if self.dropped.is_some_and(|dropped| number <= dropped) {
            return Insertion::Forgotten;
        }
        if self.len() >= self.most {
            return Insertion::NoRoom;
        }
        let slice = self.slices.entry(number).or_insert_with(|| Slice { used: BTreeSet::new(), last_use: steady });
        slice.used.insert((at, id));
        slice.last_use = slice.last_use.max(steady);
        Insertion::New
    }

    pub(super) fn len(&self) -> usize {
        self.slices.values().map(|slice| slice.used.len()).sum()
    }
}
