//! Standard output: a result as JSON or as text, with nothing in it that would act on a terminal.

use std::io::Write as _;

use analysis::text::scrubbed_lines;
use serde::Serialize;

use crate::{
    args::Output,
    exit::{CommandResult, End, Failure},
};

/// Prints a value as JSON, or as this text.
pub(super) fn print_as(output: Output, value: &impl Serialize, text: impl FnOnce() -> String) -> CommandResult {
    match output {
        Output::Json => print_json(value),
        Output::Text => print(text().as_bytes()),
    }
}

pub(super) fn print_json(value: &impl Serialize) -> CommandResult {
    print(analysis::text::json(value).map_err(Failure::because)?.as_bytes())
}

/// Writes text to standard output; a closed pipe is an end like any other. What would act on a terminal does not reach it, whichever folder
/// or file it comes from.
pub(super) fn print(text: &[u8]) -> CommandResult {
    let mut out = std::io::stdout().lock();
    out.write_all(scrubbed_lines(&String::from_utf8_lossy(text)).as_bytes())?;
    out.flush()?;
    Ok(End::Done)
}
