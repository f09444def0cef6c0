//! `lab load`: load on any HTTP service, in the manner of wrk2, oha, k6 and vegeta.

mod asked;
mod conditions;
mod expect;
mod export;
mod find_rate;
mod judged;
mod pace;
mod requests;
mod text;
mod watch;

use std::time::Duration;

use analysis::{arm_metrics, histograms, report::csv, text::scrubbed};
use senders::{RunError, RunOptions};
use workloads::plan::Target;

use self::{
    judged::LoadResult,
    pace::{Counted, Pace, Silence},
};
pub(super) use self::{requests::path, text::ReportedLoad};
use super::{
    destination::{answering_first, behind_a_socket, destination},
    share::start,
    stdout::{print, print_as, print_text},
};
use crate::{
    agents::sender,
    args::{self, Colours, LoadOutput, Output},
    exit::{CommandResult, End, Failure, complain},
    run::{FinishedLoad, LoadEvent, LoadFolder, LoadRequest, RunFailure, RunShare, StopSignal, run_load},
    screens::restore,
};

pub fn load(args: &args::LoadArgs, colours: Colours) -> CommandResult {
    let (url, target) = match &args.transport.unix_socket {
        Some(_) => behind_a_socket(&args.url)?,
        None => destination(&args.url, &args.allow_host)?,
    };
    let target = asked::from_these(&args.transport.source_address, answering_first(target))?;
    let experiment = asked::experiment(args, &url, &target)?;
    if let Some(left_out) = experiment.users.model.left_out() {
        complain(&scrubbed(&format!("--urls {left_out}")));
    }
    let options = RunOptions { begins: start(&args.share.start)?, ..asked::options(args, &url)? };
    let share = args.share.shard.map(RunShare::of_users);
    if args.rates.find_rate.is_some() {
        if args.share.agents.agents.is_some() {
            return Err(Failure::usage("--find-rate sends from here: leave --agents out"));
        }
        if let Some(shard) = args.share.shard {
            let why = "each rate that is tried depends on what came of the last: run it on one machine";
            return Err(Failure::usage(format!("--shard {shard}: {why}")));
        }
        return find_rate::find_rate(args, &experiment, &target, &options);
    }
    let out = match &args.results.out {
        _ if args.results.no_save => None,
        Some(path) => Some(LoadFolder::At(path)),
        None => Some(LoadFolder::Named),
    };
    let flat_out = !asked::is_open(args);
    let sender = sender(&args.share.agents, args.share.shard, None)?;
    let request = LoadRequest {
        experiment: &experiment,
        options,
        flat_out,
        out,
        share: share.as_ref(),
        recorded: None,
        in_parts: false,
        sender: &*sender,
    };
    let stop = StopSignal::listen_and_cut(restore).map_err(Failure::because)?;
    let Sent { finished, silent, pace } = match (send(args, &request, target, colours, &stop), stop.end()) {
        // Whatever could not be carried out because of the interrupt, the interrupt is why.
        (Err(Failure::Cause(message)), Some(end)) => {
            complain(&message);
            return Ok(end);
        }
        (sent, _) => sent?,
    };
    let planned = experiment.planned_time();
    let given_up = args.requests.filter(|_| silent);
    let total = arm_metrics::phase(&finished.report.total);
    let (arm, report) = (finished.arm(), &finished.report);
    let mut loaded = LoadResult::of(&args.url, arm, (report, total), planned, given_up, stop.is_asked());
    loaded.thresholds.clone_from(&finished.summary.thresholds);
    loaded.conditions.clone_from(&args.fail_if);
    loaded.deadline_ms = args.deadline.map(|deadline| deadline.as_secs_f64() * 1e3);
    if !flat_out && !stop.is_asked() {
        loaded.missed_rate = pace.missed(Counted::of(report, loaded.waited_for_connection), args.connections);
    }
    loaded.folder = finished.folder.as_ref().map(|folder| folder.display().to_string());
    let printed = print_result(args, &loaded, &finished);
    // A terminal that closes ends the load, and then nobody reads its result: that is no failure of its own.
    match stop.end() {
        Some(end) => Ok(end),
        None => printed.map(|_| end_of(&loaded)),
    }
}

