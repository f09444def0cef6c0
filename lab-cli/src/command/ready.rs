//! The ready lines of a service or a proxy that takes requests, for people.

use std::io::{IsTerminal as _, Write as _};

use spec::wire::Ready;

/// Prints the ready line, for programs.
pub(super) fn tell(ready: &Ready) {
    let mut out = std::io::stdout().lock();
    let line = serde_json::to_string(ready).unwrap_or_default();
    let _ = writeln!(out, "{line}");
    let _ = out.flush();
}

/// Notes of a service or a proxy that takes requests, beside its address: who can reach it, and its other ports.
pub(super) fn ready_for_people(ready: &Ready) -> String {
    let mut text = ready.open.as_ref().map_or_else(String::new, |open| format!("{open}\n"));
    if let Some(metrics) = &ready.metrics {
        text.push_str(&format!("metrics {metrics}\n"));
    }
    text.push_str(&format!("control port {}; Ctrl-C ends it\n", ready.control));
    match &ready.token {
        // What is no terminal is kept: a journal, a container's log.
        Some(token) if std::io::stdout().is_terminal() => {
            text.push_str(&format!("control token {}\n", token.in_full()));
        }
        Some(_) => {
            text.push_str("control token not shown, since this is no terminal: --control-token-file FILE gives one\n");
        }
        None => {}
    }
    text
}
