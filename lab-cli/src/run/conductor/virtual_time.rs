//! A whole run in virtual time: arms side by side on all cores, told in their order.

use std::{
    collections::BTreeMap,
    sync::{
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread,
};

use controllers::random::seed_for;

use super::{Finished, Run};
use crate::{
    run::{
        RunFailure,
        manifest::Block,
        simulate::{Ground, Simulated, Task},
    },
    spec::plan::{App, Arashi, Work},
};

impl Run<'_> {
    pub(super) fn all_in_virtual_time(&mut self) -> Result<Finished, RunFailure> {
        let experiment = self.request.experiment;
        self.tell(&crate::live::LiveEvent::RunStarted(self.shape(experiment.nominal_capacity())))?;
        for caution in experiment.cautions() {
            self.note(&caution)?;
        }
        let ground = Ground::of(experiment);
        let capacity = match &experiment.target.app {
            App::Arashi(Arashi { work: Work::Capacity(wanted), .. }) => Some(ground.capacity(experiment, *wanted)?),
            _ => None,
        };
        let (blocks, tasks) = self.tasks();
        let mut blocks = blocks;
        self.manifest(&capacity, &blocks)?;
        let flag = self.stop.fresh_flag();
        let run = |task: Task| ground.run(experiment, task, capacity.as_ref(), &flag);
        side_by_side(&tasks, run, |task, simulated| {
            if self.stop.is_asked() {
                return Ok(());
            }
            let simulated = simulated?;
            if let Some(block) = blocks.get_mut(task.block as usize - 1) {
                block.plan.get_or_insert_with(|| simulated.digest.clone());
            }
            self.take_simulated(task, simulated)
        })?;
        self.manifest(&capacity, &blocks)?;
        self.finish(&capacity, self.stop.is_asked())
    }

    fn tasks(&self) -> (Vec<Block>, Vec<Task>) {
        let experiment = self.request.experiment;
        let (mut blocks, mut tasks) = (Vec::new(), Vec::new());
        for block in 1..=experiment.repeat {
            let seed = seed_for(experiment.seed, &format!("block {block}"));
            // Nothing drifts in virtual time: arms go in the order of the file.
            let order = 0..experiment.arms.len();
            let names = experiment.arms.iter().map(|arm| arm.label.clone()).collect();
            blocks.push(Block { block, seed, order: names, plan: None });
            tasks.extend(order.map(|arm| Task { arm, block, seed }));
        }
        (blocks, tasks)
    }

    fn take_simulated(&mut self, task: Task, simulated: Simulated) -> Result<(), RunFailure> {
        for event in &simulated.events {
            self.tell(event)?;
        }
        self.take_in(task.arm, simulated.ended)
    }
}

/// Runs tasks on all cores, and hands each result over in the order of the tasks. The first failure ends it.
fn side_by_side<R: Send>(
    tasks: &[Task],
    run: impl Fn(Task) -> R + Sync,
    mut done: impl FnMut(Task, R) -> Result<(), RunFailure>,
) -> Result<(), RunFailure> {
    let next = AtomicUsize::new(0);
    let cores = thread::available_parallelism().map_or(1, usize::from).min(tasks.len().max(1));
    // A bound on results that wait for an earlier one: memory does not grow with the number of tasks.
    let (tell, results) = mpsc::sync_channel::<(usize, R)>(cores);
    thread::scope(|scope| {
        for _ in 0..cores {
            let (tell, next, run) = (tell.clone(), &next, &run);
            scope.spawn(move || {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(&task) = tasks.get(number) else { return };
                    // Nobody listens any more after a failure.
                    if tell.send((number, run(task))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(tell);
        let mut waiting = BTreeMap::new();
        let mut wanted = 0;
        for (number, result) in results {
            waiting.insert(number, result);
            while let Some(result) = waiting.remove(&wanted) {
                done(tasks[wanted], result)?;
                wanted += 1;
            }
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_tasks() {
        let tasks: Vec<Task> = (0..50).map(|arm| Task { arm, block: 1, seed: 0 }).collect();
        let mut order = Vec::new();
        let slow_ones_first = |task: Task| (0..(50 - task.arm) * 1000).fold(0_usize, |sum, n| sum ^ n);
        side_by_side(&tasks, slow_ones_first, |task, _| {
            order.push(task.arm);
            Ok(())
        })
        .expect("none fails");
        assert_eq!(order, (0..50).collect::<Vec<_>>());
    }

    #[test]
    fn a_failure_ends_the_run() {
        let tasks: Vec<Task> = (0..50).map(|arm| Task { arm, block: 1, seed: 0 }).collect();
        let failed = side_by_side(
            &tasks,
            |task| task.arm,
            |_, arm| match arm {
                7 => Err(RunFailure::Capacity("seven".to_owned())),
                _ => Ok(()),
            },
        );
        assert!(failed.is_err());
    }
}
