//! The only place that touches the terminal: keys and events in, frames out, and everything put back afterwards.

use std::{
    io, panic,
    sync::{
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, TryRecvError},
    },
    time::{Duration, Instant},
};

use crossterm::{
    event::{self, Event, KeyCode, KeyEvent, KeyModifiers},
    execute,
    terminal::{EnterAlternateScreen, enable_raw_mode},
};
use nix::time::{ClockId, clock_gettime};
use ratatui::DefaultTerminal;

use super::{
    Palette, Told,
    app::{App, Effect},
    view,
};

/// At most five frames a second, also while a key is held down: the view runs on the generator's core.
const FRAME: Duration = Duration::from_millis(200);
/// How long a key press waits at most.
const TICK: Duration = Duration::from_millis(100);

static TAKEN: AtomicBool = AtomicBool::new(false);

/// Raw mode, other screen, and a panic hook that undoes both before the message is printed.
pub(super) fn take_over() -> io::Result<DefaultTerminal> {
    let terminal = ratatui::try_init().inspect_err(|_| ratatui::restore())?;
    TAKEN.store(true, Ordering::SeqCst);
    // Whichever thread panics: no frame may be drawn over its message.
    let restore_and_print = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        TAKEN.store(false, Ordering::SeqCst);
        restore_and_print(info);
    }));
    Ok(terminal)
}

/// Gives the terminal back if it was taken. To be called before the process is ended from elsewhere; twice is fine.
pub fn restore() {
    if TAKEN.swap(false, Ordering::SeqCst) {
        ratatui::restore();
    }
}

/// Until there is nothing left to show, the person leaves, or the sender is gone.
pub(super) fn run(
    mut terminal: DefaultTerminal,
    mut app: App,
    told: &Receiver<Told>,
    palette: Palette,
    mut effect: impl FnMut(Effect),
) -> io::Result<()> {
    let mut cost = Cost::begin();
    // Something has changed that is shown even while the view stands still.
    let mut asked = true;
    let mut changed = false;
    let mut drawn: Option<Instant> = None;
    loop {
        if event::poll(TICK)? {
            match event::read()? {
                Event::Key(key) if is_suspend(key) => {
                    suspend(&mut terminal)?;
                    asked = true;
                }
                Event::Key(key) => {
                    let wanted = app.key(key);
                    if matches!(wanted, Some(Effect::Quit)) {
                        restore();
                        effect(Effect::Quit);
                        return Ok(());
                    }
                    wanted.into_iter().for_each(&mut effect);
                    asked = true;
                }
                Event::Resize(..) => asked = true,
                Event::FocusGained | Event::FocusLost | Event::Mouse(_) | Event::Paste(_) => {}
            }
        }
        let mut gone = false;
        loop {
            match told.try_recv() {
                Ok(told) => {
                    app.told(told);
                    changed = true;
                }
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => {
                    gone = true;
                    break;
                }
            }
        }
        let due = drawn.is_none_or(|at| at.elapsed() >= FRAME);
        if due && (asked || changed && !app.live.is_frozen()) {
            app.live.own_cpu = cost.share().or(app.live.own_cpu);
            draw(&mut terminal, &app, palette)?;
            drawn = Some(Instant::now());
            (asked, changed) = (false, false);
        }
        if gone || app.is_over() {
            restore();
            return Ok(());
        }
    }
}

/// What this thread costs: it runs on the generator's core.
struct Cost {
    since: Instant,
    used: Duration,
}

impl Cost {
    /// A shorter look would be mostly one frame, or none.
    const LEAST: Duration = Duration::from_secs(1);

    fn begin() -> Self {
        Self { since: Instant::now(), used: Self::used() }
    }

    /// CPU time of this thread as a share of the time since the last call that had an answer; `None` if that is too short.
    fn share(&mut self) -> Option<f64> {
        let wall = self.since.elapsed();
        if wall < Self::LEAST {
            return None;
        }
        let used = Self::used();
        let share = used.saturating_sub(self.used).as_secs_f64() / wall.as_secs_f64();
        *self = Self { since: Instant::now(), used };
        Some(share)
    }

    fn used() -> Duration {
        clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(Duration::ZERO, Duration::from)
    }
}

fn is_suspend(key: KeyEvent) -> bool {
    key.code == KeyCode::Char('z') && key.modifiers.contains(KeyModifiers::CONTROL)
}

/// Gives the terminal back, sleeps until the shell wakes the program, and takes it over again. A run that goes on sleeps too,
/// and says so (GAP).
fn suspend(terminal: &mut DefaultTerminal) -> io::Result<()> {
    ratatui::restore();
    nix::sys::signal::raise(nix::sys::signal::Signal::SIGTSTP)?;
    enable_raw_mode()?;
    execute!(io::stdout(), EnterAlternateScreen)?;
    terminal.clear()
}

fn draw(terminal: &mut DefaultTerminal, app: &App, palette: Palette) -> io::Result<()> {
    if !TAKEN.load(Ordering::SeqCst) {
        return Ok(());
    }
    terminal.draw(|frame| view::draw(frame, app, palette))?;
    Ok(())
}
