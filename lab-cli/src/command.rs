//! The commands, a file each.

use std::io::IsTerminal;

use experiment::Library;

use crate::{
    args::{self, Cli, LabCommand, Output, SchemaOf},
    exit::{CommandResult, End, Failure},
};

#[cfg(feature = "fleet")]
mod agent;
#[cfg(feature = "live")]
mod attach;
#[cfg(feature = "live")]
mod calibrate;
mod check;
mod compare;
mod destination;
mod history;
#[cfg(feature = "live")]
mod init;
mod input;
#[cfg(feature = "live")]
mod load;
mod man;
mod merge;
mod new_policy;
mod policies;
#[cfg(feature = "live")]
mod proxy;
#[cfg(feature = "live")]
mod ready;
mod recheck;
mod recommend;
#[cfg(feature = "live")]
mod replay;
mod report;
mod reproduce;
mod run;
#[cfg(feature = "live")]
mod screen;
mod search;
#[cfg(feature = "live")]
mod serve;
mod share;
mod stdout;
mod suite;
mod sweep;
#[cfg(feature = "live")]
mod terminal;
mod trace;
mod tune;

use stdout::{print, print_as, print_json};

/// Does what was typed.
///
/// # Errors
/// Bad usage, or what could not be carried out and why.
pub fn dispatch(cli: Cli) -> CommandResult {
    match cli.command {
        #[cfg(feature = "live")]
        None if std::io::stdin().is_terminal() && std::io::stdout().is_terminal() => screen::open(cli.colours),
        None => {
            let mut help = args::command();
            Err(Failure::usage(format!("what shall be done?\n\n{}", help.render_help())))
        }
        Some(LabCommand::Check(args)) => check::check(&args),
        Some(LabCommand::Policies(args)) => policies::policies(&args),
        Some(LabCommand::NewPolicy(args)) => new_policy::new_policy(&args),
        Some(LabCommand::Trace(args)) => trace::trace(&args, cli.colours),
        Some(LabCommand::Schema { of }) => schema(of),
        Some(LabCommand::Completions { shell }) => {
            let mut buffer = Vec::new();
            clap_complete::generate(shell, &mut args::command(), "lab", &mut buffer);
            print(&buffer)
        }
        Some(LabCommand::Man(args)) => man::man(&args),
        Some(LabCommand::Run(args)) if args.list => list(args.output),
        Some(LabCommand::Run(args)) => run::run(&args, cli.colours),
        Some(LabCommand::Sweep(args)) => sweep::sweep(&args),
        Some(LabCommand::Tune(args)) => tune::tune(&args),
        Some(LabCommand::Suite(args)) => suite::suite(&args),
        #[cfg(feature = "fleet")]
        Some(LabCommand::Agent(args)) => agent::agent(&args),
        #[cfg(not(feature = "fleet"))]
        Some(LabCommand::Agent(_)) => Err(crate::workers::without()),
        Some(LabCommand::Reproduce(args)) => reproduce::reproduce(&args),
        Some(LabCommand::Compare(args)) => compare::compare(&args),
        Some(LabCommand::Recommend(args)) => recommend::recommend(&args),
        Some(LabCommand::Recheck(args)) => recheck::recheck(&args),
        Some(LabCommand::Merge(args)) => merge::merge(&args),
        Some(LabCommand::Report(args)) => report::report(&args),
        Some(LabCommand::History(args)) => history::history(&args),
        #[cfg(feature = "live")]
        Some(LabCommand::Calibrate(args)) => calibrate::calibrate(&args),
        #[cfg(feature = "live")]
        Some(LabCommand::Load(args)) => match &args.attach {
            Some(load) => attach::attach(&args, load),
            None => load::load(&args, cli.colours),
        },
        #[cfg(feature = "live")]
        Some(LabCommand::Replay(args)) => replay::replay(&args, cli.colours),
        #[cfg(feature = "live")]
        Some(LabCommand::Init(args)) => init::init(&args),
        #[cfg(feature = "live")]
        Some(LabCommand::Serve(args)) => serve::serve(&args),
        #[cfg(feature = "live")]
        Some(LabCommand::Proxy(args)) => proxy::proxy(&args),
        #[cfg(feature = "live")]
        Some(LabCommand::Guard) => {
            crate::run::guard()?;
            Ok(End::Done)
        }
        #[cfg(not(feature = "live"))]
        Some(_) => {
            let why = "this program was built for virtual time alone, and leaves this command out: build it with its default features (cargo \
                       build --release)";
            Err(Failure::usage(why))
        }
    }
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
