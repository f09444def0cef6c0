//! The commands, a file each.

use std::{
    io::{IsTerminal, Read, Write},
    path::Path,
};

use analysis::text::{counted, nearest};
use clap::CommandFactory;
use experiment::{Changes, Experiment, Library};

use crate::{
    args::{Cli, Command, Output, SchemaOf},
    exit::{End, Failure, Outcome},
    run::Stop,
    tui,
};

mod calibrate;
mod check;
mod compare;
mod history;
mod input;
mod load;
mod policies;
mod recheck;
mod replay;
mod report;
mod reproduce;
mod run;
mod screen;
mod serve;
mod trace;

/// Does what was typed.
///
/// # Errors
/// Bad usage, or what could not be carried out and why.
pub fn dispatch(cli: Cli) -> Outcome {
    match cli.command {
        None if std::io::stdin().is_terminal() && std::io::stdout().is_terminal() => screen::open(cli.color),
        None => {
            let mut help = Cli::command();
            Err(Failure::usage(format!("what shall be done?\n\n{}", help.render_help())))
        }
        Some(Command::Check(args)) => check::check(&args),
        Some(Command::Policies(args)) => policies::policies(&args),
        Some(Command::Trace(args)) => trace::trace(&args, cli.color),
        Some(Command::Schema { of }) => schema(of),
        Some(Command::Completions { shell }) => {
            let mut buffer = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "lab", &mut buffer);
            print(&buffer)
        }
        Some(Command::Run(args)) if args.list => list(args.output),
        Some(Command::Run(args)) => run::run(&args, cli.color),
        Some(Command::Reproduce(args)) => reproduce::reproduce(&args),
        Some(Command::Compare(args)) => compare::compare(&args),
        Some(Command::Recheck(args)) => recheck::recheck(&args),
        Some(Command::Report(args)) => report::report(&args),
        Some(Command::History(args)) => history::history(&args),
        Some(Command::Calibrate(args)) => calibrate::calibrate(&args),
        Some(Command::Load(args)) => load::load(&args),
        Some(Command::Replay(args)) => replay::replay(&args, cli.color),
        Some(Command::Serve(args)) => serve::serve(&args),
    }
}

/// Writes to standard output; a closed pipe is an end like any other.
fn print(bytes: &[u8]) -> Outcome {
    let mut out = std::io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()?;
    Ok(End::Done)
}

/// `lab run --list`.
fn list(output: Output) -> Outcome {
    let mut text = String::new();
    match output {
        Output::Json => {
            let list: Vec<_> = Library::all()
                .iter()
                .map(|entry| {
                    serde_json::json!({
                        "id": entry.id, "atlas": entry.atlas, "short_form": entry.short, "about": entry.about()
                    })
                })
                .collect();
            text = analysis::text::json(&list).map_err(Failure::because)?;
        }
        Output::Text => {
            let width = Library::all().iter().map(|entry| entry.id.len()).max().unwrap_or(0);
            for entry in Library::all() {
                let short = entry.short.map_or_else(String::new, |short| format!(" [short form: {short}]"));
                text.push_str(&format!("{:width$}  {}{short}\n", entry.id, entry.about()));
            }
        }
    }
    print(text.as_bytes())
}

fn schema(of: SchemaOf) -> Outcome {
    let schema = match of {
        SchemaOf::Experiment => experiment::schema::experiment(),
        SchemaOf::Summary => schemars::schema_for!(analysis::summary::Summary),
        SchemaOf::Timeline => schemars::schema_for!(analysis::live::Second),
        SchemaOf::Trace => schemars::schema_for!(traces::trace::SomeLine),
    };
    print(analysis::text::json(&schema).map_err(Failure::because)?.as_bytes())
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

fn read_text(text: &str, shown: &str, changes: &Changes) -> Result<Experiment, Failure> {
    experiment::read(text, changes).map_err(|problems| {
        let lines: Vec<String> = problems.iter().map(|problem| format!("{shown}:{problem}")).collect();
        Failure::usage(format!("{} in {shown}\n{}", counted(problems.len(), "problem"), lines.join("\n")))
    })
}

/// Puts the terminal back, after the person left or a signal came.
fn close(screen: tui::Screen, stop: &Stop) -> Outcome {
    match stop.end() {
        // Its terminal may have been closed.
        Some(end) => {
            screen.leave_behind();
            Ok(end)
        }
        None => {
            screen.finish().map_err(Failure::because)?;
            Ok(End::Done)
        }
    }
}
