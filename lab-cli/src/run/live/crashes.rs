//! Crashes of tasks at set times: their processes end without warning, and others take their places.

use std::{
    collections::BTreeMap,
    sync::mpsc::{self, Receiver, RecvTimeoutError, Sender},
    time::{Duration, Instant},
};

use analysis::live::LiveEvent;
use service_core::tree::TaskId;
use spec::{
    fault::{Fault, FaultKind},
    services::TreeSpec,
    wire::SetCallees,
};
use workloads::plan::TaskList;

use super::{
    live_tree::{LiveTree, of_service},
    members::TreeNews,
    side_thread::SideThread,
    target::Starter,
};
use crate::run::RunFailure;

/// A moment at which a task dies, or may be back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Step {
    /// Time from the start of the load.
    at: Duration,
    dies: bool,
    task: TaskId,
}

/// The state of the thread.
struct Host {
    tree: LiveTree,
    /// Tasks that users of each service choose from.
    entries: Vec<(usize, TaskList)>,
    starter: Starter,
    /// Faults that keep a task down, by number.
    down: BTreeMap<TaskId, u32>,
    hears: Box<dyn Fn(TaskId) -> Result<(), RunFailure> + Send>,
    happened: Sender<LiveEvent>,
    orders: Receiver<TreeNews>,
}

/// Begins the thread of crashes of a tree. `hears` is told of each task that is back.
pub fn begin(
    spec: &TreeSpec,
    faults: &[Fault],
    (tree, entries): (&LiveTree, Vec<(usize, TaskList)>),
    starter: Starter,
    hears: impl Fn(TaskId) -> Result<(), RunFailure> + Send + 'static,
) -> Result<SideThread, RunFailure> {
    let steps = steps(spec, faults);
    let (tell, orders) = mpsc::channel();
    let (happen, happened) = mpsc::channel();
    let (fail, failed) = mpsc::channel();
    let (tree, hears) = (tree.clone(), Box::new(hears));
    let host = Host { tree, entries, starter, down: BTreeMap::new(), hears, happened: happen, orders };
    let run = move || {
        if let Err(failure) = host.run(&steps) {
            let _ = fail.send(failure); // the arm may be over
        }
    };
    SideThread::begin("crashes", "the thread of crashes", (tell, happened, failed), run)
}

/// Deaths and returns in the order of time. At equal times a task is back before it dies again, as in virtual time the
/// earlier fault goes first.
fn steps(spec: &TreeSpec, faults: &[Fault]) -> Vec<Step> {
    let mut steps = Vec::new();
    for fault in faults.iter().filter(|fault| fault.kind == FaultKind::Crash) {
        for (service, of) in spec.services.iter().enumerate() {
            for number in (0..of.tasks).filter(|task| fault.hits_task(&of.name, *task)) {
                let task = TaskId { service, task: number as usize };
                steps.push(Step { at: fault.at, dies: true, task });
                steps.push(Step { at: fault.at + fault.lasts, dies: false, task });
            }
        }
    }
    steps.sort_unstable();
    steps
}

impl Host {
    fn run(mut self, steps: &[Step]) -> Result<(), RunFailure> {
        let Ok(TreeNews::LoadBegins) = self.orders.recv() else { return Ok(()) };
        let began = Instant::now();
        for step in steps {
            let wait = step.at.saturating_sub(began.elapsed());
            if !matches!(self.orders.recv_timeout(wait), Err(RecvTimeoutError::Timeout)) {
                return Ok(()); // the load is over
            }
            let what = if step.dies { self.dies(step.task)? } else { self.is_back(step.task)? };
            if let Some(what) = what {
                let (second, text) = (began.elapsed().as_secs_f64(), format!("{} {what}", self.tree.name(step.task)));
                let _ = self.happened.send(LiveEvent::Policy { second, stage: "faults".to_owned(), text });
            }
        }
        Ok(())
    }

    /// Ends the process of a task, with whatever is open there. What has happened, in words; `None`: it was down already.
    fn dies(&mut self, id: TaskId) -> Result<Option<&'static str>, RunFailure> {
        let causes = self.down.entry(id).or_default();
        *causes += 1;
        if *causes > 1 {
            return Ok(None);
        }
        self.tree.task(id).dies()?;
        drop(self.tree.processes().take(id)); // killed and reaped
        self.tell_senders(id.service)?;
        Ok(Some("has crashed"))
    }

    /// Starts a process in place of the one that died, unless another fault keeps the task down.
    fn is_back(&mut self, id: TaskId) -> Result<Option<&'static str>, RunFailure> {
        let causes = self.down.entry(id).or_default();
        *causes = causes.saturating_sub(1);
        if *causes > 0 {
            return Ok(None);
        }
        let (tell, told) = mpsc::channel();
        // If nobody listens any more, the process ends with the message.
        self.starter.start(self.tree.spec_of(id), move |started| drop(tell.send(started)));
        let gone = || RunFailure::Target("the thread that starts tasks has ended".to_owned());
        let started = told.recv().map_err(|_| gone())?;
        let name = self.tree.name(id);
        self.tree.takes_requests(id, started.map_err(|failure| of_service(&name, failure))?)?;
        (self.hears)(id)?;
        self.tell_senders(id.service)?;
        Ok(Some("takes requests again"))
    }

    /// Tells users and callers which tasks of a service there are. If there are none, users find closed ports, as they would if nobody
    /// told them.
    fn tell_senders(&self, service: usize) -> Result<(), RunFailure> {
        let tasks = self.tree.addresses(service);
        if tasks.iter().any(Option::is_some) {
            self.entries.iter().filter(|(of, _)| *of == service).for_each(|(_, list)| list.set(&tasks));
        }
        for (caller, call) in self.tree.callers_of(service) {
            let Some(running) = self.tree.task(caller).running() else { continue };
            running.control.set_callees(&SetCallees { call, tasks: tasks.clone() })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_back_before_it_dies_again() {
        let second = Duration::from_secs;
        let task = TaskId { service: 1, task: 0 };
        let mut steps = [(2, true), (2, false), (1, true)].map(|(at, dies)| Step { at: second(at), dies, task });
        steps.sort_unstable();
        assert_eq!(steps.map(|step| (step.at.as_secs(), step.dies)), [(1, true), (2, false), (2, true)]);
    }
}
