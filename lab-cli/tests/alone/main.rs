//! Tests that need the machine for themselves: the processor that one takes away is another's headroom. A binary of its own has it, since
//! cargo runs one after the other.

mod gates;
mod many_hosts;
#[allow(dead_code, reason = "the other binary's")]
#[path = "../integration/program.rs"]
mod program;
mod walk;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// One test at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}
