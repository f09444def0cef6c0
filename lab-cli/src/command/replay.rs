//! `lab replay`.

use std::{fmt::Write, path::Path, time::Duration};

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
    load::{self, ReportedLoad, report_on},
    run,
};
use crate::{
    args::{self, By, Colours},
    exit::{CommandResult, Failure},
};

pub fn replay(args: &args::ReplayArgs, colours: Colours) -> CommandResult {
    match &args.target {
        Some(url) => on_service(args, url),
        None => on_arashi(args, colours),
    }
}

/// An experiment like any other, so that all that can be done with those can be done with a replay.
fn on_arashi(args: &args::ReplayArgs, colours: Colours) -> CommandResult {
    let experiment = experiment(args)?;
    let asked = args::RunArgs {
        out: args.out.clone(),
        no_tui: args.no_tui,
        output: args.output,
        virtual_time: args.virtual_time,
        ..args::RunArgs::default()
    };
    run::all(&[experiment], &asked, colours)
}

/// The experiment, as one would write it.
fn experiment(args: &args::ReplayArgs) -> Result<Experiment, Failure> {
    let text = |path: &Path| {
        let path =
            path.to_str().ok_or_else(|| Failure::usage(format!("{}: its name is not valid UTF-8", path.display())))?;
        serde_json::to_string(path).map_err(Failure::because)
    };
    let stem = args.trace.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let stem: String = stem.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let mut yaml = format!("name: replay-{}\nabout: a recording, replayed\n", stem.trim_matches('-'));
    let capacity = args.capacity.map_or_else(String::new, |rate| format!(", capacity: {rate}/s"));
    let _ = writeln!(yaml, "target: {{app: arashi{capacity}}}");
    let _ = writeln!(yaml, "objective: {{percentile: 90, response_time: 1s}}");
    let _ = write!(yaml, "users:\n  trace: {{file: {}, speed: {}", text(&args.trace)?, args.speed);
    let _ = write!(yaml, ", copies: {}, sample: {}", args.copies, args.sample);
    let pace = if args.by == By::Clock { "clock" } else { "sessions" };
    let _ = write!(yaml, ", pace: {pace}");
    for (key, time) in [("from", args.from), ("for", args.lasts)] {
        if let Some(time) = time {
            let _ = write!(yaml, ", {key}: {}ms", time.as_millis());
        }
    }
    let _ = writeln!(yaml, "}}\nseed: {}\nrepeat: {}\narms:", args.seed, args.repeat);
    let none = ["none".to_owned()];
    for policy in if args.policies.is_empty() { &none[..] } else { &args.policies[..] } {
        // A name of the catalogue, or what a file would say of it.
        let _ = writeln!(yaml, "  - {policy}");
    }
    read_text(&yaml, &args.trace.to_string_lossy(), &Changes::default())
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
    let (mut report, stop) = load::run(&plan, &RunOptions::default())?;
    report.replayed = report.replayed.map(|replayed| replayed.of(recording.requests));
    let how = format!(
        "{} sessions, {} requests, at {} times their speed",
        recording.sessions, recording.requests, args.speed
    );
    report_on(&ReportedLoad { url, how: &how, flat_out: false, percentiles: &[] }, &plan, &report, args.output, &stop)
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
