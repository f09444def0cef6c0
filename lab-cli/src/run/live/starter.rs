//! Starts targets while a run goes on, on a thread of its own: the kernel ends a target with the thread that has started it.

use std::{path::PathBuf, sync::mpsc, thread};

use spec::services::TaskSpec;

use super::target::TargetProcess;
use crate::run::RunFailure;

type Started = Result<TargetProcess, RunFailure>;

/// A thread that starts targets. It ends with the last handle; its targets, which end with it, are to be gone by then.
#[derive(Debug, Clone)]
pub struct Starter(mpsc::Sender<Order>);

struct Order {
    task: TaskSpec,
    then: Box<dyn FnOnce(Started) + Send>,
}

impl Starter {
    /// Begins. What targets say goes to `log`.
    pub fn begin(log: PathBuf) -> Result<Self, RunFailure> {
        let (order, orders) = mpsc::channel::<Order>();
        let start = move || {
            for Order { task, then } in orders {
                then(TargetProcess::start(task, &log));
            }
        };
        let thread = thread::Builder::new().name("starter".to_owned()).spawn(start);
        thread.map_err(RunFailure::machine("the thread that starts tasks"))?;
        Ok(Self(order))
    }

    /// Starts a target, and hands it to `then`, one after the other.
    pub fn start(&self, task: TaskSpec, then: impl FnOnce(Started) + Send + 'static) {
        // The thread is there as long as this handle.
        let _ = self.0.send(Order { task, then: Box::new(then) });
    }
}
