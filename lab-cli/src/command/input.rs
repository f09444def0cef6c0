//! Input that a person named: files, which may be pipes, header lines, and experiments by file, id or `-`.

use std::{
    fs::{File, OpenOptions},
    io::{self, ErrorKind, Read},
    os::{
        fd::AsFd as _,
        unix::fs::{FileTypeExt as _, OpenOptionsExt as _},
    },
    path::Path,
};

use analysis::text::counted;
use controllers::catalogue::nearest;
use experiment::{Changes, Experiment, Library, raw::MAX_BYTES};
use nix::{
    fcntl::{FcntlArg, OFlag, fcntl},
    poll::{PollFd, PollFlags, PollTimeout, poll},
};

use crate::exit::Failure;

/// Longest wait for the first byte of a pipe, ms: `lab check <(make-experiment)` has to come to its first line in it.
const PATIENCE_MS: u16 = 5000;
/// Longer files are no bodies, keys or lists: the path is wrong.
const MOST_BYTES: u64 = 16 * 1024 * 1024;

/// Opens the input. A pipe without a writer is an error, not an endless wait.
pub fn open(path: &Path) -> io::Result<File> {
    if !std::fs::metadata(path)?.file_type().is_fifo() {
        return File::open(path);
    }
    // Else opening it waits for a writer.
    let file = OpenOptions::new().read(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(path)?;
    let mut wanted = [PollFd::new(file.as_fd(), PollFlags::POLLIN)];
    if poll(&mut wanted, PollTimeout::from(PATIENCE_MS))? == 0 {
        let text = format!("a pipe, and nobody wrote to it for {} s", PATIENCE_MS / 1000);
        return Err(io::Error::new(ErrorKind::TimedOut, text));
    }
    fcntl(&file, FcntlArg::F_SETFL(OFlag::empty()))?;
    Ok(file)
}

/// Text of standard input (`-`) or of a file, as far as an experiment may be long and a byte more.
pub(super) fn text(name: &str) -> io::Result<String> {
    let from: Box<dyn Read> = if name == "-" { Box::new(io::stdin()) } else { Box::new(open(Path::new(name))?) };
    let mut text = String::new();
    from.take(MAX_BYTES + 1).read_to_string(&mut text)?;
    Ok(text)
}

/// A file that was typed after this flag.
pub(super) fn contents(flag: &str, path: &Path) -> Result<Vec<u8>, Failure> {
    let named = |problem: String| Failure::usage(format!("{flag} {}: {problem}", path.display()));
    let file = open(path).map_err(|error| named(error.to_string()))?;
    let mut bytes = Vec::new();
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(|error| named(error.to_string()))?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(named(format!("over {MOST_BYTES} bytes; is the path right?")));
    }
    Ok(bytes)
}

/// Name and value of a header line, as it is typed after `-H`.
pub(super) fn header(line: &str) -> Result<(String, String), Failure> {
    match line.split_once(':') {
        Some((name, value)) => Ok((name.trim().to_owned(), value.trim().to_owned())),
        None => Err(Failure::usage(format!("-H {line:?} is no header line: write -H 'Name: value'"))),
    }
}

/// The text of an experiment, by file, id or `-`, and the name to print before its problems.
pub(super) fn experiment_text(name: &str) -> Result<(String, String), Failure> {
    if let Some(found) = Library::find(name) {
        return Ok((found.text.to_owned(), name.to_owned()));
    }
    let text = text(name).map_err(|error| Failure::usage(cannot_open(name, &error)))?;
    Ok((text, if name == "-" { "standard input" } else { name }.to_owned()))
}

fn cannot_open(name: &str, error: &std::io::Error) -> String {
    let looks_like_id = !name.contains(['/', '.']) && error.kind() == ErrorKind::NotFound;
    match nearest(name, Library::names()) {
        _ if name == "-" => format!("standard input: {error}"),
        _ if !looks_like_id => format!("{name}: {error}"),
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
