//! Ctrl-C and its relatives: the first ends arrivals and saves, the second ends at once.

use std::{
    io,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU8, Ordering},
    },
    thread,
};

use tokio::signal::unix::{SignalKind, signal};
use workloads::StopFlag;

use crate::exit::End;

/// A request to stop the run, with its origin.
#[derive(Debug, Clone, Default)]
pub struct StopSignal(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// 0: run on; 2: SIGINT or a key; 15: SIGTERM or SIGHUP.
    by: AtomicU8,
    /// Only the run that goes on is to end.
    this_run: AtomicBool,
    /// Requests in flight are cut off at once, rather than waited for.
    cuts: bool,
    /// Gives back what the program has taken, such as the terminal.
    give_back: Option<fn()>,
    flag: Mutex<StopFlag>,
}

const BY_PERSON: u8 = 2;
const BY_SYSTEM: u8 = 15;

impl StopSignal {
    /// Listens to signals on a thread of its own. `give_back`: what is done before a second signal ends the program.
    ///
    /// # Errors
    /// If the thread or the handlers cannot be set up.
    pub fn listen(give_back: fn()) -> io::Result<Self> {
        Self(Arc::new(Inner { give_back: Some(give_back), ..Inner::default() })).listening()
    }

    /// Listens like [`listen`](Self::listen), but a stop also cuts requests in flight.
    ///
    /// # Errors
    /// As [`listen`](Self::listen).
    pub fn listen_and_cut(give_back: fn()) -> io::Result<Self> {
        Self(Arc::new(Inner { cuts: true, give_back: Some(give_back), ..Inner::default() })).listening()
    }

    fn listening(self) -> io::Result<Self> {
        let stop = self;
        let handle = stop.clone();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
        let (mut int, mut term, mut hup) = {
            let _inside = runtime.enter();
            (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?, signal(SignalKind::hangup())?)
        };
        thread::Builder::new().name("signals".to_owned()).spawn(move || {
            runtime.block_on(async move {
                loop {
                    tokio::select! {
                        _ = int.recv() => handle.ask(BY_PERSON),
                        _ = term.recv() => handle.ask(BY_SYSTEM),
                        _ = hup.recv() => handle.ask(BY_SYSTEM),
                    }
                }
            });
        })?;
        Ok(stop)
    }

    /// A person ends a run, and goes on to others: arrivals end, what was measured is saved, the program stays.
    pub fn end_this_run(&self) {
        self.0.this_run.store(true, Ordering::Relaxed);
        if let Ok(flag) = self.0.flag.lock() {
            flag.stop();
        }
    }

    /// Another run begins: the end of the one before does not count.
    pub fn run_begins(&self) {
        self.0.this_run.store(false, Ordering::Relaxed);
    }

    /// A person asks (a key in the live view). As with signals, the second time ends the program at once.
    pub fn ask_by_person(&self) {
        self.ask(BY_PERSON);
    }

    fn ask(&self, by: u8) {
        if self.0.by.compare_exchange(0, by, Ordering::Relaxed, Ordering::Relaxed).is_err() {
            // The second time: what is on disk is whole, and targets die with their parent.
            self.0.give_back.into_iter().for_each(|give_back| give_back());
            std::process::exit(code(by));
        }
        if let Ok(flag) = self.0.flag.lock() {
            self.raise(&flag);
        }
    }

    fn raise(&self, flag: &StopFlag) {
        if self.0.cuts {
            flag.stop_now();
        } else {
            flag.stop();
        }
    }

    /// True if a stop was requested.
    pub fn is_asked(&self) -> bool {
        self.0.by.load(Ordering::Relaxed) != 0 || self.0.this_run.load(Ordering::Relaxed)
    }

    /// The program's end after a stop; `None`: there was none.
    pub fn end(&self) -> Option<End> {
        match self.0.by.load(Ordering::Relaxed) {
            0 => None,
            BY_PERSON => Some(End::Interrupted),
            _ => Some(End::Terminated),
        }
    }

    /// The flag for the next load; already raised if a stop was asked for.
    pub fn fresh_flag(&self) -> StopFlag {
        let fresh = StopFlag::new();
        if let Ok(mut flag) = self.0.flag.lock() {
            *flag = fresh.clone();
        }
        if self.is_asked() {
            self.raise(&fresh);
        }
        fresh
    }
}

fn code(by: u8) -> i32 {
    128 + i32::from(by)
}
