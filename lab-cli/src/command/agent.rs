//! `lab agent`: threads that take work from a queue, one piece after the other, and parts of loads. It needs nothing but the server, and opens
//! no port.

use std::{
    fs,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use analysis::text::counted;
use fleet::{AgentNote, Fleet, FleetError, WorkSource, server_file};

use super::{destination::destination, stdout::print};
use crate::{
    agents::{AgentLimits, AgentPart, LoadHost},
    args::{self, AgentArgs},
    exit::{CommandResult, End, Failure, complain},
    run::{StopSignal, cache_folder},
    screens::restore,
    workers::{Computer, connect, stored_recording, version},
};

/// A question for work waits so long at the server.
const ASKED: Duration = Duration::from_secs(1);
const LOOK: Duration = Duration::from_millis(50);
/// Parts whose records were not stored are kept so long.
const KEPT: Duration = Duration::from_secs(7 * 24 * 3600);
/// After something has failed.
const PAUSE: Duration = Duration::from_millis(500);

pub fn agent(args: &AgentArgs) -> CommandResult {
    if args.print_nats_config {
        let names: Vec<&str> = args.name.iter().flat_map(|names| names.split(',')).map(str::trim).collect();
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if let Some(bad) = names.iter().find(|name| name.is_empty() || !name.chars().all(is_name)) {
            return Err(Failure::usage(format!("--name: {bad:?} is no name of an agent: letters, digits, - and _")));
        }
        return print(server_file(&names).as_bytes());
    }
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let jobs = args.jobs.map_or(cores, usize::from);
    let fleet = connect(&args.nats, args.name.as_deref())?;
    let stop = StopSignal::listen(restore).map_err(Failure::because)?;
    let stopped = || stop.is_asked();
    let folder = tempfile::tempdir().map_err(Failure::because)?;
    let parts = parts_folder()?;
    let limits = AgentLimits {
        allow_host: args.allow_host.clone(),
        most_rate: args.most_rate,
        most_users: args.most_users,
        longest: args.longest,
    };
    let (files, recordings) = (fleet.files(), folder.path().to_owned());
    let recording = Box::new(move |digest: &str| stored_recording(&files, &recordings, digest));
    let resolve = |url: &str, allowed: &[String]| destination(url, allowed).map(|found| found.1);
    let (host, orders) = LoadHost::new(version(), limits, resolve, recording);
    let host = Arc::new(host);
    let answering = Arc::clone(&host);
    let note = AgentNote { name: fleet.name().to_owned(), version: version(), program: args::VERSION.to_owned(), jobs };
    complain(&format!("agent {} takes work for {}", note.name, counted(jobs, "processor")));
    let done = AtomicU64::new(0);
    let worked = fleet.announce(&note, &stopped).and_then(|_lease| {
        // Another of the same name has none.
        let _answers = fleet.answer_calls(move |question| answering.answer(&question));
        let signals: Vec<StopSignal> = (0..jobs).map(|_| StopSignal::default()).collect();
        thread::scope(|scope| {
            let working = scope.spawn(|| {
                let source = fleet.work(&note.version, &stopped)?;
                thread::scope(|scope| {
                    for stop in &signals {
                        scope.spawn(|| one_after_the_other((&fleet, &source, &host), folder.path(), stop, &done));
                    }
                });
                Ok(())
            });
            while !stop.is_asked() && !working.is_finished() {
                let Ok(order) = orders.recv_timeout(LOOK) else { continue };
                let folder = parts.join(format!("{}.{}", order.load, note.name));
                AgentPart { fleet: &fleet, host: &host, order: &order, folder: &folder, stop: &stop }.carry_out();
            }
            signals.iter().for_each(StopSignal::end_this_run);
            working.join().unwrap_or_else(|panic| resume_unwind(panic))
        })
    });
    complain(&format!("agent {}: {} done", note.name, counted(done.into_inner() as usize, "run")));
    match worked {
        Ok(()) | Err(FleetError::Stopped) => Ok(stop.end().unwrap_or(End::Done)),
        Err(error) => Err(error.into()),
    }
}

/// What it cannot do goes back to the queue, for others.
fn one_after_the_other(
    (fleet, source, host): (&Fleet, &WorkSource<'_>, &LoadHost),
    folder: &Path,
    stop: &StopSignal,
    done: &AtomicU64,
) {
    let stopped = || stop.is_asked();
    let mut computer = Computer::new(fleet, folder, stop.clone());
    let pause = |what: &str| {
        if !stopped() {
            complain(what);
            thread::sleep(PAUSE);
        }
    };
    while !stopped() {
        if host.is_sending() {
            thread::sleep(LOOK);
            continue;
        }
        let work = match source.next(ASKED) {
            Ok(Some(work)) => work,
            Ok(None) => continue,
            Err(error) => {
                pause(&error.to_string());
                continue;
            }
        };
        // A run that breaks its thread does not end the agent; work that comes before a load goes back.
        let computed = host.unless_sending(|| catch_unwind(AssertUnwindSafe(|| computer.compute(work.bytes()))));
        match computed.unwrap_or(Ok(Ok(None))) {
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

/// The folder of parts that are sent, without old ones.
fn parts_folder() -> Result<PathBuf, Failure> {
    let folder = cache_folder().join("parts");
    fs::create_dir_all(&folder).map_err(Failure::at(&folder))?;
    for entry in fs::read_dir(&folder).map_err(Failure::at(&folder))?.flatten() {
        let written = entry.metadata().and_then(|found| found.modified());
        if written.is_ok_and(|at| at.elapsed().is_ok_and(|age| age > KEPT)) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
    Ok(folder)
}
