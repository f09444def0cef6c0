//! CPU time by span: the threads inside it, and the CPU clock of each on entering.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use nix::{
    libc::clockid_t,
    time::{ClockId, clock_gettime},
    unistd::gettid,
};
use tracing::{
    Event, Metadata, Span, Subscriber,
    level_filters::LevelFilter,
    span::{Attributes, Id, Record},
};
use tracing_core::span::Current;

/// The target of the spans with an account. All other spans, and all events, are ignored.
pub(super) const TARGET: &str = "cost of a request";

/// The accounts of open spans.
#[derive(Debug, Default)]
pub(super) struct Accounts(Mutex<Open>);

#[derive(Debug, Default)]
struct Open {
    opened: u64,
    by_span: BTreeMap<u64, Account>,
}

#[derive(Debug)]
struct Account {
    metadata: &'static Metadata<'static>,
    /// The number of the span's handles: it is closed with the last of them.
    holders: u32,
    /// The CPU time of threads that have left.
    spent: Duration,
    inside: Vec<Inside>,
}

/// A thread inside the span.
#[derive(Debug)]
struct Inside {
    clock: ClockId,
    since: Duration,
}

thread_local! {
    /// The CPU clock of this thread, which every thread can read.
    static OWN_CLOCK: ClockId = ClockId::from_raw(clock_of(gettid().as_raw()));
    /// The spans that this thread is in, the innermost last.
    static IN: RefCell<Vec<(u64, &'static Metadata<'static>)>> = const { RefCell::new(Vec::new()) };
}

/// The kernel's id for the CPU clock of a thread, computed from the thread id: its complement, then one bit for "of a
/// thread" and two for "time in which it ran" (`MAKE_THREAD_CPUCLOCK` in `linux/posix-timers.h`; glibc computes it in
/// the same way in `pthread_getcpuclockid`).
const fn clock_of(thread: i32) -> clockid_t {
    (!thread << 3) | 0b110
}

fn read(clock: ClockId) -> Option<Duration> {
    clock_gettime(clock).ok().map(Duration::from)
}

impl Inside {
    /// The CPU time that it has spent since it entered; 0 if the thread has ended.
    fn spent(&self) -> Duration {
        read(self.clock).map_or(Duration::ZERO, |now| now.saturating_sub(self.since))
    }
}

impl Accounts {
    /// The CPU time spent in a span so far, with that of threads still inside.
    pub(super) fn spent(&self, span: &Span) -> Duration {
        let open = self.lock();
        let account = span.id().and_then(|id| open.by_span.get(&id.into_u64()));
        account.map_or(Duration::ZERO, |account| {
            account.spent + account.inside.iter().map(Inside::spent).sum::<Duration>()
        })
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Subscriber for Accounts {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_span() && metadata.target() == TARGET
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::ERROR)
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut open = self.lock();
        open.opened += 1;
        let id = open.opened;
        let account = Account { metadata: span.metadata(), holders: 1, spent: Duration::ZERO, inside: Vec::new() };
        open.by_span.insert(id, account);
        Id::from_u64(id)
    }

    fn clone_span(&self, id: &Id) -> Id {
        if let Some(account) = self.lock().by_span.get_mut(&id.into_u64()) {
            account.holders += 1;
        }
        id.clone()
    }

    fn try_close(&self, id: Id) -> bool {
        let mut open = self.lock();
        let Some(account) = open.by_span.get_mut(&id.into_u64()) else { return false };
        account.holders -= 1;
        let last = account.holders == 0;
        if last {
            open.by_span.remove(&id.into_u64());
        }
        last
    }

    fn enter(&self, id: &Id) {
        let clock = OWN_CLOCK.with(|clock| *clock);
        let mut open = self.lock();
        let Some(account) = open.by_span.get_mut(&id.into_u64()) else { return };
        IN.with_borrow_mut(|spans| spans.push((id.into_u64(), account.metadata)));
        if let Some(since) = read(clock) {
            account.inside.push(Inside { clock, since });
        }
    }

    fn exit(&self, id: &Id) {
        let clock = OWN_CLOCK.with(|clock| *clock);
        IN.with_borrow_mut(|spans| {
            if let Some(at) = spans.iter().rposition(|(span, _)| *span == id.into_u64()) {
                spans.remove(at);
            }
        });
        let mut open = self.lock();
        let Some(account) = open.by_span.get_mut(&id.into_u64()) else { return };
        if let Some(at) = account.inside.iter().rposition(|inside| inside.clock == clock) {
            account.spent += account.inside.swap_remove(at).spent();
        }
    }

    fn current_span(&self) -> Current {
        let current = IN.with_borrow(|spans| spans.last().copied());
        current.map_or_else(Current::none, |(id, metadata)| Current::new(Id::from_u64(id), metadata))
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {}
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn the_clock_of_another_thread_stands_while_it_waits_and_goes_while_it_computes() {
        let (go, told) = mpsc::channel::<()>();
        let (tell, known) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            let own = OWN_CLOCK.with(|clock| *clock);
            tell.send(own).unwrap();
            told.recv().unwrap();
            let began = read(own).unwrap();
            while read(own).unwrap() < began + Duration::from_millis(10) {
                std::hint::black_box(0);
            }
            tell.send(own).unwrap();
            let _ = told.recv();
        });
        let clock = known.recv().unwrap();
        let before = read(clock).unwrap();
        std::thread::sleep(Duration::from_millis(20));
        let waited = read(clock).unwrap();
        assert!(waited - before < Duration::from_millis(5), "it waits");
        go.send(()).unwrap();
        known.recv().unwrap();
        assert!(read(clock).unwrap() >= waited + Duration::from_millis(10));
        drop(go);
        thread.join().unwrap();
        // A joining thread is woken a moment before the kernel removes the ended thread's clock.
        let soon = std::time::Instant::now() + Duration::from_secs(5);
        while read(clock).is_some() {
            assert!(std::time::Instant::now() < soon, "it has ended");
            std::thread::yield_now();
        }
    }
}
