//! CoDel as in the paper and in the Linux kernel: once waits exceed the target for an interval, one job is dropped, and
//! the next after interval / √(number dropped), until a wait is below the target.

use std::time::Duration;

use crate::{Gauge, JobId, Timestamp, modern::discipline::Head};

/// The law of the Linux kernel (`codel_impl.h`).
#[derive(Debug)]
pub struct LinuxCodel {
    target: Duration,
    interval: Duration,
    /// The time at which the queue counts as standing, unless a wait is below the target before.
    stands_at: Option<Timestamp>,
    dropping: bool,
    /// Drops since dropping started; continues the previous count if that ended shortly before.
    count: u64,
    /// `count` at the start of dropping.
    count_before: u64,
    next_drop: Timestamp,
}

/// Dropping that starts within this number of intervals after the previous one continues its count.
const SHORTLY: u32 = 16;

impl LinuxCodel {
    /// A queue that does not stand. `target`: the longest wait that is no standing queue; `interval`: how long every wait must be
    /// over it until the first job is refused.
    #[must_use]
    pub fn new(target: Duration, interval: Duration) -> Self {
        Self {
            target,
            interval,
            stands_at: None,
            dropping: false,
            count: 0,
            count_before: 0,
            next_drop: Timestamp::ZERO,
        }
    }

    /// Selects the job to release; refuses others.
    pub fn next(
        &mut self,
        now: Timestamp,
        pop: &mut impl FnMut() -> Option<Head>,
        refuse: &mut impl FnMut(JobId),
    ) -> Option<JobId> {
        let Some(mut head) = pop() else {
            self.dropping = false;
            return None;
        };
        let mut late = self.is_late(now, Some(head));
        if !self.dropping && late {
            refuse(head.id);
            let next = pop();
            self.is_late(now, next);
            self.begin(now);
            return next.map(|head| head.id);
        }
        while self.dropping {
            if !late {
                self.dropping = false;
            } else if now < self.next_drop {
                break;
            } else {
                self.count += 1;
                refuse(head.id);
                let next = pop();
                late = self.is_late(now, next);
                if late {
                    self.next_drop = self.next_drop + self.gap();
                }
                match next {
                    Some(next) => head = next,
                    None => {
                        self.dropping = false;
                        return None;
                    }
                }
            }
        }
        Some(head.id)
    }

    /// True if all waits of an interval, including this one, exceeded the target.
    fn is_late(&mut self, now: Timestamp, head: Option<Head>) -> bool {
        match head {
            Some(head) if head.waited >= self.target && head.left > 1 => {
                let at = *self.stands_at.get_or_insert(now + self.interval);
                now > at
            }
            _ => {
                self.stands_at = None;
                false
            }
        }
    }

    fn begin(&mut self, now: Timestamp) {
        self.dropping = true;
        let in_last_time = self.count - self.count_before;
        let shortly = now.since(self.next_drop) < self.interval * SHORTLY;
        self.count = if shortly && in_last_time > 1 { in_last_time } else { 1 };
        self.count_before = self.count;
        self.next_drop = now + self.gap();
    }

    fn gap(&self) -> Duration {
        self.interval.div_f64((self.count as f64).sqrt())
    }

    /// Visits the state of the law.
    pub fn gauges(&self, visit: &mut dyn FnMut(Gauge, f64)) {
        visit(Gauge::of("dropping"), f64::from(u8::from(self.dropping)));
        visit(Gauge::of("drop_count"), self.count as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A queue whose jobs all came at one time, with so many of them in it.
    struct Bench {
        law: LinuxCodel,
        arrived: u64,
        waiting: u32,
    }

    impl Bench {
        /// Target 5 ms, interval 100 ms; all came at 0.
        fn new(waiting: u32) -> Self {
            let law = LinuxCodel::new(Duration::from_millis(5), Duration::from_millis(100));
            Self { law, arrived: 0, waiting }
        }

        /// Takes the next at this time, in ms: how many were dropped before it, and whether there was one.
        fn at(&mut self, ms: u64) -> (u32, bool) {
            let mut dropped = 0;
            let now = Timestamp::from_millis(ms);
            let waited = Duration::from_millis(ms - self.arrived);
            let (waiting, law) = (&mut self.waiting, &mut self.law);
            let mut pop = || {
                *waiting = waiting.checked_sub(1)?;
                Some(Head { id: JobId(0), waited, left: *waiting })
            };
            let served = law.next(now, &mut pop, &mut |_| dropped += 1);
            (dropped, served.is_some())
        }

        fn dropped(&mut self, times: impl IntoIterator<Item = u64>) -> Vec<u32> {
            times.into_iter().map(|ms| self.at(ms).0).collect()
        }
    }

    #[test]
    fn drops_come_at_the_interval_over_the_root_of_their_number() {
        let mut bench = Bench::new(100);
        // Over the target from 10 ms on, so for an interval after 110 ms, and not at it.
        assert_eq!(bench.dropped([10, 100, 110, 111]), [0, 0, 0, 1]);
        // The next at 111 + 100/√1 = 211, then 211 + 100/√2 = 281.71, then 281.71 + 100/√3 = 339.45.
        assert_eq!(bench.dropped([210, 211, 281, 282, 339]), [0, 1, 0, 1, 0]);
        // Late for two of them: 339.45, and 339.45 + 100/√4 = 389.45. Then 389.45 + 100/√5 = 434.17.
        assert_eq!(bench.dropped([400, 434, 435]), [2, 0, 1]);
        assert_eq!((bench.law.count, bench.law.count_before), (6, 1));
    }

    #[test]
    fn soon_after_it_goes_on_where_it_was() {
        let mut bench = Bench::new(100);
        assert_eq!(bench.dropped([10, 111, 211, 282, 400]), [0, 1, 1, 1, 2]);
        // A wait of 4 ms ends it; over the target again from 420 ms, for an interval after 520 ms.
        bench.arrived = 406;
        assert_eq!(bench.dropped([410, 420, 520]), [0, 0, 0]);
        assert!(!bench.law.dropping);
        // Five were dropped, four after the first: it goes on with a gap of 100/√4 = 50 ms, then 100/√5 = 44.7.
        assert_eq!(bench.dropped([521, 570, 571, 615, 616]), [1, 0, 1, 0, 1]);
    }

    #[test]
    fn long_after_it_begins_anew() {
        let mut bench = Bench::new(100);
        assert_eq!(bench.dropped([10, 111, 211, 282, 400]), [0, 1, 1, 1, 2]);
        bench.arrived = 406;
        assert_eq!(bench.dropped([410]), [0]);
        // The last would have gone on at 434.17; 16 intervals after that is 2034.17.
        bench.arrived = 1900;
        assert_eq!(bench.dropped([1940, 2041]), [0, 1]);
        // One dropped: the next after 100 ms, not after 50.
        assert_eq!(bench.dropped([2091, 2140, 2141]), [0, 0, 1]);
    }

    #[test]
    fn the_last_two_are_never_dropped() {
        let mut bench = Bench::new(4);
        assert_eq!(bench.at(10), (0, true));
        // Three are left. The first is dropped, the second served, and the third comes to an empty queue.
        assert_eq!(bench.at(111), (1, true));
        assert_eq!(bench.at(500), (0, true));
        assert_eq!(bench.at(501), (0, false));
        assert!(!bench.law.dropping);
        // With one behind it, one that is as late is served.
        let mut bench = Bench::new(3);
        assert_eq!((bench.at(10), bench.at(111)), ((0, true), (0, true)));
    }
}
