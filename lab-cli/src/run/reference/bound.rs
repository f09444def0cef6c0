//! The offline bound: no policy can answer more requests of an open loop in time.
//!
//! What is given up, each of which only makes the bound higher: all arrivals and all service times are known beforehand; `n`
//! servers are one that is `n` times as fast, on which jobs may be interrupted (a schedule on `n` servers gives one on it: share
//! it between those that are worked on); to read, to refuse and to answer costs nothing, and the way back takes no time.
//!
//! Every request has the same time until it is due, so whoever comes first is due first. For such jobs interrupting gains
//! nothing, the order of arrival is optimal for any set that can be done, and the largest such set is found exactly by
//! taking jobs in that order and, whenever one would be late, giving up the one without which the rest is done soonest (Kise,
//! Ibaraki and Mine, "A solvable case of the one-machine scheduling problem with ready and due times", Operations Research
//! 26(1), 1978; with all jobs there from the start it is the rule of Moore and Hodgson). So for one server the bound is what
//! a clairvoyant could do, but for the costs left out.

/// A job in units of work of the one fast server, whole ones so that nothing is lost by rounding: it is there when the server
/// could have done `ready` units, and due when it could have done `due`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OfflineJob {
    /// Units that the server could have done when the job comes.
    pub ready: i64,
    /// Units that the server could have done when the job is due.
    pub due: i64,
    /// The work.
    pub work: i64,
}

/// The wait of a place where there is no job: no sum of waits and work gets there.
const NEVER: i64 = i64::MAX / 4;

/// Most jobs that can be done by their due times. They are in order of arrival, and due in the same order.
pub fn most_in_time(jobs: &[OfflineJob]) -> usize {
    let mut line = Line::new(jobs.len());
    let mut kept = 0;
    let mut free_at = i64::MIN;
    for (place, job) in jobs.iter().enumerate() {
        // Alone it would be late.
        if job.ready + job.work > job.due {
            continue;
        }
        let begins = free_at.max(job.ready);
        line.set(place, begins - job.ready, job.work);
        kept += 1;
        free_at = begins + job.work;
        if free_at > job.due {
            let (given_up, gained) = line.best_to_give_up(place);
            line.give_up(given_up, place);
            kept -= 1;
            // Without the last one it is done when those before it are, which may be before this one came.
            free_at = if given_up == place { begins } else { free_at - gained };
        }
    }
    kept
}

/// The jobs that are kept, by place: how long each waits, and its work. A tree of which each node knows the shortest wait
/// and the most work of its part.
#[derive(Debug)]
struct Line {
    leaves: usize,
    shortest_wait: Vec<i64>,
    most_work: Vec<i64>,
    /// Amounts still to be taken off all waits of this part.
    owed: Vec<i64>,
}

impl Line {
    fn new(jobs: usize) -> Self {
        let leaves = jobs.next_power_of_two().max(1);
        Self {
            leaves,
            shortest_wait: vec![NEVER; 2 * leaves],
            most_work: vec![0; 2 * leaves],
            owed: vec![0; 2 * leaves],
        }
    }

    fn set(&mut self, place: usize, wait: i64, work: i64) {
        let mut node = 1;
        let (mut from, mut size) = (0, self.leaves);
        while size > 1 {
            self.hand_down(node);
            size /= 2;
            node *= 2;
            if place >= from + size {
                node += 1;
                from += size;
            }
        }
        (self.shortest_wait[node], self.most_work[node], self.owed[node]) = (wait, work, 0);
        while node > 1 {
            node /= 2;
            self.sum_up(node);
        }
    }

    fn hand_down(&mut self, node: usize) {
        let owed = std::mem::take(&mut self.owed[node]);
        if owed > 0 {
            for below in [2 * node, 2 * node + 1] {
                self.shortest_wait[below] -= owed;
                self.owed[below] += owed;
            }
        }
    }

    fn sum_up(&mut self, node: usize) {
        self.shortest_wait[node] = self.shortest_wait[2 * node].min(self.shortest_wait[2 * node + 1]);
        self.most_work[node] = self.most_work[2 * node].max(self.most_work[2 * node + 1]);
    }

