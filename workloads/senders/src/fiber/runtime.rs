//! The set-up of `may`, once a process, and the one function that starts fibers.
//!
//! Rules that make this sound, which the rest of the host keeps:
//! - one worker thread, and never `may`'s own sleep (it resumes fibers on a timer thread): all fibers run on one OS thread;
//! - no thread-local is held across a wait; nothing blocks the thread (no DNS, no files, no locks held across a wait);
//! - buffers are on the heap: a stack has 32 KiB (128 KiB without optimisation).

use std::{io, sync::Once};

use may::coroutine::{Builder, JoinHandle};

/// Size of a fiber's stack in words of 8 bytes. It must be whole pages, or the pool never takes a stack back.
const STACK_WORDS: usize = if cfg!(debug_assertions) { 0x4000 } else { 0x1000 };

/// Stacks made before the first fiber: so many requests can be in flight before another is made. Two pages of each are
/// in use from the start, 12 MB in all.
const STACKS_AT_START: usize = 1536;

static CONFIGURED: Once = Once::new();

/// Configures `may`. Must be the first use of `may`: its scheduler starts with the first socket, timer or fiber, and by
/// default with as many workers as there are cores.
pub(super) fn configure() {
    CONFIGURED.call_once(|| {
        // The worker inherits the affinity of the thread that starts the first run: by default `may` would pin it to
        // the first core, whatever its caller planned.
        // Stacks are made before the first run: mapping a thousand of them while a crowd arrives takes a tenth of a
        // second, and would delay the first run of a process, and that one only.
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
