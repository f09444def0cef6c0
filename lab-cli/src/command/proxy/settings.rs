//! Settings of a proxy: those of the file, with what was typed in their place.

use std::path::Path;

use controllers::{
    Objective,
    catalogue::{PolicySpec, Setting},
};
use proxy::read_settings;
use spec::{
    proxy::{LogLevel, ProxySpec},
    token::Token,
    waiting_room::WaitingRoomSpec,
};

use super::{sentry_file, settings_text::text};
use crate::{
    args::{Log, ProxyArgs},
    exit::Failure,
};

/// The settings: those of the file, with what was typed in their place.
pub(super) fn spec(args: &ProxyArgs, file: Option<&str>) -> Result<ProxySpec, Failure> {
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
    if let Some(asked) = args.objective {
        let percentile = asked.percentile.unwrap_or(spec.told_objective().percentile);
        spec.objective = Some(Objective { percentile, response_time: asked.response_time });
    }
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

/// Applies `--set`: the keys of a waiting room are its own, if there is one, and all others are the policy's.
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
    let PolicySpec { name, place, settings } = spec.policy.clone();
    spec.policy = PolicySpec::written(name, settings);
    spec.policy.place = spec.policy.place.or(place);
    if let Some(room) = &mut spec.waiting_room
        && !of_room.is_empty()
    {
        *room = room.with(of_room).map_err(|error| Failure::usage(format!("--set: waiting room: {error}")))?;
    }
    Ok(())
}
