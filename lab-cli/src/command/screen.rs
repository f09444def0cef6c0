//! `lab` on a terminal: carries out what the person at the screen wants done, one thing after the other.

use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
    sync::mpsc::RecvTimeoutError,
    time::{Duration, Instant},
};

use analysis::{
    folder::{self, Recorded},
    live::LiveEvent,
    manifest::Manifest,
    recommend::recommendation,
    summary::{Mode, RunSummary},
};
use traces::trace::Header;

use super::{
    compare::of_two,
    destination,
    history::readable,
    input::read_text,
    terminal::{close, palette},
    trace,
};
use crate::{
    args::Colours,
    exit::{CommandResult, End, Failure},
    run::{Cpus, Interventions, RunRequest, Sinks, StopSignal, conduct, look_before},
    screens::{
        FolderContents, ListedRun, OpenRun, PastSummary, RunOrder, Screen, ScreenJob, ScreenMessage, Teller,
        UserRequest, restore,
    },
    store::{RUNS, utc, write_schema_beside},
};
use files::listed;
use previews::Previews;

mod commands;
mod files;
mod previews;

/// The longest wait for a signal while nothing runs.
const SIGNALS: Duration = Duration::from_millis(100);

pub fn open(colours: Colours) -> CommandResult {
    let stop = StopSignal::listen(restore).map_err(Failure::because)?;
    let touches = Interventions::default();
    let (asked, touched) = (stop.clone(), touches.clone());
    let ask = move |ask| match ask {
        UserRequest::Stop => asked.end_this_run(),
        UserRequest::Abort => asked.ask_by_person(),
        UserRequest::Touch(touch) => touched.ask(touch),
    };
    let (screen, jobs) = Screen::of_the_program(palette(colours), ask).map_err(Failure::because)?;
    let Some(teller) = screen.teller() else { return Ok(End::Done) };
    teller.tell(look());
    let mut previews = Previews::new(teller.clone());
    loop {
        let job = match jobs.recv_timeout(SIGNALS) {
            Ok(job) => job,
            Err(RecvTimeoutError::Timeout) if stop.end().is_none() => continue,
            Err(_) => break,
        };
        // A run has the machine for itself.
        if matches!(job, ScreenJob::Run(_) | ScreenJob::Init(_) | ScreenJob::Calibrate(_)) {
            previews.end();
        }
        let message = match job {
            ScreenJob::Look => look(),
            ScreenJob::Open(folders) => match opened(&folders, None) {
                ScreenMessage::Opened(runs) => compared(runs, &teller),
                message => message,
            },
            ScreenJob::Inspect(path) => match trace::shown_trace(&path.display().to_string()) {
                Ok(shown) => ScreenMessage::Trace(Box::new(shown)),
                Err(failure) => ScreenMessage::Failed(failure.in_words()),
            },
            ScreenJob::Init(service) => commands::init(&service, &teller, &stop),
            ScreenJob::Calibrate(file) => commands::calibrate(&file, &teller, &stop),
            ScreenJob::Preview(order) => {
                previews.want(order);
                continue;
            }
            ScreenJob::Write { path, text, and_edit, said } => match written(&path, &text) {
                Ok(()) => ScreenMessage::Written { path, and_edit, said },
                Err(failure) => ScreenMessage::Failed(failure.in_words()),
            },
            ScreenJob::Export { what, folder, table } => match files::put(what, &folder, &table) {
                Ok(said) => ScreenMessage::Done(said),
                Err(failure) => ScreenMessage::Failed(failure.in_words()),
            },
            ScreenJob::Run(order) => match run(&order, &teller, &stop, &touches) {
                Ok((folder, took)) => opened(&[folder], Some(took)),
                Err(Failure::ClosedPipe) => ScreenMessage::Opened(Vec::new()),
                Err(failure) => ScreenMessage::Failed(failure.in_words()),
            },
        };
        teller.tell(message);
        teller.tell(look());
        if stop.end().is_some() {
            break;
        }
    }
    previews.end();
    drop((previews, teller));
    close(screen, &stop)
}

/// Writes an experiment file that is not there yet, with the schema that its first line names, for editors.
fn written(path: &Path, text: &str) -> Result<(), Failure> {
    let created = fs::OpenOptions::new().write(true).create_new(true).open(path);
    created.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            Failure::usage(format!("{} is there already: choose another name", path.display()))
        }
        _ => Failure::because(format!("{}: {error}", path.display())),
    })?;
    write_schema_beside(path).map(|_| ()).map_err(Failure::because)
}

/// The run's folder, and how long it took.
fn run(
    order: &RunOrder,
    teller: &Teller,
    stop: &StopSignal,
    touches: &Interventions,
) -> Result<(PathBuf, Duration), Failure> {
    let experiment = read_text(&order.text, &order.name, &order.changes)?;
    // A host beyond this machine has to be typed: lab run --allow-host.
    if !order.virtual_time {
        destination::may_run(&experiment, &[])?;
    }
    let cpus = Cpus::choose();
    stop.run_begins();
    let virtual_time = order.virtual_time;
    let crowded = (!virtual_time).then(|| look_before(&cpus, experiment.planned_time())).flatten();
    crowded.into_iter().for_each(|text| teller.event(&LiveEvent::Note { text }));
    let mut sinks = Sinks::default();
    let teller = teller.clone();
    sinks.add(move |event: &LiveEvent| teller.event(event));
    let request = RunRequest::unattended(&experiment, None, &cpus, virtual_time);
    let request = RunRequest { live_view: true, touches: touches.clone(), ..request };
    let began = Instant::now();
    // On a thread of its own, which alone is kept to the generator's processor: the next run may want all of them.
    let finished = std::thread::scope(|scope| {
        let conducted = scope.spawn(|| {
            if !order.virtual_time {
                cpus.pin_generator();
            }
            conduct(request, &mut sinks, stop)
        });
        conducted.join()
    });
    match finished {
        Ok(Ok(finished)) => Ok((finished.folder, began.elapsed())),
        Ok(Err(failure)) => Err(failure.into()),
        Err(_) => Err(Failure::because("the run panicked; what it had measured is in its folder")),
    }
}

