//! The parts of `lab`: experiment files in, a run, its event stream, and what is made of it.
//!
//! [`analysis::live`] is the stream of what happens, [`analysis::summary`] the result. Everything that people see (progress, the live view,
//! tables) and everything that is judged is made from these two.
//!
//! A program with policies of its own is this one with a longer catalogue: [`main_with`].

#![cfg_attr(not(feature = "live"), expect(dead_code, unused_imports, unused_variables, reason = "live runs use it"))]

use std::process::ExitCode;

use clap::FromArgMatches as _;
use controllers::Entry;

#[cfg(feature = "live")]
mod agents;
pub mod args;
pub mod command;
pub mod exit;
pub mod run;
pub mod store;
pub mod sweep;
#[cfg(not(feature = "live"))]
mod virtual_build;
pub mod workers;

#[cfg(feature = "live")]
use ::screens;
#[cfg(not(feature = "live"))]
use virtual_build as screens;

/// The program `lab` with these policies and machines in addition to its own, in all of it: experiments, `lab serve`,
/// comparisons, the terminal view. The whole `main` of a crate with a policy:
///
/// ```ignore
/// fn main() -> std::process::ExitCode {
///     lab_cli::main_with(&[my_limit::ENTRY])
/// }
/// ```
///
/// Processes that the program starts (services under test) are the same executable, and know the same policies. Call it
/// first of all. Entries that do not fit the catalogue (a name that is taken, no place) are bad usage: exit code 2.
#[must_use]
pub fn main_with(extra: &'static [Entry]) -> ExitCode {
    let catalogue = installed::of_the_lab().and(extra).map_err(|problems| {
        let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
        exit::Failure::usage(format!("this program's own policies cannot be added\n{}", lines.join("\n")))
    });
    let installed = catalogue.and_then(|catalogue| installed::install(catalogue).map_err(exit::Failure::because));
    if let Err(failure) = installed {
        return exit::code(Err(failure));
    }
    let parsed = args::command().try_get_matches();
    match parsed.and_then(|found| args::Cli::from_arg_matches(&found)) {
        Ok(cli) => exit::code(command::dispatch(cli)),
        // --help and --version come as errors that print to standard output and end with 0; bad usage ends with 2.
        Err(error) => {
            let code = error.exit_code();
            let _ = args::with_tip(error, &args::command()).print();
            ExitCode::from(u8::try_from(code).unwrap_or(2))
        }
    }
}
