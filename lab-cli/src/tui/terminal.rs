//! The only place that touches the terminal: keys and events in, frames out, and everything put back afterwards (`hold`).

use std::{
    io,
    sync::mpsc::{Receiver, TryRecvError},
    time::{Duration, Instant},
};

use crossterm::event::{self, Event, KeyCode, KeyEvent, KeyModifiers};
use nix::time::{ClockId, clock_gettime};
use ratatui::DefaultTerminal;

use super::{
    Palette, Told,
    app::{App, Effect},
    view,
};

mod hold;
mod pace;

pub use hold::restore;
pub(super) use hold::{suspend, take, write};

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
        let wanted = asked || changed && !app.live.is_frozen();
        let since_drawn = drawn.map(|at| at.elapsed());
        if event::poll(pace::wait(wanted, since_drawn, app.screen))? {
            match event::read()? {
                Event::Key(key) if is_suspend(key) => {
                    hold::suspend(&mut terminal)?;
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
                Event::Paste(text) => {
                    app.pasted(&text);
                    asked = true;
                }
                Event::Resize(..) => asked = true,
                Event::FocusGained | Event::FocusLost | Event::Mouse(_) => {}
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
        let since_drawn = drawn.map(|at| at.elapsed());
        if pace::until_due(since_drawn, app.screen).is_zero() && (asked || changed && !app.live.is_frozen()) {
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

pub(super) fn is_suspend(key: KeyEvent) -> bool {
    key.code == KeyCode::Char('z') && key.modifiers.contains(KeyModifiers::CONTROL)
}

fn draw(terminal: &mut DefaultTerminal, app: &App, palette: Palette) -> io::Result<()> {
    hold::write(|| terminal.draw(|frame| view::draw(frame, app, palette)).map(|_| ()))
}
