//! Jobs that wait at the door: who goes in next, who gives way, and whose time is over.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use crate::{Criticality, JobId, Timestamp, primitives::JobQueue};

/// Standing of a job at the door, the greatest first. The order of the fields is that of importance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct DoorRank {
    pub(super) criticality: Criticality,
    /// The customer had no more than its share lately.
    pub(super) within_share: bool,
    pub(super) first_attempt: bool,
}

/// A job that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AtDoor {
    pub(super) id: JobId,
    pub(super) customer: u32,
    /// When its answer is late.
    pub(super) due: Timestamp,
}

/// A time during which jobs of a rank are turned away.
#[derive(Debug, Clone, Copy)]
struct Shedding {
    since: Timestamp,
    last: Timestamp,
}

/// Lines of waiting jobs by rank, each in order of arrival.
#[derive(Debug)]
pub(super) struct DoorQueue {
    lines: BTreeMap<DoorRank, JobQueue<AtDoor>>,
    rank_of: BTreeMap<JobId, DoorRank>,
    by_due: BTreeSet<(Timestamp, JobId)>,
    shedding: BTreeMap<DoorRank, Shedding>,
    /// A rank of which nobody was turned away for longer is served whole; one of which somebody was for longer has its newest first.
    patience: Duration,
}

impl DoorQueue {
    pub(super) fn new(patience: Duration) -> Self {
        let (lines, rank_of, by_due) = (BTreeMap::new(), BTreeMap::new(), BTreeSet::new());
        Self { lines, rank_of, by_due, shedding: BTreeMap::new(), patience }
    }

    pub(super) fn len(&self) -> usize {
        self.rank_of.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rank_of.is_empty()
    }

    pub(super) fn push(&mut self, job: AtDoor, rank: DoorRank) {
        self.lines.entry(rank).or_default().push(job.id, job);
        self.rank_of.insert(job.id, rank);
        self.by_due.insert((job.due, job.id));
    }

    fn remove(&mut self, id: JobId) -> Option<AtDoor> {
        let rank = self.rank_of.remove(&id)?;
        let line = self.lines.get_mut(&rank)?;
        let job = line.remove(id)?;
        if line.is_empty() {
            self.lines.remove(&rank);
        }
        self.by_due.remove(&(job.due, id));
        Some(job)
    }

    /// Removes a job that did not want to wait any longer: as if it had been turned away. False: it does not wait here.
    pub(super) fn leave(&mut self, id: JobId, now: Timestamp) -> bool {
        if let Some(rank) = self.rank_of.get(&id).copied() {
            self.turn_away(rank, now);
        }
        self.remove(id).is_some()
    }

    /// Removes the job that goes in. Ranks that are served whole are one line in order of deadlines: none of them has to be late for
    /// another. Else of the best rank the oldest, or the newest once the rank has been shed for long.
    pub(super) fn next(&mut self, now: Timestamp) -> Option<AtDoor> {
        let whole = self.lines.iter().rev().filter(|(rank, _)| !self.is_shed(**rank, now));
        let due_first = whole.filter_map(|(_, line)| line.iter().next()).min_by_key(|job| job.due);
        let next = due_first.or_else(|| {
            let (rank, line) = self.lines.last_key_value()?;
            if self.is_shed_for_long(*rank, now) { line.iter().next_back() } else { line.iter().next() }
        });
        self.remove(next?.id)
    }

    /// Removes the job that gives way to one of this rank: of the worst rank the one that would go in last. `None`: the new one would.
    pub(super) fn give_way(&mut self, to: DoorRank, now: Timestamp) -> Option<AtDoor> {
        let (worst, line) = self.lines.first_key_value()?;
        let worst = *worst;
        let gone = match (self.is_shed_for_long(worst, now), worst < to) {
            (true, better) if better || worst == to => line.iter().next(),
            (false, true) => line.iter().next_back(),
            _ => None,
        };
        let gone = gone.map(|job| job.id);
        self.turn_away(if gone.is_some() { worst } else { to }, now);
        self.remove(gone?)
    }

    /// Removes a job whose answer is due by this time.
    pub(super) fn due_by(&mut self, by: Timestamp, now: Timestamp) -> Option<AtDoor> {
        let (_, id) = *self.by_due.first().filter(|(due, _)| *due <= by)?;
        let rank = *self.rank_of.get(&id)?;
        self.turn_away(rank, now);
        self.remove(id)
    }

    /// A job of this rank is turned away: it and all below come after those that are served whole.
    pub(super) fn turn_away(&mut self, rank: DoorRank, now: Timestamp) {
        let shedding = self.shedding.entry(rank).or_insert(Shedding { since: now, last: now });
        if now.since(shedding.last) > self.patience {
            shedding.since = now;
        }
        shedding.last = now;
    }

    pub(super) fn first_due(&self) -> Option<Timestamp> {
        self.by_due.first().map(|(due, _)| *due)
    }