    /// The job to give up among those up to `last`, and how much sooner the rest is done: by its work, or by the
    /// shortest wait behind it if that is less (the server would stand idle for the rest).
    fn best_to_give_up(&mut self, last: usize) -> (usize, i64) {
        let mut best = (last, 0);
        let mut behind = NEVER;
        self.look(1, 0, self.leaves, last, &mut behind, &mut best);
        best
    }

    /// Searches from the right to the left. `behind`: the shortest wait to the right of this part.
    fn look(&mut self, node: usize, from: usize, size: usize, last: usize, behind: &mut i64, best: &mut (usize, i64)) {
        if from > last {
            return;
        }
        if self.most_work[node].min(*behind) <= best.1 {
            *behind = (*behind).min(self.shortest_wait[node]);
            return;
        }
        if size == 1 {
            *best = (from, self.most_work[node].min(*behind));
            *behind = (*behind).min(self.shortest_wait[node]);
            return;
        }
        self.hand_down(node);
        self.look(2 * node + 1, from + size / 2, size / 2, last, behind, best);
        self.look(2 * node, from, size / 2, last, behind, best);
    }

    /// Gives a job up: those behind it, up to `last`, begin sooner, by its work or until one begins as it comes.
    fn give_up(&mut self, place: usize, last: usize) {
        let mut sooner = self.work_at(place);
        self.set(place, NEVER, 0);
        let mut from = place + 1;
        while from <= last {
            // The first that waits no longer than that begins as it comes, and those behind it gain only its wait.
            let stop = self.first_with_wait_under(1, 0, self.leaves, from, last, sooner);
            let Some((stop, wait)) = stop else {
                self.take_off(1, 0, self.leaves, from, last, sooner);
                return;
            };
            if stop > from {
                self.take_off(1, 0, self.leaves, from, stop - 1, sooner);
            }
            sooner = wait;
            self.take_off(1, 0, self.leaves, stop, stop, wait);
            from = stop + 1;
            if sooner <= 0 {
                return;
            }
        }
    }

    fn work_at(&self, place: usize) -> i64 {
        self.most_work[self.leaves + place]
    }

    fn first_with_wait_under(
        &mut self,
        node: usize,
        from: usize,
        size: usize,
        least: usize,
        last: usize,
        under: i64,
    ) -> Option<(usize, i64)> {
        if from > last || from + size <= least || self.shortest_wait[node] >= under {
            return None;
        }
        if size == 1 {
            return Some((from, self.shortest_wait[node]));
        }
        self.hand_down(node);
        self.first_with_wait_under(2 * node, from, size / 2, least, last, under)
            .or_else(|| self.first_with_wait_under(2 * node + 1, from + size / 2, size / 2, least, last, under))
    }

    fn take_off(&mut self, node: usize, from: usize, size: usize, least: usize, last: usize, by: i64) {
        if from > last || from + size <= least {
            return;
        }
        if from >= least && from + size - 1 <= last {
            self.shortest_wait[node] -= by;
            self.owed[node] += by;
            return;
        }
        self.hand_down(node);
        self.take_off(2 * node, from, size / 2, least, last, by);
        self.take_off(2 * node + 1, from + size / 2, size / 2, least, last, by);
        self.sum_up(node);
    }
}

#[cfg(test)]
mod tests {
    use controllers::{Random as _, Seeded};

    use super::*;

    fn job(ready: i64, due: i64, work: i64) -> OfflineJob {
        OfflineJob { ready, due, work }
    }

    /// True if these jobs can be done one after another in their order.
    fn can_be_done(jobs: &[OfflineJob]) -> bool {
        let mut free_at = i64::MIN;
        jobs.iter().all(|job| {
            free_at = free_at.max(job.ready) + job.work;
            free_at <= job.due
        })
    }

    /// The largest subset that can be done on one server: of all subsets, each in order of arrival (which is optimal for
    /// these due times).
    fn by_trial(jobs: &[OfflineJob]) -> usize {
        let subsets = 0..1_u32 << jobs.len();
        let of = |set: u32| -> Vec<OfflineJob> {
            jobs.iter().enumerate().filter(|(n, _)| set >> n & 1 == 1).map(|(_, job)| *job).collect()
        };
        subsets.map(of).filter(|set| can_be_done(set)).map(|set| set.len()).max().unwrap_or(0)
    }

