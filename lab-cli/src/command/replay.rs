//! `lab replay`.

use std::{fmt::Write as _, time::Duration};

use experiment::{
    Changes, Experiment,
    plan::{Cut, Recording},
    recording,
};
use senders::RunOptions;
use workloads::{
    plan::{Behaviour, FailureRule, LoadPlan, Phase, UrlUsers, Users},
    replay::Pace,
    url::PLACES,
};

use super::{
    destination::{answering_first, destination},
    input::{header, read_text},
    load::{self, ReportedLoad, print_replay, unsent},
    run,
    share::start,
};
use crate::{
    agents::sender,
    args::{self, By, Colours, StartArgs},
    exit::{CommandResult, Failure},
    run::{LoadEvent, LoadFolder, LoadRequest, RunShare, StopSignal, run_load},
    screens::restore,
};

pub fn replay(args: &args::ReplayArgs, colours: Colours) -> CommandResult {
    match &args.target {
        Some(url) => on_service(args, url),
        None => on_arashi(args, colours),
    }
}

/// An experiment like any other, so that all that can be done with those can be done with a replay.
fn on_arashi(args: &args::ReplayArgs, colours: Colours) -> CommandResult {
    if let Some(shard) = args.share.shard {
        let why = "parts of a replay go to a service that runs already: name it (--target URL)";
        return Err(Failure::usage(format!("--shard {shard}: {why}")));
    }
    let experiment = experiment(args)?;
    let asked = args::RunArgs {
        out: args.out.clone(),
        no_tui: args.no_tui,
        output: args.output,
        virtual_time: args.virtual_time,
        start: StartArgs { start_at: args.share.start.start_at },
        agents: args.share.agents.clone(),
        ..args::RunArgs::default()
    };
    run::all(&[experiment], &asked, colours)
}

/// The experiment, as one would write it.
fn experiment(args: &args::ReplayArgs) -> Result<Experiment, Failure> {
    let capacity = args.capacity.map_or_else(String::new, |rate| format!(", capacity: {rate}/s"));
    let none = ["none".to_owned()];
    // A name of the catalogue, or what a file would say of it.
    let policies = if args.policies.is_empty() { &none[..] } else { &args.policies[..] };
    let arms: String = policies.iter().map(|policy| format!("  - {policy}\n")).collect();
    let users = format!("  {}\n", recording_key(args)?);
    written(args, &format!("{{app: arashi{capacity}}}"), &users, &arms, "{percentile: 90, response_time: 1s}")
}

/// The same of a service that runs already.
fn on_service_experiment(args: &args::ReplayArgs, url: &str) -> Result<Experiment, Failure> {
    let users = format!("  model: url\n  {}\n", recording_key(args)?);
    let target = format!("{{url: {}}}", quoted(url)?);
    let arms = "  - none: {as: replay, direct: true}\ndeclares: [kernel-backlog, closed-overload]\n";
    written(args, &target, &users, arms, "{percentile: 99, response_time: 1s}")
}

fn written(
    args: &args::ReplayArgs,
    target: &str,
    users: &str,
    arms: &str,
    promise: &str,
) -> Result<Experiment, Failure> {
    let stem = args.trace.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let stem: String = stem.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let name = format!("replay-{}", stem.trim_matches('-'));
    let (seed, repeat) = (args.seed, args.repeat);
    let yaml = format!(
        "name: {name}\nabout: a recording, replayed\ntarget: {target}\nobjective: {promise}\nusers:\n{users}seed: {seed}\n\
         repeat: {repeat}\narms:\n{arms}"
    );
    read_text(&yaml, &args.trace.to_string_lossy(), &Changes::default())
}

fn quoted(text: &str) -> Result<String, Failure> {
    serde_json::to_string(text).map_err(Failure::because)
}

