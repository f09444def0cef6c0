//! The commands, a file each.

use std::{
    io::{IsTerminal, Read, Write},
    path::Path,
};

use analysis::text::{counted, scrubbed_lines};
use clap::CommandFactory;
use controllers::catalogue::nearest;
use experiment::{Changes, Experiment, Library};
use serde::Serialize;
use target_app::control::wire::Ready;

use crate::{
    args::{Cli, LabCommand, Output, SchemaOf},
    exit::{CommandResult, End, Failure},
    run::{StopSignal, guard},
    tui,
};

mod calibrate;
mod check;
mod compare;
mod destination;
mod history;
mod init;
mod input;
mod load;
mod man;
mod new_policy;
mod own_service;
mod policies;
mod proxy;
mod recheck;
mod replay;
mod report;
mod reproduce;
mod run;
mod screen;
mod search;
mod serve;
mod sweep;
mod trace;
mod tune;

/// Does what was typed.
///
/// # Errors
/// Bad usage, or what could not be carried out and why.
pub fn dispatch(cli: Cli) -> CommandResult {
    match cli.command {
        None if std::io::stdin().is_terminal() && std::io::stdout().is_terminal() => screen::open(cli.colours),
        None => {
            let mut help = Cli::command();
            Err(Failure::usage(format!("what shall be done?\n\n{}", help.render_help())))
        }
        Some(LabCommand::Check(args)) => check::check(&args),
        Some(LabCommand::Policies(args)) => policies::policies(&args),
        Some(LabCommand::NewPolicy(args)) => new_policy::new_policy(&args),
        Some(LabCommand::Trace(args)) => trace::trace(&args, cli.colours),
        Some(LabCommand::Schema { of }) => schema(of),
        Some(LabCommand::Completions { shell }) => {
            let mut buffer = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "lab", &mut buffer);
            print(&buffer)
        }
        Some(LabCommand::Man(args)) => man::man(&args),
        Some(LabCommand::Run(args)) if args.list => list(args.output),
        Some(LabCommand::Run(args)) => run::run(&args, cli.colours),
        Some(LabCommand::Sweep(args)) => sweep::sweep(&args),
        Some(LabCommand::Tune(args)) => tune::tune(&args),
        Some(LabCommand::Reproduce(args)) => reproduce::reproduce(&args),
        Some(LabCommand::Compare(args)) => compare::compare(&args),
        Some(LabCommand::Recheck(args)) => recheck::recheck(&args),
        Some(LabCommand::Report(args)) => report::report(&args),
        Some(LabCommand::History(args)) => history::history(&args),
        Some(LabCommand::Calibrate(args)) => calibrate::calibrate(&args),
        Some(LabCommand::Load(args)) => load::load(&args, cli.colours),
        Some(LabCommand::Replay(args)) => replay::replay(&args, cli.colours),
        Some(LabCommand::Init(args)) => init::init(&args),
        Some(LabCommand::Guard) => {
            guard()?;
            Ok(End::Done)
        }
        Some(LabCommand::Serve(args)) => serve::serve(&args),
        Some(LabCommand::Proxy(args)) => proxy::proxy(&args),
    }
}

/// Prints a value as JSON, or as this text.
fn print_as(output: Output, value: &impl Serialize, text: impl FnOnce() -> String) -> CommandResult {
    match output {
        Output::Json => print_json(value),
        Output::Text => print(text().as_bytes()),
    }
}

fn print_json(value: &impl Serialize) -> CommandResult {
    print(analysis::text::json(value).map_err(Failure::because)?.as_bytes())
}

/// Writes text to standard output; a closed pipe is an end like any other. What would act on a terminal does not reach it, whichever folder
/// or file it comes from.
fn print(text: &[u8]) -> CommandResult {
    let mut out = std::io::stdout().lock();
    out.write_all(scrubbed_lines(&String::from_utf8_lossy(text)).as_bytes())?;
    out.flush()?;
    Ok(End::Done)
}

