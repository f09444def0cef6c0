//! The holder of the terminal: this program, or the shell that started it.
//!
//! Whatever [`enter`] switches on, [`leave`] switches off again, and every way out of the program comes through [`restore`]: the end of
//! the screen's thread, a signal (`run::stop::StopSignal`), a panic. Ctrl-Z lends it to the shell with the same two.

use std::{
    io::{self, stdout},
    panic,
    sync::{
        Mutex, MutexGuard, Once, PoisonError, TryLockError,
        atomic::{AtomicU8, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use crossterm::{
    cursor::Show,
    event::{DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture},
    execute,
    terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode},
};
use nix::sys::signal::{Signal, raise};
use ratatui::{DefaultTerminal, Terminal, backend::CrosstermBackend};

use super::plain::can_draw;

/// The terminal belongs to the shell.
const FREE: u8 = 0;
/// Ours.
const TAKEN: u8 = 1;
/// Ours, but the shell has it until it wakes the program.
const LENT: u8 = 2;

static HOLD: AtomicU8 = AtomicU8::new(FREE);
/// Held by every writer to the terminal: a frame that is half out when the terminal is given back would hide the cursor again.
static WRITING: Mutex<()> = Mutex::new(());
/// The longest wait for a frame before the terminal is given back. The frame's own thread may have panicked, or the
/// terminal may take nothing any more.
const LONGEST_FRAME: Duration = Duration::from_millis(250);

/// Takes the terminal over.
pub(crate) fn take() -> io::Result<DefaultTerminal> {
    if !can_draw() {
        return Err(io::Error::other(
            "TERM=dumb: nothing can be drawn on this terminal (lab run FILE needs no screen)",
        ));
    }
    // Whichever thread panics: the message is printed on a terminal that shows it.
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let print = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            restore();
            print(info);
        }));
    });
    let _writing = writing();
    HOLD.store(TAKEN, Ordering::SeqCst);
    enter().and_then(|()| Terminal::new(CrosstermBackend::new(stdout()))).inspect_err(|_| {
        HOLD.store(FREE, Ordering::SeqCst);
        leave();
    })
}

/// Gives the terminal back if it was taken. To be called before the process is ended from elsewhere; twice is fine.
pub fn restore() {
    if HOLD.swap(FREE, Ordering::SeqCst) == TAKEN {
        let _frame_is_out = writing_within(LONGEST_FRAME);
        leave();
    }
}

/// Writes, unless the terminal is not ours any more.
pub(crate) fn write(write: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    let _writing = writing();
    if HOLD.load(Ordering::SeqCst) == TAKEN { write() } else { Ok(()) }
}

/// Gives the terminal to the shell, sleeps until it wakes the program, and takes it again. A run that goes on sleeps too, and says so
/// (GAP).
pub(crate) fn suspend(terminal: &mut DefaultTerminal) -> io::Result<()> {
    lend(terminal, || raise(Signal::SIGTSTP))??;
    Ok(())
}

/// Gives the terminal to another program, and takes it again when that has ended.
pub(super) fn lend<T>(terminal: &mut DefaultTerminal, to: impl FnOnce() -> T) -> io::Result<T> {
    let changed = |from, held| HOLD.compare_exchange(from, held, Ordering::SeqCst, Ordering::SeqCst).is_ok();
    let lent = changed(TAKEN, LENT);
    if lent {
        leave();
    }
    let done = to();
    let _writing = writing();
    // Unless a signal ends the program at this moment.
    if lent && changed(LENT, TAKEN) {
        enter()?;
        terminal.clear()?;
    }
    Ok(done)
}

fn enter() -> io::Result<()> {
    enable_raw_mode()?;
    execute!(stdout(), EnterAlternateScreen, EnableBracketedPaste, EnableMouseCapture)
}

/// The terminal may be gone: then errors have no reader.
fn leave() {
    let _ = disable_raw_mode();
    let _ = execute!(stdout(), DisableMouseCapture, DisableBracketedPaste, LeaveAlternateScreen, Show);
}

fn writing() -> MutexGuard<'static, ()> {
    WRITING.lock().unwrap_or_else(PoisonError::into_inner)
}

fn writing_within(longest: Duration) -> Option<MutexGuard<'static, ()>> {
    let begun = Instant::now();
    loop {
        match WRITING.try_lock() {
            Ok(guard) => return Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) if begun.elapsed() >= longest => return None,
            Err(TryLockError::WouldBlock) => thread::sleep(Duration::from_millis(5)),
        }
    }
}
