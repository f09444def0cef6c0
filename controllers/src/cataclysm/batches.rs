//! Batch policing: the queues of classes, in buckets by service time, and their examination (WWW'05, sections 3.1 and
//! 3.2).

use std::time::Duration;

use super::{buckets::ServiceRanges, pool::ServerPool};
use crate::{JobId, Timestamp, primitives::JobQueue};

/// The settings of an examination.
#[derive(Debug, Clone, Copy)]
pub(super) struct Examination {
    pub(super) now: Timestamp,
    /// `R_sla`.
    pub(super) response: Duration,
    /// [`SentryPlan::probes_when_idle`](super::SentryPlan::probes_when_idle).
    pub(super) probes_when_idle: bool,
}

/// What became of the requests of one examination.
#[derive(Debug)]
pub(super) struct Examined<T> {
    /// Tests that were made.
    pub(super) tests: u32,
    /// Decisions, in their order.
    pub(super) decided: Vec<(T, BatchDecision)>,
}

/// The decision about one request of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BatchDecision {
    Admitted,
    /// Its batch failed the test.
    Failed,
    /// A more important class failed the test, and this class was not tested.
    Unexamined,
}

/// One class: its buckets, and when they are examined.
#[derive(Debug)]
struct ClassQueue<T> {
    buckets: Vec<Bucket<T>>,
    /// `d_i`.
    delay: Duration,
    /// The next examination; `None` while no request waits.
    due: Option<Timestamp>,
    /// The `d_i` for the test: the longest one under which a waiting request came.
    waits: Duration,
    len: u32,
}

#[derive(Debug)]
struct Bucket<T> {
    jobs: JobQueue<T>,
    /// The largest estimate since the bucket was empty, seconds.
    largest_s: f64,
}

/// The queues of all classes, the most important first.
#[derive(Debug)]
pub(super) struct Batches<T> {
    ranges: ServiceRanges,
    classes: Vec<ClassQueue<T>>,
}

impl<T> Batches<T> {
    pub(super) fn new(ranges: ServiceRanges, delays: &[Duration]) -> Self {
        let bucket = || Bucket { jobs: JobQueue::default(), largest_s: 0.0 };
        let buckets = || std::iter::repeat_with(bucket).take(ranges.buckets()).collect();
        let class =
            |delay: &Duration| ClassQueue { buckets: buckets(), delay: *delay, due: None, waits: *delay, len: 0 };
        let classes = delays.iter().map(class).collect();
        Self { ranges, classes }
    }

    /// Appends a request to the queue of its class. It is examined at the next multiple of the class's delay.
    pub(super) fn push(&mut self, now: Timestamp, rank: usize, id: JobId, service_s: f64, job: T) {
        let bucket = self.ranges.bucket(service_s);
        let class = &mut self.classes[rank];
        if class.due.is_none() {
            class.due = Some(next_instant(now, class.delay));
            class.waits = class.delay;
        }
        class.len += 1;
        let bucket = &mut class.buckets[bucket];
        bucket.largest_s = if bucket.jobs.is_empty() { service_s } else { bucket.largest_s.max(service_s) };
        bucket.jobs.push(id, job);
    }

    /// Removes a request that is waiting.
    pub(super) fn remove(&mut self, id: JobId) -> Option<T> {
        for class in self.classes.iter_mut().filter(|class| class.len > 0) {
            if let Some(job) = class.buckets.iter_mut().find_map(|bucket| bucket.jobs.remove(id)) {
                class.taken();
                return Some(job);
            }
        }
        None
    }

    /// Removes one request less important than `rank`: of the least important class that has any, the largest, and of
    /// these the newest.
    pub(super) fn remove_below(&mut self, rank: usize) -> Option<T> {
        let class = self.classes[rank + 1..].iter_mut().rev().find(|class| class.len > 0)?;
        let (_, job) = class.buckets.iter_mut().rev().find_map(|bucket| bucket.jobs.pop_newest())?;
        class.taken();
        Some(job)
    }

