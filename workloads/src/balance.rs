//! Load balancing: the choice of the task for a request, or for a connection.

mod load_report;
mod subset;
mod weighted;

use controllers::{Random as _, Reason, Seeded};
use serde::{Deserialize, Serialize};

pub use load_report::{LOAD_METRICS, LoadReport};
pub use subset::subset;
use weighted::WeightedTurns;

use crate::persona::Answer;

/// The algorithm that chooses a task.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Balancer {
    /// Round robin.
    #[default]
    RoundRobin,
    /// Uniformly at random.
    Random,
    /// The task with the fewest requests of this sender under way.
    LeastLoaded,
    /// Round robin, weighted by the capability of tasks: answers a second by utilization, as their answers report it.
    Utilization,
}

impl Balancer {
    /// True if it chooses by what tasks report on their answers ([`LOAD_METRICS`]).
    #[must_use]
    pub const fn hears_reports(self) -> bool {
        matches!(self, Self::Utilization)
    }
}

/// The unit that a balancer distributes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Per {
    /// Each request, as a proxy does that keeps connections to all tasks.
    #[default]
    Request,
    /// Each connection.
    Connection,
}

/// The answer of a balancer that refuses, in place of a task's.
pub const TURNED_BACK: Answer<'static> =
    Answer::whole(503, &[("x-refused", Reason::Concurrency.name().as_bytes())], b"");

/// Chooses tasks, and counts the requests or connections under way at each.
#[derive(Debug)]
pub struct Picker {
    by: Balancer,
    next: usize,
    random: Seeded,
    /// Requests or connections under way, by task.
    busy: Vec<u32>,
    /// Tasks that are left out: not running yet, or draining.
    out: Vec<bool>,
    /// Tasks that this sender has nothing to do with.
    foreign: Vec<bool>,
    /// The largest number under way at a task; 0: no limit.
    cap: u32,
    weighted: WeightedTurns,
}

impl Picker {
    /// A balancer of this many tasks, at least one. `seed`: root of random choices.
    #[must_use]
    pub fn new(by: Balancer, tasks: usize, seed: u64) -> Self {
        Self {
            by,
            next: 0,
            random: Seeded::new(seed),
            busy: vec![0; tasks.max(1)],
            out: vec![false; tasks.max(1)],
            foreign: vec![false; tasks.max(1)],
            cap: 0,
            weighted: WeightedTurns::new(tasks.max(1)),
        }
    }

    /// Limits the number under way at each task; 0: no limit.
    #[must_use]
    pub fn capped(self, cap: u32) -> Self {
        Self { cap, ..self }
    }

    /// Leaves it these tasks alone, for good; none: all.
    #[must_use]
    pub fn reaching(mut self, tasks: &[usize]) -> Self {
        if !tasks.is_empty() {
            self.foreign = (0..self.busy.len()).map(|task| !tasks.contains(&task)).collect();
        }
        self
    }

    /// Takes a task in, or leaves it out: what is under way there goes on. All are in at first. What one that is left out has reported
    /// is forgotten.
    pub fn set_member(&mut self, task: usize, is_member: bool) {
        self.out[task] = !is_member;
        if !is_member {
            self.weighted.forget(task);
        }
    }

    /// True if it chooses by what tasks report.
    #[must_use]
    pub fn hears_reports(&self) -> bool {
        self.by.hears_reports()
    }

    /// Takes in what a task has reported on an answer.
    pub fn reported(&mut self, task: usize, report: &LoadReport) {
        self.weighted.reported(task, report);
    }

    /// True if the task is not left out.
    #[must_use]
    pub fn is_member(&self, task: usize) -> bool {
        !self.out[task] && !self.foreign[task]
    }

    /// Chooses a task; if all are left out, as if none were. The request counts as under way there from the call of
    /// [`took`](Self::took).
    pub fn pick(&mut self) -> usize {
        let none_is_in = (0..self.busy.len()).all(|task| !self.is_member(task));
        let (out, foreign) = (std::mem::take(&mut self.out), std::mem::take(&mut self.foreign));
        let chosen = self.pick_among(|task| !foreign[task] && (none_is_in || !out[task])).unwrap_or(0);
        (self.out, self.foreign) = (out, foreign);
        chosen
    }

    /// Chooses among the tasks below the limit: the one whose turn it is, or the next one after it. `None`: all are at
    /// the limit.
    pub fn pick_with_room(&mut self) -> Option<usize> {
        if self.is_full() {
            return None; // the turn stays where it is
        }
        let (first, tasks) = (self.pick(), self.busy.len());
        (0..tasks).map(|n| (first + n) % tasks).find(|task| self.is_member(*task) && self.has_room(*task))
    }

    /// Chooses among the tasks for which `may` holds. `None`: it holds for none.
    pub fn pick_among(&mut self, may: impl Fn(usize) -> bool) -> Option<usize> {
        let tasks = self.busy.len();
        let turn = (0..tasks).map(|n| (n + self.next) % tasks).filter(|task| may(*task));
        let chosen = match self.by {
            Balancer::RoundRobin => turn.into_iter().next()?,
            Balancer::Random => {
                let among: Vec<usize> = turn.collect();
                let last = among.len().checked_sub(1)?;
                among[((self.random.uniform() * among.len() as f64) as usize).min(last)]
            }
            Balancer::LeastLoaded => turn.min_by_key(|task| self.busy[*task])?,
            Balancer::Utilization => {
                let mut among: Vec<usize> = turn.collect();
                among.sort_unstable();
                self.weighted.next(&among)?
            }
        };
        self.next = match self.by {
            Balancer::RoundRobin => (chosen + 1) % tasks,
            Balancer::Random | Balancer::Utilization => self.next,
            Balancer::LeastLoaded => (self.next + 1) % tasks,
        };
        Some(chosen)
    }

