//! CoDel as in folly: an interval is overloaded if its shortest wait exceeds the target; in the following interval
//! every job that waited over twice the target is refused.

use std::time::Duration;

use crate::{Gauge, JobId, Timestamp, modern::discipline::Head};

/// The law of folly's executors: see the module's source, `Codel.cpp`.
#[derive(Debug)]
pub struct FollyCodel {
    target: Duration,
    interval: Duration,
    shortest: Duration,
    interval_ends: Timestamp,
    /// The next wait is the first of its interval.
    fresh: bool,
    overloaded: bool,
}

impl FollyCodel {
    /// A queue without overload. `target`: the longest wait that is no overload; `interval`: how often that is judged.
    #[must_use]
    pub fn new(target: Duration, interval: Duration) -> Self {
        Self {
            target,
            interval,
            shortest: Duration::ZERO,
            interval_ends: Timestamp::ZERO,
            fresh: true,
            overloaded: false,
        }
    }

    /// Selects the job to release; refuses others.
    pub fn next(
        &mut self,
        now: Timestamp,
        pop: &mut impl FnMut() -> Option<Head>,
        refuse: &mut impl FnMut(JobId),
    ) -> Option<JobId> {
        loop {
            let head = pop()?;
            if !self.is_over(now, head.waited) {
                return Some(head.id);
            }
            refuse(head.id);
        }
    }

    /// The longest accepted wait under overload: folly's slough.
    fn slough(&self) -> Duration {
        self.target * 2
    }

    fn is_over(&mut self, now: Timestamp, waited: Duration) -> bool {
        if now > self.interval_ends && !self.fresh {
            self.fresh = true;
            self.interval_ends = now + self.interval;
            self.overloaded = self.shortest > self.target;
        }
        if self.fresh {
            // One wait alone is no evidence: the first job of an interval is never refused.
            self.fresh = false;
            self.shortest = waited;
            return false;
        }
        self.shortest = self.shortest.min(waited);
        self.overloaded && waited > self.slough()
    }

    /// Visits the state of the law.
    pub fn gauges(&self, visit: &mut dyn FnMut(Gauge, f64)) {
        visit(Gauge::of("overloaded"), f64::from(u8::from(self.overloaded)));
        let load = self.shortest.as_secs_f64() / self.slough().as_secs_f64();
        visit(Gauge::of("load_percent"), (load * 100.0).min(100.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// True if a job is refused whose turn comes at this time after this wait, in ms. Target 5 ms, slough 10 ms.
    fn over(law: &mut FollyCodel, at: u64, waited: u64) -> bool {
        law.is_over(Timestamp::from_millis(at), Duration::from_millis(waited))
    }

    #[test]
    fn the_slough_under_overload() {
        let mut law = FollyCodel::new(Duration::from_millis(5), Duration::from_millis(100));
        assert!(!over(&mut law, 20, 20), "the first is the shortest of its interval");
        assert!(!over(&mut law, 21, 11), "20 ms > 5 ms: overloaded until 121 ms, but this is the first in there");
        assert!(over(&mut law, 30, 11), "over twice the target");
        assert!(!over(&mut law, 30, 10), "not over it");
        assert!(!over(&mut law, 31, 8));
        assert!(over(&mut law, 121, 50), "the end of an interval belongs to it");
        assert!(!over(&mut law, 122, 50), "the shortest was 8 ms > 5 ms: overloaded, and this is the first");
        assert!(over(&mut law, 123, 50));
        assert!(!over(&mut law, 130, 5));
        assert!(!over(&mut law, 223, 50), "the shortest was 5 ms, not over 5 ms: all is well");
        assert!(!over(&mut law, 224, 50));
    }

    #[test]
    fn load_is_the_shortest_wait_in_the_slough() {
        let mut law = FollyCodel::new(Duration::from_millis(5), Duration::from_millis(100));
        let load = |law: &FollyCodel| {
            let mut load = None;
            law.gauges(&mut |gauge, value| {
                if gauge == Gauge::of("load_percent") {
                    load = Some(value);
                }
            });
            load
        };
        over(&mut law, 20, 8);
        assert_eq!(load(&law), Some(80.0));
        over(&mut law, 121, 8);
        over(&mut law, 122, 3);
        assert_eq!(load(&law), Some(30.0));
        over(&mut law, 300, 60);
        assert_eq!(load(&law), Some(100.0));
    }
}
