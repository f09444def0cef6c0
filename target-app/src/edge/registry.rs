//! All open connections: who is overdue, who can be spared.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use controllers::Timestamp;
use tokio::{sync::Notify, task::AbortHandle};

use super::conn::{Conn, Phase};
use crate::spec::EdgeSpec;

/// The open connections.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    open: Mutex<Open>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct Open {
    next: u64,
    slots: BTreeMap<u64, Slot>,
}

#[derive(Debug)]
struct Slot {
    conn: Arc<Conn>,
    task: AbortHandle,
}

impl Registry {
    /// How many are open.
    pub(crate) fn len(&self) -> usize {
        self.lock().slots.len()
    }

    /// How many are doing that.
    pub(crate) fn in_phase(&self, phases: &[Phase]) -> usize {
        self.lock().slots.values().filter(|slot| phases.contains(&slot.conn.phase().0)).count()
    }

    /// Adds a connection. `start` starts its task, which is given the guard that removes it again.
    pub(crate) fn add(self: &Arc<Self>, conn: Arc<Conn>, start: impl FnOnce(Member) -> AbortHandle) {
        let mut open = self.lock();
        let id = open.next;
        open.next += 1;
        let task = start(Member { registry: Arc::clone(self), id });
        open.slots.insert(id, Slot { conn, task });
    }

    /// Closes the connection that has been idle the longest, or failing that the one whose head has been coming in the
    /// longest: a slow head must not lock others out. False if all are at work.
    pub(crate) fn evict(&self) -> bool {
        let open = self.lock();
        let spare = |phase| {
            let at =
                move |slot: &&Slot| Some(slot.conn.phase()).filter(|found| found.0 == phase).map(|(_, since)| since);
            open.slots.values().filter(|slot| at(slot).is_some() && !slot.task.is_finished()).min_by_key(at)
        };
        let Some(slot) = spare(Phase::Idle).or_else(|| spare(Phase::Head)) else { return false };
        slot.conn.enter(Phase::Working); // not to be chosen twice before its task ends
        slot.task.abort();
        true
    }

    /// Closes what is overdue. Senders of slow heads are told first: their own task does that, and is given until the next
    /// look for it.
    pub(crate) fn reap(&self, now: Timestamp, limits: &EdgeSpec) {
        self.close_if(|conn| match conn.overdue(now, limits) {
            None => false,
            Some(Phase::Head) => !conn.call_late(),
            Some(_) => true,
        });
    }

    /// Closes what is between requests.
    pub(crate) fn close_idle(&self) {
        self.close_if(|conn| conn.phase().0 == Phase::Idle);
    }

    /// Closes everything.
    pub(crate) fn close_all(&self) {
        self.close_if(|_| true);
    }

    /// Waits until a connection has closed.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }

    fn close_if(&self, doomed: impl Fn(&Conn) -> bool) {
        self.lock().slots.values().filter(|slot| doomed(&slot.conn)).for_each(|slot| slot.task.abort());
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Held by a connection's task: however that ends, the connection is off the list.
#[derive(Debug)]
pub(crate) struct Member {
    registry: Arc<Registry>,
    id: u64,
}

impl Drop for Member {
    fn drop(&mut self) {
        let slot = self.registry.lock().slots.remove(&self.id);
        drop(slot);
        self.registry.changed.notify_one();
    }
}
