//! Files that commands on traces write: new ones, and none of them half written.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::Path,
};

use traces::pack::{Packer, Packing};

use crate::exit::Failure;

/// The output of a command: a new file, which is taken away again if the command fails, or standard output.
pub(super) struct Target<'p> {
    path: Option<&'p Path>,
    kept: bool,
}

impl<'p> Target<'p> {
    /// Makes the file.
    pub fn new(path: &'p Path) -> Result<(Self, Packer<Box<dyn Write>>), Failure> {
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
    pub fn keep(mut self, packer: Packer<Box<dyn Write>>) -> Result<(), Failure> {
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
pub(super) fn new_file(path: &Path) -> Result<File, Failure> {
    File::options().write(true).create_new(true).open(path).map_err(|error| {
        let way_out = if error.kind() == io::ErrorKind::AlreadyExists { "; name another, or remove it" } else { "" };
        Failure::usage(format!("{}: {error}{way_out}", path.display()))
    })
}

/// The failure of a write: a closed pipe is an end like any other.
pub(super) fn unwritten(error: io::Error) -> Failure {
    match Failure::from(error) {
        Failure::Cause(cause) => Failure::because(format!("the trace cannot be written: {cause}")),
        other => other,
    }
}
