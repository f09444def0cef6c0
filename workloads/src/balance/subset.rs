//! The tasks that one of many senders has connections to.

use controllers::{Random as _, Seeded};

/// The numbers of the tasks that a sender sends to: `size` of them, or all if that is 0 or there are no more. Deterministic subsetting,
/// Google SRE, chapter 20: senders are dealt out in rounds, each round in an order of its own, so that every task has as many senders as
/// another, where their numbers allow. What a round cannot deal in whole subsets is left out of it.
#[must_use]
pub fn subset(tasks: usize, size: usize, sender: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..tasks).collect();
    if size == 0 || size >= tasks {
        return order;
    }
    let subsets = tasks / size;
    let mut random = Seeded::new((sender / subsets) as u64);
    for last in (1..tasks).rev() {
        let other = ((random.uniform() * (last + 1) as f64) as usize).min(last);
        order.swap(last, other);
    }
    let first = sender % subsets * size;
    order[first..first + size].to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of senders of each task.
    fn senders_of(tasks: usize, size: usize, senders: usize) -> Vec<usize> {
        let mut counts = vec![0; tasks];
        for task in (0..senders).flat_map(|sender| subset(tasks, size, sender)) {
            counts[task] += 1;
        }
        counts
    }

    #[test]
    fn every_task_has_as_many_senders() {
        // The chapter's case: 300 senders, 300 tasks, subsets of 30.
        assert_eq!(senders_of(300, 30, 300), vec![30; 300]);
        // Three senders are one round of 12 tasks by 4.
        assert_eq!(senders_of(12, 4, 3), vec![1; 12]);
    }

    #[test]
    fn rounds_differ_and_a_sender_keeps_its_own() {
        let of_round = |round: usize| (0..3).map(|sender| subset(12, 4, 3 * round + sender)).collect::<Vec<_>>();
        assert_ne!(of_round(0), of_round(1));
        assert_eq!(of_round(1), of_round(1));
    }

    #[test]
    fn what_is_left_over_is_left_out_of_one_round_alone() {
        // 10 by 3: a task of ten is left out of each round, another one of most.
        let counts = senders_of(10, 3, 300);
        assert!(counts.iter().all(|count| (75..=100).contains(count)), "{counts:?}");
        assert_eq!(counts.iter().sum::<usize>(), 900);
    }

    #[test]
    fn no_size_and_a_large_one_mean_all() {
        assert_eq!([subset(3, 0, 7), subset(3, 3, 7), subset(3, 9, 7)], [[0, 1, 2], [0, 1, 2], [0, 1, 2]]);
    }
}
