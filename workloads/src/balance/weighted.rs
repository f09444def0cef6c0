//! Weighted round robin by what tasks report (Google SRE, chapter 20, Weighted Round Robin; gRFC A58).

use super::LoadReport;

/// The capability of each task, and whose turn it is: smooth weighted round robin, which spreads the turns of a task evenly.
#[derive(Debug)]
pub(super) struct WeightedTurns {
    /// Capabilities that tasks have reported.
    known: Vec<Option<f64>>,
    /// What each task is owed, in turns.
    owed: Vec<f64>,
}

impl WeightedTurns {
    pub(super) fn new(tasks: usize) -> Self {
        Self { known: vec![None; tasks], owed: vec![0.0; tasks] }
    }

    /// Takes in a report. One that says nothing of the capability leaves the last one that does.
    pub(super) fn reported(&mut self, task: usize, report: &LoadReport) {
        self.known[task] = report.capability().or(self.known[task]);
    }

    /// Forgets what was known of a task: another process takes its place.
    pub(super) fn forget(&mut self, task: usize) {
        self.known[task] = None;
        self.owed[task] = 0.0;
    }

    /// The weight of each of these tasks. One that has reported nothing has the mean of the others; until two have, all are alike.
    fn weights(&self, among: &[usize]) -> Vec<f64> {
        let known: Vec<f64> = among.iter().filter_map(|task| self.known[*task]).collect();
        let mean = known.iter().sum::<f64>() / known.len().max(1) as f64;
        match known.len() {
            0 | 1 => vec![1.0; among.len()],
            _ => among.iter().map(|task| self.known[*task].unwrap_or(mean)).collect(),
        }
    }

    /// The task among these whose turn it is; of several that are owed as much, the first. `None`: there are none.
    ///
    /// Weights are shares of their sum here, so that a task that is owed a turn still is when all weights have changed.
    pub(super) fn next(&mut self, among: &[usize]) -> Option<usize> {
        let weights = self.weights(among);
        let all: f64 = weights.iter().sum();
        for (task, weight) in among.iter().zip(&weights) {
            self.owed[*task] += weight / all;
        }
        let most = |best: usize, task: &usize| if self.owed[*task] > self.owed[best] + 1e-9 { *task } else { best };
        let chosen = among.iter().skip(1).fold(*among.first()?, most);
        self.owed[chosen] -= 1.0;
        Some(chosen)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A report of this capability: so many answers a second at the full utilization.
    fn of(capability: f64) -> LoadReport {
        LoadReport { utilization: 1.0, answers_per_s: capability, errors_per_s: 0.0 }
    }

    fn turns(of: &mut WeightedTurns, among: &[usize], many: usize) -> Vec<usize> {
        (0..many).map(|_| of.next(among).expect("there are some")).collect()
    }

    #[test]
    fn turns_go_by_capability_and_are_spread_evenly() {
        let mut weighted = WeightedTurns::new(3);
        assert_eq!(turns(&mut weighted, &[0, 1, 2], 6), [0, 1, 2, 0, 1, 2], "nobody has reported: round robin");
        weighted.reported(0, &of(50.0));
        assert_eq!(turns(&mut weighted, &[0, 1, 2], 3), [0, 1, 2], "one alone says nothing of the others");
        weighted.reported(1, &of(10.0));
        weighted.reported(2, &of(10.0));
        // 5 : 1 : 1, by hand: owed (5,1,1) → a; (3,2,2) → a; (1,3,3) → b; (6,-3,4) → a; (4,-2,5) → c; (9,-1,-1) → a; (7,0,0) → a.
        assert_eq!(turns(&mut weighted, &[0, 1, 2], 7), [0, 0, 1, 0, 2, 0, 0]);
    }

    #[test]
    fn a_task_without_a_report_has_the_mean_of_the_others() {
        let mut weighted = WeightedTurns::new(3);
        weighted.reported(0, &of(30.0));
        weighted.reported(1, &of(10.0));
        assert_eq!(weighted.weights(&[0, 1, 2]), [30.0, 10.0, 20.0]);
        weighted.reported(1, &LoadReport::default());
        assert_eq!(weighted.weights(&[0, 1, 2]), [30.0, 10.0, 20.0], "a task without work keeps what it had");
        weighted.forget(0);
        assert_eq!(weighted.weights(&[0, 1, 2]), [1.0; 3]);
        assert_eq!(weighted.next(&[]), None);
    }

    proptest! {
        /// Whatever is reported, and whoever may be chosen: a choice is one of those, and what is owed to some is owed by others. With weights
        /// that stay, everybody is near its share after each turn.
        #[test]
        fn everybody_gets_its_share(
            capabilities in prop::collection::vec(1.0..100.0f64, 2..8),
            before in prop::collection::vec((0..8usize, 0.0..100.0f64, any::<u8>()), 0..200),
            turns in 1..300usize,
        ) {
            let tasks = capabilities.len();
            let mut weighted = WeightedTurns::new(tasks);
            for (task, answers_per_s, mask) in before {
                weighted.reported(task % tasks, &LoadReport { utilization: 0.5, answers_per_s, errors_per_s: answers_per_s / 3.0 });
                let among: Vec<usize> = (0..tasks).filter(|task| mask & (1 << task) != 0).collect();
                prop_assert!(weighted.next(&among).is_none_or(|task| among.contains(&task)));
                prop_assert!(weighted.owed.iter().sum::<f64>().abs() < 1e-6, "{:?}", weighted.owed);
            }
            let mut weighted = WeightedTurns::new(tasks);
            capabilities.iter().enumerate().for_each(|(task, capability)| weighted.reported(task, &of(*capability)));
            let all: Vec<usize> = (0..tasks).collect();
            let mut counts = vec![0u32; tasks];
            for turn in 1..=turns {
                counts[weighted.next(&all).expect("all may")] += 1;
                for (count, capability) in counts.iter().zip(&capabilities) {
                    let share = turn as f64 * capability / capabilities.iter().sum::<f64>();
                    prop_assert!((f64::from(*count) - share).abs() < tasks as f64 / 2.0, "{counts:?} of {capabilities:?}");
                }
            }
        }
    }
}
