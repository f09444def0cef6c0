//! The machines of a tree, which run in this process, on a thread of their own beside all services: reports go to them and from them,
//! and what they want changed is done.

use std::{
    sync::{
        Arc, PoisonError,
        mpsc::{self, Receiver, RecvTimeoutError, Sender},
    },
    thread,
    time::{Duration, Instant},
};

use analysis::live::LiveEvent;
use controllers::Timestamp;
use live_service::control::client::ControlClient;
use service_core::tree::{TaskId, TreeMachines, addressee, global};
use workloads::plan::TaskList;

use super::{
    controls::{LiveTask, SharedGauges},
    live_tree::LiveTree,
    members::{Members, TreeNews},
    side_thread::SideThread,
    target::Starter,
};
use crate::run::RunFailure;

/// The longest time between two looks at the clock.
const LONGEST_WAIT: Duration = Duration::from_secs(1);
/// Until a change that failed is tried again.
const AGAIN: Duration = Duration::from_millis(200);

/// The thread beside all services. It ends when this is dropped.
#[derive(Debug)]
pub struct TreeThread {
    pub side: SideThread,
    tell: Sender<TreeNews>,
    /// Gauges of its machines, renewed at each of its turns.
    pub shown: SharedGauges,
}

/// The state of the thread.
struct Host {
    machines: TreeMachines,
    tree: LiveTree,
    members: Members,
    /// The start of the load. Until then it is time zero, as in virtual time.
    began: Option<Instant>,
    wake: Option<Timestamp>,
    /// Hears once that all is as the machines want it at first, or why it cannot be.
    settled: Option<Sender<Result<(), RunFailure>>>,
    tell: Sender<TreeNews>,
    happened: Sender<LiveEvent>,
    failed: Sender<RunFailure>,
    shown: SharedGauges,
}

impl TreeThread {
    /// Begins, and waits until the tasks run that the machines want at the start. Those that always run do so. `entries`: what users
    /// of a service choose from.
    pub fn begin(
        tree: &LiveTree,
        machines: TreeMachines,
        entries: Vec<(usize, TaskList)>,
        starter: Starter,
    ) -> Result<Self, RunFailure> {
        let (tell, news) = mpsc::channel();
        let (happen, happened) = mpsc::channel();
        let (fail, failed) = mpsc::channel();
        let (settle, settled) = mpsc::channel();
        for id in tree.always_there() {
            let running = tree.task(id).running();
            running.map_or(Ok(()), |running| read_reports(&running.control, tree.number(id), &tell))?;
        }
        let shown = SharedGauges::default();
        let host = Host {
            machines,
            tree: tree.clone(),
            members: Members::new(tree.clone(), entries, starter, tell.clone()),
            began: None,
            wake: None,
            settled: Some(settle),
            tell: tell.clone(),
            happened: happen,
            failed: fail,
            shown: Arc::clone(&shown),
        };
        let (channels, what) = ((tell.clone(), happened, failed), "the thread beside all services");
        let side = SideThread::begin("beside", what, channels, move || host.run(&news))?;
        let tree_thread = Self { side, tell, shown };
        match settled.recv() {
            Ok(settled) => settled.map(|()| tree_thread),
            Err(_) => Err(RunFailure::Target("the thread beside all services panicked".to_owned())),
        }
    }

    /// A function that reads the reports of a task whose process was replaced by another one.
    pub fn hears_again(&self, tree: &LiveTree) -> impl Fn(TaskId) -> Result<(), RunFailure> + Send + use<> {
        let (tree, tell) = (tree.clone(), self.tell.clone());
        move |id| {
            let running = tree.task(id).running();
            running.map_or(Ok(()), |running| read_reports(&running.control, tree.number(id), &tell))
        }
    }
}

impl Host {
    fn run(mut self, news: &Receiver<TreeNews>) {
        loop {
            self.turn();
            match news.recv_timeout(self.wait()) {
                Ok(TreeNews::Over) | Err(RecvTimeoutError::Disconnected) => break,
                Ok(news) => self.take_in(news),
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
        self.members.stay();
    }

    fn take_in(&mut self, news: TreeNews) {
        match news {
            // Without load there is nothing to report.
            TreeNews::Report(number, report) if self.began.is_some() => {
                self.machines.hear(self.now(), global(number, report));
            }
            TreeNews::Report(..) | TreeNews::Over => {}
            TreeNews::LoadBegins => self.began = Some(Instant::now()),
            TreeNews::Started(id, process) => {
                let started = self.members.started(id, *process).and_then(|name| {
                    let running = self.tree.task(id).running();
                    // Asked for before the first request, so that none is missed.
                    running
                        .map_or(Ok(()), |running| read_reports(&running.control, self.tree.number(id), &self.tell))?;
                    Ok(name)
                });
                match started {
                    Ok(name) => {
                        self.machines.started(id);
                        self.say(format!("{name} takes requests"));
                    }
                    Err(failure) => self.fail(failure),
                }
            }
            TreeNews::Drained(id, trouble) => {
                self.machines.drained(id);
                let name = self.tree.name(id);
                self.say(trouble.map_or_else(
                    || format!("{name} has finished and ended"),
                    |trouble| format!("{name} has finished, and did not end as it should: {trouble}"),
                ));
            }
        }
    }

    /// Lets the machines do what is due, until they want nothing else.
    fn turn(&mut self) {
        loop {
            let turn = self.machines.turn(self.now());
            self.wake = turn.wake;
            let has_changed = !turn.changes.is_empty();
            if let Err(error) = self.members.change(turn.changes) {
                self.fail(error.into());
            }
            for (number, _, report) in turn.told.into_iter().filter_map(addressee) {
                // A task that does not answer keeps the quota that it has: it is told again within a period.
                let running = self.tree.by_number(number).and_then(LiveTask::running);
                let _ = running.map(|running| running.control.hear(&report));
            }
            if !has_changed {
                break;
            }
        }
        *self.shown.lock().unwrap_or_else(PoisonError::into_inner) = self.machines.gauges();
        if self.members.are_settled() {
            self.settled.take().into_iter().for_each(|settled| drop(settled.send(Ok(()))));
        }
    }

    fn wait(&self) -> Duration {
        let longest = if self.members.are_behind() { AGAIN } else { LONGEST_WAIT };
        self.wake.map_or(longest, |at| at.since(self.now()).min(longest))
    }

    fn now(&self) -> Timestamp {
        let since = self.began.map_or(Duration::ZERO, |began| began.elapsed());
        Timestamp::from_nanos(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
    }

    /// Says what has happened during the load.
    fn say(&self, text: String) {
        if self.began.is_some() {
            let event = LiveEvent::Policy { second: self.now().as_secs_f64(), stage: "platform".to_owned(), text };
            let _ = self.happened.send(event); // the arm may be over
        }
    }

    fn fail(&mut self, failure: RunFailure) {
        let _ = match self.settled.take() {
            Some(settled) => settled.send(Err(failure)).is_ok(),
            None => self.failed.send(failure).is_ok(),
        };
    }
}

/// Reads the reports of a task, on a thread that ends with it.
fn read_reports(control: &ControlClient, number: usize, tell: &Sender<TreeNews>) -> Result<(), RunFailure> {
    let (lines, tell) = (control.reports()?, tell.clone());
    let read = move || {
        for report in lines.map_while(Result::ok) {
            if tell.send(TreeNews::Report(number, report)).is_err() {
                return;
            }
        }
    };
    let thread = thread::Builder::new().name("reports".to_owned()).spawn(read);
    thread.map(drop).map_err(RunFailure::machine("a thread that reads reports"))
}
