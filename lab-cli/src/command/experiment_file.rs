//! An experiment, by file, id or `-`: its text, and the experiment that the text describes.

use std::{io::Read as _, path::Path};

use analysis::text::counted;
use controllers::catalogue::nearest;
use experiment::{Changes, Experiment, Library};

use super::input;
use crate::exit::Failure;

/// The text of an experiment, by file, id or `-`, and the name to print before its problems.
pub(super) fn experiment_text(name: &str) -> Result<(String, String), Failure> {
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
pub(super) fn read_experiment(name: &str, changes: &Changes) -> Result<Experiment, Failure> {
    let (text, shown) = experiment_text(name)?;
    read_text(&text, &shown, changes)
}

/// The folder from which the paths of an experiment go that was named so: a file's own. Library and standard input have none.
pub(super) fn folder_of(name: &str) -> &Path {
    Path::new(name).parent().unwrap_or(Path::new(""))
}

pub(super) fn read_text(text: &str, shown: &str, changes: &Changes) -> Result<Experiment, Failure> {
    let changes = Changes { folder: folder_of(shown).to_owned(), ..changes.clone() };
    experiment::read(text, &changes).map_err(|problems| {
        let lines: Vec<String> = problems.iter().map(|problem| format!("{shown}:{problem}")).collect();
        Failure::usage(format!("{} in {shown}\n{}", counted(problems.len(), "problem"), lines.join("\n")))
    })
}
