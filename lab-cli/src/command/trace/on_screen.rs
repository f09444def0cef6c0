//! A trace on the screen.

use std::{io::IsTerminal as _, sync::mpsc::RecvTimeoutError, time::Duration};

use traces::inspect::Inspected;

use super::{import::account, read::inspected};
use crate::{
    args::{self, Colours, Output},
    command::terminal::{close, palette},
    exit::{CommandResult, Failure},
    run::StopSignal,
    screens::{OpenTrace, Screen, can_draw, restore},
};

/// A trace as the screen shows it.
pub(in crate::command) fn shown_trace(name: &str) -> Result<OpenTrace, Failure> {
    inspected(name).map(with_account)
}

fn with_account(seen: Inspected) -> OpenTrace {
    let account = seen.footer.import.as_ref().map(|tally| account("imported", tally)).unwrap_or_default();
    OpenTrace { seen, account }
}

/// The screen needs a terminal to draw on and keys to be read, so that the trace is no standard input.
pub(super) fn wanted(args: &args::InspectArgs) -> bool {
    !args.no_tui
        && args.output == Output::Text
        && args.trace != "-"
        && std::io::stdin().is_terminal()
        && std::io::stdout().is_terminal()
        && can_draw()
}

/// The longest wait for a signal.
const SIGNALS: Duration = Duration::from_millis(100);

/// Until the person leaves.
pub(super) fn show(seen: Inspected, colours: Colours) -> CommandResult {
    let stop = StopSignal::listen(restore).map_err(Failure::because)?;
    let (screen, left) = Screen::of_a_trace(palette(colours), with_account(seen)).map_err(Failure::because)?;
    while matches!(left.recv_timeout(SIGNALS), Err(RecvTimeoutError::Timeout)) && stop.end().is_none() {}
    close(screen, &stop)
}
