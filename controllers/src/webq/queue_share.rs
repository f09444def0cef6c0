//! The part of the queue that one source of requests may have: a machine that asks a thousand times would hold a thousand turns.
//!
//! No part of the paper, which knows a user by his address and lets each ask as often as he likes.

use std::collections::{BTreeMap, VecDeque};

use crate::UnixSeconds;

use super::Subunits;

/// Sources whose turns are counted. Where more have turns at once, those beyond are not counted: a queue of so many sources is no one's.
const MOST_SOURCES: usize = 65_536;

/// Parts of the horizon that turns are counted by: a turn counts until the end of its part.
const PARTS: u32 = 32;

/// The turns that are promised to each source.
#[derive(Debug)]
pub(super) struct QueueShare {
    share: f64,
    horizon_s: u32,
    part_s: u64,
    /// By source: the work that is promised, by the part that it is promised for, the earliest first.
    promised: BTreeMap<u64, VecDeque<(u64, Subunits)>>,
    /// The part at which those that are over made room: once in each, since that is a look at all.
    swept: u64,
}

impl QueueShare {
    /// `share`: of the queue of a whole horizon, up to 1.
    pub(super) fn new(share: f64, horizon_s: u32) -> Self {
        let part_s = u64::from(horizon_s.div_ceil(PARTS).max(1));
        Self { share, horizon_s, part_s, promised: BTreeMap::new(), swept: 0 }
    }

    /// True if a source may have a turn more, of a queue that grows by `capacity` a second.
    pub(super) fn has_room(&mut self, now: UnixSeconds, source: u64, capacity: Subunits) -> bool {
        let this = now.0 / self.part_s;
        let Some(turns) = self.promised.get_mut(&source) else { return true };
        while turns.front().is_some_and(|(part, _)| *part < this) {
            turns.pop_front();
        }
        let held: f64 = turns.iter().map(|(_, work)| work.as_f64()).sum();
        if turns.is_empty() {
            self.promised.remove(&source);
        }
        held < self.share * capacity.as_f64() * f64::from(self.horizon_s)
    }

    /// Notes a turn.
    pub(super) fn promised(&mut self, now: UnixSeconds, source: u64, at: UnixSeconds, work: Subunits) {
        if self.promised.len() >= MOST_SOURCES && !self.promised.contains_key(&source) {
            let this = now.0 / self.part_s;
            if this > self.swept {
                self.promised.retain(|_, turns| turns.back().is_some_and(|(part, _)| *part >= this));
                self.swept = this;
            }
            if self.promised.len() >= MOST_SOURCES {
                return;
            }
        }
        let (turns, part) = (self.promised.entry(source).or_default(), at.0 / self.part_s);
        match turns.iter_mut().find(|(of, _)| *of == part) {
            Some((_, before)) => *before = Subunits::of(before.as_f64() + work.as_f64()),
            None => {
                let place = turns.partition_point(|(of, _)| *of < part);
                turns.insert(place, (part, work));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: a fifth of 10 requests a second for 100 s is 200 requests; parts of 4 s.
    #[test]
    fn a_source_has_its_share_and_turns_that_are_over_count_no_more() {
        let (capacity, one, at) = (Subunits::whole(10), Subunits::whole(1), UnixSeconds);
        let mut share = QueueShare::new(0.2, 100);
        for turn in 0..200 {
            assert!(share.has_room(at(0), 1, capacity), "{turn}");
            share.promised(at(0), 1, at(turn / 10), one);
        }
        assert!(!share.has_room(at(0), 1, capacity));
        assert!(share.has_room(at(0), 2, capacity), "nobody else pays for it");
        // Those of the seconds 0 to 3 are over.
        assert!(!share.has_room(at(3), 1, capacity) && share.has_room(at(4), 1, capacity));
        (0..40).for_each(|_| share.promised(at(4), 1, at(20), one));
        assert!(!share.has_room(at(4), 1, capacity));
        // A heavier request counts for what it is.
        share.promised(at(0), 2, at(5), Subunits::whole(200));
        assert!(!share.has_room(at(0), 2, capacity));
        assert!(share.has_room(at(24), 1, capacity) && share.promised.len() == 1, "what is empty is forgotten");
    }

    #[test]
    fn sources_are_bounded() {
        let mut share = QueueShare::new(0.01, 100);
        for source in 0..2 * MOST_SOURCES as u64 {
            share.promised(UnixSeconds(0), source, UnixSeconds(50), Subunits::whole(1));
        }
        assert_eq!(share.promised.len(), MOST_SOURCES);
        share.promised(UnixSeconds(60), 1 << 40, UnixSeconds(90), Subunits::whole(1));
        assert_eq!(share.promised.len(), 1, "those that are over make room");
    }
}
