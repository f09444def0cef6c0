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

/// Jobs of one rank, in order of arrival.
#[derive(Debug)]
struct Line {
    jobs: JobQueue<AtDoor>,
    /// Since when it has not been empty.
    since: Timestamp,
}

/// Lines of waiting jobs by rank.
#[derive(Debug)]
pub(super) struct DoorQueue {
    lines: BTreeMap<DoorRank, Line>,
    rank_of: BTreeMap<JobId, DoorRank>,
    by_due: BTreeSet<(Timestamp, JobId)>,
    /// A line that has not been empty for longer is being shed.
    patience: Duration,
}

impl DoorQueue {
    pub(super) fn new(patience: Duration) -> Self {
        Self { lines: BTreeMap::new(), rank_of: BTreeMap::new(), by_due: BTreeSet::new(), patience }
    }

    pub(super) fn len(&self) -> usize {
        self.rank_of.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rank_of.is_empty()
    }

    pub(super) fn push(&mut self, job: AtDoor, rank: DoorRank, now: Timestamp) {
        let line = self.lines.entry(rank).or_insert_with(|| Line { jobs: JobQueue::default(), since: now });
        line.jobs.push(job.id, job);
        self.rank_of.insert(job.id, rank);
        self.by_due.insert((job.due, job.id));
    }

    pub(super) fn remove(&mut self, id: JobId) -> Option<AtDoor> {
        let rank = self.rank_of.remove(&id)?;
        let line = self.lines.get_mut(&rank)?;
        let job = line.jobs.remove(id)?;
        if line.jobs.is_empty() {
            self.lines.remove(&rank);
        }
        self.by_due.remove(&(job.due, id));
        Some(job)
    }

    /// Removes the job that goes in: of the best rank the oldest, or the newest while the rank is being shed.
    pub(super) fn next(&mut self, now: Timestamp) -> Option<AtDoor> {
        let line = self.lines.last_key_value()?.1;
        let next = if self.is_shed(line, now) { line.jobs.iter().next_back() } else { line.jobs.iter().next() };
        self.remove(next?.id)
    }

    /// Removes the job that gives way to one of this rank: of the worst rank the one that would go in last. `None`: the new one would.
    pub(super) fn give_way(&mut self, to: DoorRank, now: Timestamp) -> Option<AtDoor> {
        let (worst, line) = self.lines.first_key_value()?;
        let gone = match (self.is_shed(line, now), *worst < to) {
            (true, better) if better || *worst == to => line.jobs.iter().next(),
            (false, true) => line.jobs.iter().next_back(),
            _ => return None,
        };
        self.remove(gone?.id)
    }

    /// Removes a job whose answer is due by this time.
    pub(super) fn due_by(&mut self, by: Timestamp) -> Option<AtDoor> {
        let (due, id) = *self.by_due.first()?;
        if due <= by { self.remove(id) } else { None }
    }

    pub(super) fn first_due(&self) -> Option<Timestamp> {
        self.by_due.first().map(|(due, _)| *due)
    }

    fn is_shed(&self, line: &Line, now: Timestamp) -> bool {
        now.since(line.since) > self.patience
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_millis(100);
    const PLAIN: DoorRank = DoorRank { criticality: Criticality::Critical, within_share: true, first_attempt: true };

    fn at(ms: u64) -> Timestamp {
        Timestamp::from_millis(ms)
    }

    fn door(jobs: &[(u64, u64, DoorRank)]) -> DoorQueue {
        let mut door = DoorQueue::new(PATIENCE);
        for &(ms, id, rank) in jobs {
            door.push(AtDoor { id: JobId(id), customer: 0, due: at(ms + 200) }, rank, at(ms));
        }
        door
    }

    fn order(mut door: DoorQueue, now: u64) -> Vec<u64> {
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
    fn the_newest_are_first_only_in_the_rank_that_is_being_shed() {
        let low = DoorRank { criticality: Criticality::Sheddable, ..PLAIN };
        // The low line stands since 0, that of the critical since 60: at 101 only the first has stood for over 100 ms.
        let jobs = [(0, 1, low), (50, 2, low), (60, 3, PLAIN), (70, 4, PLAIN)];
        assert_eq!(order(door(&jobs), 101), [3, 4, 2, 1]);
        assert_eq!(order(door(&jobs), 100), [3, 4, 1, 2]);
    }

    #[test]
    fn the_one_that_would_go_in_last_gives_way() {
        let low = DoorRank { criticality: Criticality::Sheddable, ..PLAIN };
        let gone =
            |now, to| door(&[(0, 1, low), (10, 2, low), (20, 3, PLAIN)]).give_way(to, at(now)).map(|job| job.id.0);
        assert_eq!(gone(50, PLAIN), Some(2), "the newest of those in order of arrival");
        assert_eq!(gone(50, low), None, "the new one itself would be last");
        assert_eq!(gone(150, PLAIN), Some(1));
        assert_eq!(gone(150, low), Some(1), "the newest is first: the oldest is last");
    }

    #[test]
    fn who_is_due_leaves_and_a_line_that_was_empty_begins_anew() {
        let mut queue = door(&[(0, 1, PLAIN), (30, 2, PLAIN)]);
        assert_eq!(queue.first_due(), Some(at(200)));
        assert_eq!(queue.due_by(at(199)), None);
        assert_eq!(queue.due_by(at(200)).map(|job| job.id), Some(JobId(1)));
        assert_eq!(queue.remove(JobId(2)).map(|job| job.id), Some(JobId(2)));
        assert!(queue.is_empty() && queue.remove(JobId(2)).is_none());
        for (ms, id) in [(300, 3), (310, 4)] {
            queue.push(AtDoor { id: JobId(id), customer: 0, due: at(ms + 200) }, PLAIN, at(ms));
        }
        assert_eq!(order(queue, 400), [3, 4], "not empty for 100 ms, not more");
    }
}
