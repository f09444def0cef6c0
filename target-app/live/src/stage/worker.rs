//! A stage's workers: tokio tasks that take jobs in batches and work on them one after the other.

use std::{
    collections::VecDeque,
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    sync::{Arc, atomic::Ordering},
    task::Poll,
};

use controllers::{
    Outcome, Timestamp,
    site::{self, QueuedJob, WorkerStep},
};

use super::{LiveStage, SharedSite, StageWork};

/// The main function of a worker, which is idle at first.
pub(super) async fn work<W: StageWork>(stage: Arc<LiveStage<W>>) {
    while let Some(batch) = stage.next_batch().await {
        let began = stage.shared.clock.now();
        let jobs = u32::try_from(batch.len()).unwrap_or(u32::MAX);
        for queued in batch {
            stage.work_on(queued).await;
        }
        stage.with(|machine, now| {
            machine.batch_done(now, jobs, began);
            stage.publish_p90(machine);
        });
    }
}

impl<W: StageWork> LiveStage<W> {
    /// Waits for a batch. `None`: the worker ends.
    async fn next_batch(self: &Arc<Self>) -> Option<VecDeque<QueuedJob<W>>> {
        loop {
            let mut called = pin!(self.work.notified());
            // Listen before the check: a job queued between the two must not be missed.
            called.as_mut().enable();
            let found = self.shared.peek(site::Stage::take);
            match found {
                WorkerStep::Batch(batch) => {
                    self.neighbours.get().into_iter().for_each(|neighbours| (neighbours.room)());
                    return Some(batch);
                }
                WorkerStep::Leave => return None,
                WorkerStep::Wait => called.await,
            }
        }
    }

    async fn work_on(self: &Arc<Self>, queued: QueuedJob<W>) {
        let QueuedJob { job: mut work, offer, grant, offered } = queued;
        let queued = QueuedJob { job: (), offer, grant, offered };
        let (started, expired) = self.shared.with(|stage, now| {
            stage.set_wall(self.shared.clock.wall());
            ((now, stage.started(now, &queued)), None)
        });
        let skip = self.spec.drop_abandoned && work.gone();
        let outcome = match expired {
            _ if skip => Outcome::Abandoned,
            Some(refusal) => work.expire(refusal),
            None => self.run(&mut work, offered, started).await,
        };
        let outcome = if work.gone() { Outcome::Abandoned } else { outcome };
        let (cost, told) = (work.cost(), work.told());
        let note = self.with(|stage, now| stage.ended(now, &queued, started, outcome, cost, told));
        // Counted first, answered second: a client with its answer finds the slot free.
        work.deliver(note);
    }

    async fn run(&self, work: &mut W, offered: Timestamp, started: Timestamp) -> Outcome {
        let at = self.at(offered, started);
        let mut running = pin!(async { work.run(at).await });
        let caught = std::future::poll_fn(|cx| match catch_unwind(AssertUnwindSafe(|| running.as_mut().poll(cx))) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(outcome)) => Poll::Ready(Some(outcome)),
            Err(_) => Poll::Ready(None),
        });
        caught.await.unwrap_or_else(|| {
            self.panics.fetch_add(1, Ordering::Relaxed);
            Outcome::Failed
        })
    }
}