/// A load that was sent.
struct Sent {
    finished: FinishedLoad,
    /// The service was gone, and the rest of a count was not sent.
    silent: bool,
    pace: Pace,
}

/// Sends it, before whoever watches.
fn send(
    args: &args::LoadArgs,
    request: &LoadRequest<'_>,
    target: Target,
    colours: Colours,
    stop: &StopSignal,
) -> Result<Sent, Failure> {
    let flag = stop.fresh_flag();
    let gives_up = request.flat_out && request.options.requests_limit.is_some();
    let (mut silence, mut silent, mut pace) = (Silence::default(), false, Pace::of(asked::due_within(args)));
    let mut watchers = watch::Watchers::begin(args, request.experiment, colours, stop)?;
    let ending = flag.clone();
    let mut seen = |event: LoadEvent<'_>| {
        watchers.see(&event);
        let LoadEvent::Second(window, _) = event else { return };
        if gives_up && silence.lasts(window) {
            silent = true;
            ending.stop_now();
        }
        pace.second(window.second, window.sent);
    };
    let finished = run_load(request, request.plan(target), &mut seen, &flag, || stop.is_asked());
    // Gives the terminal back before anything is printed.
    watchers.end();
    Ok(Sent { finished: finished.map_err(unsent)?, silent, pace })
}

fn print_result(args: &args::LoadArgs, loaded: &LoadResult, finished: &FinishedLoad) -> CommandResult {
    let how = asked::in_words(args);
    let reported = ReportedLoad {
        url: &args.url,
        how: &how,
        flat_out: !asked::is_open(args),
        percentiles: &args.results.percentiles,
    };
    match args.results.output {
        LoadOutput::Text => print_text(&text::result_text(&reported, loaded, &finished.report)),
        LoadOutput::Json => print_as(Output::Json, loaded, String::new),
        LoadOutput::Csv => {
            let name = finished.folder.as_ref().and_then(|folder| folder.file_name());
            let name = name.map_or_else(|| "load".into(), |name| name.to_string_lossy());
            print(&csv::table(&name, &finished.summary).map_err(Failure::because)?)
        }
        LoadOutput::Hlog => print(&histograms::log(&finished.report).map_err(Failure::because)?),
    }
}

/// Failure to answer counts first: it is known of a service that was asked, whatever else of an INVALID load is worth
/// nothing.
fn end_of(loaded: &LoadResult) -> End {
    if loaded.nothing_served || loaded.fails() {
        End::Failed
    } else if !loaded.valid {
        End::Invalid
    } else if loaded.missed_rate.is_some() {
        End::Failed
    } else {
        End::Done
    }
}

/// Prints a replay that was sent.
pub(super) fn print_replay(
    reported: &ReportedLoad<'_>,
    finished: &FinishedLoad,
    planned: Duration,
    output: Output,
    stop: &StopSignal,
) -> CommandResult {
    let report = &finished.report;
    let total = arm_metrics::phase(&report.total);
    let mut loaded = LoadResult::of(reported.url, finished.arm(), (report, total), planned, None, stop.is_asked());
    loaded.folder = finished.folder.as_ref().map(|folder| folder.display().to_string());
    print_as(output, &loaded, || text::result_text(reported, &loaded, report))?;
    Ok(stop.end().unwrap_or_else(|| end_of(&loaded)))
}

/// What was typed cannot be sent, or something failed on the way.
pub(super) fn unsent(failure: RunFailure) -> Failure {
    match failure {
        RunFailure::Load(problem @ (RunError::Crowd(_) | RunError::Certificate { .. })) => Failure::usage(problem),
        other => other.into(),
    }
}
