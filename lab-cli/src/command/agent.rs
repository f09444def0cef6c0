//! `lab agent`: threads that take work from a queue, one piece after the other. It needs nothing but the server, and opens no port.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::Duration,
};

use analysis::text::counted;
use fleet::{AgentNote, Fleet, FleetError, SERVER_FILE, WorkSource};

use super::stdout::print;
use crate::{
    args::{self, AgentArgs},
    exit::{CommandResult, End, Failure, complain},
    run::StopSignal,
    screens::restore,
    workers::{Computer, connect, version},
};

/// A question for work waits so long at the server.
const ASKED: Duration = Duration::from_secs(1);
/// After something has failed.
const PAUSE: Duration = Duration::from_millis(500);

pub fn agent(args: &AgentArgs) -> CommandResult {
    if args.print_nats_config {
        return print(SERVER_FILE.as_bytes());
    }
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let jobs = args.jobs.map_or(cores, usize::from);
    let fleet = connect(&args.nats, args.name.as_deref())?;
    let stop = StopSignal::listen(restore).map_err(Failure::because)?;
    let stopped = || stop.is_asked();
    let folder = tempfile::tempdir().map_err(Failure::because)?;
    let note = AgentNote { name: fleet.name().to_owned(), version: version(), program: args::VERSION.to_owned(), jobs };
    complain(&format!("agent {} takes work for {}", note.name, counted(jobs, "processor")));
    let done = AtomicU64::new(0);
    let worked = fleet.announce(&note, &stopped).and_then(|_lease| {
        let source = fleet.work(&note.version, &stopped)?;
        let signals: Vec<StopSignal> = (0..jobs).map(|_| StopSignal::default()).collect();
        thread::scope(|scope| {
            let threads: Vec<_> = signals
                .iter()
                .map(|stop| scope.spawn(|| one_after_the_other(&fleet, &source, folder.path(), stop, &done)))
                .collect();
            while !stop.is_asked() && threads.iter().any(|thread| !thread.is_finished()) {
                thread::sleep(Duration::from_millis(50));
            }
            signals.iter().for_each(StopSignal::end_this_run);
        });
        Ok(())
    });
    complain(&format!("agent {}: {} done", note.name, counted(done.into_inner() as usize, "run")));
    match worked {
        Ok(()) | Err(FleetError::Stopped) => Ok(stop.end().unwrap_or(End::Done)),
        Err(error) => Err(error.into()),
    }
}

/// What it cannot do goes back to the queue, for others.
fn one_after_the_other(fleet: &Fleet, source: &WorkSource<'_>, folder: &Path, stop: &StopSignal, done: &AtomicU64) {
    let stopped = || stop.is_asked();
    let mut computer = Computer::new(fleet, folder, stop.clone());
    let pause = |what: &str| {
        if !stopped() {
            complain(what);
            thread::sleep(PAUSE);
        }
    };
    while !stopped() {
        let work = match source.next(ASKED) {
            Ok(Some(work)) => work,
            Ok(None) => continue,
            Err(error) => {
                pause(&error.to_string());
                continue;
            }
        };
        // A run that breaks its thread does not end the agent.
        match catch_unwind(AssertUnwindSafe(|| computer.compute(work.bytes()))) {
            Ok(Ok(Some(found))) => match work.store(&found.bytes, &found.same, &stopped).and_then(|()| work.done()) {
                Ok(()) => _ = done.fetch_add(1, Ordering::Relaxed),
                Err(error) => pause(&error.to_string()),
            },
            Ok(Ok(None)) => {}
            Ok(Err(failure)) => pause(&failure.in_words()),
            Err(_) => {
                computer = Computer::new(fleet, folder, stop.clone());
                pause("a run broke off; it goes back to the queue");
            }
        }
    }
}
