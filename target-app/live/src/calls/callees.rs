//! The tasks of a called service, live, and the connections to them.

use std::net::SocketAddr;

use service_core::calls::{CallRoute, Pool};
use tokio::sync::oneshot;
use workloads::balance::LoadReport;

use super::wire::Wire;

/// A call that waits in the pool: it is given a lease of a place, or hears that it is refused.
pub(super) type Waits<L> = oneshot::Sender<Option<L>>;

/// The tasks of a called service, and a pool of connections to them. `L`: the host's lease of a place in it.
#[derive(Debug)]
pub(super) struct Callees<L> {
    /// By number, with their addresses while calls may go there.
    tasks: Vec<Option<SocketAddr>>,
    pub(super) pool: Pool<Wire, Waits<L>>,
}

/// The way of a call.
#[derive(Debug)]
pub(super) struct CallWay {
    pub(super) task: usize,
    /// `None`: no task takes calls.
    pub(super) to: Option<SocketAddr>,
    /// The kept connection, if there is one.
    pub(super) wire: Option<Wire>,
}

impl<L> Callees<L> {
    pub(super) fn new(tasks: &[Option<SocketAddr>], pool: Pool<Wire, Waits<L>>) -> Self {
        let mut callees = Self { tasks: vec![None; tasks.len()], pool };
        drop(callees.set(tasks)); // nothing is connected yet
        callees
    }

    /// The number of tasks, with those that take no calls.
    pub(super) fn tasks(&self) -> usize {
        self.tasks.len()
    }

    /// The tasks are these from now on. Returns the connections that are not wanted any more.
    #[must_use]
    pub(super) fn set(&mut self, tasks: &[Option<SocketAddr>]) -> Vec<Wire> {
        let mut unwanted = Vec::new();
        for (task, (before, now)) in self.tasks.iter_mut().zip(tasks).enumerate() {
            if before != now {
                // Another process may have come to the same place.
                unwanted.extend(self.pool.set_member(task, false));
            }
            unwanted.extend(self.pool.set_member(task, now.is_some()));
            *before = *now;
        }
        unwanted
    }

    /// The way of a call now; `None`: it is to wait.
    pub(super) fn way(&mut self) -> Option<CallWay> {
        let (task, wire) = match self.pool.route() {
            CallRoute::Kept(task, wire) => (task, Some(wire)),
            CallRoute::New(task) => (task, None),
            CallRoute::Wait => return None,
        };
        Some(CallWay { task, to: self.tasks[task], wire })
    }

    /// Takes in what the task of this way has reported on an answer, unless it has another process now.
    pub(super) fn reported(&mut self, CallWay { task, to, .. }: &CallWay, report: &LoadReport) {
        if self.tasks[*task] == *to {
            self.pool.reported(*task, report);
        }
    }

    /// The call that waits longest, if there is a place for it or none can come; without a way it is refused.
    pub(super) fn next_place(&mut self) -> Option<(Waits<L>, Option<CallWay>)> {
        while self.pool.waiting.front().is_some_and(oneshot::Sender::is_closed) {
            self.pool.waiting.pop_front();
        }
        let free = self.pool.waiting.pop_front()?;
        // As in virtual time, a call is sent at its turn as if it came now.
        if self.pool.refuses() {
            return Some((free, None));
        }
        let way = self.way();
        if way.is_none() {
            self.pool.waiting.push_front(free);
            return None;
        }
        Some((free, way))
    }

    /// Takes a way back. A connection to a task that takes no calls any more, or has another process now, is closed.
    pub(super) fn take_back(&mut self, CallWay { task, to, wire }: &mut CallWay) {
        self.pool.left(*task);
        match wire.take() {
            Some(wire) if self.tasks[*task] == *to => drop(self.pool.keep(*task, wire)),
            _ => self.pool.gone(),
        }
    }
}