    fn is_shed(&self, rank: DoorRank, now: Timestamp) -> bool {
        self.shedding.range(rank..).any(|(_, shedding)| now.since(shedding.last) <= self.patience)
    }

    fn is_shed_for_long(&self, rank: DoorRank, now: Timestamp) -> bool {
        let of_rank = self.shedding.get(&rank);
        of_rank.is_some_and(|of| now.since(of.last) <= self.patience && now.since(of.since) > self.patience)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_millis(100);
    const PLAIN: DoorRank = DoorRank { criticality: Criticality::Critical, within_share: true, first_attempt: true };

    const BEST: DoorRank = DoorRank { criticality: Criticality::CriticalPlus, ..PLAIN };

    fn at(ms: u64) -> Timestamp {
        Timestamp::from_millis(ms)
    }

    fn door(jobs: &[(u64, u64, DoorRank)]) -> DoorQueue {
        let mut door = DoorQueue::new(PATIENCE);
        for &(ms, id, rank) in jobs {
            door.push(AtDoor { id: JobId(id), customer: 0, due: at(ms + 200) }, rank);
        }
        door
    }

    /// The order while nobody of these ranks can be served whole.
    fn order(mut door: DoorQueue, now: u64) -> Vec<u64> {
        door.turn_away(BEST, at(now));
        std::iter::from_fn(|| door.next(at(now))).map(|job| job.id.0).collect()
    }

    #[test]
    fn criticality_comes_before_share_before_first_attempt_before_time() {
        let jobs = [
            (0, 1, DoorRank { criticality: Criticality::Sheddable, ..PLAIN }),
            (1, 2, DoorRank { first_attempt: false, ..PLAIN }),
            (2, 3, DoorRank { within_share: false, ..PLAIN }),
            (3, 4, PLAIN),
            (4, 5, PLAIN),
            (5, 6, DoorRank { criticality: Criticality::CriticalPlus, within_share: false, first_attempt: false }),
        ];
        assert_eq!(order(door(&jobs), 10), [6, 4, 5, 2, 3, 1]);
    }

    #[test]
    fn the_newest_are_first_only_in_the_rank_that_has_been_shed_for_long() {
        let low = DoorRank { criticality: Criticality::Sheddable, ..PLAIN };
        let order = |away: &[u64], now| {
            let mut queue = door(&[(0, 1, low), (10, 2, low), (20, 3, PLAIN), (30, 4, PLAIN)]);
            away.iter().for_each(|ms| queue.turn_away(low, at(*ms)));
            order(queue, now)
        };
        assert_eq!(order(&[50, 150, 151], 151), [3, 4, 2, 1], "for 101 ms");
        assert_eq!(order(&[50, 150], 150), [3, 4, 1, 2], "for 100 ms");
        assert_eq!(order(&[50, 151], 152), [3, 4, 1, 2], "nobody for 101 ms between");
    }

    #[test]
    fn ranks_that_are_served_whole_are_one_line() {
        let low = DoorRank { criticality: Criticality::Sheddable, ..PLAIN };
        let mut queue = door(&[(0, 1, low), (10, 2, PLAIN), (20, 3, low), (30, 4, BEST)]);
        assert_eq!(queue.next(at(30)).map(|job| job.id.0), Some(1), "the one that is due first");
        // One of the low is turned away: for 100 ms the others come after those that are not shed.
        queue.turn_away(low, at(40));
        let rest = [50, 60, 141].map(|ms| queue.next(at(ms)).map(|job| job.id.0));
        assert_eq!(rest, [Some(2), Some(4), Some(3)]);
    }

    #[test]
    fn the_one_that_would_go_in_last_gives_way() {
        let low = DoorRank { criticality: Criticality::Sheddable, ..PLAIN };
        let gone = |away: &[u64], to| {
            let mut queue = door(&[(0, 1, low), (10, 2, low), (20, 3, PLAIN)]);
            away.iter().for_each(|ms| queue.turn_away(low, at(*ms)));
            queue.give_way(to, at(151)).map(|job| job.id.0)
        };
        assert_eq!(gone(&[], PLAIN), Some(2), "the newest of those in order of arrival");
        assert_eq!(gone(&[], low), None, "the new one itself would be last");
        assert_eq!(gone(&[50, 140], PLAIN), Some(1));
        assert_eq!(gone(&[50, 140], low), Some(1), "the newest is first: the oldest is last");
    }

    #[test]
    fn who_is_due_or_leaves_is_gone() {
        let mut queue = door(&[(0, 1, PLAIN), (30, 2, PLAIN)]);
        assert_eq!(queue.first_due(), Some(at(200)));
        assert_eq!(queue.due_by(at(199), at(0)), None);
        assert_eq!(queue.due_by(at(200), at(0)).map(|job| job.id), Some(JobId(1)));
        assert!(queue.leave(JobId(2), at(1)) && !queue.leave(JobId(2), at(1)));
        assert!(queue.is_empty() && queue.first_due().is_none());
    }
}
