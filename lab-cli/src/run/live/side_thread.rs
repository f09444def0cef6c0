//! A thread beside the load.

use std::{
    sync::mpsc::{Receiver, Sender},
    thread::{self, JoinHandle},
};

use analysis::live::LiveEvent;

use super::members::TreeNews;
use crate::run::RunFailure;

/// Orders to the thread, what happens there, and why it failed.
pub type SideChannels = (Sender<TreeNews>, Receiver<LiveEvent>, Receiver<RunFailure>);

/// A thread beside the load. Its drop ends it.
#[derive(Debug)]
pub struct SideThread {
    tell: Sender<TreeNews>,
    thread: Option<JoinHandle<()>>,
    happened: Receiver<LiveEvent>,
    failed: Receiver<RunFailure>,
}

impl SideThread {
    /// Begins it; `what` it is stands in the error of a machine that has no more threads.
    pub fn begin(
        name: &str,
        what: &'static str,
        (tell, happened, failed): SideChannels,
        run: impl FnOnce() + Send + 'static,
    ) -> Result<Self, RunFailure> {
        let thread = thread::Builder::new().name(name.to_owned()).spawn(run).map_err(RunFailure::machine(what))?;
        Ok(Self { tell, thread: Some(thread), happened, failed })
    }

    /// The beginning of the load, from which its time counts.
    pub fn load_begins(&self) {
        let _ = self.tell.send(TreeNews::LoadBegins); // one that has ended needs no time
    }

    /// Events since the last question.
    pub fn take(&self) -> Vec<LiveEvent> {
        self.happened.try_iter().collect()
    }

    /// The failure for which the arm must end.
    pub fn failure(&self) -> Option<RunFailure> {
        self.failed.try_recv().ok()
    }

    /// Ends it, and waits until it has ended.
    pub fn end(&mut self) {
        let _ = self.tell.send(TreeNews::Over);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join(); // a panic there has been printed
        }
    }
}

impl Drop for SideThread {
    fn drop(&mut self) {
        self.end();
    }
}
