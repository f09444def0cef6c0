//! `lab trace`: a file for each of its commands. Here is what they share.

mod anonymize;
mod fit;
mod generate;
mod import;
mod inspect;

use std::{
    fs::{self, File},
    io::{self, Read, Write},
    path::Path,
};

use traces::{
    pack::{Packer, Packing},
    pseudonym::{Key, Pseudonyms},
    trace::{Header, Reader, TraceError},
};

use crate::{
    args::{self, Colours},
    exit::{CommandResult, Failure},
};

pub fn trace(args: &args::Trace, colours: Colours) -> CommandResult {
    match args {
        args::Trace::Import(args) => import::import(args),
        args::Trace::Inspect(args) => inspect::inspect(args, colours),
        args::Trace::Fit(args) => fit::fit(args),
        args::Trace::Generate(args) => generate::generate(args),
        args::Trace::Anonymize(args) => anonymize::anonymize(args),
    }
}

type Source = Box<dyn Read + Send>;

/// A file, or standard input.
fn source(name: &str) -> io::Result<Source> {
    if name == "-" { Ok(Box::new(io::stdin())) } else { Ok(Box::new(File::open(name)?)) }
}

pub(super) use inspect::shown_trace;

/// What a trace says of itself.
pub(super) fn header(path: &Path) -> Result<Header, String> {
    let trace = open(&path.display().to_string()).map_err(Failure::in_words)?;
    Ok(trace.header().clone())
}

/// Opens a trace.
fn open(name: &str) -> Result<Reader<Source>, Failure> {
    let source = source(name).map_err(|error| Failure::usage(format!("{name}: {error}")))?;
    Reader::open(source).map_err(|error| unreadable(name, &error))
}

fn unreadable(name: &str, error: &TraceError) -> Failure {
    Failure::usage(format!("{name}: {error}"))
}

/// Pseudonyms under the key of a file, or under a new one that nobody will know.
fn pseudonyms(key: Option<&Path>) -> Result<Pseudonyms, Failure> {
    let Some(path) = key else {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(|error| Failure::because(format!("no random key: {error}")))?;
        return Ok(Pseudonyms::keyed(Key::new(bytes)));
    };
    let text = small_file(path)?;
    let key = Key::from_hex(&text).map_err(|problem| Failure::usage(format!("{}: {problem}", path.display())))?;
    Ok(Pseudonyms::keyed(key))
}

/// The text of a file that people write.
fn small_file(path: &Path) -> Result<String, Failure> {
    let mut text = String::new();
    let limit = experiment::raw::MAX_BYTES;
    let file = File::open(path).and_then(|file| file.take(limit + 1).read_to_string(&mut text));
    match file {
        Err(error) => Err(Failure::usage(format!("{}: {error}", path.display()))),
        Ok(_) if text.len() as u64 > limit => {
            Err(Failure::usage(format!("{}: over {limit} bytes; is the path right?", path.display())))
        }
        Ok(_) => Ok(text),
    }
}

/// Where a command writes: a new file, which is taken away again if the command fails, or standard output.
struct Target<'p> {
    path: Option<&'p Path>,
    kept: bool,
}

impl<'p> Target<'p> {
    /// Makes the file.
    fn new(path: &'p Path) -> Result<(Self, Packer<Box<dyn Write>>), Failure> {
        let (path, out): (_, Box<dyn Write>) = if path == Path::new("-") {
            (None, Box::new(io::stdout()))
        } else {
            (Some(path), Box::new(new_file(path)?))
        };
        let packer = Packer::new(out, path.map_or(Packing::None, Packing::of_name));
        let target = Self { path, kept: false };
        Ok((target, packer?))
    }

    /// Everything was written.
    fn keep(mut self, packer: Packer<Box<dyn Write>>) -> Result<(), Failure> {
        packer.finish()?.flush()?;
        self.kept = true;
        Ok(())
    }
}

impl Drop for Target<'_> {
    fn drop(&mut self) {
        if let (Some(path), false) = (self.path, self.kept) {
            // Half a trace helps nobody; if it cannot be removed either, readers will still see that it was cut.
            let _ = fs::remove_file(path);
        }
    }
}

/// A file that was not there before.
fn new_file(path: &Path) -> Result<File, Failure> {
    File::options().write(true).create_new(true).open(path).map_err(|error| {
        let way_out = if error.kind() == io::ErrorKind::AlreadyExists { "; name another, or remove it" } else { "" };
        Failure::usage(format!("{}: {error}{way_out}", path.display()))
    })
}

/// What could not be written: a closed pipe is an end like any other.
fn unwritten(error: io::Error) -> Failure {
    match Failure::from(error) {
        Failure::Cause(cause) => Failure::because(format!("the trace cannot be written: {cause}")),
        other => other,
    }
}
