//! The program on a terminal: a list of experiments, a run as it happens, a comparison of runs.
//!
//! Parts that know little of each other: `messages` come in, `requests` go out; `app` and `state` are what is known, `update` and
//! `keymap` change it by one event or key, `view` draws it and changes nothing, and `terminal` moves keys and events in and frames
//! out. A run is shown from the same event stream that the recorder and the progress lines read, so nothing is seen here that is
//! not on disk too.

use std::{
    io,
    sync::mpsc::{self, Receiver, Sender},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

mod app;
mod column;
mod curve;
mod form;
mod front_doors;
mod keymap;
mod load;
mod messages;
mod palette;
mod panel;
mod requests;
mod state;
mod terminal;
mod text_input;
mod update;
mod view;

#[cfg(test)]
mod tests;

use analysis::live::LiveEvent;
use app::App;
use requests::Effect;

pub use load::LoadShape;
pub use messages::{
    FolderContents, ListedRun, OpenRun, OpenTrace, PastSummary, PreviewNews, PreviewPoint, PreviewStep, RunsCompared,
    ScreenMessage,
};
pub use palette::{Palette, Theme};
pub use requests::{Export, RunOrder, ScreenJob, UserRequest};
pub use terminal::{can_draw, restore, theme_of_terminal};
pub use view::figure::printed;

/// Longest wait for the screen's thread at its end: it draws a frame at the most.
const LONGEST_END: Duration = Duration::from_secs(2);

/// Tells the screen what happens. If the terminal is gone it is dropped: the run goes on without its view.
#[derive(Debug, Clone)]
pub struct Teller(Sender<ScreenMessage>);

impl Teller {
    /// Tells it what happens in a run.
    pub fn event(&self, event: &LiveEvent) {
        self.tell(ScreenMessage::Event(Box::new(event.clone())));
    }

    /// Tells it: `false` if it is gone.
    pub fn tell(&self, message: ScreenMessage) -> bool {
        self.0.send(message).is_ok()
    }
}

/// The screen on its own thread. The terminal is given back by [`finish`](Self::finish), when it is dropped, and when
/// anything panics.
#[derive(Debug)]
pub struct Screen {
    teller: Option<Teller>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl Screen {
    /// Takes over the terminal on standard output to show one run. `ask` is called on the view's thread when the person wants
    /// to stop it, or to change something.
    ///
    /// # Errors
    /// If standard output is no terminal that can be drawn on.
    pub fn of_one_run(palette: Palette, ask: impl FnMut(UserRequest) + Send + 'static) -> io::Result<Self> {
        Self::asking(palette, App::of_one_run(), ask)
    }

    /// Takes over the terminal to show a load. `ask` is called when the person wants to stop it.
    ///
    /// # Errors
    /// If standard output is no terminal that can be drawn on.
    pub fn of_a_load(
        palette: Palette,
        shape: LoadShape,
        ask: impl FnMut(UserRequest) + Send + 'static,
    ) -> io::Result<Self> {
        Self::asking(palette, App::of_a_load(shape), ask)
    }

    fn asking(palette: Palette, app: App, mut ask: impl FnMut(UserRequest) + Send + 'static) -> io::Result<Self> {
        let effect = move |effect| {
            if let Effect::Ask(asked) = effect {
                ask(asked);
            }
        };
        Self::start(palette, app, effect)
    }

    /// Takes over the terminal for the whole program. What the person wants done comes out of the receiver, which ends when
    /// they leave; `ask` is as above.
    ///
    /// # Errors
    /// If standard output is no terminal that can be drawn on.
    pub fn of_the_program(
        palette: Palette,
        ask: impl FnMut(UserRequest) + Send + 'static,
    ) -> io::Result<(Self, Receiver<ScreenJob>)> {
        Self::with_jobs(palette, App::default(), ask)
    }

    /// Takes over the terminal to show a trace. Nothing comes out of the receiver; it ends when the person leaves.
    ///
    /// # Errors
    /// If standard output is no terminal that can be drawn on.
    pub fn of_a_trace(palette: Palette, trace: OpenTrace) -> io::Result<(Self, Receiver<ScreenJob>)> {
        Self::with_jobs(palette, App::of_a_trace(trace), |_| {})
    }

    fn with_jobs(
        palette: Palette,
        app: App,
        mut ask: impl FnMut(UserRequest) + Send + 'static,
    ) -> io::Result<(Self, Receiver<ScreenJob>)> {
        let (jobs, wanted) = mpsc::channel();
        let mut jobs = Some(jobs);
        let effect = move |effect| match (effect, &jobs) {
            (Effect::Ask(asked), _) => ask(asked),
            (Effect::Job(job), Some(jobs)) => _ = jobs.send(job),
            // The screen does these itself.
            (Effect::Job(_), None) | (Effect::Edit(_) | Effect::Copy(_), _) => {}
            (Effect::Quit, _) => jobs = None,
        };
        let screen = Self::start(palette, app, effect)?;
        Ok((screen, wanted))
    }

    fn start(palette: Palette, app: App, effect: impl FnMut(Effect) + Send + 'static) -> io::Result<Self> {
        let terminal = terminal::take()?;
        let (teller, messages) = mpsc::channel();
        let thread = thread::Builder::new()
            .name("terminal".to_owned())
            .spawn(move || terminal::run(terminal, app, &messages, palette, effect))
            .inspect_err(|_| restore())?;
        Ok(Self { teller: Some(Teller(teller)), thread: Some(thread) })
    }

    /// The handle by which events reach the screen.
    pub fn teller(&self) -> Option<Teller> {
        self.teller.clone()
    }

    /// Gives the terminal back, once every other teller is gone.
    ///
    /// # Errors
    /// If it could not be drawn on; it is given back all the same.
    pub fn finish(mut self) -> io::Result<()> {
        self.end()
    }

    fn end(&mut self) -> io::Result<()> {
        // Without a sender the thread's loop ends.
        self.teller = None;
        let thread = self.thread.take();
        let asked = Instant::now();
        // One that reads from a terminal that is gone does not come back, and must not keep the program.
        while thread.as_ref().is_some_and(|thread| !thread.is_finished()) && asked.elapsed() < LONGEST_END {
            thread::sleep(Duration::from_millis(2));
        }
        let result = match thread.filter(JoinHandle::is_finished).map(JoinHandle::join) {
            None => Ok(()),
            Some(Ok(result)) => result,
            Some(Err(_)) => Err(io::Error::other("the view panicked")),
        };
        restore();
        result
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // The screen has ended.
        let _ = self.end();
    }
}
