//! The only place that touches the terminal: keys and events in, frames out, and everything put back afterwards (`hold`).

use std::{
    io::{self, stdout},
    sync::mpsc::{Receiver, TryRecvError},
    time::{Duration, Instant},
};

use crossterm::{
    clipboard::CopyToClipboard,
    event::{Event, KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind},
    execute,
};
use nix::time::{ClockId, clock_gettime};
use ratatui::{
    DefaultTerminal, Frame,
    layout::{Position, Rect},
};

use super::{Palette, ScreenMessage, app::App, panel::Screen, requests::Effect, view};

mod editor;
mod hold;
mod input;
mod pace;
mod plain;
mod theme;

pub use hold::restore;
pub(super) use hold::take;
pub use plain::can_draw;
pub use theme::of_terminal as theme_of_terminal;

/// Until there is nothing left to show, the person leaves, or the sender is gone.
pub(super) fn run(
    mut terminal: DefaultTerminal,
    mut app: App,
    messages: &Receiver<ScreenMessage>,
    palette: Palette,
    mut effect: impl FnMut(Effect),
) -> io::Result<()> {
    let (mut cost, mut clock) = (Cost::begin(), Clock::begin());
    // Something has changed that is shown even while the view stands still.
    let mut asked = true;
    let mut changed = false;
    let mut drawn: Option<Instant> = None;
    loop {
        let wanted = asked || changed && !app.live.is_frozen();
        let since_drawn = drawn.map(|at| at.elapsed());
        if let Some(happened) = input::next(pace::wait(wanted, since_drawn, app.screen))? {
            // A mouse that moves over the screen changes nothing.
            asked |= !matches!(happened, Event::Mouse(MouseEvent { kind: MouseEventKind::Moved, .. }));
            if let Some(Effect::Quit) = taken(&mut terminal, &mut app, happened)? {
                restore();
                effect(Effect::Quit);
                return Ok(());
            }
        }
        asked |= carried_out(&mut terminal, &mut app, &mut effect)?;
        asked |= clock.tells(&mut app);
        let gone = loop {
            match messages.try_recv() {
                Ok(message) => {
                    app.receive(message);
                    changed = true;
                }
                Err(none) => break none == TryRecvError::Disconnected,
            }
        };
        let since_drawn = drawn.map(|at| at.elapsed());
        if pace::until_due(since_drawn, app.screen).is_zero() && (asked || changed && !app.live.is_frozen()) {
            app.live.own_cpu = cost.share().or(app.live.own_cpu);
            draw(&mut terminal, |frame| view::draw(frame, &app, palette))?;
            drawn = Some(Instant::now());
            (asked, changed) = (false, false);
        }
        if gone || app.is_over() {
            restore();
            return Ok(());
        }
    }
}

/// Takes a key, the mouse or pasted text; returns the effect that has to be carried out at once, if there is one.
fn taken(terminal: &mut DefaultTerminal, app: &mut App, happened: Event) -> io::Result<Option<Effect>> {
    let wanted = match happened {
        Event::Key(key) if is_suspend(key) => {
            hold::suspend(terminal)?;
            None
        }
        // Other programs may have written there.
        Event::Key(key) if key.code == KeyCode::Char('l') && key.modifiers.contains(KeyModifiers::CONTROL) => {
            terminal.clear()?;
            None
        }
        Event::Key(key) => app.key(key),
        Event::Mouse(mouse) => {
            let size = terminal.size()?;
            mouse_moved(app, mouse, Rect::new(0, 0, size.width, size.height))
        }
        Event::Paste(text) => {
            app.pasted(&text);
            None
        }
        Event::Resize(..) | Event::FocusGained | Event::FocusLost => None,
    };
    Ok(wanted.and_then(|wanted| app.now(wanted)))
}

/// Does what waits to be done, or has it done: `true` if anything did.
fn carried_out(terminal: &mut DefaultTerminal, app: &mut App, effect: &mut impl FnMut(Effect)) -> io::Result<bool> {
    let mut any = false;
    while let Some(wanted) = app.wanted() {
        match wanted {
            Effect::Edit(path) => {
                let problem = editor::edit(terminal, &path)?;
                app.edited(path, problem);
            }
            Effect::Copy(text) => hold::write(|| execute!(stdout(), CopyToClipboard::to_clipboard_from(text)))?,
            wanted => effect(wanted),
        }
        any = true;
    }
    Ok(any)
}

/// Time as screens need it, which read no clock.
struct Clock {
    last: Instant,
    /// Since when a run has had no second to be shown.
    waiting: Option<Instant>,
}

impl Clock {
    fn begin() -> Self {
        Self { last: Instant::now(), waiting: None }
    }

    /// Tells how much has passed: `true` if that can be seen.
    fn tells(&mut self, app: &mut App) -> bool {
        let passed = app.passed(self.last.elapsed());
        self.last = Instant::now();
        let is_waiting = app.screen == Screen::Live && !app.live.over && app.live.is_preparing();
        self.waiting = self.waiting.or(Some(self.last)).filter(|_| is_waiting);
        let waited = self.waiting.map(|since| since.elapsed());
        let seconds = |time: Option<Duration>| time.map(|time| time.as_secs());
        let is_new = seconds(waited) != seconds(app.live.waiting_for);
        app.live.waiting_for = waited;
        passed || is_new
    }
}

/// The wheel, and clicks of the left button.
fn mouse_moved(app: &mut App, mouse: MouseEvent, screen: Rect) -> Option<Effect> {
    match mouse.kind {
        MouseEventKind::ScrollDown => app.wheel(true),
        MouseEventKind::ScrollUp => app.wheel(false),
        MouseEventKind::Down(MouseButton::Left) => {
            let target = view::mouse_target(app, screen, Position::new(mouse.column, mouse.row))?;
            app.clicked(target)
        }
        _ => None,
    }
}

/// The cost of this thread: it runs on the generator's core.
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

/// Draws a frame, unless the terminal is not ours any more.
fn draw(terminal: &mut DefaultTerminal, view: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
    let in_ascii = |frame: &mut Frame<'_>| {
        view(frame);
        if plain::is_ascii() {
            plain::to_ascii(frame.buffer_mut());
        }
    };
    hold::write(|| terminal.draw(in_ascii).map(|_| ()))
}
