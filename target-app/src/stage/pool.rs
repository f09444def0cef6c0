//! A stage's workers: tokio tasks that take jobs in batches and work on them one after the other.

use std::{
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    sync::{Arc, atomic::Ordering},
    task::Poll,
};

use controllers::{Offer, Outcome, Seen, Timestamp, Timing};

use super::{After, Queued, Stage, Work};

/// How many workers there are, and should be.
#[derive(Debug)]
pub(super) struct Pool {
    workers: u32,
    wanted: u32,
    idle: u32,
    closed: bool,
}

impl Pool {
    pub(super) fn new(wanted: u32) -> Self {
        Self { workers: 0, wanted, idle: 0, closed: false }
    }

    pub(super) fn workers(&self) -> u32 {
        self.workers
    }

    pub(super) fn idle(&self) -> u32 {
        self.idle
    }

    pub(super) fn closed(&self) -> bool {
        self.closed
    }

    pub(super) fn close(&mut self) {
        self.closed = true;
    }

    /// Sets the number of workers; true if some have to go.
    pub(super) fn resize(&mut self, wanted: u32) -> bool {
        self.wanted = wanted.max(1);
        self.workers > self.wanted
    }

    /// How many have to be started now, which are counted at once.
    pub(super) fn hire(&mut self) -> u32 {
        let missing = self.wanted.saturating_sub(self.workers);
        self.workers += missing;
        missing
    }
}

/// What a worker finds when it looks for work.
enum Found<W> {
    Batch(Vec<Queued<W>>),
    Nothing,
    /// There are too many workers, or the stage is closed.
    GoHome,
}

/// The life of a worker.
pub(super) async fn worker<W: Work>(stage: Arc<Stage<W>>) {
    loop {
        let batch = match stage.take(false) {
            Found::Batch(batch) => batch,
            Found::GoHome => return,
            Found::Nothing => match stage.wait().await {
                Some(batch) => batch,
                None => return,
            },
        };
        let began = stage.clock.now();
        let jobs = batch.len();
        for queued in batch {
            stage.work_on(queued).await;
        }
        stage.batch_done(jobs, began);
    }
}

impl<W: Work> Stage<W> {
    /// Waits for a batch, having been counted as idle. `None`: go home.
    async fn wait(self: &Arc<Self>) -> Option<Vec<Queued<W>>> {
        loop {
            let mut called = pin!(self.work.notified());
            // Listen before looking: a job queued between the two must not be missed.
            called.as_mut().enable();
            match self.take(true) {
                Found::Batch(batch) => return Some(batch),
                Found::GoHome => return None,
                Found::Nothing => {}
            }
            called.await;
        }
    }

    /// Looks for a batch. `waiting`: this worker has been counted as idle.
    fn take(self: &Arc<Self>, waiting: bool) -> Found<W> {
        let mut state = self.lock();
        if state.pool.workers > state.pool.wanted || (state.pool.closed && state.queue.is_empty()) {
            state.pool.workers -= 1;
            state.pool.idle -= u32::from(waiting);
            if !state.queue.is_empty() {
                self.work.notify_one(); // the call that brought this worker here may have been for a job
            }
            return Found::GoHome;
        }
        if !state.queue.is_empty() {
            state.pool.idle -= u32::from(waiting);
            let jobs = super::batch_of(state.queue.len(), state.pool.idle, state.batch);
            let batch = state.queue.drain(..jobs).collect();
            drop(state);
            self.room.notify_waiters();
            return Found::Batch(batch);
        }
        if !waiting {
            state.pool.idle += 1;
        }
        let now = state.desk.read(self.clock);
        let mut after = After::default();
        self.tell_room(&mut state, now);
        self.settle(&mut state, now, &mut after);
        drop(state);
        self.carry_out(after);
        Found::Nothing
    }

    async fn work_on(self: &Arc<Self>, queued: Queued<W>) {
        let Queued { mut work, offer, grant, offered } = queued;
        let started = {
            let mut state = self.lock();
            let now = state.desk.read(self.clock);
            state.desk.tell(now, &Seen::Started { id: offer.id, waited: now.since(offered) });
            now
        };
        let skip = self.spec.drop_abandoned && work.gone();
        let outcome = if skip { Outcome::Abandoned } else { self.run(&mut work, offered, started).await };
        let outcome = if work.gone() { Outcome::Abandoned } else { outcome };
        let mut state = self.lock();
        let ended = state.desk.read(self.clock);
        state.completed += 1;
        let timing = Timing { entered: offer.entered, offered, started, ended };
        let (Offer { id, tags, note, .. }, cost) = (offer, work.cost());
        let seen = Seen::Ended { id, grant, tags, outcome, timing, cost, note };
        state.desk.tell(ended, &seen);
        state.desk.note(id).into_iter().for_each(|note| work.annotate(note));
        let mut after = After::default();
        self.settle(&mut state, ended, &mut after);
        drop(state);
        self.carry_out(after);
        // Booked first, answered second: whoever gets the answer finds the room that it left.
        work.deliver();
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

    fn batch_done(self: &Arc<Self>, jobs: usize, began: Timestamp) {
        let mut state = self.lock();
        let now = state.desk.read(self.clock);
        let busy = now.since(began);
        state.busy += busy;
        state.desk.tell(now, &Seen::Batch { jobs: super::count(jobs), busy });
        let mut after = After::default();
        self.settle(&mut state, now, &mut after);
        self.publish_p90(&state);
        drop(state);
        self.carry_out(after);
    }
}
