//! The process: processors, its parent, signals, and the thread of the control port.

use std::{sync::Arc, thread, time::Duration};

use nix::{
    sched::{CpuSet, sched_setaffinity},
    sys::{prctl, signal::Signal},
    unistd::{Pid, getppid},
};
use tokio::{
    runtime::{Builder, Runtime},
    signal::unix::{self, SignalKind},
    sync::oneshot,
};

use super::{ServeError, system};
use crate::control;

/// Runs a process until it has served, on threads of its own, pinned to these processors. With a parent it ends with that.
pub fn run<E: From<ServeError>>(
    parent: Option<u32>,
    cpus: &[usize],
    serve: impl Future<Output = Result<(), E>>,
) -> Result<(), E> {
    parent.map_or(Ok(()), die_with)?;
    pin(cpus)?;
    let runtime = runtime()?;
    let served = runtime.block_on(serve);
    // A handler that blocks for good must not keep the process from ending.
    runtime.shutdown_timeout(Duration::from_secs(1));
    served
}

/// Makes the kernel kill this process when its parent ends, however that ends.
fn die_with(parent: u32) -> Result<(), ServeError> {
    prctl::set_pdeathsig(Signal::SIGKILL).map_err(|errno| system("cannot be tied to the parent")(errno.into()))?;
    // The parent may have ended before this call, even before this process ran at all.
    if u32::try_from(getppid().as_raw()) == Ok(parent) { Ok(()) } else { Err(ServeError::Orphaned) }
}

/// Pins this thread, and with it every thread that it starts. No effect if no processors are named.
fn pin(cpus: &[usize]) -> Result<(), ServeError> {
    if cpus.is_empty() {
        return Ok(());
    }
    let mut set = CpuSet::new();
    let pinned = cpus.iter().try_for_each(|&cpu| set.set(cpu)).and_then(|()| sched_setaffinity(Pid::from_raw(0), &set));
    pinned.map_err(|source| ServeError::Cpus { cpus: cpus.to_vec(), source })
}

/// The failed step of an error about the runtime.
pub const RUNTIME: &str = "cannot start the runtime";

/// A runtime for the processors of this thread. On one processor threads would only take turns, so there the service
/// runs on this thread alone; the database has threads of its own.
fn runtime() -> Result<Runtime, ServeError> {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let mut builder = if processors == 1 { Builder::new_current_thread() } else { Builder::new_multi_thread() };
    if processors > 1 {
        builder.worker_threads(processors);
    }
    builder.enable_all().build().map_err(system(RUNTIME))
}

/// The failed step of an error about signals.
pub const SIGNALS: &str = "cannot listen for signals";

/// The signals that end a process.
#[derive(Debug)]
pub struct TerminationSignals {
    terminate: unix::Signal,
    interrupt: unix::Signal,
    /// `None`: it is ignored, as `nohup` requires.
    hang_up: Option<unix::Signal>,
}

impl TerminationSignals {
    /// Without SIGHUP, which is somebody else's.
    pub fn but_hang_up() -> Result<Self, ServeError> {
        Self::listen().map(|ends| Self { hang_up: None, ..ends })
    }

    /// Listens for them. Needs a runtime.
    pub fn listen() -> Result<Self, ServeError> {
        let listen = |kind| unix::signal(kind).map_err(system(SIGNALS));
        let hang_up = if ignores(Signal::SIGHUP) { None } else { Some(listen(SignalKind::hangup())?) };
        Ok(Self { terminate: listen(SignalKind::terminate())?, interrupt: listen(SignalKind::interrupt())?, hang_up })
    }

    /// Waits for one of them.
    pub async fn told(&mut self) {
        let hang_up = async {
            match &mut self.hang_up {
                Some(signal) => signal.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
            _ = hang_up => {}
        }
    }
}

/// True if this process was started with the signal ignored. Listening for it would undo that.
fn ignores(signal: Signal) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    ignored.is_some_and(|mask| mask & 1 << (signal as i32 - 1) != 0)
}

/// The thread of the control port. It ends when this is dropped.
#[derive(Debug)]
pub struct ControlPort {
    end: Option<oneshot::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl ControlPort {
    /// Starts the thread, which serves `running` at this socket.
    ///
    /// # Errors
    /// If the system refuses a thread.
    pub fn open(
        listener: std::net::TcpListener,
        running: Arc<dyn control::Controlled>,
        token: spec::token::Token,
    ) -> Result<Self, ServeError> {
        let system = system("cannot open the control port");
        let runtime = Builder::new_current_thread().enable_all().build().map_err(&system)?;
        let (end, ended) = oneshot::channel();
        let serve = async move {
            let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
            tokio::select! {
                () = control::serve(listener, running, token) => {}
                _ = ended => {}
            }
        };
        let thread = thread::Builder::new().name("control".to_owned()).spawn(move || runtime.block_on(serve));
        Ok(Self { end: Some(end), thread: Some(thread.map_err(system)?) })
    }
}

impl Drop for ControlPort {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join(); // a panic there has been printed, and the service is at its end
        }
    }
}
