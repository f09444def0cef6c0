//! `lab`.

use std::process::ExitCode;

use clap::Parser;
use lab_cli::{args::Cli, command, exit};

fn main() -> ExitCode {
    match Cli::try_parse() {
        Ok(cli) => exit::code(command::dispatch(cli)),
        // --help and --version come as errors that print to standard output and end with 0; bad usage ends with 2.
        Err(error) => {
            let code = error.exit_code();
            let _ = error.print();
            ExitCode::from(u8::try_from(code).unwrap_or(2))
        }
    }
}