/// The recording, and what is replayed of it.
fn recording_key(args: &args::ReplayArgs) -> Result<String, Failure> {
    let path = &args.trace;
    let path =
        path.to_str().ok_or_else(|| Failure::usage(format!("{}: its name is not valid UTF-8", path.display())))?;
    let mut key = format!("trace: {{file: {}, speed: {}", quoted(path)?, args.speed);
    let pace = if args.by == By::Clock { "clock" } else { "sessions" };
    let _ = write!(key, ", copies: {}, sample: {}, pace: {pace}", args.copies, args.sample);
    for (name, time) in [("from", args.from), ("for", args.lasts)] {
        if let Some(time) = time {
            let _ = write!(key, ", {name}: {}ms", time.as_millis());
        }
    }
    Ok(key + "}")
}

/// A service that runs already.
fn on_service(args: &args::ReplayArgs, url: &str) -> CommandResult {
    let pace = if args.by == By::Clock { Pace::Clock } else { Pace::Sessions };
    let cut = Cut {
        from: args.from.unwrap_or_default(),
        lasts: Duration::MAX,
        speed: args.speed,
        copies: args.copies,
        sample: args.sample,
    };
    let recording = recording::read(&args.trace, pace, cut, args.lasts).map_err(Failure::usage)?;
    let plan = plan(args, url, &recording)?;
    let experiment = on_service_experiment(args, &plan.target.url)?;
    let share = args.share.shard.map(RunShare::of_users);
    let sender = sender(&args.share.agents, args.share.shard, None)?;
    let request = LoadRequest {
        experiment: &experiment,
        options: RunOptions { begins: start(&args.share.start)?, ..RunOptions::default() },
        flat_out: false,
        out: args.out.as_deref().map(LoadFolder::At),
        share: share.as_ref(),
        recorded: (share.is_none() && sender.agents() == 0).then_some(recording.requests),
        in_parts: false,
        sender: &*sender,
    };
    // Requests in flight are cut off by an interrupt.
    let stop = StopSignal::listen_and_cut(restore).map_err(Failure::because)?;
    let planned: Duration = plan.phases.iter().map(|phase| phase.duration).sum();
    let seen = |event: LoadEvent<'_>| _ = event.second();
    let finished = run_load(&request, plan, seen, &stop.fresh_flag(), || stop.is_asked()).map_err(unsent)?;
    let how = format!(
        "{} sessions, {} requests, at {} times their speed",
        recording.sessions, recording.requests, args.speed
    );
    print_replay(
        &ReportedLoad { url, how: &how, flat_out: false, percentiles: &[] },
        &finished,
        planned,
        args.output,
        &stop,
    )
}

/// A place that is not known would be sent as it is, and every request would be wrong.
fn known_places(path: &str) -> Result<(), String> {
    let after_braces = path.split('{').skip(1);
    let unknown = after_braces.filter_map(|rest| rest.split_once('}')).find(|(name, _)| !PLACES.contains(name));
    unknown.map_or(Ok(()), |(name, _)| Err(format!("{{{name}}} is not filled in; write {{{}}}", PLACES.join("}, {"))))
}

fn plan(args: &args::ReplayArgs, url: &str, recording: &Recording) -> Result<LoadPlan, Failure> {
    // Braces have no place in URLs: the path is taken as it was typed.
    let (_, target) = destination(&url.replace(['{', '}'], "_"), &args.allow_host)?;
    let target = answering_first(target);
    let path = load::path(url);
    known_places(&path).map_err(|problem| Failure::usage(format!("{url}: {problem}")))?;
    let users = Users::Url(UrlUsers {
        headers: args.headers.iter().map(|line| header(line)).collect::<Result<_, _>>()?,
        // What fails is lost; the recording goes on.
        behaviour: Behaviour::on_any_failure(FailureRule::Login { wait: Duration::ZERO }),
        ..UrlUsers::new(path)
    });
    let loads = vec![recording.load(recording.played().with_texts())];
    let phase = Phase { name: "replay".to_owned(), duration: recording.lasts(), loads };
    Ok(LoadPlan { seed: args.seed, ..LoadPlan::new(target, users, vec![phase]) })
}