    /// The most on time over all assignments of jobs to two servers or to none.
    fn on_two_by_trial(jobs: &[OfflineJob]) -> usize {
        let count = 3_u32.pow(jobs.len() as u32);
        let on = |assignment: u32, server: u32| -> Vec<OfflineJob> {
            let at = |n: usize| assignment / 3_u32.pow(n as u32) % 3;
            jobs.iter().enumerate().filter(|(n, _)| at(*n) == server).map(|(_, job)| *job).collect()
        };
        let feasible = (0..count).map(|assignment| [on(assignment, 1), on(assignment, 2)]);
        feasible
            .filter(|two| two.iter().all(|one| can_be_done(one)))
            .map(|two| two.iter().map(Vec::len).sum())
            .max()
            .unwrap_or(0)
    }

    fn random_jobs(random: &mut Seeded, count: usize) -> Vec<OfflineJob> {
        let mut at = 0;
        (0..count)
            .map(|_| {
                // Whole numbers: ties and exact fits occur.
                at += random.below(5) as i64;
                job(at, at + 10, 1 + random.below(9) as i64)
            })
            .collect()
    }

    #[test]
    fn with_all_jobs_there_it_is_the_rule_of_moore_and_hodgson() {
        // Due times 6, 7, 8, 9, 11 and work 4, 3, 2, 5, 6 (Pinedo, "Scheduling", example 3.3.3 in another order): by hand,
        // 4 + 3 = 7 in time, + 2 = 9 > 8: without the 4; 5 + 5 = 10 > 9: without the 5; 5 + 6 = 11 in time: three.
        let jobs = [(6, 4), (7, 3), (8, 2), (9, 5), (11, 6)];
        assert_eq!(most_in_time(&jobs.map(|(due, work)| job(0, due, work))), 3);
    }

    #[test]
    fn giving_up_a_job_gains_no_more_than_the_wait_behind_it() {
        // The first (work 8) is over at 8; the second comes at 7 and waits 1; the third at 7 too. Due 10 after arrival: done
        // at 8, 16, 24 > 17. Without the first the second begins at 7, done 15, the third at 23: still late. So two.
        assert_eq!(most_in_time(&[job(0, 10, 8), job(7, 17, 8), job(7, 17, 8)]), 2);
    }

    #[test]
    fn on_one_server_it_is_what_trying_every_subset_finds() {
        let mut random = Seeded::new(11);
        for _ in 0..3000 {
            let count = 1 + random.below(11) as usize;
            let jobs = random_jobs(&mut random, count);
            assert_eq!(most_in_time(&jobs), by_trial(&jobs), "{jobs:?}");
        }
    }

    #[test]
    fn on_two_servers_it_is_never_less_than_the_best_assignment_and_often_the_same() {
        let mut random = Seeded::new(12);
        let mut tight = 0;
        for _ in 0..300 {
            let jobs = random_jobs(&mut random, 7);
            let fast: Vec<OfflineJob> =
                jobs.iter().map(|job| OfflineJob { ready: 2 * job.ready, due: 2 * job.due, ..*job }).collect();
            let (bound, best) = (most_in_time(&fast), on_two_by_trial(&jobs));
            assert!(bound >= best, "{bound} under {best}: {jobs:?}");
            tight += usize::from(bound == best);
        }
        assert!(tight > 150, "tight in {tight} of 300");
    }

    #[test]
    fn a_long_overload_takes_little_time() {
        let mut random = Seeded::new(13);
        let mut at = 0;
        let jobs: Vec<OfflineJob> = (0..100_000)
            .map(|_| {
                at += random.exponential(1e6) as i64;
                job(at, at + 40_000_000, random.exponential(2e6) as i64)
            })
            .collect();
        let kept = most_in_time(&jobs) as f64 / 1e5;
        // Twice the capacity: the shorter ones are done whose work adds up to all the time. For exponential work with mean 2
        // and one arrival each 1: work under w adds up to 2 (1 - e^-x (1 + x)) with x = w/2; = 1 at x = 1.678: 81 %.
        assert!((0.80..0.83).contains(&kept), "{kept}");
    }
}
