//! `lab proxy`: a policy before a service of one's own.

mod sentry_file;
mod set;

use std::{
    io::{self, Read, Write},
    path::Path,
};

use controllers::catalogue::Setting;
use experiment::raw::MAX_BYTES;
use serde::de::DeserializeOwned;
use target_app::{
    control::{Token, wire::Ready},
    proxy::{LogLevel, ProxyError, ProxySpec, Reread, check, proxy_blocking, read_settings},
    serve::ServeError,
    waiting_room::WaitingRoomSpec,
};

use super::{input, print, ready_for_people};
use crate::{
    args::{Log, ProxyArgs, ProxyCommand},
    exit::{CommandResult, End, Failure, complain},
};

pub fn proxy(args: &ProxyArgs) -> CommandResult {
    if let Some(ProxyCommand::Set(args)) = &args.command {
        return set::set(args);
    }
    if let Some(file) = &args.check {
        return checked(args, file.as_deref());
    }
    let spec = spec(args, args.config.as_deref())?;
    let (json, dry_run) = (args.json, spec.dry_run);
    let about = about(&spec);
    let told = |ready: Ready| {
        if !json {
            ready.warnings.iter().for_each(|warning| complain(&format!("warning: {warning}")));
        }
        // A closed pipe is no reason to stop serving.
        let _ = if json { tell(&ready) } else { print(for_people(&ready, &about, dry_run).as_bytes()).map(drop) };
    };
    proxy_blocking(spec, reread(args), told).map_err(failure)?;
    Ok(End::Done)
}

/// How SIGHUP reads the settings again: from the file and with the same flags. Standard input is read once.
fn reread(args: &ProxyArgs) -> Option<Reread> {
    let file = args.config.clone().filter(|file| file != "-")?;
    let args = args.clone();
    Some(Box::new(move || {
        spec(&args, Some(&file)).map_err(|failure| failure.in_words().lines().map(str::to_owned).collect())
    }))
}

/// `lab proxy --check`.
fn checked(args: &ProxyArgs, file: Option<&str>) -> CommandResult {
    let file = match (file, args.config.as_deref()) {
        (Some(_), Some(_)) => return Err(Failure::usage("--check FILE and --config FILE: name the file once")),
        (file, config) => file.or(config),
    };
    let of = |line: &str| file.map_or_else(|| line.to_owned(), |file| format!("{file}: {line}"));
    let spec = spec(args, file)?;
    let good = of(&format!("good: {}", about(&spec)));
    let warnings = check(&spec).map_err(|error| {
        let lines: Vec<String> = error.to_string().lines().map(of).collect();
        Failure::usage(lines.join("\n"))
    })?;
    warnings.iter().for_each(|warning| complain(&of(&format!("warning: {warning}"))));
    print(format!("{good}\n").as_bytes())
}

/// The proxy in one line.
fn about(spec: &ProxySpec) -> String {
    let room = spec.waiting_room.as_ref().map_or_else(String::new, in_room);
    let settings: Vec<String> = spec.policy.settings.iter().map(|(key, value)| format!(" {key}={value}")).collect();
    format!("{room}{}{} → {}", spec.policy.name, settings.concat(), spec.to.join(", "))
}

/// What is wrong with the settings is bad input; what the system refuses is not.
fn failure(error: ProxyError) -> Failure {
    match error {
        ProxyError::Serve(error @ (ServeError::Listen { .. } | ServeError::System { .. } | ServeError::Orphaned)) => {
            Failure::because(error)
        }
        error => Failure::usage(error),
    }
}

