//! The live view of `lab load`: what was sent and answered so far, and in the last second.

mod progress;
mod view;

#[cfg(test)]
mod tests;

use std::{
    fmt, io,
    sync::mpsc::{self, Receiver, RecvTimeoutError, Sender},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use measure::Window;
use ratatui::DefaultTerminal;

use super::{Palette, terminal};
use progress::Progress;

pub use progress::LoadShape;

/// The longest wait for the next second before keys are looked for.
const TICK: Duration = Duration::from_millis(100);
/// The time on the screen goes on between two seconds of figures.
const FRAME: Duration = Duration::from_millis(500);

/// The view, on a thread of its own. The terminal is given back when it is dropped.
pub struct LoadScreen {
    seconds: Option<Sender<Box<Window>>>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl LoadScreen {
    /// Takes over the terminal on standard output. `stop` is called when the person wants the load to end.
    ///
    /// # Errors
    /// If standard output is no terminal that can be drawn on.
    pub fn start(shape: LoadShape, palette: Palette, stop: impl Fn() + Send + 'static) -> io::Result<Self> {
        let taken = terminal::take()?;
        let (seconds, come) = mpsc::channel();
        let thread = thread::Builder::new()
            .name("terminal".to_owned())
            .spawn(move || run(taken, Progress::of(shape), &come, palette, stop))
            .inspect_err(|_| terminal::restore())?;
        Ok(Self { seconds: Some(seconds), thread: Some(thread) })
    }

    /// Shows one more second. If the terminal is gone it is dropped: the load goes on without its view.
    pub fn second(&self, window: &Window) {
        if let Some(seconds) = &self.seconds {
            let _ = seconds.send(Box::new(window.clone()));
        }
    }
}

impl Drop for LoadScreen {
    fn drop(&mut self) {
        self.seconds = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        terminal::restore();
    }
}

impl fmt::Debug for LoadScreen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoadScreen").finish_non_exhaustive()
    }
}

/// Until the sender is gone.
fn run(
    mut screen: DefaultTerminal,
    mut progress: Progress,
    seconds: &Receiver<Box<Window>>,
    palette: Palette,
    stop: impl Fn(),
) -> io::Result<()> {
    let began = Instant::now();
    let mut drawn: Option<Instant> = None;
    loop {
        let mut changed = match seconds.recv_timeout(TICK) {
            Ok(window) => {
                progress.add(&window);
                true
            }
            Err(RecvTimeoutError::Timeout) => false,
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        };
        while let Some(happened) = terminal::next(Duration::ZERO)? {
            match happened {
                Event::Key(key) if terminal::is_suspend(key) => terminal::suspend(&mut screen)?,
                Event::Key(key) if is_stop(key) => {
                    progress.stops();
                    stop();
                }
                _ => {}
            }
            changed = true;
        }
        if changed || drawn.is_none_or(|at| at.elapsed() >= FRAME) {
            progress.elapsed = began.elapsed();
            terminal::draw(&mut screen, |frame| view::draw(frame, &progress, palette))?;
            drawn = Some(Instant::now());
        }
    }
}

fn is_stop(key: KeyEvent) -> bool {
    let interrupt = key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL);
    interrupt || key.code == KeyCode::Char('q')
}
