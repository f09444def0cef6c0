//! The task that a request runs in, for whoever has to end it: with HTTP/2 its stream's own, with HTTP/1.1 that of its connection.

use std::{
    future::Future,
    sync::{Arc, OnceLock},
};

use hyper::rt::Executor;
use tokio::task::AbortHandle;

tokio::task_local! {
    static OWN: EndableTask;
}

/// A task that can be ended from elsewhere.
#[derive(Debug, Clone, Default)]
pub(super) struct EndableTask(Arc<OnceLock<AbortHandle>>);

impl EndableTask {
    /// Spawns a task that finds itself by [`EndableTask::current`].
    pub(super) fn spawn(task: impl Future<Output = ()> + Send + 'static) -> AbortHandle {
        let own = Self::default();
        let handle = tokio::spawn(OWN.scope(own.clone(), task)).abort_handle();
        let _ = own.0.set(handle.clone()); // it is new
        handle
    }

    /// The task that asks; of another one, a task that does not exist.
    pub(super) fn current() -> Self {
        OWN.try_with(Self::clone).unwrap_or_default()
    }

    /// Ends it where it waits.
    pub(super) fn end(&self) {
        self.0.get().into_iter().for_each(AbortHandle::abort);
    }
}

/// Spawns the streams of HTTP/2. One whose task is ended is reset.
#[derive(Debug, Clone, Copy)]
pub(super) struct StreamTasks;

impl<F> Executor<F> for StreamTasks
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, stream: F) {
        EndableTask::spawn(stream);
    }
}