/// What a service or a proxy that takes requests says beside its own address: who can reach it, and its other ports.
fn ready_for_people(ready: &Ready) -> String {
    let mut text = ready.open.as_ref().map_or_else(String::new, |open| format!("{open}\n"));
    if let Some(metrics) = &ready.metrics {
        text.push_str(&format!("metrics {metrics}\n"));
    }
    text.push_str(&format!("control port {}; Ctrl-C ends it\n", ready.control));
    match &ready.token {
        // What is no terminal is kept: a journal, a container's log.
        Some(token) if std::io::stdout().is_terminal() => {
            text.push_str(&format!("control token {}\n", token.in_full()));
        }
        Some(_) => {
            text.push_str("control token not shown, since this is no terminal: --control-token-file FILE gives one\n");
        }
        None => {}
    }
    text
}

/// `lab run --list`.
fn list(output: Output) -> CommandResult {
    let as_json = |entry: &Library| {
        serde_json::json!({
            "id": entry.id, "atlas": entry.atlas, "short_form": entry.short, "about": entry.about()
        })
    };
    let width = Library::all().iter().map(|entry| entry.id.len()).max().unwrap_or(0);
    let line = |entry: &Library| {
        let short = entry.short.map_or_else(String::new, |short| format!(" [short form: {short}]"));
        format!("{:width$}  {}{short}\n", entry.id, entry.about())
    };
    let all: Vec<_> = Library::all().iter().map(as_json).collect();
    print_as(output, &all, || Library::all().iter().map(line).collect())
}

fn schema(of: SchemaOf) -> CommandResult {
    let schema = match of {
        SchemaOf::Experiment => experiment::schema::experiment(),
        SchemaOf::Proxy => experiment::schema::proxy(),
        SchemaOf::Summary => schemars::schema_for!(analysis::summary::RunSummary),
        SchemaOf::Timeline => schemars::schema_for!(analysis::live::TimelineSecond),
        SchemaOf::Trace => schemars::schema_for!(traces::trace::SomeLine),
    };
    print_json(&schema)
}

/// The text of an experiment, by file, id or `-`, and the name to print before its problems.
fn experiment_text(name: &str) -> Result<(String, String), Failure> {
    if name == "-" {
        let mut text = String::new();
        std::io::stdin()
            .take(experiment::raw::MAX_BYTES + 1)
            .read_to_string(&mut text)
            .map_err(|error| Failure::usage(format!("standard input: {error}")))?;
        return Ok((text, "standard input".to_owned()));
    }
    if let Some(found) = Library::find(name) {
        return Ok((found.text.to_owned(), name.to_owned()));
    }
    let path = Path::new(name);
    let file = input::open(path).map_err(|error| Failure::usage(cannot_open(name, &error)))?;
    let mut text = String::new();
    file.take(experiment::raw::MAX_BYTES + 1)
        .read_to_string(&mut text)
        .map_err(|error| Failure::usage(format!("{name}: {error}")))?;
    Ok((text, name.to_owned()))
}

fn cannot_open(name: &str, error: &std::io::Error) -> String {
    let looks_like_id = !name.contains(['/', '.']);
    if !looks_like_id {
        return format!("{name}: {error}");
    }
    match nearest(name, Library::names()) {
        Some(near) => format!("there is no experiment called {name:?}; did you mean {near}?"),
        None => format!("there is no experiment and no file called {name:?}; lab run --list shows the experiments"),
    }
}

/// Reads an experiment; all its problems, each with its place, in one message.
fn read_experiment(name: &str, changes: &Changes) -> Result<Experiment, Failure> {
    let (text, shown) = experiment_text(name)?;
    read_text(&text, &shown, changes)
}

/// The folder from which the paths of an experiment go that was named so: a file's own. Library and standard input have none.
fn folder_of(name: &str) -> &Path {
    Path::new(name).parent().unwrap_or(Path::new(""))
}

fn read_text(text: &str, shown: &str, changes: &Changes) -> Result<Experiment, Failure> {
    let changes = Changes { folder: folder_of(shown).to_owned(), ..changes.clone() };
    experiment::read(text, &changes).map_err(|problems| {
        let lines: Vec<String> = problems.iter().map(|problem| format!("{shown}:{problem}")).collect();
        Failure::usage(format!("{} in {shown}\n{}", counted(problems.len(), "problem"), lines.join("\n")))
    })
}

/// Puts the terminal back, after the person left or a signal came.
fn close(screen: tui::Screen, stop: &StopSignal) -> CommandResult {
    let given_back = screen.finish();
    match stop.end() {
        // Its terminal may have been closed.
        Some(end) => Ok(end),
        None => given_back.map(|()| End::Done).map_err(Failure::because),
    }
}
