//! A connection that is driven by the request on it: polled in that request's own task, and woken for nobody between
//! requests. A task of its own would cost each request two more turns of the scheduler, and by the second one what the request needs
//! has gone cold.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
};

use futures_util::task::AtomicWaker;

/// A connection without a task.
pub(crate) struct Driven {
    /// `None`: it has ended.
    connection: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    driver: Arc<Driver>,
    /// Wakes the driver.
    waker: Waker,
}

/// The task of the request that is on the connection, if there is one.
#[derive(Debug, Default)]
struct Driver(AtomicWaker);

impl Wake for Driver {
    fn wake(self: Arc<Self>) {
        self.0.wake();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.wake();
    }
}

impl fmt::Debug for Driven {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driven").field("has_ended", &self.connection.is_none()).finish_non_exhaustive()
    }
}

impl Driven {
    pub(super) fn new(connection: impl Future<Output = ()> + Send + 'static) -> Self {
        let driver = Arc::new(Driver::default());
        let waker = Waker::from(Arc::clone(&driver));
        Self { connection: Some(Box::pin(connection)), driver, waker }
    }

    /// Lets the connection do what it can, then polls what nothing else makes ready. Unless that is ready, the task of `cx` is woken
    /// once the connection can do more.
    pub(crate) fn drive<T>(&mut self, cx: &Context<'_>, result: impl FnOnce(&mut Context<'_>) -> Poll<T>) -> Poll<T> {
        self.driver.0.register(cx.waker());
        self.turn();
        let polled = result(&mut Context::from_waker(Waker::noop()));
        if polled.is_ready() {
            self.rest(); // whoever uses the result comes back for more
        }
        polled
    }

    /// Wakes nobody from now on.
    pub(super) fn rest(&mut self) {
        drop(self.driver.0.take());
    }

    /// Between requests: true if the other side has ended it.
    pub(super) fn has_ended(&mut self) -> bool {
        self.turn();
        self.connection.is_none()
    }

    fn turn(&mut self) {
        if let Some(connection) = &mut self.connection
            && connection.as_mut().poll(&mut Context::from_waker(&self.waker)).is_ready()
        {
            self.connection = None;
        }
    }

    /// Gives the connection a task of its own.
    pub(super) fn spawn(self) {
        if let Some(connection) = self.connection {
            tokio::spawn(connection);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use tokio::sync::oneshot;

    use super::*;

    #[derive(Default)]
    struct Woken(AtomicU32);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// A connection that ends when the sender is used.
    fn connection() -> (oneshot::Sender<()>, Driven) {
        let (ends, ended) = oneshot::channel();
        (ends, Driven::new(async move { drop(ended.await) }))
    }

    fn drive(driven: &mut Driven, task: &Arc<Woken>) {
        let waker = Waker::from(Arc::clone(task));
        let driven = driven.drive(&Context::from_waker(&waker), |_| Poll::<()>::Pending);
        assert!(driven.is_pending());
    }

    #[test]
    fn the_task_that_drove_it_last_is_woken() {
        let (ends, mut driven) = connection();
        let (first, second) = (Arc::<Woken>::default(), Arc::<Woken>::default());
        drive(&mut driven, &first);
        drive(&mut driven, &second);
        ends.send(()).unwrap();
        assert_eq!((first.0.load(Ordering::Relaxed), second.0.load(Ordering::Relaxed)), (0, 1));
    }

    #[test]
    fn a_task_that_has_its_result_is_not_woken() {
        let (ends, mut driven) = connection();
        let task = Arc::<Woken>::default();
        let waker = Waker::from(Arc::clone(&task));
        assert!(driven.drive(&Context::from_waker(&waker), |_| Poll::Ready(())).is_ready());
        ends.send(()).unwrap();
        assert_eq!(task.0.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn between_requests_nobody_is_woken_and_its_end_is_seen() {
        let (ends, mut driven) = connection();
        let task = Arc::<Woken>::default();
        drive(&mut driven, &task);
        driven.rest();
        assert!(!driven.has_ended());
        ends.send(()).unwrap();
        assert_eq!(task.0.load(Ordering::Relaxed), 0);
        assert!(driven.has_ended());
    }
}
