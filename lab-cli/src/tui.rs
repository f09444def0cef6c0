//! The live view of a run, in the terminal.
//!
//! Four parts that know little of each other: `state` is what is known, `update` changes it by one message, `view`
//! draws it and changes nothing, and `terminal` moves keys and events in and frames out. It reads the same event stream
//! as the recorder and the progress lines, so nothing is seen here that is not on disk too.

use std::{
    fmt, io,
    sync::mpsc::{self, Sender},
    thread::{self, JoinHandle},
};

use crate::live::LiveEvent;

mod keymap;
mod palette;
mod state;
mod terminal;
mod update;
mod view;

#[cfg(test)]
mod tests;

pub use palette::Palette;
pub use terminal::restore;

/// What the person at the keyboard asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ask {
    /// Stop arrivals, wait for what is open, save.
    Stop,
    /// End at once (asked for a second time).
    Abort,
}

/// The view on its own thread. Events go in; the terminal is given back by [`finish`](Self::finish), when it is dropped,
/// and when anything panics.
pub struct LiveView {
    events: Option<Sender<LiveEvent>>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl LiveView {
    /// Takes over the terminal on standard output. `ask` is called on the view's thread when the person wants to stop.
    ///
    /// # Errors
    /// If standard output is no terminal that can be drawn on.
    pub fn start(palette: Palette, ask: impl FnMut(Ask) + Send + 'static) -> io::Result<Self> {
        let terminal = terminal::take_over()?;
        let (events, received) = mpsc::channel();
        let thread = thread::Builder::new()
            .name("live view".to_owned())
            .spawn(move || terminal::run(terminal, &received, palette, ask))
            .inspect_err(|_| restore())?;
        Ok(Self { events: Some(events), thread: Some(thread) })
    }

    /// One event. If the terminal is gone the event is dropped: the run goes on without its view.
    pub fn event(&mut self, event: &LiveEvent) {
        if let Some(events) = &self.events {
            let _ = events.send(event.clone());
        }
    }

    /// Gives the terminal back.
    ///
    /// # Errors
    /// If it could not be drawn on; it is given back all the same.
    pub fn finish(mut self) -> io::Result<()> {
        self.end()
    }

    fn end(&mut self) -> io::Result<()> {
        // Without a sender the thread's loop ends.
        self.events = None;
        let result = match self.thread.take().map(JoinHandle::join) {
            None => Ok(()),
            Some(Ok(result)) => result,
            Some(Err(_)) => Err(io::Error::other("the live view panicked")),
        };
        restore();
        result
    }
}

impl Drop for LiveView {
    fn drop(&mut self) {
        // Nobody is left to tell.
        let _ = self.end();
    }
}

impl fmt::Debug for LiveView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LiveView").finish_non_exhaustive()
    }
}
