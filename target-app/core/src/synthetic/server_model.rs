//! Emulated servers: the completion times of jobs, from their arrival times and their work.
//!
//! Both models compute in ideal time. Timers are late, by a tenth of a millisecond or, on a busy machine, by more; here
//! lateness delays an answer, but never the work that comes after it, so the capacity is exact.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BinaryHeap},
    time::Duration,
};

use controllers::Timestamp;

/// A server: the minimum is the one that is free first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Server {
    free_at: Timestamp,
    /// The end of interrupts, which precede jobs.
    interrupted_until: Timestamp,
}

/// Work that servers have begun. As in a plant, all of a job's work counts when it begins.
#[derive(Debug, Default)]
pub struct BegunWork {
    by_now: Duration,
    /// Work that begins later, soonest first.
    to_come: BinaryHeap<Reverse<(Timestamp, Duration)>>,
}

impl BegunWork {
    /// Records an amount of work that begins at `begins`.
    pub fn book(&mut self, now: Timestamp, begins: Timestamp, work: Duration) {
        self.to_come.push(Reverse((begins, work)));
        self.by(now);
    }

    /// The sum of the work that has begun by now.
    pub fn by(&mut self, now: Timestamp) -> Duration {
        while let Some(Reverse((_, work))) = self.to_come.peek().filter(|Reverse((begins, _))| *begins <= now) {
            self.by_now += *work;
            self.to_come.pop();
        }
        self.by_now
    }
}

/// Servers that take jobs in order of arrival.
///
/// Workers bring jobs, one at a time each. A worker that comes straight from its last job is late by as much as the
/// timer that ended that job; it counts as having come at the job's ideal end.
#[derive(Debug)]
pub struct Fifo {
    servers: Vec<Server>,
    /// The ideal ends of jobs that have left: their workers are free since then.
    left: Vec<Timestamp>,
}

impl Fifo {
    pub fn new(servers: u32) -> Self {
        Self { servers: vec![Server::default(); usize::try_from(servers.max(1)).unwrap_or(1)], left: Vec::new() }
    }

    /// The end of a job that takes `work`, was `offered` to the stage, and is brought by a worker `now`: the server
    /// that is free first serves it.
    pub fn arrive(&mut self, offered: Timestamp, now: Timestamp, work: Duration) -> Timestamp {
        // The worker that left last is the one that comes back at once; a new worker was free all along.
        let worker = self.left.pop().unwrap_or(now);
        let arrived = offered.max(worker.min(now));
        let Some(server) = self.servers.iter_mut().min() else { return arrived + work };
        server.free_at = arrived.max(server.free_at) + work;
        server.free_at
    }

    /// Work that no worker brings, and that precedes jobs (reading a request, refusing one): its end on the server that
    /// is free first. A job under way there keeps its end, which is already promised, and the next one begins later.
    pub fn interrupt(&mut self, now: Timestamp, work: Duration) -> Timestamp {
        let Some(server) = self.servers.iter_mut().min() else { return now + work };
        server.free_at = now.max(server.free_at) + work;
        server.interrupted_until = now.max(server.interrupted_until) + work;
        server.interrupted_until
    }

    /// Records that the job with this ideal end has left.
    pub fn leave(&mut self, done: Timestamp) {
        self.left.push(done);
    }
}

/// Servers shared by all jobs at once: with k jobs and n servers each job is worked on at the rate min(1, n/k).
///
/// `served` is the work that a job present from the beginning would have got; a job is done when `served` has grown by
/// the job's own work since its arrival.
#[derive(Debug)]
pub struct ProcessorSharing<J> {
    servers: f64,
    /// Their speed, 1 unless something slows them down.
    speed: f64,
    served: f64,
    at: Timestamp,
    /// Ordered by the value of `served` (in nanoseconds) at their end.
    jobs: BTreeMap<(u64, u64), J>,
    next: u64,
}

impl<J> ProcessorSharing<J> {
    pub fn new(servers: u32) -> Self {
        Self {
            servers: f64::from(servers.max(1)),
            speed: 1.0,
            served: 0.0,
            at: Timestamp::ZERO,
            jobs: BTreeMap::new(),
            next: 0,
        }
    }

    /// Adds a job.
    pub fn arrive(&mut self, now: Timestamp, work: Duration, job: J) {
        self.advance(now);
        let done = self.served + work.as_nanos() as f64;
        self.jobs.insert((done.ceil() as u64, self.next), job);
        self.next += 1;
    }

    /// Removes the next job that is done by now.
    pub fn leave(&mut self, now: Timestamp) -> Option<J> {
        // Departures before `now` change the rate in between: step from one to the next.
        let next = self.next_done()?;
        if next > now {
            self.advance(now);
            return None;
        }
        self.advance(next);
        let (_, job) = self.jobs.pop_first()?;
        Some(job)
    }

    /// Removes all jobs, done or not.
    pub fn clear(&mut self, now: Timestamp) -> Vec<J> {
        self.advance(now);
        std::mem::take(&mut self.jobs).into_values().collect()
    }

    /// The end of the next job if no other arrives.
    pub fn next_done(&self) -> Option<Timestamp> {
        let (&(done, _), _) = self.jobs.first_key_value().filter(|_| self.speed > 0.0)?;
        let missing = (done as f64 - self.served).max(0.0);
        Some(self.at + Duration::from_nanos((missing / self.rate()).ceil() as u64))
    }

