//! The tasks of a service, which may change while a run goes on.

use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use serde::{Deserialize, Serialize};

/// The tasks of a service by number, each with its address while requests may go there. Cloning gives another handle of
/// the same list: a host of users follows its changes.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(from = "Vec<Option<SocketAddr>>", into = "Vec<Option<SocketAddr>>")]
pub struct TaskList(Arc<Listed>);

#[derive(Debug, Default)]
struct Listed {
    /// The number of changes so far.
    version: AtomicU64,
    tasks: Mutex<Vec<Option<SocketAddr>>>,
}

impl TaskList {
    /// The present list.
    #[must_use]
    pub fn addresses(&self) -> Vec<Option<SocketAddr>> {
        self.lock().clone()
    }

    /// The address of the first task that takes requests.
    #[must_use]
    pub fn first(&self) -> Option<SocketAddr> {
        self.lock().iter().flatten().next().copied()
    }

    /// True if there are no tasks at all, not even some that take no requests.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    /// Sends new requests, or connections, to these tasks from now on; what is under way goes on. The number of tasks
    /// stays.
    pub fn set(&self, tasks: &[Option<SocketAddr>]) {
        let mut listed = self.lock();
        for (task, address) in listed.iter_mut().zip(tasks) {
            *task = *address;
        }
        self.0.version.fetch_add(1, Ordering::Release);
    }

    /// The number of changes so far.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.0.version.load(Ordering::Acquire)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Option<SocketAddr>>> {
        self.0.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl From<Vec<Option<SocketAddr>>> for TaskList {
    fn from(tasks: Vec<Option<SocketAddr>>) -> Self {
        Self(Arc::new(Listed { version: AtomicU64::new(0), tasks: Mutex::new(tasks) }))
    }
}

/// Tasks that all take requests.
impl From<Vec<SocketAddr>> for TaskList {
    fn from(tasks: Vec<SocketAddr>) -> Self {
        tasks.into_iter().map(Some).collect::<Vec<_>>().into()
    }
}

impl From<TaskList> for Vec<Option<SocketAddr>> {
    fn from(list: TaskList) -> Self {
        list.addresses()
    }
}

/// Lists are equal if their tasks are.
impl PartialEq for TaskList {
    fn eq(&self, other: &Self) -> bool {
        self.addresses() == other.addresses()
    }
}

impl Eq for TaskList {}
