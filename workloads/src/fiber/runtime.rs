//! `may`, set up once a process, and the one place that starts fibers.
//!
//! The rules that make this sound, and that the rest of the host keeps:
//! - one worker thread, and never `may`'s own sleep (it resumes fibers on a timer thread): all fibers run on one OS thread;
//! - no thread-local is held across a wait; nothing blocks the thread (no DNS, no files, no locks held across a wait);
//! - buffers are on the heap: a stack has 32 KiB (128 KiB without optimisation).

use std::{io, sync::Once};

use may::coroutine::{Builder, JoinHandle};

/// Size of a fiber's stack in words of 8 bytes. Whole pages, or the pool never takes a stack back.
const STACK_WORDS: usize = if cfg!(debug_assertions) { 0x4000 } else { 0x1000 };

/// Stacks to have before the first fiber: as many requests can be in flight without making one. Two pages of each are in use
/// from the start, 12 MB in all.
const STACKS_AT_START: usize = 1536;

static CONFIGURED: Once = Once::new();

/// Sets `may` up. Must come before anything else of it is touched: its scheduler starts with the first socket, timer or
/// fiber, and then with as many workers as there are cores.
pub(super) fn configure() {
    CONFIGURED.call_once(|| {
        // The worker inherits the affinity of the thread that starts the first run: `may` would pin it by itself to the
        // first core, whatever its caller planned.
        // Stacks are made before the first run: mapping a thousand of them while a crowd arrives takes a tenth of a second,
        // and the first run of a process, and that one only, would be late by it.
        may::config()
            .set_workers(1)
            .set_stack_size(STACK_WORDS)
            .set_pool_capacity(STACKS_AT_START)
            .set_worker_pin(false);
    });
}

/// Starts a fiber on the one worker.
///
/// # Errors
/// If there is no memory for its stack.
#[expect(unsafe_code, reason = "starting a fiber is unsafe in `may`: this is the only place that does")]
pub(super) fn spawn<F>(body: F) -> io::Result<JoinHandle<()>>
where
    F: FnOnce() + Send + 'static,
{
    configure();
    // SAFETY: `spawn` asks that fibers rely on no thread-local state across a wait and stay within their stack. The rules
    // at the top of this file see to the first (and with one worker the thread never changes); for the second, bodies keep
    // their buffers on the heap, and the guard page turns an overflow into the end of the process, not into corruption.
    unsafe { Builder::new().stack_size(STACK_WORDS).spawn(body) }
}
