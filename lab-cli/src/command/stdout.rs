//! Standard output: a result as JSON or as text, with nothing in it that would act on a terminal.

use std::io::Write as _;

use analysis::{
    recommend::HOW,
    text::{scrubbed_lines, wrapped},
};
use serde::Serialize;
use terminal_size::terminal_size_of;

use crate::{
    args::Output,
    exit::{CommandResult, End, Failure},
};

/// Prints a value as JSON, or as this text.
pub(super) fn print_as(output: Output, value: &impl Serialize, text: impl FnOnce() -> String) -> CommandResult {
    match output {
        Output::Json => print_json(value),
        Output::Text => print_text(&text()),
    }
}

/// Prints text for people: on a terminal its sentences are as long as that is wide.
pub(super) fn print_text(text: &str) -> CommandResult {
    match terminal_size_of(std::io::stdout()) {
        Some((width, _)) => print(within(text, usize::from(width.0)).as_bytes()),
        None => print(text.as_bytes()),
    }
}

/// Sentences in lines of this width. Rows of tables stay, and commands, which are copied.
fn within(text: &str, width: usize) -> String {
    let mut lines = Vec::new();
    for line in text.lines() {
        let said = line.trim_start();
        let indent = line.len() - said.len();
        if line.chars().count() <= width || said.contains("  ") || said.starts_with(HOW) {
            lines.push(line.to_owned());
            continue;
        }
        let parts = wrapped(said, width.saturating_sub(indent + 2));
        lines.extend(parts.iter().enumerate().map(|(at, part)| format!("{:1$}{part}", "", indent + 2 * at.min(1))));
    }
    lines.join("\n") + "\n"
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_are_wrapped_and_tables_and_commands_are_not() {
        let text = "  Deploy a: it serves most.\narm   phase\n  How: lab proxy --to URL --policy a\n";
        let narrow = "  Deploy a: it\n    serves most.\narm   phase\n  How: lab proxy --to URL --policy a\n";
        assert_eq!((within(text, 16), within(text, 80)), (narrow.to_owned(), text.to_owned()));
    }
}
