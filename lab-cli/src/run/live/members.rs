//! Tasks of a tree that run, and who may choose which of them: carries out live what the machines of the tree want.

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::Sender,
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use controllers::PeerReport;
use live_service::control::client::ControlError;
use service_core::tree::{TaskId, TreeChange};
use spec::wire::{Gauges, SetCallees};
use workloads::plan::TaskList;

use super::{
    live_tree::{LiveTree, of_service},
    target::{Starter, TargetProcess},
};
use crate::run::RunFailure;

/// A draining task has finished once it has had nothing for this long: what was on its way to it has arrived by then.
const GRACE: Duration = Duration::from_millis(300);
/// So often a caller is told of its callees; then the run ends. One that is asked in vain takes five seconds.
const MOST_TRIES: u32 = 10;
/// Between two looks at a draining task.
const LOOK: Duration = Duration::from_millis(50);

/// News for the thread beside all services.
#[derive(Debug)]
pub enum TreeNews {
    /// A report of a task, numbered among all tasks.
    Report(usize, PeerReport),
    /// A process for a task was started, or could not be.
    Started(TaskId, Box<Result<TargetProcess, RunFailure>>),
    /// A task has finished what it had, and has ended; with what was wrong about its end, if something was.
    Drained(TaskId, Option<String>),
    /// The load begins.
    LoadBegins,
    /// Nothing is to change any more.
    Over,
}

/// The tasks on demand of a tree. Changes are done in order; one that fails is tried again, and the others wait for it.
#[derive(Debug)]
pub struct Members {
    tree: LiveTree,
    /// Tasks that users of each service choose from.
    entries: Vec<(usize, TaskList)>,
    starter: Starter,
    tell: Sender<TreeNews>,
    pending: VecDeque<TreeChange>,
    /// Failures of the first of them.
    tries: u32,
    starting: usize,
    draining: Vec<JoinHandle<()>>,
    /// The end: draining tasks are left as they are.
    over: Arc<AtomicBool>,
}

impl Members {
    /// Nothing runs yet. What becomes of tasks is told to `tell`.
    pub fn new(tree: LiveTree, entries: Vec<(usize, TaskList)>, starter: Starter, tell: Sender<TreeNews>) -> Self {
        let (pending, draining) = (VecDeque::new(), Vec::new());
        Self { tree, entries, starter, tell, pending, tries: 0, starting: 0, draining, over: Arc::default() }
    }

    /// Does these changes after those that are yet to be done. Fails if one has failed too often.
    pub fn change(&mut self, changes: Vec<TreeChange>) -> Result<(), ControlError> {
        self.pending.extend(changes);
        while let Some(change) = self.pending.front() {
            // A caller that does not answer is asked again: what drains must not be called any more before it ends.
            if let Err(error) = self.try_to(&change.clone()) {
                self.tries += 1;
                return if self.tries < MOST_TRIES { Ok(()) } else { Err(error) };
            }
            self.tries = 0;
            self.pending.pop_front();
        }
        Ok(())
    }

    /// True if some changes are to be tried again.
    pub fn are_behind(&self) -> bool {
        !self.pending.is_empty()
    }

    /// True if nothing is to be changed, and no task is starting.
    pub fn are_settled(&self) -> bool {
        self.pending.is_empty() && self.starting == 0
    }

    /// Takes in a process that takes requests. The name of its task, for people.
    pub fn started(&mut self, id: TaskId, process: Result<TargetProcess, RunFailure>) -> Result<String, RunFailure> {
        self.starting = self.starting.saturating_sub(1);
        let name = self.tree.name(id);
        self.tree.takes_requests(id, process.map_err(|failure| of_service(&name, failure))?)?;
        Ok(name)
    }

    /// Nothing changes any more; tasks that were to finish go on as they are. What was being ended has ended then.
    pub fn stay(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        for draining in self.draining.drain(..) {
            let _ = draining.join(); // a panic there has been printed
        }
    }

    fn try_to(&mut self, change: &TreeChange) -> Result<(), ControlError> {
        match change {
            TreeChange::Start(id) => {
                let (id, tell) = (*id, self.tell.clone());
                self.starting += 1;
                // If nobody listens any more, the process ends with the message.
                let then = move |process| drop(tell.send(TreeNews::Started(id, Box::new(process))));
                self.starter.start(self.tree.spec_of(id), then);
            }
            TreeChange::Users { service, tasks } => {
                let tasks = self.tree.addresses_of(*service, tasks);
                self.entries.iter().filter(|(of, _)| of == service).for_each(|(_, list)| list.set(&tasks));
            }
            TreeChange::Callees { caller, call, tasks } => {
                // A caller that has ended calls nobody.
                let Some(running) = self.tree.task(*caller).running() else { return Ok(()) };
                let Some(called) = self.tree.called(caller.service, *call) else { return Ok(()) };
                let tasks = self.tree.addresses_of(called, tasks);
                running.control.set_callees(&SetCallees { call: *call, tasks })?;
            }
            TreeChange::Drain(id) => self.drain(*id),
        }
        Ok(())
    }

    /// Ends a task once it has finished what it has, on a thread of its own.
    fn drain(&mut self, id: TaskId) {
        let (tree, tell, over) = (self.tree.clone(), self.tell.clone(), Arc::clone(&self.over));
        let drain = move || {
            if let Some(ended) = drained(&tree, id, &over) {
                let _ = tell.send(TreeNews::Drained(id, ended.err().map(|failure| failure.to_string())));
            }
        };
        self.draining.retain(|thread| !thread.is_finished());
        // Without a thread it goes on without requests, until the end of the run.
        self.draining.extend(thread::Builder::new().name("drain".to_owned()).spawn(drain));
    }
}

/// Waits until a task has finished what it has, keeps its counts, and ends it. `None`: it was left as it is.
fn drained(tree: &LiveTree, id: TaskId, over: &AtomicBool) -> Option<Result<(), RunFailure>> {
    let task = tree.task(id);
    let mut quiet = None::<(u64, Instant)>;
    while !over.load(Ordering::Relaxed) {
        // One that does not answer is asked again: if it has died, the run ends.
        let seen =
            task.running().and_then(|running| running.control.gauges().ok()).map(|gauges| read_and_open(&gauges));
        quiet = match (seen, quiet) {
            (Some((read, 0)), Some((before, since))) if read == before => {
                if since.elapsed() >= GRACE && task.ends().is_ok() {
                    return Some(tree.processes().take(id).map_or(Ok(()), TargetProcess::stop));
                }
                Some((before, since))
            }
            (Some((read, 0)), _) => Some((read, Instant::now())),
            _ => None,
        };
        thread::sleep(LOOK);
    }
    None
}

/// The requests of users and services that a task has read, and those that are open there.
fn read_and_open(gauges: &Gauges) -> (u64, u64) {
    let (users, calls) = (&gauges.ledger, &gauges.calls.read);
    (users.requests_read + calls.requests_read, users.in_flight + calls.in_flight)
}