/// The settings: those of the file, with what was typed in their place.
fn spec(args: &ProxyArgs, file: Option<&str>) -> Result<ProxySpec, Failure> {
    let mut spec = match file {
        Some(name) => {
            let read = read_settings(&text(name)?).map_err(|problems| {
                let lines: Vec<String> = problems.iter().map(|problem| format!("{name}: {problem}")).collect();
                Failure::usage(lines.join("\n"))
            })?;
            // Standard input, `-`, is in no folder, as a file whose name has none.
            read.of_file_in(Path::new(name).parent().unwrap_or(Path::new("")))
        }
        None => ProxySpec::default(),
    };
    let token = args.control_token_file.as_deref().map(Token::read).transpose();
    spec.control_token = token.map_err(|error| Failure::usage(format!("--control-token-file: {error}")))?;
    if !args.to.is_empty() {
        spec.to.clone_from(&args.to);
    }
    spec.listen = args.listen.unwrap_or(spec.listen);
    spec.control = args.control.unwrap_or(spec.control);
    spec.metrics = args.metrics.or(spec.metrics);
    if let Some(to) = &args.otlp {
        spec.otlp.get_or_insert_default().to.clone_from(to);
    }
    spec.objective.response_time = args.objective.unwrap_or(spec.objective.response_time);
    spec.concurrency = args.concurrency.unwrap_or(spec.concurrency);
    spec.limits.connections = args.max_connections.unwrap_or(spec.limits.connections);
    spec.dry_run |= args.dry_run;
    if let Some(page) = &args.refusal_page {
        spec.refusal.page = Some(page.clone());
    }
    if let Some(name) = &args.policy {
        // Another policy does not take over the settings of the file's.
        if *name != spec.policy.name {
            spec.policy.settings.clear();
            spec.policy.place = None;
        }
        spec.policy.name.clone_from(name);
    }
    if let Some(name) = &args.sentry {
        sentry_file::seat(name, &mut spec)?;
    }
    set_typed(&mut spec, args)?;
    spec.log = match args.log {
        None => spec.log,
        Some(Log::Off) => LogLevel::Off,
        Some(Log::Changes) => LogLevel::Changes,
        Some(Log::Requests) => LogLevel::Requests,
    };
    Ok(spec)
}

/// What was typed after `--set`: the keys of a waiting room are its own, if there is one, and all others are the policy's.
fn set_typed(spec: &mut ProxySpec, args: &ProxyArgs) -> Result<(), Failure> {
    if args.waiting_room {
        spec.waiting_room.get_or_insert_default();
    }
    let mut of_room = Vec::new();
    for change in &args.set {
        let wrong =
            || Failure::usage(format!("--set {change}: KEY=VALUE sets a parameter of the policy, as limit_max=500"));
        let (key, value) = change.split_once('=').ok_or_else(wrong)?;
        if spec.waiting_room.is_some() && WaitingRoomSpec::has_key(key) {
            of_room.push((key.to_owned(), serde_yaml::from_str(value).map_err(|_| wrong())?));
        } else {
            let value: Setting = serde_yaml::from_str(value).map_err(|_| wrong())?;
            spec.policy.settings.insert(key.to_owned(), value);
        }
    }
    if let Some(room) = &mut spec.waiting_room
        && !of_room.is_empty()
    {
        *room = room.with(of_room).map_err(|error| Failure::usage(format!("--set: waiting room: {error}")))?;
    }
    Ok(())
}

/// What a person should know of a waiting room at the start.
fn in_room(room: &WaitingRoomSpec) -> String {
    match room.capacity {
        Some(capacity) => format!("waiting room for {capacity}/s, "),
        None => {
            let minutes = f64::from(room.epoch_s) * room.training_epochs as f64 / 60.0;
            format!(
                "waiting room, its capacity to be estimated: nobody waits for the first {minutes:.0} min, and for as long \
                 as the load does not pass it; --set capacity=100/s gives one; "
            )
        }
    }
}

fn yaml<T: DeserializeOwned>(name: &str) -> Result<T, Failure> {
    serde_yaml::from_str(&text(name)?).map_err(|error| Failure::usage(format!("{name}: {}", error.without_snippet())))
}

/// The text of a file, or of standard input.
fn text(name: &str) -> Result<String, Failure> {
    let mut text = String::new();
    let from: Box<dyn Read> = if name == "-" {
        Box::new(io::stdin())
    } else {
        Box::new(input::open(Path::new(name)).map_err(|error| Failure::usage(format!("{name}: {error}")))?)
    };
    from.take(MAX_BYTES).read_to_string(&mut text).map_err(|error| Failure::usage(format!("{name}: {error}")))?;
    Ok(text)
}

fn for_people(ready: &Ready, about: &str, dry_run: bool) -> String {
    let mut text = format!("proxy {} ({about})\n", ready.url);
    if dry_run {
        text.push_str("dry run: nothing is refused\n");
    }
    text.push_str(&ready_for_people(ready));
    text
}

fn tell(ready: &Ready) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    let line = serde_json::to_string(ready).unwrap_or_default();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}