    /// True if every task that is not left out is at the limit.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.cap > 0 && (0..self.busy.len()).filter(|task| self.is_member(*task)).all(|task| !self.has_room(task))
    }

    fn has_room(&self, task: usize) -> bool {
        self.cap == 0 || self.busy[task] < self.cap
    }

    /// What is under way at this task.
    #[must_use]
    pub fn under_way(&self, task: usize) -> u32 {
        self.busy[task]
    }

    /// Counts one more under way at this task.
    pub fn took(&mut self, task: usize) {
        self.busy[task] += 1;
    }

    /// Counts one fewer under way at this task.
    pub fn left(&mut self, task: usize) {
        self.busy[task] = self.busy[task].saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Balancer; 4] = [Balancer::RoundRobin, Balancer::Random, Balancer::LeastLoaded, Balancer::Utilization];

    fn picks(picker: &mut Picker, many: usize) -> Vec<usize> {
        let mut pick = || {
            let task = picker.pick();
            picker.took(task);
            task
        };
        (0..many).map(|_| pick()).collect()
    }

    #[test]
    fn with_a_cap_full_tasks_are_passed_over() {
        let mut picker = Picker::new(Balancer::RoundRobin, 2, 1).capped(2);
        for wanted in [Some(0), Some(1), Some(0), Some(1), None] {
            assert_eq!(picker.is_full(), wanted.is_none());
            let task = picker.pick_with_room();
            assert_eq!(task, wanted);
            task.into_iter().for_each(|task| picker.took(task));
        }
        picker.left(1);
        assert_eq!((picker.is_full(), picker.pick_with_room()), (false, Some(1)));
        let mut any = Picker::new(Balancer::RoundRobin, 1, 1);
        (0..1000).for_each(|_| any.took(0));
        assert_eq!(any.pick_with_room(), Some(0), "without a cap there is always room");
    }

    #[test]
    fn a_sender_keeps_to_its_tasks_even_if_none_of_them_is_there() {
        for by in ALL {
            let mut picker = Picker::new(by, 4, 1).reaching(&[1, 2]);
            assert!(picks(&mut picker, 20).iter().all(|task| [1, 2].contains(task)), "{by:?}");
            picker.set_member(1, false);
            assert_eq!(picks(&mut picker, 3), [2, 2, 2]);
            picker.set_member(2, false);
            assert!(picks(&mut picker, 20).iter().all(|task| [1, 2].contains(task)), "{by:?}");
        }
    }

    #[test]
    fn tasks_that_are_left_out_are_passed_over_by_every_balancer() {
        for by in ALL {
            let mut picker = Picker::new(by, 3, 1);
            let mut counts = [0; 3];
            for _ in 0..300 {
                let task = picker.pick_among(|task| task != 1).expect("two are there");
                picker.took(task);
                counts[task] += 1;
            }
            assert!(counts[1] == 0 && counts.iter().all(|count| *count < 200), "{by:?}: {counts:?}");
            assert_eq!(picker.pick_among(|_| false), None);
        }
    }

    #[test]
    fn who_is_no_member_gets_nothing_new() {
        for by in ALL {
            let mut picker = Picker::new(by, 4, 1).capped(200);
            picker.set_member(0, false);
            picker.set_member(2, false);
            let mut counts = [0; 4];
            while let Some(task) = picker.pick_with_room() {
                picker.took(task);
                counts[task] += 1;
            }
            assert_eq!(counts, [0, 200, 0, 200], "{by:?}: to the cap of those who are in");
            picker.set_member(2, true);
            assert_eq!((picker.is_full(), picker.pick_with_room()), (false, Some(2)), "{by:?}");
            (0..4).for_each(|task| picker.set_member(task, false));
            assert!(picker.is_full() && picker.pick() < 4, "{by:?}");
        }
    }

    #[test]
    fn tasks_come_in_turn_or_by_their_load_or_by_chance() {
        assert_eq!(picks(&mut Picker::new(Balancer::RoundRobin, 3, 1), 4), [0, 1, 2, 0]);
        let mut least = Picker::new(Balancer::LeastLoaded, 3, 1);
        assert_eq!(picks(&mut least, 3), [0, 1, 2]);
        least.left(1);
        assert_eq!(picks(&mut least, 1), [1], "the only one without a request");
        let mut counts = [0; 3];
        picks(&mut Picker::new(Balancer::Random, 3, 1), 3000).into_iter().for_each(|task| counts[task] += 1);
        assert!(counts.iter().all(|count| (850..1150).contains(count)), "{counts:?}");
    }

    #[test]
    fn by_utilization_a_task_gets_requests_by_what_it_can_do_and_one_that_was_replaced_begins_anew() {
        let mut picker = Picker::new(Balancer::Utilization, 2, 1);
        assert!(picker.hears_reports() && !Picker::new(Balancer::LeastLoaded, 2, 1).hears_reports());
        // 20 answers a second keep the first busy all the time, the second a fifth of it: 20 to 100.
        let report = |utilization| LoadReport { utilization, answers_per_s: 20.0, errors_per_s: 0.0 };
        picker.reported(0, &report(1.0));
        picker.reported(1, &report(0.2));
        let chosen = picks(&mut picker, 600);
        assert_eq!(chosen.iter().filter(|task| **task == 0).count(), 100);
        picker.set_member(0, false);
        picker.set_member(0, true);
        assert_eq!(picks(&mut picker, 600).iter().filter(|task| **task == 0).count(), 300, "nothing is known of it");
    }
}