    /// Sets the servers' speed from now on; 0: they stand still.
    pub fn set_speed(&mut self, now: Timestamp, speed: f64) {
        self.advance(now);
        self.speed = speed.max(0.0);
    }

    fn advance(&mut self, now: Timestamp) {
        self.served += now.since(self.at).as_nanos() as f64 * self.rate();
        self.at = self.at.max(now);
    }

    fn rate(&self) -> f64 {
        self.speed * (self.servers / self.jobs.len().max(1) as f64).min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(millis: u64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    fn work(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn one_server_in_order_does_not_lose_time_when_its_worker_comes_late() {
        let mut servers = Fifo::new(1);
        assert_eq!(servers.arrive(ms(0), ms(0), work(10)), ms(10));
        servers.leave(ms(10));
        // Arrived at 2 and waited for the worker, whose timer was 3 late: begins at 10 all the same.
        assert_eq!(servers.arrive(ms(2), ms(13), work(10)), ms(20));
        servers.leave(ms(20));
        // Arrived after a pause: begins on arrival.
        assert_eq!(servers.arrive(ms(50), ms(50), work(5)), ms(55));
    }

    #[test]
    fn work_counts_as_it_begins_and_not_while_it_waits_for_a_server() {
        let mut begun = BegunWork::default();
        begun.book(ms(0), ms(0), work(10));
        begun.book(ms(1), ms(20), work(7));
        begun.book(ms(2), ms(10), work(5));
        assert_eq!(begun.by(ms(9)), work(10));
        assert_eq!(begun.by(ms(10)), work(15));
        // Booking also counts the work that has begun, so that it does not pile up between queries.
        begun.book(ms(30), ms(30), work(1));
        assert!(begun.to_come.is_empty());
        assert_eq!(begun.by(ms(30)), work(23));
    }

    #[test]
    fn two_servers_work_side_by_side() {
        let mut servers = Fifo::new(2);
        let done: Vec<_> = (0..4).map(|_| servers.arrive(ms(0), ms(0), work(10))).collect();
        assert_eq!(done, [ms(10), ms(10), ms(20), ms(20)]);
    }

    #[test]
    fn what_no_worker_brings_keeps_a_server_busy_all_the_same() {
        let mut servers = Fifo::new(1);
        assert_eq!(servers.interrupt(ms(0), work(4)), ms(4));
        assert_eq!(servers.arrive(ms(1), ms(1), work(10)), ms(14));
        // An interrupt does not wait for the job, and two interrupts wait for each other.
        assert_eq!(servers.interrupt(ms(5), work(2)), ms(7));
        assert_eq!(servers.interrupt(ms(6), work(2)), ms(9));
        servers.leave(ms(14));
        assert_eq!(servers.arrive(ms(6), ms(14), work(10)), ms(28), "what it took is missing then");
        assert_eq!(servers.interrupt(ms(40), work(4)), ms(44));
    }

    #[test]
    fn one_worker_keeps_one_of_many_servers_busy() {
        let mut servers = Fifo::new(100);
        assert_eq!(servers.arrive(ms(0), ms(0), work(20)), ms(20));
        servers.leave(ms(20));
        assert_eq!(servers.arrive(ms(0), ms(21), work(20)), ms(40), "its worker was not free before");
    }

    #[test]
    fn two_jobs_share_one_server() {
        let mut servers = ProcessorSharing::new(1);
        servers.arrive(ms(0), work(10), 'a');
        // At 4 the first has had 4 of its 10; then both get half: the first needs 12 more, done at 16.
        servers.arrive(ms(4), work(10), 'b');
        assert_eq!(servers.next_done(), Some(ms(16)));
        assert_eq!(servers.leave(ms(15)), None);
        assert_eq!(servers.leave(ms(16)), Some('a'));
        // By then the second has had 6 of 10, and is alone: done at 20. A query at 30 changes nothing.
        assert_eq!(servers.next_done(), Some(ms(20)));
        assert_eq!(servers.leave(ms(30)), Some('b'));
        assert_eq!(servers.leave(ms(30)), None);
        assert_eq!(servers.next_done(), None);
    }

    #[test]
    fn a_server_at_half_speed_takes_twice_as_long_and_one_that_stands_still_for_ever() {
        let mut servers = ProcessorSharing::new(1);
        servers.arrive(ms(0), work(10), 'a');
        servers.set_speed(ms(4), 0.5);
        assert_eq!(servers.next_done(), Some(ms(16)));
        servers.set_speed(ms(10), 0.0);
        assert_eq!(servers.next_done(), None);
        // 4 and then 3 of its 10 are done.
        servers.set_speed(ms(100), 1.0);
        assert_eq!(servers.next_done(), Some(ms(103)));
    }

    #[test]
    fn two_servers_are_not_shared_by_two_jobs() {
        let mut servers = ProcessorSharing::new(2);
        servers.arrive(ms(0), work(10), 'a');
        servers.arrive(ms(0), work(10), 'b');
        assert_eq!(servers.next_done(), Some(ms(10)));
        servers.arrive(ms(5), work(1), 'c');
        // Three on two: rate 2/3; the third needs 1 of its own, 1.5 in time.
        assert_eq!(servers.next_done(), Some(Timestamp::from_nanos(6_500_000)));
    }
}
