//! The only place that touches the terminal: keys and events in, frames out, and everything put back afterwards.

use std::{
    io, panic,
    sync::{
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, TryRecvError},
    },
    time::{Duration, Instant},
};

use crossterm::event::{self, Event};
use ratatui::DefaultTerminal;

use super::{Ask, Palette, keymap, state::State, update, update::Message, view};

/// At most five frames a second: the view runs on the generator's core.
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

/// Until the run is over or its sender is gone.
pub(super) fn run(
    mut terminal: DefaultTerminal,
    events: &Receiver<crate::live::LiveEvent>,
    palette: Palette,
    mut ask: impl FnMut(Ask),
) -> io::Result<()> {
    let mut state = State::default();
    let mut changed = true;
    let mut drawn: Option<Instant> = None;
    loop {
        if event::poll(TICK)? {
            match event::read()? {
                Event::Key(key) => {
                    if let Some(action) = keymap::action(key) {
                        if let Some(asked) = update::update(&mut state, Message::Pressed(action)) {
                            ask(asked);
                        }
                        // Keys are answered even while paused: that the view is paused must be seen.
                        draw(&mut terminal, &state, palette, &mut drawn)?;
                    }
                }
                Event::Resize(..) => draw(&mut terminal, &state, palette, &mut drawn)?,
                Event::FocusGained | Event::FocusLost | Event::Mouse(_) | Event::Paste(_) => {}
            }
        }
        let mut gone = false;
        loop {
            match events.try_recv() {
                Ok(event) => {
                    let _ = update::update(&mut state, Message::Happened(event));
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
        if changed && due && !state.paused {
            draw(&mut terminal, &state, palette, &mut drawn)?;
            changed = false;
        }
        if gone || state.over {
            restore();
            return Ok(());
        }
    }
}

fn draw(
    terminal: &mut DefaultTerminal,
    state: &State,
    palette: Palette,
    drawn: &mut Option<Instant>,
) -> io::Result<()> {
    if !TAKEN.load(Ordering::SeqCst) {
        return Ok(());
    }
    terminal.draw(|frame| view::draw(frame, state, palette))?;
    *drawn = Some(Instant::now());
    Ok(())
}