    /// Waiting requests.
    pub(super) fn len(&self) -> u32 {
        self.classes.iter().map(|class| class.len).sum()
    }

    /// The time of the next examination.
    pub(super) fn due(&self) -> Option<Timestamp> {
        self.classes.iter().filter_map(|class| class.due).min()
    }

    /// `d_i` of each class.
    pub(super) fn delays(&self) -> impl Iterator<Item = Duration> {
        self.classes.iter().map(|class| class.delay)
    }

    /// Sets the delays. Requests that wait are examined no later than before, and with the delay that they came under.
    pub(super) fn set_delays(&mut self, now: Timestamp, delays: &[Duration]) {
        for (class, delay) in self.classes.iter_mut().zip(delays) {
            class.delay = *delay;
            class.waits = class.waits.max(*delay);
            class.due = class.due.map(|due| due.min(next_instant(now, *delay)));
        }
    }

    /// Makes all that waits due now.
    pub(super) fn hurry(&mut self, now: Timestamp) {
        self.classes.iter_mut().for_each(|class| class.due = class.due.map(|due| due.min(now)));
    }

    /// Examines the classes that are due, the most important first, and within a class the smallest requests first: one
    /// test a bucket. Once a class fails, the requests of all less important classes are refused, due or not.
    pub(super) fn examine(&mut self, with: Examination, pool: &mut ServerPool) -> Examined<T> {
        let mut examined = Examined { tests: 0, decided: Vec::new() };
        let mut failed = false;
        for class in &mut self.classes {
            if failed {
                class.empty(&mut examined.decided, BatchDecision::Unexamined);
            } else if class.due.is_some_and(|due| due <= with.now) {
                failed = !class.examine(&self.ranges, with, pool, &mut examined);
            }
        }
        examined
    }
}

impl<T> ClassQueue<T> {
    /// True if every batch was admitted.
    fn examine(
        &mut self,
        ranges: &ServiceRanges,
        with: Examination,
        pool: &mut ServerPool,
        examined: &mut Examined<T>,
    ) -> bool {
        let mut all = true;
        for (index, bucket) in self.buckets.iter_mut().enumerate().filter(|(_, bucket)| !bucket.jobs.is_empty()) {
            let batch = u64::from(bucket.jobs.len());
            let service_s = ranges.represented_by(index, bucket.largest_s);
            examined.tests += 1;
            let admitted = pool.test(with.response).admits(batch, service_s, self.waits.as_secs_f64());
            if admitted {
                pool.admitted(batch);
            } else if with.probes_when_idle && pool.in_flight() == 0 {
                pool.admitted(1);
                examined.decided.extend(bucket.jobs.pop_oldest().map(|(_, job)| (job, BatchDecision::Admitted)));
            }
            all &= admitted;
            let decision = if admitted { BatchDecision::Admitted } else { BatchDecision::Failed };
            bucket.empty(&mut examined.decided, decision);
        }
        self.is_empty_now();
        all
    }

    fn empty(&mut self, into: &mut Vec<(T, BatchDecision)>, decision: BatchDecision) {
        self.buckets.iter_mut().for_each(|bucket| bucket.empty(into, decision));
        self.is_empty_now();
    }

    fn taken(&mut self) {
        self.len -= 1;
        if self.len == 0 {
            self.is_empty_now();
        }
    }

    fn is_empty_now(&mut self) {
        self.len = 0;
        self.due = None;
        self.waits = self.delay;
    }
}

impl<T> Bucket<T> {
    fn empty(&mut self, into: &mut Vec<(T, BatchDecision)>, decision: BatchDecision) {
        into.extend(std::mem::take(&mut self.jobs).into_jobs().map(|job| (job, decision)));
    }
}

/// The first multiple of the delay after `now`; `now` itself without a delay.
fn next_instant(now: Timestamp, delay: Duration) -> Timestamp {
    let step = u64::try_from(delay.as_nanos()).unwrap_or(u64::MAX);
    match now.as_nanos().checked_div(step) {
        Some(passed) => Timestamp::from_nanos((passed + 1).saturating_mul(step)),
        None => now,
    }
}
