//! `lab proxy`: a policy before a service of one's own.

mod sentry_file;
mod set;
mod settings;
mod settings_text;

use analysis::live::value_in_words;
use controllers::catalogue::Setting;
use live_service::serve::ServeError;
use proxy::{ProxyError, Reread, check, proxy_blocking};
use spec::{proxy::ProxySpec, waiting_room::WaitingRoomSpec, wire::Ready};

use self::settings::spec;
use super::{
    ready::{ready_for_people, tell},
    stdout::print,
};
use crate::{
    args::{ProxyArgs, ProxyCommand},
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
        match json {
            true => tell(&ready),
            false => drop(print(for_people(&ready, &about, dry_run).as_bytes())),
        }
    };
    proxy_blocking(spec, reread(args), told).map_err(failure)?;
    Ok(End::Done)
}

/// The second reading of the settings, at SIGHUP: the file and the same flags. Standard input is read once.
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
    let setting = |(key, value): (&String, &Setting)| format!(" {key}={}", value_in_words(value));
    let settings: Vec<String> = spec.policy.settings.iter().map(setting).collect();
    format!("{room}{}{} → {}", spec.policy.name, settings.concat(), spec.to.join(", "))
}

/// Sorts errors: bad settings are bad input; what the system refuses is not.
fn failure(error: ProxyError) -> Failure {
    match error {
        ProxyError::Serve(error @ (ServeError::Listen { .. } | ServeError::System { .. } | ServeError::Orphaned)) => {
            Failure::because(error)
        }
        error => Failure::usage(error),
    }
}

/// The settings of a waiting room, as the proxy tells them at its start.
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

fn for_people(ready: &Ready, about: &str, dry_run: bool) -> String {
    let mut text = format!("proxy {} ({about})\n", ready.url);
    if dry_run {
        text.push_str("dry run: nothing is refused\n");
    }
    text.push_str(&ready_for_people(ready));
    text
}
