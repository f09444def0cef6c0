//! The person's editor, which has the terminal while a file is edited.

use std::{env, io, path::Path, process::Command};

use ratatui::DefaultTerminal;

use super::hold;

/// Opens the file in `$VISUAL`, `$EDITOR` or `vi`, and waits until it is left; what went wrong, for the person.
pub(super) fn edit(terminal: &mut DefaultTerminal, path: &Path) -> io::Result<Option<String>> {
    let chosen =
        ["VISUAL", "EDITOR"].into_iter().find_map(|name| env::var(name).ok().filter(|value| !value.trim().is_empty()));
    let editor = chosen.unwrap_or_else(|| "vi".to_owned());
    // `code --wait` is a program with an argument.
    let mut words = editor.split_whitespace();
    let program = words.next().unwrap_or("vi");
    let mut command = Command::new(program);
    command.args(words).arg(path);
    hold::lend(terminal, || match command.status() {
        Ok(status) if status.success() => None,
        Ok(status) => Some(format!("{editor} ended with {status}")),
        Err(error) => Some(format!("{editor}: {error}; set EDITOR to your editor")),
    })
}
