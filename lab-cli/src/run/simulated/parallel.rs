//! Tasks side by side on all cores, with their results in order.

use std::{
    collections::BTreeMap,
    sync::{
        atomic::{AtomicUsize, Ordering},
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::Duration,
};

use crate::run::RunFailure;

/// The time between two reports of progress.
const TOLD: Duration = Duration::from_millis(200);

/// Runs tasks on all cores, or so many of them at once, and hands each result over in the order of the tasks; `None`: it still waits
/// for one. The first failure ends it.
pub fn side_by_side<T: Copy + Sync, R: Send>(
    tasks: &[T],
    jobs: Option<usize>,
    run: impl Fn(T) -> R + Sync,
    mut done: impl FnMut(Option<(T, R)>) -> Result<(), RunFailure>,
) -> Result<(), RunFailure> {
    let next = AtomicUsize::new(0);
    let cores = jobs.unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from)).min(tasks.len().max(1));
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
        // Taken in here: after a failure nobody may wait to hand over a result.
        let results = results;
        let mut waiting = BTreeMap::new();
        let mut wanted = 0;
        loop {
            match results.recv_timeout(TOLD) {
                Ok((number, result)) => _ = waiting.insert(number, result),
                Err(RecvTimeoutError::Timeout) => done(None)?,
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
            while let Some(result) = waiting.remove(&wanted) {
                done(Some((tasks[wanted], result)))?;
                wanted += 1;
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_tasks() {
        let tasks: Vec<usize> = (0..50).collect();
        let mut order = Vec::new();
        let slow_ones_first = |task: usize| (0..(50 - task) * 1000).fold(0_usize, |sum, n| sum ^ n);
        side_by_side(&tasks, None, slow_ones_first, |ended| {
            order.extend(ended.map(|(task, _)| task));
            Ok(())
        })
        .expect("none fails");
        assert_eq!(order, (0..50).collect::<Vec<_>>());
    }

    #[test]
    fn a_failure_ends_the_run() {
        let tasks: Vec<usize> = (0..50).collect();
        let failed = side_by_side(
            &tasks,
            None,
            |task| task,
            |ended| match ended.map(|(_, arm)| arm) {
                Some(7) => Err(RunFailure::Capacity("seven".to_owned())),
                _ => Ok(()),
            },
        );
        assert!(failed.is_err());
    }

    #[test]
    fn progress_is_reported_while_a_task_takes_long() {
        let tasks = [0];
        let (waited, ended) = (AtomicUsize::new(0), AtomicUsize::new(0));
        // It ends once that has been seen: nothing here waits for a time.
        let until_told = |_: i32| {
            while waited.load(Ordering::Relaxed) < 2 {
                thread::yield_now();
            }
        };
        side_by_side(&tasks, Some(2), until_told, |found| {
            let counted = if found.is_none() { &waited } else { &ended };
            counted.fetch_add(1, Ordering::Relaxed);
            Ok(())
        })
        .expect("none fails");
        assert!(waited.load(Ordering::Relaxed) >= 2 && ended.load(Ordering::Relaxed) == 1);
    }
}