/// Experiment files and runs of this folder.
fn look() -> ScreenMessage {
    let files = files::experiments(Path::new("."));
    let mut runs: Vec<(std::time::SystemTime, ListedRun)> = listed(Path::new(RUNS))
        .into_iter()
        .filter(|path| path.join("events.jsonl").is_file())
        .map(|folder| {
            let when = fs::metadata(&folder).and_then(|found| found.modified()).unwrap_or(std::time::UNIX_EPOCH);
            (when, ListedRun { summary: summary_of(&folder), folder })
        })
        .collect();
    runs.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| b.1.folder.cmp(&a.1.folder)));
    ScreenMessage::Found(FolderContents {
        files,
        traces: traces(),
        runs: runs.into_iter().map(|(_, run)| run).collect(),
    })
}

/// Traces of this folder, of its folder `traces`, and of the folders in that. What is called a trace and is none is listed with the
/// reason; other lines of JSON are listed if they are one.
fn traces() -> Vec<(PathBuf, Result<Header, String>)> {
    let here = listed(Path::new(".")).into_iter().map(|path| path.strip_prefix(".").map(PathBuf::from).unwrap_or(path));
    let kept = listed(Path::new("traces"));
    let deeper: Vec<PathBuf> = kept.iter().filter(|path| path.is_dir()).flat_map(|path| listed(path)).collect();
    let mut files: Vec<PathBuf> = here.chain(kept).chain(deeper).filter(|path| path.is_file()).collect();
    files.sort();
    let looked_at = files.into_iter().filter_map(|path| {
        let name = path.file_name()?.to_string_lossy().into_owned();
        let name = name.trim_end_matches(".zst").trim_end_matches(".gz");
        let called_so = name.ends_with(".trace");
        let read = (called_so || name.ends_with(".jsonl")).then(|| trace::header(&path))?;
        (called_so || read.is_ok()).then_some((path, read))
    });
    looked_at.collect()
}

fn summary_of(folder: &Path) -> Option<PastSummary> {
    let summary = folder::summary(folder).ok()??;
    let arms = summary.arm_names().into_iter().map(str::to_owned).collect();
    let partial = if summary.partial { ", partial" } else { "" };
    let verdict = format!("{}{partial}", summary.verdict.word());
    let virtual_time = summary.mode == Mode::Virtual;
    let made = made(folder, &summary);
    let winner = recommendation(&summary).map_or_else(String::new, |found| found.worst.arm);
    let began = began(folder);
    Some(PastSummary { experiment: summary.experiment, virtual_time, began, winner, verdict, arms, made })
}

/// `2026-11-27 22:59`: as the folder's name has it, else when it was written.
fn began(folder: &Path) -> String {
    let name = folder.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let stamp = name.rsplit('-').next().filter(|stamp| stamp.len() == 16 && stamp.ends_with('Z')).map(str::to_owned);
    let written = || fs::metadata(folder).and_then(|found| found.modified()).map_or_else(|_| String::new(), utc);
    readable(&stamp.unwrap_or_else(written)).chars().take(16).collect()
}

/// Nothing for a run whose manifest is of another version: its figures can be looked at all the same.
fn made(folder: &Path, summary: &RunSummary) -> Vec<String> {
    Manifest::read(folder).map_or_else(|_| Vec::new(), |manifest| manifest.in_lines(summary.stopped.as_ref()))
}

/// Events of an arm that the live screen tells beside its seconds.
fn happens_in_an_arm(event: &LiveEvent) -> bool {
    matches!(
        event,
        LiveEvent::ArmStarted { .. }
            | LiveEvent::PhaseStarted { .. }
            | LiveEvent::Policy { .. }
            | LiveEvent::Touched { .. }
            | LiveEvent::ArmFinished(_)
    )
}

/// Shows runs; of two it is told then what one against the other comes to.
fn compared(runs: Vec<OpenRun>, teller: &Teller) -> ScreenMessage {
    let [old, new] = &runs[..] else { return ScreenMessage::Opened(runs) };
    let found = Box::new(of_two([old, new]));
    teller.tell(ScreenMessage::Opened(runs));
    ScreenMessage::Compared(found)
}

/// `took`: how long it took to run what has just been run.
fn opened(folders: &[PathBuf], took: Option<Duration>) -> ScreenMessage {
    let mut runs = Vec::new();
    for folder in folders {
        let recorded = match Recorded::read(folder) {
            Ok(recorded) => recorded,
            Err(failure) => return ScreenMessage::Failed(failure.to_string()),
        };
        let shape = recorded.shape().cloned();
        let Some(summary) = recorded.summary else {
            return ScreenMessage::Failed(format!("{} has no summary: the run was broken off", folder.display()));
        };
        let name = folder.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let made = made(folder, &summary);
        let (timeline, folder) = (recorded.timeline, folder.clone());
        let events = recorded.events.into_iter().filter(happens_in_an_arm).collect();
        runs.push(OpenRun { name, folder, summary, timeline, events, shape, made, took });
    }
    ScreenMessage::Opened(runs)
}
